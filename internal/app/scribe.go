package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/store/postgres"
)

// buildOf tells programs apart that could learn something else from the same log: other versions, and
// the same one on a machine that calculates otherwise.
func buildOf(version string) string {
	return fmt.Sprintf("%s %s %s %08x", version, runtime.Version(), runtime.GOARCH, learn.Arithmetic())
}

// A scribe has nodes that stand by save what was learnt, one at a time.
type scribe struct {
	peers    *postgres.Peers
	term     int64
	build    string
	look     time.Duration // how often it is looked whether it is done
	patience time.Duration // for which it may take

	number int64  // of the last turn
	alone  bool   // nobody has one
	failed string // who did not do it the last time: others are asked first
}

// scribe returns what has other nodes save what was learnt; nil if there can be none.
func (n *Node) scribe(cfg Config) *daemon.Scribe {
	if n.leads == nil || cfg.peers == nil || cfg.Idle {
		return nil
	}
	every := cmp.Or(cfg.SaveEvery, saveEvery)
	s := &scribe{peers: cfg.peers, term: n.leads.Term(), build: cfg.build, look: min(time.Second, every/5), patience: every}
	return &daemon.Scribe{Ask: s.ask, Bar: s.bar}
}

// saveEvery is between two times that what was learnt is saved.
const saveEvery = 5 * time.Minute

// A draft is what a node says at the end of its turn.
type draft struct {
	daemon.Offer
	Err string `json:"err,omitempty"` // why there is none
}

// ask implements [daemon.Scribe.Ask].
func (s *scribe) ask(ctx context.Context, want daemon.Turn) (o daemon.Offer, err error) {
	to, err := s.choose(ctx, want.Bases)
	if err != nil {
		return o, err
	}
	s.number++
	turn := postgres.Turn{Term: s.term, Number: s.number, Node: to.Name, Copy: want.Copy}
	s.alone = false
	if err = s.peers.GiveTurn(ctx, turn); err == nil {
		o, err = s.await(ctx, turn)
	}
	o.By, s.failed = to.Address, ""
	if err != nil {
		s.failed = to.Name
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), max(time.Second, 5*s.look))
	defer cancel()
	if over := s.bar(ending); over != nil {
		err = fmt.Errorf("%w: %w", daemon.ErrNotAlone, over)
	}
	return o, err
}

// bar implements [daemon.Scribe.Bar].
func (s *scribe) bar(ctx context.Context) error {
	if s.alone {
		return nil
	}
	s.number++
	err := s.peers.GiveTurn(ctx, postgres.Turn{Term: s.term, Number: s.number})
	s.alone = err == nil
	return err
}

// choose returns a node that knows what follows from one of some copies.
func (s *scribe) choose(ctx context.Context, bases []daemon.Basis) (chosen postgres.Node, err error) {
	nodes, err := s.peers.Nodes(ctx)
	if err != nil {
		return chosen, err
	}
	for _, n := range nodes {
		var said standingBy
		if n.Role != postgres.Standby || json.Unmarshal([]byte(n.Told), &said) != nil {
			continue
		}
		if said.Build != s.build || said.From == nil || !slices.Contains(bases, *said.From) {
			continue
		}
		if chosen = n; n.Name != s.failed {
			break
		}
	}
	if chosen.Name == "" {
		return chosen, daemon.ErrNobody
	}
	return chosen, nil
}

// await waits until a node has had its turn.
func (s *scribe) await(ctx context.Context, turn postgres.Turn) (o daemon.Offer, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.patience, errors.New("it took too long"))
	defer cancel()
	for {
		var said draft
		done, err := s.peers.Offered(ctx, turn, &said)
		if err == nil && !done {
			err = s.isThere(ctx, turn.Node)
		}
		switch {
		case ctx.Err() != nil:
			return o, context.Cause(ctx)
		case err != nil:
			return o, err
		case done && said.Err != "":
			return o, errors.New(said.Err)
		case done:
			return said.Offer, nil
		}
		rest(ctx, s.look)
	}
}

// isThere returns an error if a node has given no sign of life for a while.
func (s *scribe) isThere(ctx context.Context, name string) error {
	nodes, err := s.peers.Nodes(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(nodes, func(n postgres.Node) bool { return n.Name == name && n.Role == postgres.Standby }) {
		return errors.New("it is gone")
	}
	return nil
}

// takeTurns saves what was learnt whenever it is this node's turn.
func (f *following) takeTurns(ctx context.Context) {
	var had postgres.Turn
	for ctx.Err() == nil {
		turn, err := f.peers.Turn(ctx)
		if err == nil && turn != had && turn.Node == f.name {
			if had = turn; f.holds(ctx, turn) {
				f.takeTurn(ctx, turn)
			}
		}
		rest(ctx, f.look)
	}
}

// holds reports whether a turn was given by the node that decides now.
func (f *following) holds(ctx context.Context, t postgres.Turn) bool {
	lease, err := f.peers.Lease(ctx)
	return err == nil && lease.Held() && lease.Term == t.Term
}

// takeTurn saves what was learnt, and says so.
func (f *following) takeTurn(ctx context.Context, t postgres.Turn) {
	var said draft
	var err error
	said.Offer, err = f.warm.TakeNotes(ctx, t.Copy, func(ctx context.Context, some []freshet.Belief) (int, error) {
		return f.store.SaveInTurn(ctx, t, some)
	})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		said = draft{Err: err.Error()}
	}
	if told := f.peers.Offer(ctx, t, said); told != nil && err == nil {
		err = told
	}
	f.log.Debug("saved what was learnt for the node that decides", "upto", said.Upto, "sources", said.Sources, "err", err)
}

// origin returns the oldest copy from which all that the node that decides knows follows.
func (f *following) origin(ctx context.Context) (daemon.Basis, error) {
	nodes, err := f.peers.Nodes(ctx)
	for _, n := range nodes {
		var said account
		if n.Role == postgres.Brain && json.Unmarshal([]byte(n.Told), &said) == nil && said.Origin != nil {
			return *said.Origin, nil
		}
	}
	return daemon.Basis{}, err
}
