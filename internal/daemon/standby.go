package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
)

// A WarmConfig says what a Warm follows. All but Log is needed.
type WarmConfig struct {
	// Open returns a daemon on a store that another process writes. It is never run: it only reads
	// the logs, to take over from that process.
	Open func(ctx context.Context) (*Daemon, error)

	// Edited returns which sources were edited since it was last called. It is not whole if that
	// is not known, as at the first call. An empty ID says that update times or
	// forecasts of sources were imported.
	Edited func(ctx context.Context) (ids []freshet.SourceID, whole bool, err error)

	Log *slog.Logger // nil means silence
}

// Warmth is how far a Warm has come.
type Warmth struct {
	Ready  bool           // it could go on at once
	Upto   freshet.Cursor // outcomes that it has read
	Began  int            // how often it has started again
	Behind string         // why it is not ready; "" if it is, or has just begun
}

// A Warm is a warm standby: it follows a daemon in another process, to take over from it at once. It
// has the state that the daemon would have if it started now, by the same path: it starts as a daemon
// does, and reads outcomes in the order of the log. It writes nothing.
//
// A start derives another state from sources that come and go than a daemon that sees the edits one
// by one (docs/explanation/decisions.md). So a Warm applies the edits as they come, and starts a successor beside
// itself now and then. Until that has caught up, there are two.
type Warm struct {
	cfg WarmConfig

	mu     sync.Mutex // held to use what follows
	daemon *Daemon    // nil if none is ready
	place  freshet.Cursor
	epochs freshet.Epochs
	looked freshet.Cursor // where it was when it read those
	edited bool           // it is not what a start would make
	told   bool           // likewise, in a way that only a start can take in
	began  int
	why    string
}

// NewWarm returns a Warm. It does nothing until Run.
func NewWarm(cfg WarmConfig) *Warm {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Warm{cfg: cfg}
}

// Warmth returns how far it has come.
func (w *Warm) Warmth() Warmth {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Warmth{Ready: w.daemon != nil, Upto: w.place, Began: w.began, Behind: w.why}
}

// Why a Warm starts again, other than because it cannot read.
var (
	errEdited  = errors.New("sources were edited")
	errUnknown = errors.New("it is not known any more which sources were edited")
	errGap     = errors.New("outcomes that it has not read are gone from the log")
	errOther   = errors.New("the database was replaced")
	errAhead   = errors.New("polls are dated in the future")
	errClock   = errors.New("the clock was set")
)

const (
	warmBatch = 500                    // outcomes that it takes in together, about, if they come fast enough
	warmPause = 200 * time.Millisecond // it rests so long at least before it looks for more
	warmLook  = 2 * time.Second        // and so long at most
	warmRest  = 20                     // it rests so many times as long as it took to begin
	farAhead  = time.Minute            // that an outcome may be dated at most
	warmRetry = 5 * time.Second
)

// Run follows until ctx is done. Whatever goes wrong, it starts again.
func (w *Warm) Run(ctx context.Context) {
	said := false // why it cannot begin
	for ctx.Err() == nil {
		began := time.Now()
		err := w.begin(ctx)
		took := time.Since(began)
		if err == nil {
			w.cfg.Log.Debug("following the leader", "outcome", w.Warmth().Upto, "took", took)
			said = false
			err = w.follow(ctx, took)
		}
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errEdited) {
			level := slog.LevelWarn
			if said {
				level = slog.LevelDebug
			}
			said = true
			w.cfg.Log.Log(ctx, level, "this node starts again to follow the leader", "why", err, "hint", freshet.HintOf(err))
			w.rest(ctx, warmRetry)
		}
	}
}

// rest waits for a while.
func (w *Warm) rest(ctx context.Context, length time.Duration) {
	select {
	case <-time.After(length):
	case <-ctx.Done():
	}
}

