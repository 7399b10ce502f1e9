package queries

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/retry"
)

// An Archive has what queries look at, as a [freshet.Store] does: the logs, and the texts and values of
// versions.
type Archive interface {
	freshet.ChangeLog
	Outcomes(ctx context.Context, q freshet.OutcomeQuery) ([]freshet.Outcome, error)
	WaitOutcome(ctx context.Context, after freshet.Cursor) error
	LastOutcome(ctx context.Context) (freshet.Cursor, error)

	freshet.VersionLog
	Source(ctx context.Context, id freshet.SourceID) (freshet.SourceWithStatus, error)
	Version(ctx context.Context, id freshet.SourceID, number int) (freshet.Version, error)
	Text(ctx context.Context, id freshet.SourceID, number int) ([]byte, error)
	Raw(ctx context.Context, id freshet.SourceID, number int) (freshet.Raw, error)
}

// RunnerConfig configures a Runner. Store, Queries, Now and Log are required.
type RunnerConfig struct {
	Store   Archive
	Queries *Store
	Now     func() time.Time
	Log     *slog.Logger

	// Read reads a response again, for queries that look at the values of items. Without
	// it they see those that stand in the log of changes.
	Read func(context.Context, reading.Recipe, freshet.Response) (extract.Reading, error)
}

// A Runner keeps the queries of a store running.
type Runner struct {
	cfg    RunnerConfig
	loader loader
	edited chan struct{} // queries were edited

	known  map[ID]Query
	paces  map[ID]*Pace
	main   *lane
	behind map[ID]*lane
	ahead  []Query // which join when the main lane has come to where they begin

	step   Step  // that is not kept yet
	kept   place // of the main lane, as it is on disk
	states states
}

// NewRunner returns a Runner. It does nothing until Run.
func NewRunner(cfg RunnerConfig) *Runner {
	return &Runner{cfg: cfg, loader: loader{store: cfg.Store, read: cfg.Read}, edited: make(chan struct{}, 1)}
}

// Edited notifies the Runner that queries were edited.
func (r *Runner) Edited() {
	select {
	case r.edited <- struct{}{}:
	default: // it will look anyway
	}
}

const (
	// eventsAtOnce is how many events are evaluated before the results are stored.
	eventsAtOnce = 256

	// lookEvery is how often the queries are read again, because another process may have
	// edited them.
	lookEvery = time.Minute
)

// Run runs the queries until ctx is done. If the store cannot be read for a while, Run waits; then
// it resumes from the store, as after a restart.
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

// ended returns err, or nil if ctx was cancelled.
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

// keep stores the results so far. If the store cannot write for a
// while, it waits.
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
	err := retry.Write(ctx, func() error { return r.cfg.Queries.CommitStep(ctx, r.step) }, func(times int, err error) {
		if times == 1 {
			r.cfg.Log.Error("the data cannot be written; queries wait until it can", "err", err, "hint", freshet.HintOf(err))
		}
	})
	if err == nil {
		r.step, r.kept = Step{}, place{}
		r.kept.changes, r.kept.outcomes = r.main.engine.Upto()
	}
	return err
}

// postponed reports whether the only result is the position of the main lane. To go
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

func (r *Runner) note(id ID, name string, body []byte) {
	r.step.States = append(r.step.States, State{Query: id, Name: name, Body: body})
}

// tell records matches, and the batches that are due.
func (r *Runner) tell(matches []Match) error {
	now := r.cfg.Now()
	for _, m := range matches {
		r.step.Matches = append(r.step.Matches, m)
		pace := r.paces[m.Query]
		batches, err := pace.Add(m, now)
		if err != nil {
			return err
		}
		r.send(batches)
		r.note(m.Query, paceNote, pace.Save())
		r.show(m.Query)
	}
	return nil
}

// send records batches, under the current names of their queries.
func (r *Runner) send(batches []Batch) {
	for _, p := range batches {
		p.Name = r.known[p.Query].Name
		if p.Name == "" {
			p.Name = string(p.Query)
		}
		r.step.Batches = append(r.step.Batches, p)
	}
}

