package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/cluster/shards"
	"freshet/internal/cluster/shards/table"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// poolBelief is under what name a store keeps where it sits in a pool.
const poolBelief = "pool"

// A seat is where a daemon sits that shares a budget with others. It makes no polls until the
// pool has told it its part. It keeps to that while it cannot reach the pool: nobody else gets
// any of it meanwhile.
type seat struct {
	pool    *table.Pool
	shard   shards.Shard
	longest time.Duration // that a request can take
	node    *Node
	log     *slog.Logger

	kept    seatKept // is in the store
	run     int64    // that speaks; 0 if it does not sit there
	part    sched.Budget
	waiting int64     // version of the table for which it waits to have more; 0 if for none
	until   time.Time // then it has
	spoke   time.Time

	mu        sync.Mutex
	address   string   // where this daemon is reached
	addresses []string // where all shards are reached
	why       string   // no polls are made; "" if they are
	made      float64  // requests since it last spoke
	took      time.Duration
}

// A seatKept is what a daemon has to know of a pool when it starts again.
type seatKept struct {
	Store   string       `json:"store"` // a name that no other store has
	Run     int64        `json:"run"`
	Version int64        `json:"version"` // of the table, as last seen
	Uses    sched.Budget `json:"uses"`    // of the budget, at most
}

// newSeat returns the seat of a node in its pool.
func newSeat(n *Node, cfg Config) (*seat, error) {
	p, err := table.Open(cfg.Pool)
	if err != nil {
		return nil, err
	}
	return &seat{
		pool: p, shard: cfg.Shard, node: n, log: n.log, longest: longestRequest(cfg.Settings),
		addresses: make([]string, cfg.Shard.Of), why: "this shard has not been told its part of the budget yet",
	}, nil
}

// madeFor returns the budget that the policy of a node is made for. Where it is shared that is an
// equal part, since nobody knows yet which it will be.
func madeFor(cfg Config) sched.Budget {
	b := cmp.Or(cfg.Budget, cfg.Limits.Budget)
	if !cfg.Shard.Alone() {
		b.Polls /= float64(cfg.Shard.Of)
	}
	return b
}

// longestRequest returns how long a request can be under way that a brain has decided on: on
// another machine it may begin as late as the right to begin it ends.
func longestRequest(s config.Settings) time.Duration {
	longest := max(cmp.Or(s.Fetch.Total, time.Minute), cmp.Or(s.Render.Total, time.Minute))
	if s.Store != "" || s.HandToken != "" {
		longest += 2 * leaseOf(s)
	}
	return longest + time.Second
}

// prepare has a daemon go by its part of the budget, and poll no host of another shard.
func (s *seat) prepare(cfg *daemon.Config) {
	s.node.limits.shared = true
	cfg.Limits, cfg.Elsewhere, cfg.Trouble = s.node.limits.inForce(), s.elsewhere, s.trouble
	if tell := cfg.Observe; tell != nil {
		cfg.Observe = func(o freshet.Outcome) { s.observe(o); tell(o) }
	} else {
		cfg.Observe = s.observe
	}
}

// elsewhere says which shard has a host, if it is not this one.
func (s *seat) elsewhere(host string) error {
	number, own := s.shard.Has(host)
	if own {
		return nil
	}
	s.mu.Lock()
	at := s.addresses[number-1]
	s.mu.Unlock()
	if at != "" {
		at = " (" + at + ")"
	}
	return fmt.Errorf("%s is polled by shard %d of %d%s, and this is shard %d", host, number, s.shard.Of, at, s.shard.Number)
}

// trouble says why no polls are made.
func (s *seat) trouble() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// reached takes note of where this daemon is reached.
func (s *seat) reached(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = address
}

// observe counts what was spent.
func (s *seat) observe(o freshet.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made += float64(o.Requests)
	s.took += o.Ended.Sub(o.Began)
}