// begin starts as a daemon does, up to its first poll. What was there before can go on meanwhile.
func (w *Warm) begin(ctx context.Context) error {
	w.mu.Lock()
	err := w.readEditsFirst(ctx)
	w.began++
	w.mu.Unlock()
	var d *Daemon
	var place freshet.Cursor
	var epochs freshet.Epochs
	if err == nil {
		d, place, epochs, err = w.start(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.daemon, w.place, w.epochs, w.looked, w.edited, w.told, w.why = d, place, epochs, 0, false, false, ""
	case ctx.Err() == nil:
		w.daemon, w.why = nil, err.Error()
	}
	return err
}

// readEditsFirst reads edits before it starts again: later ones come in order.
func (w *Warm) readEditsFirst(ctx context.Context) error {
	if w.daemon == nil {
		_, _, err := w.cfg.Edited(ctx)
		return err
	}
	err := w.readEdits(ctx, w.daemon.cfg.Store)
	if errors.Is(err, errUnknown) {
		w.daemon, err = nil, nil
	}
	return err
}

func (w *Warm) start(ctx context.Context) (d *Daemon, place freshet.Cursor, epochs freshet.Epochs, err error) {
	if d, err = w.cfg.Open(ctx); err != nil {
		return nil, 0, nil, err
	}
	if epochs, err = d.cfg.Store.OutcomeEpochs(ctx); err != nil {
		return nil, 0, nil, err
	}
	place, r, err := d.leader.start(ctx, d.limits.inForce(), d.editor.notice)
	if err != nil {
		return nil, 0, nil, err
	}
	// What ends while they are read counts twice, until it no longer counts.
	sent, err := d.leader.lately(ctx, r, d.limits.inForce(), d.cfg.Store.Attempts)
	d.leader.sched.Resume(r.now, slices.DeleteFunc(sent, func(a freshet.Attempt) bool { return a.Ended.IsZero() }))
	return d, place, epochs, err
}

// follow takes in what happens, until ctx is done or it is better to start again.
func (w *Warm) follow(ctx context.Context, took time.Duration) error {
	began := time.Now()
	for last := began; ; {
		from := w.place
		if err := w.step(ctx, w.daemon.cfg.Store); err != nil {
			return err
		}
		if w.edited && time.Since(began) >= warmRest*took {
			return errEdited
		}
		now := time.Now()
		w.rest(ctx, warmPauseAfter(int64(w.place-from), now.Sub(last)))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		last = now
	}
}

// warmPauseAfter returns how long a Warm rests that took in so many outcomes of some time. What a look costs is mostly the same,
// whatever it finds.
func warmPauseAfter(outcomes int64, of time.Duration) time.Duration {
	if outcomes == 0 {
		return warmLook
	}
	return min(max(of*warmBatch/time.Duration(outcomes), warmPause), warmLook)
}

// step takes in what has happened since the last.
func (w *Warm) step(ctx context.Context, store freshet.Store) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		if err != nil && ctx.Err() == nil {
			w.daemon, w.why = nil, err.Error()
		}
	}()
	if w.daemon.loop.dates.Ahead() != 0 {
		return errClock
	}
	if err := w.sameLog(ctx, store); err != nil {
		return err
	}
	if err := w.readEdits(ctx, store); err != nil {
		return err
	}
	return w.readOutcomes(ctx, store)
}

// sameLog refuses a log that does not go on from where it was read. An epoch is recorded from its first
// outcome on: one that was not when that was last looked at comes after all that was read by then.
func (w *Warm) sameLog(ctx context.Context, store freshet.Store) error {
	epochs, err := store.OutcomeEpochs(ctx)
	if err != nil {
		return err
	}
	for i, e := range epochs {
		switch {
		case i < len(w.epochs) && e == w.epochs[i]:
		case i < len(w.epochs), e.After < w.looked:
			return errOther
		}
	}
	if len(epochs) < len(w.epochs) {
		return errOther
	}
	w.epochs, w.looked = epochs, w.place
	return nil
}

// readEdits takes in sources that are not as they were.
func (w *Warm) readEdits(ctx context.Context, store freshet.Store) error {
	ids, whole, err := w.cfg.Edited(ctx)
	switch {
	case err != nil:
		return err
	case !whole:
		return errUnknown
	}
	w.told = w.told || slices.Contains(ids, "")
	edited, err := w.daemon.applyEdits(ctx, store, ids)
	w.edited = w.edited || w.told || edited
	return err
}

// readOutcomes takes in what is new in the log, up to where that ends now.
func (w *Warm) readOutcomes(ctx context.Context, store freshet.Store) error {
	end, err := store.LastOutcome(ctx)
	if err != nil {
		return err
	}
	for w.place < end {
		found, err := store.Outcomes(ctx, freshet.OutcomeQuery{After: w.place, Limit: followAtOnce})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return errGap
		}
		latest := w.daemon.loop.dates.Now().Add(farAhead)
		for _, o := range found {
			switch {
			case o.Cursor != w.place+1:
				return errGap
			case o.Ended.After(latest):
				return errAhead
			}
			w.daemon.leader.sched.Follow(o.Ended, o)
			w.place = o.Cursor
		}
	}
	return nil
}

