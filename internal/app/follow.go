package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/clock"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/queries"
	"freshet/internal/sched/policy"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
)

// A policySetup is a policy and what learns with it.
type policySetup struct {
	policy  freshet.Policy
	learner *learn.Learner
	tick    time.Duration
}

// newPolicySetup makes those that the settings say, for the sources of a store.
func newPolicySetup(ctx context.Context, store freshet.Store, cfg Config) (w policySetup, err error) {
	counts, err := store.CountSources(ctx)
	if err != nil {
		return w, err
	}
	at := policy.InDaemon(cfg.Policy, cmp.Or(cfg.Budget, cfg.Limits.Budget), max(counts.All.Total, cfg.Sources.Len(), cfg.Expect))
	w.tick = at.Tick
	w.policy, w.learner, err = policy.Wire(cfg.Policy, at)
	return w, err
}

// A following is what a node that stands by knows of the leader, to go on at once in its
// place.
type following struct {
	warm  *daemon.Warm
	peers *postgres.Peers
	given config.Settings  // without what was set over the API
	now   func() time.Time // nil means by the clock
	clock *databaseClock
	log   *slog.Logger

	end   func() // ends its goroutine
	ended bool

	// These belong to that goroutine until it has ended.
	store  *postgres.Store
	at     *store.EditPlace // edits up to here are known; nil if none are
	set    string           // what was set over the API
	policy string           // by which it is decided
}

// follow begins to follow the leader, unless that is not wanted or not possible.
func (b *standby) follow(ctx context.Context, given config.Settings) {
	if b.node == nil || given.Cluster.Standby == config.ColdStandby {
		return
	}
	f := &following{peers: b.member.peers, given: given, now: b.now, clock: b.clock, log: b.log, store: b.node.reads}
	f.warm = daemon.NewWarm(daemon.WarmConfig{Open: f.open, Edited: f.edited, Log: b.log})
	running, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { f.warm.Run(running) })
	f.end = func() { cancel(); work.Wait(); f.ended = true }
	b.member.mu.Lock()
	defer b.member.mu.Unlock()
	b.following = f
}

// stopFollowing ends the following. What it knows stays.
func (b *standby) stopFollowing() {
	if b.following != nil && !b.following.ended {
		b.following.end()
	}
}

// followAgain begins to follow again if that has ended and another node leads after all, or if the
// settings are others.
func (b *standby) followAgain(ctx context.Context, given config.Settings, other bool) {
	if f := b.following; f == nil && other || f != nil && (other || f.ended) {
		b.stopFollowing()
		b.follow(ctx, given)
	}
}

// open returns a daemon as this node would run it.
func (f *following) open(ctx context.Context) (*daemon.Daemon, error) {
	settings, err := savedSettings{f.peers}.addTo(ctx, f.given)
	if err != nil {
		return nil, err
	}
	wired, err := newPolicySetup(ctx, f.store, Config{Settings: settings})
	if err != nil {
		return nil, err
	}
	f.policy = settings.Policy
	now, observed := f.now, (*daemon.ObservedClock)(nil)
	if now == nil {
		if err := f.clock.look(ctx, false); err != nil {
			return nil, err
		}
		now, observed = f.clock.now, &f.clock.observed
	}
	return daemon.New(daemon.Config{
		Store: f.store, Queries: queries.NewStore(f.store.DB()), Policy: wired.policy, Learner: wired.learner, Start: daemon.StartConfig{Retell: retell(settings.Policy)},
		Limits: settings.Limits, Levels: settings.Wanted(), Strategies: settings.Strategies,
		Now: now, Uptime: clock.Uptime, Observed: observed, Log: f.log,
	}), nil
}

// edited returns which sources were edited since it was last called. If settings were set meanwhile,
// all is to be started again.
func (f *following) edited(ctx context.Context) ([]freshet.SourceID, bool, error) {
	set, err := f.peers.Fact(ctx, settingsFact)
	if err != nil {
		return nil, false, err
	}
	found, err := f.store.Edited(ctx, f.at)
	if err == nil {
		err = f.store.Follow(ctx) // the store goes on from there, too
	}
	if err != nil {
		return nil, false, err
	}
	whole := f.at != nil && found.Whole && set == f.set
	f.at, f.set = &found.Upto, set
	return found.IDs, whole, nil
}

// take brings what was followed up to date with the store that this node writes from now on. With
// an error it is of no use.
func (f *following) take(ctx context.Context, store *postgres.Store, cfg Config) (policySetup, error) {
	f.store = store
	made, err := f.warm.Take(ctx, store)
	if err == nil && (f.policy != cfg.Policy || made.Limits.Budget != cmp.Or(cfg.Budget, cfg.Limits.Budget)) {
		err = errors.New("the settings are others")
	}
	if err != nil {
		return policySetup{}, err
	}
	return policySetup{made.Policy, made.Learner, made.Learner.Tick()}, nil
}

// newPolicy makes the policy of a node, or goes on with one that has followed what another node decided.
func (n *Node) newPolicy(ctx context.Context, cfg Config) (policySetup, *daemon.Warm, error) {
	if cfg.after != nil && cfg.after.following != nil {
		f := cfg.after.following
		w, err := f.take(ctx, n.leads, cfg)
		if err == nil {
			return w, f.warm, nil
		}
		n.log.Info("this node starts from what is saved, and not from what it followed", "why", err)
	}
	w, err := newPolicySetup(ctx, n.Store, cfg)
	return w, nil, err
}

// unableStandby is what a node says of itself that could not take over.
const unableStandby = "unable"

// A standbyStatus is what a node that stands by says of itself.
type standbyStatus struct {
	Standby string `json:"standby"`       // as in [client.ClusterNode]
	Why     string `json:"why,omitempty"` // what is wrong with it
	Hint    string `json:"hint,omitempty"`
}

// status returns what a node that stands by says of itself, and up to which outcome it could go on.
func (b *standby) status() (said standbyStatus, upto freshet.Cursor) {
	if b == nil || b.following == nil {
		return standbyStatus{Standby: config.ColdStandby}, 0
	}
	w := b.following.warm.Warmth()
	said = standbyStatus{Standby: "warming", Why: w.Behind}
	if w.Ready {
		said = standbyStatus{Standby: config.WarmStandby}
	}
	return said, w.Upto
}