// hold sits in the pool until ctx is done.
func (s *seat) hold(ctx context.Context) {
	defer s.pool.Close()
	select {
	case <-ctx.Done():
		return
	case <-s.node.Daemon.Started():
	}
	problem := ""
	for {
		err := s.speak(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, shards.ErrUnseated) && !s.node.sure(): // another node of this cluster decides now
			return
		case s.run != 0 && isOtherNumber(err): // hosts of this daemon are another's now
			s.stop(err.Error())
			s.log.Error("this daemon makes no more polls: the number of shards has changed", "shard", s.shard, "err", err, "hint", freshet.HintOf(err))
			return
		case errors.Is(err, shards.ErrUnseated):
			s.stop("another daemon runs as this shard with a copy of this store, or the shard was freed with freshet pool forget")
			s.log.Error("this daemon makes no more polls: another one speaks for its shard, or it was freed with freshet pool forget", "shard", s.shard,
				"hint", "stop one of the two; each shard needs a store of its own. If nobody else has the shard, restart this daemon")
			return
		case err == nil && problem != "":
			s.log.Info("the pool can be reached again", "pool", s.pool.Name())
			problem = ""
		case err != nil:
			// Errors of one kind differ, such as by the port of a connection that broke.
			if kind := cmp.Or(freshet.HintOf(err), err.Error()); kind != problem {
				problem = kind
				s.complain(err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.every()):
		}
	}
}

// complain says what is wrong with the pool.
func (s *seat) complain(err error) {
	hint := freshet.HintOf(err)
	if s.run != 0 {
		s.log.Warn("this shard cannot reach the pool; it keeps its part of the budget", "shard", s.shard, "part", s.part, "err", err, "hint", hint)
		return
	}
	s.stop(err.Error())
	s.log.Error("this shard makes no polls: it has no part of the budget yet", "shard", s.shard, "err", err, "hint", hint)
}

// stop makes no polls any more.
func (s *seat) stop(why string) {
	s.mu.Lock()
	s.why = why
	s.mu.Unlock()
	s.node.limits.share(s.node.Daemon, sched.Budget{}, s.node.limits.wants())
}

// every returns how often the daemon speaks.
func (s *seat) every() time.Duration { return speaksEvery(s.node.limits.wants()) }

// speaksEvery returns how often a daemon speaks that shares a budget.
func speaksEvery(b sched.Budget) time.Duration {
	return min(max(b.Per/10, 500*time.Millisecond), 5*time.Second)
}

// speak tells the others how this daemon fares, and goes by what they say. If it is to make
// fewer polls it says so as soon as it does.
func (s *seat) speak(ctx context.Context) error {
	if s.kept.Store == "" {
		if err := s.remember(ctx); err != nil {
			return err
		}
	}
	for {
		price, err := s.node.Daemon.Margin(ctx)
		if err != nil {
			return err
		}
		before := s.part
		a, err := s.tell(ctx, s.report(price))
		if err != nil {
			return err
		}
		if err := s.goBy(ctx, a); err != nil {
			return err
		}
		if s.part.Per == before.Per && s.part.Polls >= before.Polls || before.Polls == 0 {
			return nil
		}
	}
}

// report says how this daemon fares.
func (s *seat) report(price float64) shards.Report {
	now, sources := time.Now(), int(s.node.Daemon.Status().Sources) // which asks whether there is trouble
	s.mu.Lock()
	defer s.mu.Unlock()
	r := shards.Report{
		Store: s.kept.Store, Address: s.address, Sources: sources, Wants: s.node.limits.wants(), Longest: s.longest,
		Run: s.kept.Run, Uses: s.kept.Uses, Known: s.kept.Version, Price: price,
	}
	if s.waiting != 0 && now.After(s.until) {
		r.Waited = s.waiting
	}
	if !s.spoke.IsZero() {
		r.Spoke = now.Sub(s.spoke)
		took := time.Duration(0) // a request counts from its beginning until a stretch after its end
		if s.made > 0 {
			took = time.Duration(float64(s.took) / s.made)
		}
		r.Made = s.made
		r.Given = s.part.Polls * r.Spoke.Seconds() / (s.part.Per + took).Seconds()
	}
	return r
}

