package standing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"freshet"
	"freshet/content"
	"freshet/persist"
	"freshet/query"
)

// Config says what a Runner works with. Store, Now and Log are needed.
type Config struct {
	Store freshet.Store
	Now   func() time.Time
	Log   *slog.Logger

	// Read reads a response again, for queries that look at the values of items. Without
	// it they see those that stand in the log of changes.
	Read func(context.Context, freshet.Recipe, freshet.Response) (content.Reading, error)
}

// A Runner keeps the queries of a store running.
type Runner struct {
	cfg    Config
	loader loader
	edited chan struct{} // somebody has edited a query

	known  map[freshet.QueryID]freshet.Query
	paces  map[freshet.QueryID]*query.Pace
	main   *lane
	behind map[freshet.QueryID]*lane
	ahead  []freshet.Query // which join when the main lane has come to where they begin

	step   freshet.QueryStep // that is not kept yet
	kept   place             // of the main lane, as it is on disk
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

// Run runs the queries until ctx is done.
func (r *Runner) Run(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		return ended(ctx, err)
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
			return ended(ctx, err)
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

// The names of notes that are the Runner's own. Those of engines have other names.
const (
	laneNote = "lane" // how far a query is that catches up; empty once it has joined the others
	paceNote = "pace"
)

// load takes up where the last run ended.
func (r *Runner) load(ctx context.Context) error {
	var err error
	r.known, r.paces, r.behind, r.ahead = map[freshet.QueryID]freshet.Query{}, map[freshet.QueryID]*query.Pace{}, map[freshet.QueryID]*lane{}, nil
	if r.main, err = r.newLane(); err != nil {
		return err
	}
	queries, err := r.cfg.Store.Queries(ctx)
	if err != nil {
		return err
	}
	notes, err := r.notes(ctx)
	if err != nil {
		return err
	}
	all := notes[""]
	for _, q := range queries {
		own := notes[q.ID]
		if err := r.setPace(q, own.pace); err != nil {
			return err
		}
		switch {
		case own.lane == nil: // it has not begun
		case len(own.lane) == 0:
			r.put(r.main, q)
			all.engine = append(all.engine, own.engine...)
		default:
			if err := r.resume(q, own); err != nil {
				return err
			}
		}
	}
	if err := r.main.engine.Restore(all.engine); err != nil {
		return err
	}
	if changes, _ := r.main.engine.Upto(); changes == 0 && len(all.engine) == 0 {
		if err := r.begin(ctx); err != nil {
			return err
		}
	}
	return r.look(ctx)
}

// begin starts at the ends of the logs.
func (r *Runner) begin(ctx context.Context) error {
	changes, err := r.cfg.Store.LastChange(ctx)
	if err != nil {
		return err
	}
	outcomes, err := r.cfg.Store.LastOutcome(ctx)
	if err != nil {
		return err
	}
	r.main.engine.Begin(changes, outcomes)
	return r.keep(ctx)
}

// resume goes on with a query that was catching up.
func (r *Runner) resume(q freshet.Query, own queryNotes) error {
	var at place
	if _, err := fmt.Sscan(string(own.lane), &at.changes, &at.outcomes); err != nil {
		return fmt.Errorf("how far query %s has caught up: %w", q.ID, freshet.ErrDamaged)
	}
	l, err := r.lag(q, at)
	if err != nil {
		return err
	}
	return l.engine.Restore(own.engine)
}

// lag gives a query a lane of its own.
func (r *Runner) lag(q freshet.Query, at place) (*lane, error) {
	l, err := r.newLane()
	if err != nil {
		return nil, err
	}
	l.only = q.ID
	r.put(l, q)
	l.engine.Begin(at.changes, at.outcomes)
	r.behind[q.ID] = l
	r.show(q.ID)
	return l, nil
}

// queryNotes are what is remembered of a query, or of all of them together.
type queryNotes struct {
	engine     []query.Note
	lane, pace []byte
}

func (r *Runner) notes(ctx context.Context) (map[freshet.QueryID]queryNotes, error) {
	by := map[freshet.QueryID]queryNotes{}
	for n, err := range r.cfg.Store.QueryNotes(ctx) {
		if err != nil {
			return nil, err
		}
		own := by[n.Query]
		switch n.Name {
		case laneNote:
			own.lane = append([]byte{}, n.Body...)
		case paceNote:
			own.pace = n.Body
		default:
			own.engine = append(own.engine, query.Note{Query: n.Query, Key: n.Name, Data: n.Body})
		}
		by[n.Query] = own
	}
	return by, nil
}

// put has a lane run a query. One that cannot be run any more is left out, and the others
// go on.
func (r *Runner) put(l *lane, q freshet.Query) {
	r.known[q.ID] = q
	if err := l.engine.Put(q); err != nil {
		r.cfg.Log.Error("a query cannot be run; edit it", "query", q.ID, "err", err)
	}
	// What others passed over it may hear of: where it begins has to be on disk.
	l.engine.Begin(l.engine.Upto())
}

// setPace says how the matches of a query are told.
func (r *Runner) setPace(q freshet.Query, saved []byte) error {
	pace, err := query.NewPace(q, q.Last)
	if err != nil {
		return err
	}
	if saved != nil {
		if err := pace.Restore(saved); err != nil {
			return err
		}
	}
	r.paces[q.ID] = pace
	r.show(q.ID)
	return nil
}

// look takes over what was edited.
func (r *Runner) look(ctx context.Context) error {
	queries, err := r.cfg.Store.Queries(ctx)
	if err != nil {
		return err
	}
	there := map[freshet.QueryID]bool{}
	for _, q := range queries {
		there[q.ID] = true
		before, known := r.known[q.ID]
		switch {
		case known && before.Revision == q.Revision:
		case known && before.Created.Equal(q.Created):
			err = r.edit(q)
		default: // or another under the same name
			r.drop(q.ID)
			err = r.add(ctx, q)
		}
		if err != nil {
			return err
		}
	}
	for id := range r.known {
		if !there[id] {
			r.drop(id)
		}
	}
	return nil
}

// add begins with a query.
func (r *Runner) add(ctx context.Context, q freshet.Query) error {
	if err := r.setPace(q, nil); err != nil {
		return err
	}
	r.known[q.ID] = q
	if at, _ := r.main.engine.Upto(); q.From < at {
		outcomes, err := r.outcomesAt(ctx, q.From)
		if err != nil {
			return err
		}
		_, err = r.lag(q, place{q.From, outcomes})
		return err
	}
	r.ahead = append(r.ahead, q)
	slices.SortFunc(r.ahead, func(a, b freshet.Query) int { return int(a.From - b.From) })
	return nil
}

// outcomesAt returns the place in the log of outcomes that belongs to one in the log of
// changes.
func (r *Runner) outcomesAt(ctx context.Context, change freshet.Cursor) (freshet.Cursor, error) {
	next, err := r.cfg.Store.Changes(ctx, freshet.ChangeQuery{After: change, Limit: 1})
	if err != nil || len(next) == 0 {
		return 0, err
	}
	return outcomeBefore(ctx, r.cfg.Store, next[0].Before)
}

// edit takes over an edit of a query.
func (r *Runner) edit(q freshet.Query) error {
	if err := r.setPace(q, r.paces[q.ID].Save()); err != nil {
		return err
	}
	r.known[q.ID] = q
	if i := slices.IndexFunc(r.ahead, func(a freshet.Query) bool { return a.ID == q.ID }); i >= 0 {
		r.ahead[i] = q
		return nil
	}
	l := r.main
	if own := r.behind[q.ID]; own != nil {
		l = own
	}
	r.put(l, q)
	return nil
}

// drop forgets a query.
func (r *Runner) drop(id freshet.QueryID) {
	r.main.engine.Remove(id)
	delete(r.known, id)
	delete(r.paces, id)
	delete(r.behind, id)
	r.ahead = slices.DeleteFunc(r.ahead, func(q freshet.Query) bool { return q.ID == id })
	r.show(id)
}

// keep puts what has come of the logs so far on disk. A store that cannot write for a
// while is waited for.
func (r *Runner) keep(ctx context.Context) error {
	for _, n := range r.main.engine.Save() {
		r.note(n.Query, n.Key, n.Data)
	}
	for id, l := range r.behind {
		if !l.moved {
			continue
		}
		l.moved = false
		for _, n := range l.engine.Save() {
			if n.Query == id {
				r.note(n.Query, n.Key, n.Data)
			}
		}
		changes, outcomes := l.engine.Upto()
		r.note(id, laneNote, fmt.Appendf(nil, "%d %d", changes, outcomes))
	}
	if len(r.step.Notes)+len(r.step.Matches)+len(r.step.Parcels) == 0 || r.postponed() {
		return nil
	}
	err := persist.Write(ctx, func() error { return r.cfg.Store.RunQueries(ctx, r.step) }, func(times int, err error) {
		if times == 1 {
			r.cfg.Log.Error("the data cannot be written; queries wait until it can", "err", err, "hint", freshet.HintOf(err))
		}
	})
	if err == nil {
		r.step, r.kept = freshet.QueryStep{}, place{}
		r.kept.changes, r.kept.outcomes = r.main.engine.Upto()
	}
	return err
}

// postponed reports whether there is nothing to keep but how far the main lane is. To go
// through a little of the logs again after a crash costs less than a write for each
// change: what matched nothing matches nothing then, either.
func (r *Runner) postponed() bool {
	const little = 1000
	for _, n := range r.step.Notes {
		if n.Query != "" {
			return false
		}
	}
	changes, outcomes := r.main.engine.Upto()
	if len(r.step.Matches)+len(r.step.Parcels) > 0 || changes-r.kept.changes > little || outcomes-r.kept.outcomes > little {
		return false
	}
	r.step.Notes = r.step.Notes[len(r.step.Notes)-1:]
	return true
}

func (r *Runner) note(id freshet.QueryID, name string, body []byte) {
	r.step.Notes = append(r.step.Notes, freshet.QueryNote{Query: id, Name: name, Body: body})
}

// tell takes in matches, and has those told that are to be.
func (r *Runner) tell(matches []freshet.Match) error {
	now := r.cfg.Now()
	for _, m := range matches {
		r.step.Matches = append(r.step.Matches, m)
		pace := r.paces[m.Query]
		parcels, err := pace.Tell(m, now)
		if err != nil {
			return err
		}
		r.step.Parcels = append(r.step.Parcels, parcels...)
		r.note(m.Query, paceNote, pace.Save())
		r.show(m.Query)
	}
	return nil
}

// tellDue has the matches told whose time has come, and returns when the next are.
func (r *Runner) tellDue() (next time.Time) {
	now := r.cfg.Now()
	for id, pace := range r.paces {
		if due, waits := pace.Due(); waits && !due.After(now) {
			r.step.Parcels = append(r.step.Parcels, pace.Tick(now)...)
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
