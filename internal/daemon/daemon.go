package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/daemon/membudget"
	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/queries"
	"freshet/internal/retry"
	"freshet/internal/sched"
	"freshet/internal/worker"
)

// Config says what a Daemon works with. Store, Fetcher and Policy are needed.
type Config struct {
	Store   freshet.Store
	Queries *queries.Store // whose matches say how much changes matter; nil means that all matter alike
	Fetcher freshet.Fetcher
	Policy  freshet.Policy
	Plans   freshet.Policy // that would be at work if Policy made no polls; nil means Policy
	Limits  sched.Limits
	Levels  []freshet.TagLevel // wanted of all sources with a tag

	Strategies []freshet.TagStrategy // of all sources with a tag that have none of their own

	Memory *membudget.Budget // for polls under way; nil means without bound

	Agent string // the name that a robots.txt may know us by; "" means freshet

	Hands worker.Looker // make the looks; nil means a hand of its own, of Fetcher, Read and Renderer

	Read worker.Reader // turns a response into text; nil means extract.Extract

	Renderer *browser.Renderer // shows pages in browsers; nil means that none can be

	// Learner is what the policy learns with, or what learns beside it from its
	// polls. Nil means that nothing is learnt, and that there are no numbers.
	Learner *learn.Learner

	// Retell is how many of the last outcomes the policy is told of again at the
	// start. A policy that does not learn needs none, nor one that learns with
	// the Learner.
	Retell int

	// Relearn is how many of the last outcomes the Learner goes through at a
	// start where nothing of what it had learnt can be taken up. 0 means
	// 2,000,000.
	Relearn int

	// Warm has followed what another daemon did on the same store, and was brought up to date
	// by its Take: the daemon goes on from there. Policy and Learner are those that it was told of.
	Warm *Warm

	SaveEvery time.Duration // between two times that what was learnt is saved; 0 means 5 minutes

	Keep freshet.Keep  // bounds on all history together
	Logs time.Duration // how long outcomes are kept; 0 means for ever

	// Space returns how many bytes are free where the store is and how large
	// that disk is, and Size how large the store is. Nil means that nobody looks.
	Space func() (free, size int64, err error)
	Size  func() (int64, error)

	// Reserve is how many bytes are kept free: no polls begin when less is. 0
	// means what DefaultReserve says, and less that nothing is kept.
	Reserve int64

	Grace time.Duration // for polls under way when the daemon stops; 0 means 10 seconds

	Now func() time.Time // the wall clock; nil means time.Now

	// Uptime returns how long the machine has been up, and a name for this time
	// that it is, to tell how far the wall clock was set between two runs. Nil
	// means that this cannot be told.
	Uptime func() (boot string, up time.Duration)

	// Right returns for how long from now it is sure that no other process decides; nil means for ever.
	// Polls that are on record wait while it is not.
	Right func() time.Duration

	Unbound bool // poll no source because its MaxGap has passed, or its strategy says so

	Log     *slog.Logger          // nil means silence
	Observe func(freshet.Outcome) // told of every committed outcome; may be nil
}

// A Daemon watches sources: a leader decides what to poll, a hand looks, and the
// record keeps what was found. All its methods but Run may be called at any time
// and from any goroutine.
type Daemon struct {
	cfg          Config
	leader       leader
	hand         worker.Looker
	recorder     recorder
	dates        *dates
	hostBackoffs hostBackoffs
	rules        *ruleBook

	inbox    inbox
	asks     asks
	counts   counts
	editing  gate       // from reading how a source now is to telling the loop
	syncing  sync.Mutex // for a Sync
	teaching gate       // for a Teach
	loading  loading
	queried  chan struct{} // queries were edited
	weights  weights
	bounds   chan struct{} // a bound on history was set, and is to be applied
	flying   sync.WaitGroup

	running      atomic.Bool
	started      chan struct{}
	start        sync.Once
	fatal        chan error
	gauges       gauges
	checkpointed atomic.Pointer[Checkpoint]
	levels       levelWatch
	strategies   tagStrategies
	sites        siteList
	indexHints   indexHints

	purges   purges
	followed milestone // in the log of outcomes, up to which the leader has been told
	overall  overall
	daysMu   sync.Mutex // held for a pass over the log by day

	expected expected
	foreseen chan struct{} // somebody sorts by next polls
	renew    chan struct{} // somebody looked at numbers that are not new
	space    space

	mu     sync.Mutex
	limits sched.Limits
}

