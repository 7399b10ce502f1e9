package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"freshet/internal/daemon/membudget"
	"freshet/internal/fetch/browser"
	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/queries"
	"freshet/internal/retry"
	"freshet/internal/sched"
	"freshet/internal/worker"
)

// Config says what a Daemon works with. Store, Fetcher and Policy are needed.
type Config struct {
	Store    freshet.Store
	Frontier Frontier       // of sites; nil if there are none
	Queries  *queries.Store // whose matches say how much changes matter; nil means that all matter alike
	Fetcher  freshet.Fetcher
	Worker   WorkerConfig

	Policy freshet.Policy
	Plans  freshet.Policy // that would be at work if Policy made no polls; nil means Policy

	// Learner is what the policy learns with, or what learns beside it from its
	// polls. Nil means that nothing is learnt, and that there are no numbers.
	Learner *learn.Learner

	// Learning returns how the learner is to divide time with so many sources under a
	// budget. When its tick differs from the learner's, the log is learnt from again beside
	// the polls. Nil means that the tick stays as it is.
	Learning func(sources int, budget sched.Budget) learn.Config

	Limits     sched.Limits
	Levels     []freshet.TagLevel    // wanted of all sources with a tag
	Strategies []freshet.TagStrategy // of all sources with a tag that have none of their own
	Unbound    bool                  // poll no source because its MaxGap has passed, or its strategy says so

	Start   StartConfig
	History HistoryConfig
	Disk    DiskConfig

	Grace time.Duration // for polls under way when the daemon stops; 0 means 10 seconds

	Now func() time.Time // the wall clock; nil means time.Now

	// Uptime returns how long the machine has been up, and an ID of this boot, from which the daemon
	// computes how far the wall clock was set between two runs. Nil means that it cannot.
	Uptime func() (boot string, up time.Duration)

	// Observed is what this process observed of the wall clock before it led; may be nil.
	Observed *ObservedClock

	// Lease returns how much longer this process certainly leads; nil means forever. Polls that are
	// recorded wait while that is not certain.
	Lease func() time.Duration

	// Trouble returns why the store cannot write, or ""; it may be nil. A write that waits for
	// longer than WriteWait also means that the store cannot write; 0 means 5 seconds.
	Trouble   func() string
	WriteWait time.Duration

	Log     *slog.Logger                          // nil means silence
	Observe func(freshet.Source, freshet.Outcome) // gets every committed outcome; may be nil
}

// WorkerConfig says how sources are fetched and read.
type WorkerConfig struct {
	Looker   worker.Looker     // nil means a worker of its own, of Fetcher, Read and Renderer
	Read     worker.Reader     // turns a response into text; nil means extract.Extract
	Renderer *browser.Renderer // renders pages in browsers; nil means that none can be
	Memory   *membudget.Budget // for polls under way; nil means without bound
	Agent    string            // the name that a robots.txt may know us by; "" means freshet
}

// StartConfig says how a daemon comes to know again what it had learnt, and keeps it for
// the next start.
type StartConfig struct {
	// Replay is how many of the last outcomes the policy replays at the
	// start. A policy that does not learn needs none, nor one that learns with
	// the Learner.
	Replay int

	// Relearn is how many of the last outcomes the Learner goes through at a
	// start without a checkpoint of it. 0 means 2,000,000.
	Relearn int

	// Warm has followed another daemon on the same store, and was brought up to date
	// by its Take: the daemon goes on from there, with the same Policy and Learner.
	Warm *Warm

	SaveEvery time.Duration // between two checkpoints; 0 means 5 minutes
}

// A Daemon watches sources: a leader decides what to poll, a worker looks, and the
// recorder stores the results. All its methods but Run may be called at any time
// and from any goroutine.
type Daemon struct {
	cfg        Config
	loop       *loop
	leader     leader
	recorder   *recorder
	poller     *poller
	hints      *indexHints
	space      *spaceWatch
	clockWatch *clockWatch
	relearner  *relearner

	started chan struct{}
	start   sync.Once

	// The parts whose exported methods are the daemon's.
	*editor
	*siteList
	*requester
	*visitor
	*limits
	*levelWatch
	*tagStrategies
	*weights
	*imports
	*pruner
	*checkpointer
	*ruleBook
	*numbers
	*dailyStats
	*valueDivergence
	*forecaster
	*explainer
	*nextPolls
}

