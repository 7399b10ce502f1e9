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

// Keys of facts that nodes share: see [postgres.Peers].
const (
	settingsFact = "settings"   // settings changed over the API, as JSON
	keyFact      = "secret.key" // fingerprint of the key that encrypts secrets
)

// A nodeRole is the current role of a node.
type nodeRole struct {
	role string
	node *Node      // nil if it cannot read the store
	gate *auth.Gate // likewise

	standby *standby // nil for a leader
}

// A membership is the part of a node that does not depend on its role: it sends heartbeats, and
// compares the node's secret key and settings with those of the leader.
type membership struct {
	peers    *postgres.Peers
	lease    time.Duration // after which another node takes over
	vault    *secrets.Vault
	settings func() *config.Settings // current settings
	log      *slog.Logger

	keyless      atomic.Pointer[keyProblem] // why this node cannot lead; nil if it can
	setupProblem string                     // difference from the leader that was last logged
	cached       cachedSetup

	mu   sync.RWMutex // read-locked while the role is used
	role nodeRole
}

// setRole changes the role. It returns when the node of the old role is no longer in use.
func (m *membership) setRole(p nodeRole) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.role = p
}

// heartbeat sends heartbeats until ctx is done.
func (m *membership) heartbeat(ctx context.Context, me postgres.Node) {
	every := m.lease / 4
	failing := false
	for {
		err := m.sendHeartbeat(ctx, me)
		if err != nil && ctx.Err() == nil && !failing {
			m.log.Warn("sending heartbeats failed", "err", err, "hint", freshet.HintOf(err))
		}
		failing = err != nil
		select {
		case <-time.After(every):
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			_ = m.peers.Leave(last, me.Name) // the entry expires
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
		status, upto := p.standby.status()
		problem, err := m.inspectKey(ctx)
		if problem != nil {
			status.Standby = unableStandby
		} else if err == nil {
			problem, err = m.compareSetup(ctx, p.standby)
		}
		if err != nil {
			return err
		}
		if problem != nil {
			status.Why, status.Hint = problem.Error(), freshet.HintOf(problem)
		}
		text, err := json.Marshal(status)
		if err != nil {
			return err
		}
		me.Told, me.Upto = string(text), cmp.Or(upto, end)
	}
	if p.role == postgres.Leader {
		text, err := json.Marshal(p.node.report())
		if err != nil {
			return err
		}
		me.Told = string(text)
		if err := errors.Join(m.publishKey(ctx, p.node), m.publishSetup(ctx, p.node)); err != nil {
			return err
		}
	} else if err := p.gate.Recheck(ctx); err != nil {
		return err
	}
	return m.peers.Beat(ctx, me)
}

// keyHint is the remedy for a node that cannot decrypt the secrets of other nodes.
const keyHint = "copy secret.key from the data directory of another node to that of this one, or give all the same directory with --secrets DIR"

// errOtherKey reports that this node cannot decrypt the secrets of other nodes.
var errOtherKey = freshet.WithHint(errors.New("this node lacks the secret.key of the other nodes: it answers and forwards requests, but does not take over or deliver to sinks that were added over the API"),
	keyHint)

// checkKey compares the key of this node with the fingerprint in the store.
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

// A keyProblem is a reason why a node cannot decrypt secrets.
type keyProblem struct{ error }

// Unwrap implements the interface of [errors.Unwrap].
func (e keyProblem) Unwrap() error { return e.error }

// inspectKey returns the key problem of a standby, or nil. It logs the problem once, so that the
// operator learns of it before the next election.
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
		m.log.Warn("this node cannot decrypt the secrets of the other nodes", "err", p.error, "hint", freshet.HintOf(p))
	}
	return p, nil
}

// canLead returns an error if this node could not lead.
func (m *membership) canLead() error {
	if p := m.keyless.Load(); p != nil {
		return *p
	}
	return nil
}

// makeKey creates the key when the first node of an empty store begins to lead, so that nodes
// without it are noticed before the first secret is stored. A failure does not prevent leading.
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
			m.log.Warn("creating secret.key failed; no node can store secrets", "err", err)
			return nil
		}
	}
	return m.publishKey(ctx, n)
}

// publishKey stores the fingerprint of the key, if there is a key.
func (m *membership) publishKey(ctx context.Context, n *Node) error {
	have, err := m.vault.Fingerprint()
	if err != nil || have == "" {
		return err
	}
	known, err := m.peers.Fact(ctx, keyFact)
	if err != nil || known != "" {
		return err
	}
	return n.leaderStore.SetFact(ctx, keyFact, have)
}

// setupFact is the key of the leader's sharedSetup.
const setupFact = "alike"

// A sharedSetup has fingerprints of the settings that all nodes must have in common. A node that
// differs would, once it leads, poll other sources, notify other sinks or reject workers.
type sharedSetup struct {
	Sources string `json:"sources"`
	Sinks   string `json:"sinks"`
	Token   string `json:"token"` // of workers
}

// ownSetup returns the setup of this node. It hashes sources and sinks once for each reload. An
// unreadable token is reported elsewhere.
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

// A cachedSetup is the shared setup of settings without the token, whose file can change.
type cachedSetup struct {
	of *config.Settings
	is sharedSetup
}

// publishSetup stores the setup of the leader.
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
	return n.leaderStore.SetFact(ctx, setupFact, string(text))
}

// compareSetup returns how a standby differs from the leader, or nil. It logs a difference once.
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
	if json.Unmarshal([]byte(known), &leads) != nil { // unset, or from another version
		leads = own
	}
	var differs []string
	if l := b.forwarder.leader.Load(); l != nil && l.Length != 0 && l.Length != m.lease {
		differs = append(differs, fmt.Sprintf("its lease is %s instead of %s", units.FormatDuration(m.lease), units.FormatDuration(l.Length)))
	}
	for _, d := range []struct{ what, own, leader string }{
		{"its worker token differs", own.Token, leads.Token},
		{"the sources in its configuration file differ", own.Sources, leads.Sources},
		{"the sinks in its configuration file differ", own.Sinks, leads.Sinks},
	} {
		if d.own != d.leader {
			differs = append(differs, d.what)
		}
	}
	if len(differs) == 0 {
		m.setupProblem = ""
		return nil, nil
	}
	problem = freshet.WithHint(errors.New("this node differs from the leader and would lead with its own settings: "+strings.Join(differs, "; ")),
		"give all nodes the same --lease, --hand-token-file and configuration file")
	if m.setupProblem != problem.Error() {
		m.setupProblem = problem.Error()
		m.log.Warn("the settings of this node differ from those of the leader", "err", problem, "hint", freshet.HintOf(problem))
	}
	return problem, nil
}