// An otherNumber says that a daemon was started for another number of shards than there are.
type otherNumber struct {
	shards int
	this   shards.Shard
}

func (e *otherNumber) Error() string {
	return fmt.Sprintf("the pool has %d shards, and this is shard %s", e.shards, e.this)
}

func isOtherNumber(err error) bool {
	_, is := errors.AsType[*otherNumber](err)
	return is
}

// tell tells the table, and returns what it says.
func (s *seat) tell(ctx context.Context, r shards.Report) (a shards.Allowance, err error) {
	run, addresses := s.run, make([]string, s.shard.Of)
	err = s.pool.Change(ctx, func(t *shards.Table, now time.Time) (_ *shards.Table, err error) {
		if t == nil {
			if t, err = shards.NewTable(r.Wants, s.shard.Of, now); err != nil {
				return nil, err
			}
		}
		if len(t.Seats) != s.shard.Of {
			return nil, freshet.WithHint(&otherNumber{len(t.Seats), s.shard},
				fmt.Sprintf("start it as one of %d; for more shards stop all of them and run: freshet pool grow NUMBER", len(t.Seats)))
		}
		if s.run == 0 {
			run, a, err = t.Sit(s.shard.Number, r, now)
		} else {
			a, err = t.Tell(s.shard.Number, s.run, r, now)
		}
		if errors.Is(err, shards.ErrTaken) {
			err = freshet.WithHint(fmt.Errorf("%w: %s", err, t.Seats[s.shard.Number-1].Address), fmt.Sprintf("start this daemon as another shard; or, if that one is gone for good: freshet pool forget %d", s.shard.Number))
		}
		for i, other := range t.Seats {
			addresses[i] = other.Address
		}
		return t, err
	})
	if err != nil {
		return a, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.run, s.addresses, s.spoke = run, addresses, time.Now()
	s.made, s.took = max(0, s.made-r.Made), 0
	return a, nil
}

// goBy goes by what the table says. What a later start has to know is in the store before more
// polls are made by it.
func (s *seat) goBy(ctx context.Context, a shards.Allowance) error {
	if a.Wait == 0 {
		s.waiting = 0
	} else if s.waiting != a.Version {
		s.waiting, s.until = a.Version, time.Now().Add(a.Wait)
	}
	kept := seatKept{Store: s.kept.Store, Run: s.run, Version: a.Version, Uses: a.Part}
	if kept != s.kept {
		if err := s.keep(ctx, kept); err != nil {
			return err
		}
	}
	if s.part == a.Part && (s.trouble() == "" || a.Part.Polls == 0) {
		return nil
	}
	s.log.Info("this shard has a part of the budget", "shard", s.shard, "part", a.Part, "of", a.Whole)
	s.part = a.Part
	s.mu.Lock()
	if s.why = ""; a.Part.Polls == 0 {
		s.why = "this shard is new: it waits until the others have given up its part of the budget"
	}
	s.mu.Unlock()
	s.node.limits.share(s.node.Daemon, a.Part, a.Whole)
	return nil
}

// remember reads what the store has of the pool, and gives it a name if it has none.
func (s *seat) remember(ctx context.Context) error {
	b, err := s.node.Store.Belief(ctx, poolBelief, "")
	if err == nil {
		return json.Unmarshal(b.Memory, &s.kept)
	}
	if !errors.Is(err, freshet.ErrNotFound) {
		return err
	}
	return s.keep(ctx, seatKept{Store: rand.Text()})
}

// keep has the store keep what a later start has to know.
func (s *seat) keep(ctx context.Context, k seatKept) error {
	memory, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if err := s.node.Store.SaveBeliefs(ctx, []freshet.Belief{{Estimator: poolBelief, Memory: memory}}); err != nil {
		return err
	}
	s.kept = k
	return nil
}