// New returns a Daemon. It does nothing until Run.
func New(cfg Config) *Daemon {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Hands == nil {
		cfg.Hands = worker.New(cfg.Fetcher, cfg.Read).Showing(cfg.Renderer)
	}
	cfg.Grace = cmp.Or(cfg.Grace, 10*time.Second)
	cfg.SaveEvery = cmp.Or(cfg.SaveEvery, 5*time.Minute)
	dates := newDates(cfg.Now)
	d := &Daemon{
		cfg: cfg,
		leader: leader{
			unbound: cfg.Unbound,
			store:   cfg.Store, policy: cfg.Policy, learner: cfg.Learner, log: cfg.Log, dates: dates, uptime: cfg.Uptime,
			retell: cfg.Retell, relearn: cmp.Or(cfg.Relearn, 2_000_000),
		},
		hand:     cfg.Hands,
		recorder: recorder{store: cfg.Store, log: cfg.Log},
		dates:    dates,
		inbox:    newInbox(),
		fatal:    make(chan error, 1),
		foreseen: make(chan struct{}, 1),
		renew:    make(chan struct{}, 1),
		started:  make(chan struct{}),
		editing:  newGate(),
		teaching: newGate(),
		counts:   counts{counting: newGate()},
		purges:   purges{ending: newGate()},
		bounds:   make(chan struct{}, 1),
		queried:  make(chan struct{}, 1),
		weights:  weights{store: cfg.Store, queries: cfg.Queries},
		limits:   cfg.Limits,
	}
	d.rules = newRuleBook()
	d.leader.levels, d.leader.rules, d.leader.strategies, d.leader.weights = &d.levels, d.rules, &d.strategies, &d.weights
	d.SetLevels(cfg.Levels)
	d.SetStrategies(cfg.Strategies)
	return d
}

// ErrNotRunning means that there is no daemon at work to ask for a poll.
var ErrNotRunning = errors.New("polling is not running")

// Run watches until ctx is done, then lets the polls under way finish. It
// returns nil when it was asked to stop, and otherwise why it could not go on.
func (d *Daemon) Run(ctx context.Context) error {
	d.inbox.clear()
	d.lookAtSpace()
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
	d.running.Store(true)
	defer d.running.Store(false)
	d.start.Do(func() { close(d.started) })

	beside, end := context.WithCancel(ctx)
	defer end()
	var work sync.WaitGroup
	work.Go(func() { d.follow(beside, place) })
	work.Go(func() { d.pruneLoop(beside) })
	work.Go(func() { d.watchSpace(beside) })
	work.Go(func() { d.watchLevels(beside) })
	work.Go(func() { d.watchWeights(beside) })
	work.Go(func() { d.runCheckpoints(beside) })
	work.Go(func() { d.watchClock(beside) })
	work.Go(func() { d.keepForeseen(beside) })
	work.Go(func() { d.keepOverall(beside) })
	w := newWorld(d, ctx.Done())
	err = sched.Run(hard, d.leader.sched, w)
	close(w.over)
	grace := time.AfterFunc(d.cfg.Grace, func() { abandon(errors.New("the daemon is stopping")) })
	d.flying.Wait()
	grace.Stop()
	end()
	work.Wait()
	d.checkpointAtEnd(context.WithoutCancel(ctx))
	if errors.Is(err, errStopped) {
		return nil
	}
	return err
}

// loadLeader brings the leader up to date. It returns the place in the log up to which
// the leader has been told.
func (d *Daemon) loadLeader(ctx context.Context) (freshet.Cursor, error) {
	d.counts.begin()
	var place freshet.Cursor
	var r *clockRecovery
	var err error
	sent := d.cfg.Store.Attempts
	if d.cfg.Warm != nil {
		place, r, err = d.takeOver(ctx, d.cfg.Warm)
		sent = d.cfg.Store.Unlogged // the others it was told of
	} else {
		place, r, err = d.leader.start(ctx, d.inForce(), d.notice)
	}
	if err == nil {
		err = d.leader.resume(ctx, r, d.inForce(), sent)
	}
	if err != nil {
		return place, err
	}
	return place, d.counts.end(ctx, d.cfg.Store, d.leader.sched.Len(), func(id freshet.SourceID) bool {
		_, ok := d.leader.sched.Slot(id)
		return ok
	})
}

// notice takes note of how a source now is.
func (d *Daemon) notice(s freshet.Source) {
	d.levels.notice(s)
	d.indexHints.notice(s)
	if s.Of == "" {
		d.sites.notice(s)
	}
}

// follow tells the leader of outcomes as they come.
func (d *Daemon) follow(ctx context.Context, place freshet.Cursor) {
	f := follower{log: d.cfg.Store, place: place}
	d.followed.reach(place)
	err := retry.Run(ctx, func() error { return f.run(ctx, d.tell, d.followed.reach) }, func(err error) {
		d.cfg.Log.Error("the results of polls cannot be read; polling waits until they can", "err", err, "hint", freshet.HintOf(err))
	})
	if err != nil && ctx.Err() == nil {
		d.fail(fmt.Errorf("follow the log of outcomes: %w", err))
	}
}

// Started is closed when Run has loaded the sources and begins to poll.
func (d *Daemon) Started() <-chan struct{} { return d.started }