// tellDue records the batches that are due, and returns when the next are.
func (r *Runner) tellDue() (next time.Time) {
	now := r.cfg.Now()
	for id, pace := range r.paces {
		if due := pace.next(); !due.IsZero() && !due.After(now) {
			r.send(pace.Tick(now))
			r.note(id, paceNote, pace.Save())
			r.show(id)
		}
		if due := pace.next(); !due.IsZero() && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}

// wait returns when there is work, or at a time.
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
	if r.main.engine.NeedsPolls() {
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

// A lane is a set of queries at the same position in the logs.
type lane struct {
	engine *Engine
	only   ID   // the query that catches up here; "" in the main lane
	moved  bool // since it was kept
}

func (r *Runner) newLane() (*lane, error) {
	e, err := NewEngine()
	return &lane{engine: e}, err
}

// advance continues all lanes, stores the results, and reports whether there is
// more to do.
func (r *Runner) advance(ctx context.Context) (more bool, err error) {
	if more, err = r.advanceMain(ctx); err != nil {
		return false, err
	}
	for id, l := range r.behind {
		joined, err := r.catchUp(ctx, l)
		if err != nil {
			return false, err
		}
		if joined {
			delete(r.behind, id)
			r.show(id)
		} else {
			more = true
		}
	}
	r.tellDue()
	if err = r.keep(ctx); err == nil && !more && len(r.edited) == 0 { // those that came with an edit have not run
		r.showUpto()
	}
	return more, err
}

// advanceMain goes on with the main lane. Queries join it where they begin.
func (r *Runner) advanceMain(ctx context.Context) (more bool, err error) {
	if err := r.passOver(ctx); err != nil {
		return false, err
	}
	bound := r.joinReached()
	events, whole, err := r.events(ctx, r.main, place{changes: bound, outcomes: endless})
	if err != nil {
		return false, err
	}
	if err := r.run(ctx, r.main, events); err != nil {
		return false, err
	}
	switch {
	case !whole:
		return true, nil
	case bound < endless: // what lies before it may have been purged
		_, outcomes := r.main.engine.Upto()
		r.main.engine.Begin(bound, outcomes)
		return true, nil
	}
	return false, r.tell(r.main.engine.Tick(r.cfg.Now()))
}

// passOver moves the main lane over what no query in it needs, without reading it:
// most daemons have no query, and few queries are about polls.
func (r *Runner) passOver(ctx context.Context) error {
	changes, outcomes := r.main.engine.Upto()
	if !r.main.engine.NeedsPolls() {
		end, err := r.cfg.Store.LastOutcome(ctx)
		if err != nil {
			return err
		}
		outcomes = end
	}
	if r.main.engine.Len() == 0 {
		end, err := r.cfg.Store.LastChange(ctx)
		if err != nil {
			return err
		}
		if len(r.ahead) > 0 { // which begins there
			end = min(end, r.ahead[0].From)
		}
		changes = max(changes, end)
	}
	r.main.engine.Skip(changes, outcomes)
	return nil
}

// joinReached lets the queries take part whose beginning the main lane has reached. It
// returns where the next one begins, or endless.
func (r *Runner) joinReached() freshet.Cursor {
	for len(r.ahead) > 0 {
		changes, _ := r.main.engine.Upto()
		q := r.ahead[0]
		if q.From > changes {
			return q.From
		}
		r.put(r.main, q)
		r.note(q.ID, laneNote, []byte{})
		r.ahead = slices.Delete(r.ahead, 0, 1)
	}
	return endless
}

// catchUp goes on with a query that is behind, up to where the others are. It reports
// whether it has joined them.
func (r *Runner) catchUp(ctx context.Context, l *lane) (joined bool, err error) {
	var end place
	end.changes, end.outcomes = r.main.engine.Upto()
	events, whole, err := r.events(ctx, l, end)
	if err != nil {
		return false, err
	}
	if err := r.run(ctx, l, events); err != nil {
		return false, err
	}
	l.moved = true
	if !whole {
		return false, nil
	}
	for _, n := range l.engine.Save() {
		if n.Query == l.only {
			r.note(n.Query, n.Name, n.Body)
		}
	}
	if err := r.main.engine.Adopt(l.engine, l.only); err != nil {
		r.cfg.Log.Error("a query cannot be run; edit it", "query", l.only, "err", err)
	}
	r.main.engine.Begin(r.main.engine.Upto())
	r.note(l.only, laneNote, []byte{})
	return true, nil
}

// run passes events to the engine of a lane.
func (r *Runner) run(ctx context.Context, l *lane, events []Event) error {
	for _, event := range events {
		matches, err := r.happen(ctx, l, event)
		if err == nil {
			err = r.tell(matches)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// happen passes an event to the engine of a lane, after the time that has passed until
// then, and returns the matches.
func (r *Runner) happen(ctx context.Context, l *lane, event Event) ([]Match, error) {
	matches := l.engine.Tick(timeOf(event).Add(-1))
	var err error
	if event.Change != nil {
		err = r.loader.load(ctx, &event, l.engine.Needs(event.Subject))
	} else if need := l.engine.looks(event); need != 0 {
		err = r.loader.loadSeen(ctx, &event, need)
	}
	if err != nil {
		return nil, err
	}
	return append(matches, l.engine.Observe(event)...), nil
}

// timeOf returns when an event was seen.
func timeOf(e Event) time.Time {
	if e.Change != nil {
		return e.Change.Before
	}
	return e.Outcome.Ended
}

// A place is how far something is in the logs.
type place struct{ changes, outcomes freshet.Cursor }

// endless is past the end of every log.
const endless freshet.Cursor = math.MaxInt64

// events returns what comes next for a lane, in the order in which it was seen, and
// whether that is all up to a place.
func (r *Runner) events(ctx context.Context, l *lane, end place) (events []Event, whole bool, err error) {
	var at place
	at.changes, at.outcomes = l.engine.Upto()
	last, err := r.cfg.Store.LastChange(ctx)
	if err != nil {
		return nil, false, err
	}
	var changes []freshet.Change
	if at.changes < last { // most polls find no change, and the log need not be read
		if changes, err = r.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: at.changes, Limit: eventsAtOnce}); err != nil {
			return nil, false, err
		}
	}
	fullChanges := len(changes) == eventsAtOnce
	changes = slices.DeleteFunc(changes, func(c freshet.Change) bool { return c.Cursor > end.changes })
	fullChanges = fullChanges && len(changes) == eventsAtOnce
	var outcomes []freshet.Outcome
	fullOutcomes := false
	if l.engine.NeedsPolls() {
		if outcomes, err = r.cfg.Store.Outcomes(ctx, freshet.OutcomeQuery{After: at.outcomes, Limit: eventsAtOnce}); err != nil {
			return nil, false, err
		}
		fullOutcomes = len(outcomes) == eventsAtOnce
		outcomes = slices.DeleteFunc(slices.Clone(outcomes), func(o freshet.Outcome) bool { return o.Cursor > end.outcomes })
		fullOutcomes = fullOutcomes && len(outcomes) == eventsAtOnce
	}
	for len(changes)+len(outcomes) > 0 {
		changeNext := len(outcomes) == 0 || len(changes) > 0 && !changes[0].Before.After(outcomes[0].Ended)
		if changeNext && len(outcomes) == 0 && fullOutcomes || !changeNext && len(changes) == 0 && fullChanges {
			break // which of the logs goes on first is not known yet
		}
		if changeNext {
			c := changes[0]
			changes = changes[1:]
			events = append(events, Event{Change: &c})
		} else {
			o := outcomes[0]
			outcomes = outcomes[1:]
			events = append(events, Event{Outcome: &o})
		}
	}
	for i := range events {
		if events[i].Subject, err = r.loader.subject(ctx, events[i]); err != nil {
			return nil, false, err
		}
	}
	return events, !fullChanges && !fullOutcomes, nil
}

// A Status is the status of a query that is run.
type Status struct {
	Behind  bool      // it catches up with the others
	Waiting int64     // matches that are not delivered yet
	For     Delay     // what they wait for
	Until   time.Time // when that ends; zero if time alone does not end it
}

// states are the statuses of queries, read while they run.
type states struct {
	mu   sync.Mutex
	by   map[ID]Status
	upto place // all queries have run, and what they matched is kept
}

// Upto returns the places in the log of changes and in that of outcomes up to which all
// queries have run, and what they matched is stored.
func (r *Runner) Upto() (changes, outcomes freshet.Cursor) {
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	return r.states.upto.changes, r.states.upto.outcomes
}

// showUpto updates the position of all queries. Without a query that needs polls they
// are at the end of the log of outcomes, wherever that is.
func (r *Runner) showUpto() {
	upto := place{}
	if upto.changes, upto.outcomes = r.main.engine.Upto(); !r.main.engine.NeedsPolls() {
		upto.outcomes = endless
	}
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	r.states.upto = upto
}

// Status returns the status of a query. It reports false if the query is not run.
func (r *Runner) Status(id ID) (Status, bool) {
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	s, ok := r.states.by[id]
	return s, ok
}

// show updates the status of a query.
func (r *Runner) show(id ID) {
	pace, known := r.paces[id]
	var s Status
	if known {
		s.Waiting, s.For = pace.Waiting()
		s.Until, _ = pace.Due()
		s.Behind = r.behind[id] != nil
	}
	r.states.mu.Lock()
	defer r.states.mu.Unlock()
	if r.states.by == nil {
		r.states.by = map[ID]Status{}
	}
	if known {
		r.states.by[id] = s
	} else {
		delete(r.states.by, id)
	}
}