// New returns a Daemon. It does nothing until Run.
func New(cfg Config) *Daemon {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Plans == nil {
		cfg.Plans = cfg.Policy
	}
	if cfg.Worker.Looker == nil {
		cfg.Worker.Looker = worker.New(cfg.Fetcher, cfg.Worker.Read).Rendering(cfg.Worker.Renderer)
	}
	cfg.Grace = cmp.Or(cfg.Grace, 10*time.Second)
	cfg.WriteWait = cmp.Or(cfg.WriteWait, 5*time.Second)
	store, learner, log := cfg.Store, cfg.Learner, cfg.Log
	loop, editing := newLoop(cfg.Now), newGate()
	d := &Daemon{cfg: cfg, loop: loop, started: make(chan struct{})}
	d.recorder = &recorder{store: store, log: log}
	d.limits = &limits{loop: loop, set: cfg.Limits}
	d.space = &spaceWatch{cfg: cfg.Disk, loop: loop, limits: d.limits, log: log}
	d.hints = &indexHints{loop: loop, editing: editing}
	d.siteList = &siteList{loop: loop, learner: learner}
	d.requester = &requester{store: store, loop: loop}
	d.tagStrategies = &tagStrategies{loop: loop, unbound: cfg.Unbound}
	d.weights = &weights{store: store, queries: cfg.Queries, loop: loop, log: log, edited: make(chan struct{}, 1)}
	d.nextPolls = &nextPolls{loop: loop, log: log, wanted: make(chan struct{}, 1)}
	d.imports = &imports{
		store: store, loop: loop, learner: learner, policy: cfg.Policy, nextPolls: d.nextPolls,
		editing: editing, importing: newGate(), now: cfg.Now, log: log,
	}
	d.explainer = &explainer{
		store: store, loop: loop, learner: learner, policy: cfg.Policy, limits: d.limits, outlooks: d.leader.outlooks, imports: d.imports, weights: d.weights, trouble: d.trouble,
	}
	d.nextPolls.explain = d.explainer.explain
	d.numbers = &numbers{loop: loop, learner: learner, outlooks: d.leader.outlooks, renew: make(chan struct{}, 1)}
	d.dailyStats = &dailyStats{store: store, loop: loop, learner: learner}
	d.valueDivergence = &valueDivergence{store}
	d.levelWatch = &levelWatch{loop: loop, now: cfg.Now, log: log}
	d.forecaster = &forecaster{
		store: store, loop: loop, limits: d.limits, plans: cfg.Plans, outlooks: d.leader.outlooks,
		levels: d.levelWatch, strategies: d.tagStrategies, weights: d.weights,
	}
	d.levelWatch.forecast = d.forecaster
	clock := &clockKeeper{store: store, dates: loop.dates, uptime: cfg.Uptime, observed: cfg.Observed, log: log}
	d.clockWatch = &clockWatch{loop: loop, keeper: clock, limits: d.limits, imports: d.imports, log: log}
	d.pruner = &pruner{store: store, clock: clock, limits: d.limits, hints: d.hints, cfg: cfg.History, bounds: make(chan struct{}, 1), log: log}
	d.editor = &editor{
		store: store, frontier: cfg.Frontier, loop: loop, clock: clock, limits: d.limits, unbound: cfg.Unbound, levels: d.levelWatch, hints: d.hints, sites: d.siteList,
		nextPolls: d.nextPolls, imports: d.imports, pruner: d.pruner, log: log,
		counts: counts{counting: newGate()}, purges: purges{ending: newGate()}, editing: editing,
	}
	d.pruner.counts = &d.editor.counts
	d.ruleBook = &ruleBook{dates: loop.dates, agent: cfg.Worker.Agent, origins: map[string]robots.Standing{}}
	keeper := &robotsKeeper{store: store, dates: loop.dates, rules: d.ruleBook, log: log}
	d.checkpointer = &checkpointer{
		store: store, loop: loop, learner: learner, robots: keeper,
		every: cmp.Or(cfg.Start.SaveEvery, 5*time.Minute), now: cfg.Now, log: log,
	}
	d.poller = &poller{
		store: store, loop: loop, purges: &d.editor.purges, hints: d.hints, sites: d.siteList, waiting: &d.requester.waiting,
		now: cfg.Now, observe: cfg.Observe, log: log,
		gates: requestGates{
			loop: loop, recorder: d.recorder, rules: d.ruleBook, limits: d.limits, worker: cfg.Worker.Looker, memory: cfg.Worker.Memory,
			lease: cfg.Lease, log: log,
		},
	}
	d.visitor = &visitor{poller: d.poller, slots: semaphore.NewWeighted(mostVisits)}
	d.leader = leader{
		store: store, policy: cfg.Policy, learner: learner, retell: cfg.Start.Replay, relearn: cmp.Or(cfg.Start.Relearn, 2_000_000),
		unbound: cfg.Unbound, log: log, dates: loop.dates, clock: clock, levels: d.levelWatch, strategies: d.tagStrategies,
		robots: keeper, weights: d.weights, checkpoints: d.checkpointer,
	}
	d.relearner = &relearner{
		store: store, loop: loop, leader: &d.leader, limits: d.limits, learner: learner, learning: cfg.Learning, keep: d.checkpointer, log: log,
	}
	d.SetLevels(cfg.Levels)
	d.SetStrategies(cfg.Strategies)
	return d
}