// watchClock notices when the wall clock is set.
func (d *Daemon) watchClock(ctx context.Context) {
	before := d.dates.Ahead()
	if before != 0 {
		d.inbox.post(sched.ClockSet(d.dates.Ahead))
	}
	var kept time.Duration
	var looked time.Time // steady, when kept was last true; zero if it was not looked at yet
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(clockLook):
		}
		ahead := d.dates.Ahead()
		if ahead != before {
			how := "ahead"
			if ahead < before {
				how = "back"
			}
			d.inbox.post(sched.ClockSet(d.dates.Ahead))
			d.retellChances(ctx)
			d.leader.noteClock("set "+how, "by", freshet.FormatDuration((ahead - before).Abs().Round(time.Second)))
			before = ahead
		}
		now := d.dates.Now()
		if ahead == kept && !looked.IsZero() {
			looked = now
			continue
		}
		var since time.Duration
		if !looked.IsZero() {
			since = now.Sub(looked)
		}
		switch err := d.leader.markClock(ctx, d.Limits(), since); {
		case err == nil:
			kept, looked = ahead, now
		case ctx.Err() == nil: // a store that cannot be written now is tried again
			d.cfg.Log.Error("cannot save how the clock is set", "err", err)
		}
	}
}

// clockLook is how often the wall clock is looked at.
const clockLook = 5 * time.Second

// pruneSoon is how long after a bound on history was set it is applied. Those that
// are set within that time are applied together.
const pruneSoon = 5 * time.Second

// boundSet notes that somebody set a bound on the history of a source.
func (d *Daemon) boundSet(keep freshet.Keep) {
	if keep == (freshet.Keep{}) {
		return
	}
	select {
	case d.bounds <- struct{}{}:
	default: // it is noted already
	}
}

// pruneLoop prunes every hour, and soon after a bound on history was set.
func (d *Daemon) pruneLoop(ctx context.Context) {
	for wait := time.Minute; ; wait = time.Hour {
		set := false
		select {
		case <-ctx.Done():
			return
		case <-d.bounds:
			set = true
		case <-time.After(wait):
		}
		if set {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pruneSoon):
			}
		}
		if err := d.Prune(ctx); err != nil && ctx.Err() == nil {
			d.cfg.Log.Error("prune", "err", err)
		}
		if err := d.forgetIndexHints(ctx); err != nil && ctx.Err() == nil {
			d.cfg.Log.Error("cannot count the watched pages anew", "err", err)
		}
	}
}

// Prune deletes the history that no bound keeps.
func (d *Daemon) Prune(ctx context.Context) error {
	date, err := d.leader.witness(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	keep := d.cfg.Keep
	d.mu.Unlock()
	gone, err := d.cfg.Store.Prune(ctx, date, keep, d.keepLogs())
	if err == nil && gone != (freshet.Pruned{}) {
		d.cfg.Log.Info("pruned", "versions", gone.Versions, "outcomes", gone.Outcomes, "bytes", gone.Bytes)
	}
	return err
}

// keepLogs returns for how long the log is kept: at least as long as the budget
// counts what it holds.
func (d *Daemon) keepLogs() time.Duration {
	d.mu.Lock()
	logs := d.cfg.Logs
	d.mu.Unlock()
	return keptLogs(logs, d.Limits().Budget)
}

// SetKeep changes the bounds on history, and for how long outcomes are kept. They are
// applied soon.
func (d *Daemon) SetKeep(keep freshet.Keep, logs time.Duration) {
	d.mu.Lock()
	changed := d.cfg.Keep != keep || d.cfg.Logs != logs
	d.cfg.Keep, d.cfg.Logs = keep, logs
	d.mu.Unlock()
	if changed {
		d.boundSet(keep)
	}
}

// Limits returns the limits in force.
func (d *Daemon) Limits() sched.Limits {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.limits
}

// SetLimits changes the limits while polls go on.
func (d *Daemon) SetLimits(l sched.Limits) {
	d.mu.Lock()
	d.limits = l
	d.mu.Unlock()
	l = d.inForce()
	d.inbox.post(sched.LimitsSet{Limits: l})
}

// Poll asks for a poll of a source as soon as the budget and its host allow,
// and returns how it ended.
func (d *Daemon) Poll(ctx context.Context, id freshet.SourceID) (freshet.Outcome, error) {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return freshet.Outcome{}, err
	}
	if !d.running.Load() {
		return freshet.Outcome{}, ErrNotRunning
	}
	answer := d.asks.wait(id)
	defer d.asks.leave(id, answer)
	d.inbox.post(sched.PollRequested{Source: id})
	select {
	case o := <-answer:
		return o, nil
	case <-ctx.Done():
		return freshet.Outcome{}, context.Cause(ctx)
	}
}

// Ask asks for a poll of a source and does not wait for it.
func (d *Daemon) Ask(ctx context.Context, id freshet.SourceID) error {
	if _, err := d.cfg.Store.Source(ctx, id); err != nil {
		return err
	}
	if !d.running.Load() {
		return ErrNotRunning
	}
	d.inbox.post(sched.PollRequested{Source: id})
	return nil
}