// Take brings a Warm whose Run has ended up to date with a store that nobody else writes any more,
// and returns what its daemon was made of: the one that goes on wants the same Policy and Learner. If
// it returns an error, a daemon has to start by itself.
func (w *Warm) Take(ctx context.Context, store freshet.Store) (cfg Config, err error) {
	if !w.Warmth().Ready {
		return cfg, errors.New("it has not caught up yet")
	}
	if err := w.step(ctx, store); err != nil {
		return cfg, err
	}
	if w.told {
		return cfg, errors.New("update times or forecasts of sources were just imported")
	}
	return w.daemon.cfg, nil
}

// applyEdits takes in sources as they are in a store, and reports whether any differs from what was
// known.
func (d *Daemon) applyEdits(ctx context.Context, store freshet.Catalog, ids []freshet.SourceID) (edited bool, err error) {
	wanted := map[freshet.SourceID]bool{}
	for _, id := range ids {
		wanted[id] = true
	}
	delete(wanted, "") // that is no source
	for some := range slices.Chunk(slices.Sorted(maps.Keys(wanted)), followAtOnce) {
		found, err := store.NamedSources(ctx, some, false)
		if err != nil {
			return edited, fmt.Errorf("read the sources that were edited: %w", err)
		}
		for _, s := range found {
			delete(wanted, s.ID)
			edited = d.applyEdit(s) || edited
		}
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) { // they are not watched any more
		if _, known := d.leader.sched.Slot(id); known {
			d.siteList.forget(id)
			d.leader.sched.Remove(id)
			edited = true
		}
	}
	return edited, nil
}

// applyEdit takes in a source as it is now, and reports whether it differs from what was known.
func (d *Daemon) applyEdit(s freshet.SourceWithStatus) bool {
	if slot, known := d.leader.sched.Slot(s.ID); known {
		if was, _ := d.leader.sched.Source(slot); was.Revision == s.Revision {
			return false
		}
	}
	now := d.loop.dates.Now()
	d.editor.notice(s.Source)
	d.leader.clock.clockRecoveryAt(now, d.Limits()).standing(&s.Status)
	d.leader.sched.Put(now, bounded(s, d.cfg.Unbound))
	return true
}

// takeOver takes over what a Warm knows. What was edited since it was taken is taken in, too.
func (d *Daemon) takeOver(ctx context.Context, w *Warm) (freshet.Cursor, *clockRecovery, error) {
	w.mu.Lock()
	from := w.daemon
	w.mu.Unlock()
	if from == nil {
		return 0, nil, errors.New("what was followed is not there any more")
	}
	d.inherit(from)
	l := d.limits.inForce()
	r, err := d.leader.clock.newClockRecovery(ctx, l)
	if err != nil {
		return 0, nil, err
	}
	s := d.leader.sched
	s.SetLimits(r.now, l)
	if now := d.levelWatch.tags(); len(now)+len(from.levelWatch.tags()) > 0 {
		s.SetLevels(r.now, now)
	}
	if now := d.tagStrategies.tags(); len(now)+len(from.tagStrategies.tags()) > 0 && !d.leader.unbound {
		s.SetStrategies(r.now, now)
	}
	w.mu.Lock()
	w.daemon = d
	w.mu.Unlock()
	if err := w.step(ctx, d.cfg.Store); err != nil {
		return 0, nil, err
	}
	if err := d.leader.restoreChances(ctx); err != nil {
		return 0, nil, err
	}
	if err := d.weights.restore(ctx, r.now, s); err != nil {
		return 0, nil, err
	}
	if err := d.checkpointer.findOlder(ctx); err != nil {
		return 0, nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.daemon = nil // from here on its own loop drives it
	return w.place, r, nil
}

// inherit takes over what another daemon has learnt and noticed of sources.
func (d *Daemon) inherit(from *Daemon) {
	d.leader.sched = from.leader.sched
	if from.levelWatch.any.Load() {
		d.levelWatch.any.Store(true)
	}
	from.hints.mu.Lock()
	d.hints.watched, d.hints.alias = from.hints.watched, from.hints.alias
	from.hints.mu.Unlock()
	from.siteList.mu.Lock()
	d.siteList.all = from.siteList.all
	from.siteList.mu.Unlock()
	from.weights.mu.Lock()
	d.weights.importance, d.weights.of, d.weights.matches, d.weights.changes = from.weights.importance, from.weights.of, from.weights.matches, from.weights.changes
	from.weights.mu.Unlock()
}