// ErrNotRunning means that no daemon runs that could poll.
var ErrNotRunning = errors.New("polling is not running")

// Run watches until ctx is done, then lets the polls under way finish. It
// returns nil when it was asked to stop, and otherwise why it could not go on.
func (d *Daemon) Run(ctx context.Context) error {
	d.loop.clear()
	d.space.look()
	place, err := d.loadLeader(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("load the sources: %w", err)
	}
	// Polls under way outlive ctx by the grace; nothing else does.
	hard, abandon := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abandon(nil)
	d.loop.running.Store(true)
	defer d.loop.running.Store(false)
	d.start.Do(func() { close(d.started) })

	beside, end := context.WithCancel(ctx)
	defer end()
	var work sync.WaitGroup
	work.Go(func() { d.follow(beside, place) })
	for _, part := range []interface{ Run(context.Context) error }{
		d.pruner, d.space, d.levelWatch, d.weights, d.checkpointer, d.relearner, d.clockWatch, d.nextPolls, d.numbers,
	} {
		work.Go(func() {
			if err := part.Run(beside); err != nil {
				d.loop.fail(err)
			}
		})
	}
	w := newWorld(d.loop, d.poller, ctx.Done())
	err = sched.Run(hard, d.leader.sched, w)
	close(w.over)
	grace := time.AfterFunc(d.cfg.Grace, func() { abandon(errors.New("the daemon is stopping")) })
	w.polling.Wait()
	grace.Stop()
	end()
	work.Wait()
	d.saveAtEnd(context.WithoutCancel(ctx), d.leader.sched)
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// loadLeader brings the leader up to date. It returns the place in the log up to which the leader
// has read.
func (d *Daemon) loadLeader(ctx context.Context) (freshet.Cursor, error) {
	counts := &d.editor.counts
	counts.begin()
	var place freshet.Cursor
	var r *clockRecovery
	var err error
	sent := d.cfg.Store.Attempts
	if warm := d.cfg.Start.Warm; warm != nil {
		place, r, err = d.takeOver(ctx, warm)
		sent = d.cfg.Store.Unlogged // it has read the others
	} else {
		place, r, err = d.leader.start(ctx, d.inForce(), d.editor.notice)
	}
	if err == nil {
		err = d.leader.resume(ctx, r, d.inForce(), sent)
	}
	if err != nil {
		return place, err
	}
	return place, counts.end(ctx, d.cfg.Store, d.leader.sched.Len(), func(id freshet.SourceID) bool {
		_, ok := d.leader.sched.Slot(id)
		return ok
	})
}

// follow tells the loop of outcomes as they come.
func (d *Daemon) follow(ctx context.Context, place freshet.Cursor) {
	f := follower{log: d.cfg.Store, place: place}
	d.followed.reach(place)
	err := retry.Run(ctx, func() error { return f.run(ctx, d.tell, d.followed.reach) }, func(err error) {
		d.cfg.Log.Error("the results of polls cannot be read; polling waits until they can", "err", err, "hint", freshet.HintOf(err))
	})
	if err != nil && ctx.Err() == nil {
		d.loop.fail(fmt.Errorf("follow the log of outcomes: %w", err))
	}
}

// tell tells the loop, and the callers that wait for them, of outcomes.
func (d *Daemon) tell(found []freshet.Outcome) {
	events, told := make([]sched.Event, len(found)), make([]freshet.Outcome, len(found))
	for i, o := range found {
		told[i] = d.loop.dates.tell(o)
		events[i] = sched.PollEnded{Outcome: &told[i]}
	}
	d.loop.post(events...)
	for _, o := range found {
		d.waiting.answer(o)
		d.polled(o.Source)
	}
}

// Started is closed when Run has loaded the sources and begins to poll.
func (d *Daemon) Started() <-chan struct{} { return d.started }
