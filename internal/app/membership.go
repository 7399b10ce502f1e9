package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/auth"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
	"freshet/internal/units"
)

// What nodes know together: see [postgres.Peers].
const (
	settingsFact = "settings"   // that were set over the API, as JSON
	keyFact      = "secret.key" // by what to recognise the key of the secrets
)

// A rolePlayed is what a node does among the nodes on one database.
type rolePlayed struct {
	role string
	node *Node      // nil if it can read nothing
	gate *auth.Gate // likewise

	standby *standby // nil if it does not stand by
}

// A membership is what a node does as one of several on a database, whichever of them leads:
// it sends heartbeats, and compares its secret key and settings with those of the leader.
type membership struct {
	peers    *postgres.Peers
	lease    time.Duration // after which another node takes over
	vault    *secrets.Vault
	settings func() *config.Settings // in force
	log      *slog.Logger

	keyless      atomic.Pointer[keyProblem] // why this node cannot lead; nil if it can
	setupProblem string                     // last logged of how this node differs from the leader
	cached       cachedSetup

	mu   sync.RWMutex // held to use or to change the role
	role rolePlayed
}

// setRole changes the role. The node of the role before is not used after that.
func (m *membership) setRole(p rolePlayed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.role = p
}

// heartbeat sends heartbeats until ctx is done, and notices what changes elsewhere.
func (m *membership) heartbeat(ctx context.Context, me postgres.Node) {
	every := m.lease / 4
	failing := false
	for {
		err := m.sendHeartbeat(ctx, me)
		if err != nil && ctx.Err() == nil && !failing {
			m.log.Warn("this node cannot send heartbeats to the others", "err", err, "hint", freshet.HintOf(err))
		}
		failing = err != nil
		select {
		case <-time.After(every):
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			_ = m.peers.Leave(last, me.Name) // it is forgotten by itself
			cancel()
			return
		}
	}
}

// sendHeartbeat sends one heartbeat.
func (m *membership) sendHeartbeat(ctx context.Context, me postgres.Node) error {
	ctx, cancel := context.WithTimeout(ctx, max(time.Second, m.lease))
	defer cancel()
	m.mu.RLock()
	defer m.mu.RUnlock()
	me.Role, me.Told = postgres.Standby, "{}"
	p := m.role
	if p.node == nil {
		return m.peers.Beat(ctx, me)
	}
	me.Role = p.role
	end, err := p.node.Store.LastOutcome(ctx)
	if err != nil {
		return err
	}
	me.Upto = end
	if p.role == postgres.Standby {
		said, upto := p.standby.status()
		problem, err := m.inspectKey(ctx)
		if problem != nil {
			said.Standby = unableStandby
		} else if err == nil {
			problem, err = m.compareSetup(ctx, p.standby)
		}
		if err != nil {
			return err
		}
		if problem != nil {
			said.Why, said.Hint = problem.Error(), freshet.HintOf(problem)
		}
		told, err := json.Marshal(said)
		if err != nil {
			return err
		}
		me.Told, me.Upto = string(told), cmp.Or(upto, end)
	}
	if p.role == postgres.Leader {
		told, err := json.Marshal(p.node.report())
		if err != nil {
			return err
		}
		me.Told = string(told)
		if err := errors.Join(m.publishKey(ctx, p.node), m.publishSetup(ctx, p.node)); err != nil {
			return err
		}
	} else if err := p.gate.Recheck(ctx); err != nil {
		return err
	}
	return m.peers.Beat(ctx, me)
}

// keyHint is what to do about a node that cannot decrypt what others have encrypted.
const keyHint = "copy secret.key from the data directory of another node to that of this one, or give all the same directory with --secrets DIR"

// errOtherKey means that this node could not read what others have encrypted.
var errOtherKey = freshet.WithHint(errors.New("it has not the secret.key of the other nodes: it answers and forwards requests, does not take over, and sends to no sink that was added over the API"),
	keyHint)

// checkKey compares the key of this node with that of the store.
func (m *membership) checkKey(ctx context.Context) error {
	want, err := m.peers.Fact(ctx, keyFact)
	if err != nil || want == "" {
		return err
	}
	have, err := m.vault.Fingerprint()
	if err == nil && have != want {
		err = errOtherKey
	}
	if err != nil {
		err = keyProblem{err}
	}
	return err
}

// A keyProblem is why a node cannot decrypt what others have encrypted.
type keyProblem struct{ error }

// Unwrap returns the reason.
func (e keyProblem) Unwrap() error { return e.error }

// inspectKey returns what is wrong with the key of a node that stands by; nil if nothing is. It is
// logged once, so that the operator learns of it before the next election.
func (m *membership) inspectKey(ctx context.Context) (problem error, err error) {
	err = m.checkKey(ctx)
	p, is := errors.AsType[keyProblem](err)
	if !is {
		if err == nil {
			m.keyless.Store(nil)
		}
		return nil, err
	}
	if was := m.keyless.Swap(&p); was == nil || was.Error() != p.Error() {
		m.log.Warn("this node cannot decrypt what others have encrypted", "err", p.error, "hint", freshet.HintOf(p))
	}
	return p, nil
}

