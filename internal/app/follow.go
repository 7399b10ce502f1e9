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
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store"
	"freshet/internal/store/postgres"
)

// A policySetup is a policy with its learner.
type policySetup struct {
	policy  freshet.Policy
	learner *learn.Learner
	tick    time.Duration
}

// setting returns the setting of the policy for so many sources under a budget.
func (c *Config) setting(sources int, budget sched.Budget) policy.Setting {
	return policy.InDaemon(c.Policy, cmp.Or(c.Budget, budget), max(sources, c.Expect))
}

// newPolicySetup returns the policy of the settings, sized for the sources of a store.
func newPolicySetup(ctx context.Context, store freshet.Store, cfg Config) (w policySetup, err error) {
	counts, err := store.CountSources(ctx)
	if err != nil {
		return w, err
	}
	at := cfg.setting(max(counts.All.Total, cfg.Sources.Len()), cfg.Limits.Budget)
	w.tick = at.Tick
	w.policy, w.learner, err = policy.Wire(cfg.Policy, at)
	return w, err
}

// A follower follows the leader's log on a standby, so that the standby can take over at once.
type follower struct {
	warm  *daemon.Warm
	peers *postgres.Peers
	given config.Settings  // without settings changed over the API
	now   func() time.Time // nil means by clock
	clock *databaseClock
	log   *slog.Logger

	stop    func() // ends its goroutine
	stopped bool

	// The goroutine owns these until it has ended.
	store     *postgres.Store
	editsRead *store.EditPlace // edits up to here are known; nil if none are
	savedText string           // settings changed over the API, as JSON
	policy    string           // name of the policy
}

// follow starts a follower unless the settings or the store exclude it.
func (b *standby) follow(ctx context.Context, given config.Settings) {
	if b.node == nil || given.Cluster.Standby == config.ColdStandby {
		return
	}
	f := &follower{peers: b.member.peers, given: given, now: b.now, clock: b.clock, log: b.log, store: b.node.standbyStore}
	f.warm = daemon.NewWarm(daemon.WarmConfig{Open: f.open, Edited: f.edited, Log: b.log})
	running, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { f.warm.Run(running) })
	f.stop = func() { cancel(); work.Wait(); f.stopped = true }
	b.member.mu.Lock()
	defer b.member.mu.Unlock()
	b.follower = f
}

// stopFollowing stops the follower, which keeps its state for handOver.
func (b *standby) stopFollowing() {
	if b.follower != nil && !b.follower.stopped {
		b.follower.stop()
	}
}

// followAgain restarts the follower if it has stopped although this node did not take over, or if
// the settings have changed.
func (b *standby) followAgain(ctx context.Context, given config.Settings, other bool) {
	if f := b.follower; f == nil && other || f != nil && (other || f.stopped) {
		b.stopFollowing()
		b.follow(ctx, given)
	}
}

// open returns a daemon with the settings of this node.
func (f *follower) open(ctx context.Context) (*daemon.Daemon, error) {
	settings, err := savedSettings{f.peers}.addTo(ctx, f.given)
	if err != nil {
		return nil, err
	}
	setup, err := newPolicySetup(ctx, f.store, Config{Settings: settings})
	if err != nil {
		return nil, err
	}
	f.policy = settings.Policy
	now, observed := f.now, (*daemon.ObservedClock)(nil)
	if now == nil {
		if err := f.clock.read(ctx, false); err != nil {
			return nil, err
		}
		now, observed = f.clock.now, &f.clock.observed
	}
	return daemon.New(daemon.Config{
		Store: f.store, Queries: queries.NewStore(f.store.DB()), Policy: setup.policy, Learner: setup.learner, Start: daemon.StartConfig{Replay: replayLength(settings.Policy)},
		Limits: settings.Limits, Levels: settings.Wanted(), Strategies: settings.Strategies,
		Now: now, Uptime: clock.Uptime, Observed: observed, Log: f.log,
	}), nil
}

// edited returns the sources that were edited since its last call, and whether that is enough. If
// settings were changed, the follower has to restart.
func (f *follower) edited(ctx context.Context) ([]freshet.SourceID, bool, error) {
	set, err := f.peers.Fact(ctx, settingsFact)
	if err != nil {
		return nil, false, err
	}
	found, err := f.store.Edited(ctx, f.editsRead)
	if err == nil {
		err = f.store.Follow(ctx) // advances the store, too
	}
	if err != nil {
		return nil, false, err
	}
	whole := f.editsRead != nil && found.Whole && set == f.savedText
	f.editsRead, f.savedText = &found.Upto, set
	return found.IDs, whole, nil
}

// handOver brings the follower's state up to date with the store that this node now leads. If it
// returns an error, the state cannot be used.
func (f *follower) handOver(ctx context.Context, store *postgres.Store, cfg Config) (policySetup, error) {
	f.store = store
	made, err := f.warm.Take(ctx, store)
	if err == nil && (f.policy != cfg.Policy || made.Limits.Budget != cmp.Or(cfg.Budget, cfg.Limits.Budget)) {
		err = errors.New("the settings have changed")
	}
	if err != nil {
		return policySetup{}, err
	}
	return policySetup{made.Policy, made.Learner, made.Learner.Tick()}, nil
}

// newPolicy returns the policy of a node: that of its follower, or else a new one.
func (n *Node) newPolicy(ctx context.Context, cfg Config) (policySetup, *daemon.Warm, error) {
	if cfg.previous != nil && cfg.previous.follower != nil {
		f := cfg.previous.follower
		w, err := f.handOver(ctx, n.leaderStore, cfg)
		if err == nil {
			return w, f.warm, nil
		}
		n.log.Info("this node starts from the checkpoint, not from its warm state", "why", err)
	}
	w, err := newPolicySetup(ctx, n.Store, cfg)
	return w, nil, err
}

// unableStandby is the status of a standby that cannot take over.
const unableStandby = "unable"

// A standbyStatus is what a standby publishes about itself.
type standbyStatus struct {
	Standby string `json:"standby"`       // as in [client.ClusterNode]
	Why     string `json:"why,omitempty"` // why it is not warm or differs from the leader
	Hint    string `json:"hint,omitempty"`
}

// status returns the status of a standby and the last outcome that its follower knows.
func (b *standby) status() (status standbyStatus, upto freshet.Cursor) {
	if b == nil || b.follower == nil {
		return standbyStatus{Standby: config.ColdStandby}, 0
	}
	w := b.follower.warm.Warmth()
	status = standbyStatus{Standby: "warming", Why: w.Behind}
	if w.Ready {
		status = standbyStatus{Standby: config.WarmStandby}
	}
	return status, w.Upto
}
