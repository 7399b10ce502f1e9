package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/retry"
)

// Config says what a Runner works with. Store, Now and Log are needed.
type Config struct {
	Store   freshet.Store
	Queries *queries.Store
	Now     func() time.Time
	Log     *slog.Logger

	// Read reads a response again, for queries that look at the values of items. Without
	// it they see those that stand in the log of changes.
	Read func(context.Context, freshet.Recipe, freshet.Response) (extract.Reading, error)
}

// A Runner keeps the queries of a store running.
type Runner struct {
	cfg    Config
	loader loader
	edited chan struct{} // somebody has edited a query

	known  map[queries.ID]queries.Query
	paces  map[queries.ID]*queries.Pace
	main   *lane
	behind map[queries.ID]*lane
	ahead  []queries.Query // which join when the main lane has come to where they begin

	step   queries.Step // that is not kept yet
	kept   place        // of the main lane, as it is on disk
	states states
}

// New returns a Runner. It does nothing until Run.
func New(cfg Config) *Runner {
	return &Runner{cfg: cfg, loader: loader{store: cfg.Store, read: cfg.Read}, edited: make(chan struct{}, 1)}
}

// Edited tells the Runner that queries in the store are others than before.
func (r *Runner) Edited() {
	select {
	case r.edited <- struct{}{}:
	default: // it will look anyway
	}
}

const (
	// eventsAtOnce is how much of the logs is gone through before what came of it is kept.
	eventsAtOnce = 256

	// lookEvery is how often the queries are read again, in case that another process has
	// edited them.
	lookEvery = time.Minute
)

// Run runs the queries until ctx is done. A store that cannot be read for a while is waited for; then
// all begins at what is on disk, as after a restart.
func (r *Runner) Run(ctx context.Context) error {
	waiting := false
	err := retry.Run(ctx, func() error { return r.work(ctx, &waiting) }, func(err error) {
		if !waiting {
			waiting = true
			r.cfg.Log.Error("the data cannot be read; queries wait until it can", "err", err, "hint", freshet.HintOf(err))
		}
	})
	return ended(ctx, err)
}

// work runs the queries until ctx is done or the store cannot be read. What was waited for is over as
// soon as everything is loaded.
func (r *Runner) work(ctx context.Context, waiting *bool) error {
	if err := r.load(ctx); err != nil {
		return err
	}
	if *waiting {
		*waiting = false
		r.cfg.Log.Info("the data can be read again; queries are run")
	}
	looked := r.cfg.Now()
	for {
		busy, err := r.advance(ctx)
		if err == nil && !busy {
			err = r.wait(ctx, looked.Add(lookEvery))
		}
		if err == nil && (r.wasEdited() || !r.cfg.Now().Before(looked.Add(lookEvery))) {
			looked = r.cfg.Now()
			err = r.look(ctx)
		}
		if err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// ended returns an error, unless it comes of being asked to stop.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || err == nil {
		return nil
	}
	return fmt.Errorf("running queries: %w", err)
}

func (r *Runner) wasEdited() bool {
	select {
	case <-r.edited:
		return true
	default:
		return false
	}
}

// keep puts what has come of the logs so far on disk. A store that cannot write for a
// while is waited for.
func (r *Runner) keep(ctx context.Context) error {
	for _, n := range r.main.engine.Save() {
		r.note(n.Query, n.Name, n.Body)
	}
	for id, l := range r.behind {
		if !l.moved {
			continue
		}
		l.moved = false
		for _, n := range l.engine.Save() {
			if n.Query == id {
				r.note(n.Query, n.Name, n.Body)
			}
		}
		changes, outcomes := l.engine.Upto()
		r.note(id, laneNote, fmt.Appendf(nil, "%d %d", changes, outcomes))
	}
	if len(r.step.States)+len(r.step.Matches)+len(r.step.Batches) == 0 || r.postponed() {
		return nil
	}
	err := retry.Write(ctx, func() error { return r.cfg.Queries.RunQueries(ctx, r.step) }, func(times int, err error) {
		if times == 1 {
			r.cfg.Log.Error("the data cannot be written; queries wait until it can", "err", err, "hint", freshet.HintOf(err))
		}
	})
	if err == nil {
		r.step, r.kept = queries.Step{}, place{}
		r.kept.changes, r.kept.outcomes = r.main.engine.Upto()
	}
	return err
}

// postponed reports whether there is nothing to keep but how far the main lane is. To go
// through a little of the logs again after a crash costs less than a write for each
// change: what matched nothing matches nothing then, either.
func (r *Runner) postponed() bool {
	const little = 1000
	for _, n := range r.step.States {
		if n.Query != "" {
			return false
		}
	}
	changes, outcomes := r.main.engine.Upto()
	if len(r.step.Matches)+len(r.step.Batches) > 0 || changes-r.kept.changes > little || outcomes-r.kept.outcomes > little {
		return false
	}
	r.step.States = r.step.States[len(r.step.States)-1:]
	return true
}

func (r *Runner) note(id queries.ID, name string, body []byte) {
	r.step.States = append(r.step.States, queries.State{Query: id, Name: name, Body: body})
}

// tell takes in matches, and has those told that are to be.
func (r *Runner) tell(matches []queries.Match) error {
	now := r.cfg.Now()
	for _, m := range matches {
		r.step.Matches = append(r.step.Matches, m)
		pace := r.paces[m.Query]
		batches, err := pace.Tell(m, now)
		if err != nil {
			return err
		}
		r.send(batches)
		r.note(m.Query, paceNote, pace.Save())
		r.show(m.Query)
	}
	return nil
}

// send has batches told, under the names that their queries have now.
func (r *Runner) send(batches []queries.Batch) {
	for _, p := range batches {
		p.Name = r.known[p.Query].Name
		if p.Name == "" {
			p.Name = string(p.Query)
		}
		r.step.Batches = append(r.step.Batches, p)
	}
}

// tellDue has the matches told whose time has come, and returns when the next are.
func (r *Runner) tellDue() (next time.Time) {
	now := r.cfg.Now()
	for id, pace := range r.paces {
		if due, waits := pace.Due(); waits && !due.After(now) {
			r.send(pace.Tick(now))
			r.note(id, paceNote, pace.Save())
			r.show(id)
		}
		if due, waits := pace.Due(); waits && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}

// wait returns when there is something to do, or at a time.
func (r *Runner) wait(ctx context.Context, until time.Time) error {
	if due := r.tellDue(); !due.IsZero() && due.Before(until) {
		until = due
	}
	if due, ok := r.main.engine.Due(); ok && due.Before(until) {
		until = due
	}
	waiting, cancel := context.WithTimeout(ctx, max(0, until.Sub(r.cfg.Now())))
	defer cancel()
	changes, outcomes := r.main.engine.Upto()
	woken := make(chan error, 2)
	listeners := 1
	go func() { woken <- r.cfg.Store.Wait(waiting, changes) }()
	if r.main.engine.HearsPolls() {
		listeners++
		go func() { woken <- r.cfg.Store.WaitOutcome(waiting, outcomes) }()
	}
	var err error
	select {
	case err = <-woken:
		listeners--
	case <-r.edited:
		r.Edited()
	}
	cancel()
	for range listeners {
		<-woken
	}
	if waitEnded(err) {
		return ctx.Err()
	}
	return err
}

// waitEnded reports whether a wait ended because its time was over.
func waitEnded(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}