// canLead returns why this node could not lead.
func (m *membership) canLead() error {
	if p := m.keyless.Load(); p != nil {
		return *p
	}
	return nil
}

// makeKey makes the key of an empty store when its first node leads, so that other nodes lack it from
// the beginning, and not from the first sink on. Without it the node leads all the same.
func (m *membership) makeKey(ctx context.Context, n *Node) error {
	known, err := m.peers.Fact(ctx, keyFact)
	if err != nil || known != "" {
		return err
	}
	counts, err := n.Store.CountSources(ctx)
	if err != nil {
		return err
	}
	if counts.All.Total == 0 {
		if err := m.vault.MakeKey(); err != nil {
			m.log.Warn("secret.key cannot be made; no node can store a secret", "err", err)
			return nil
		}
	}
	return m.publishKey(ctx, n)
}

// publishKey has other nodes recognise the key, once there is one.
func (m *membership) publishKey(ctx context.Context, n *Node) error {
	have, err := m.vault.Fingerprint()
	if err != nil || have == "" {
		return err
	}
	known, err := m.peers.Fact(ctx, keyFact)
	if err != nil || known != "" {
		return err
	}
	return n.leads.SetFact(ctx, keyFact, have)
}

// setupFact is where the leader says what others are to have in common with it.
const setupFact = "alike"

// A sharedSetup is what all nodes on a database are to have in common, by fingerprints. One that differs
// is noticed by nobody until it leads: then it polls other sources, tells other sinks or lets no
// worker in.
type sharedSetup struct {
	Sources string `json:"sources"`
	Sinks   string `json:"sinks"`
	Token   string `json:"token"` // of workers
}

// ownSetup returns the setup of this node. It hashes sources and sinks once for each file that is
// read. A token that cannot be read is reported elsewhere.
func (m *membership) ownSetup() (sharedSetup, error) {
	print := func(what ...any) (string, error) {
		text, err := json.Marshal(what)
		return freshet.HashOf(text).String(), err
	}
	settings := m.settings()
	if m.cached.of != settings {
		sinks, err := print(settings.Webhooks, settings.Sinks)
		if err != nil {
			return sharedSetup{}, err
		}
		m.cached = cachedSetup{of: settings, is: sharedSetup{Sources: settings.Sources.Hash().String(), Sinks: sinks}}
	}
	l, token := m.cached.is, ""
	if settings.Cluster.TokenFile != "" {
		token, _ = ReadToken(settings.Cluster.TokenFile)
	}
	var err error
	l.Token, err = print(token)
	return l, err
}

// A cachedSetup is the shared setup of settings, without what can change while they hold.
type cachedSetup struct {
	of *config.Settings
	is sharedSetup
}

// publishSetup has other nodes see what they are to have in common with this one, which decides.
func (m *membership) publishSetup(ctx context.Context, n *Node) error {
	own, err := m.ownSetup()
	if err != nil {
		return err
	}
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	known, err := m.peers.Fact(ctx, setupFact)
	if err != nil || known == string(text) {
		return err
	}
	return n.leads.SetFact(ctx, setupFact, string(text))
}

// compareSetup returns in what a node that stands by differs from the leader; nil if in
// nothing. It is logged once.
func (m *membership) compareSetup(ctx context.Context, b *standby) (problem error, err error) {
	known, err := m.peers.Fact(ctx, setupFact)
	if err != nil {
		return nil, err
	}
	own, err := m.ownSetup()
	if err != nil {
		return nil, err
	}
	var leads sharedSetup
	if json.Unmarshal([]byte(known), &leads) != nil { // of no version, or another
		leads = own
	}
	var differs []string
	if l := b.forwarder.leader.Load(); l != nil && l.Length != 0 && l.Length != m.lease {
		differs = append(differs, fmt.Sprintf("its lease is %s and not %s", units.FormatDuration(m.lease), units.FormatDuration(l.Length)))
	}
	for _, d := range []struct{ what, own, leader string }{
		{"it has another token of workers", own.Token, leads.Token},
		{"its configuration file has other sources", own.Sources, leads.Sources},
		{"its configuration file has other sinks", own.Sinks, leads.Sinks},
	} {
		if d.own != d.leader {
			differs = append(differs, d.what)
		}
	}
	if len(differs) == 0 {
		m.setupProblem = ""
		return nil, nil
	}
	problem = freshet.WithHint(errors.New("it differs from the leader, and goes by its own when it leads: "+strings.Join(differs, "; ")),
		"give all nodes the same --lease, --hand-token-file and configuration file")
	if m.setupProblem != problem.Error() {
		m.setupProblem = problem.Error()
		m.log.Warn("this node is set up otherwise than the leader", "err", problem, "hint", freshet.HintOf(problem))
	}
	return problem, nil
}
