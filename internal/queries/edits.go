package queries

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"freshet/internal/freshet"
)

// The names of notes that are the Runner's own. Those of engines have other names.
const (
	laneNote = "lane" // how far a query is that catches up; empty once it has joined the others
	paceNote = "pace"
)

// load resumes where the last run ended.
func (r *Runner) load(ctx context.Context) error {
	var err error
	r.known, r.paces, r.behind, r.ahead = map[ID]Query{}, map[ID]*Pace{}, map[ID]*lane{}, nil
	r.step, r.kept = Step{}, place{}
	if r.main, err = r.newLane(); err != nil {
		return err
	}
	list, err := r.cfg.Queries.Queries(ctx)
	if err != nil {
		return err
	}
	notes, err := r.notes(ctx)
	if err != nil {
		return err
	}
	all := notes[""]
	for _, q := range list {
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
func (r *Runner) resume(q Query, own queryNotes) error {
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
func (r *Runner) lag(q Query, at place) (*lane, error) {
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
	engine     []State
	lane, pace []byte
}

func (r *Runner) notes(ctx context.Context) (map[ID]queryNotes, error) {
	by := map[ID]queryNotes{}
	for n, err := range r.cfg.Queries.States(ctx) {
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
			own.engine = append(own.engine, n)
		}
		by[n.Query] = own
	}
	return by, nil
}

// put makes a lane run a query. One that cannot be run any more is left out, and the others
// go on.
func (r *Runner) put(l *lane, q Query) {
	r.known[q.ID] = q
	if err := l.engine.Put(q); err != nil {
		r.cfg.Log.Error("a query cannot be run; edit it", "query", q.ID, "err", err)
	}
	// It may match what others skipped: its beginning has to be on disk.
	l.engine.Begin(l.engine.Upto())
}

// setPace sets the pace of a query.
func (r *Runner) setPace(q Query, saved []byte) error {
	pace, err := NewPace(q, q.Last)
	if err != nil {
		return err
	}
	if saved != nil {
		if err := pace.Restore(saved); err != nil {
			return err
		}
	}
	pace.planRepeat(r.cfg.Now())
	r.paces[q.ID] = pace
	r.show(q.ID)
	return nil
}

// look applies edits.
func (r *Runner) look(ctx context.Context) error {
	list, err := r.cfg.Queries.Queries(ctx)
	if err != nil {
		return err
	}
	there := map[ID]bool{}
	for _, q := range list {
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

// add begins to run a query.
func (r *Runner) add(ctx context.Context, q Query) error {
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
	slices.SortFunc(r.ahead, func(a, b Query) int { return int(a.From - b.From) })
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

// edit applies an edit of a query.
func (r *Runner) edit(q Query) error {
	if err := r.setPace(q, r.paces[q.ID].Save()); err != nil {
		return err
	}
	r.known[q.ID] = q
	if i := slices.IndexFunc(r.ahead, func(a Query) bool { return a.ID == q.ID }); i >= 0 {
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

// drop stops running a query.
func (r *Runner) drop(id ID) {
	r.main.engine.Remove(id)
	delete(r.known, id)
	delete(r.paces, id)
	delete(r.behind, id)
	r.ahead = slices.DeleteFunc(r.ahead, func(q Query) bool { return q.ID == id })
	r.show(id)
}

// A Synced counts what a Sync did.
type Synced struct{ Added, Changed, Removed, Kept int }

// Sync makes the queries that come from the configuration file those listed, which have been
// through Check. One that is no longer listed is removed. One that was added otherwise
// and is now listed becomes the file's.
func (r *Runner) Sync(ctx context.Context, listed []Query) (done Synced, err error) {
	defer r.Edited()
	have := map[ID]Query{}
	all, err := r.cfg.Queries.Queries(ctx)
	if err != nil {
		return done, fmt.Errorf("read the queries: %w", err)
	}
	for _, q := range all {
		have[q.ID] = q
	}
	for _, q := range listed {
		old, there := have[q.ID]
		delete(have, q.ID)
		q.Origin = freshet.FromFile
		if q.Trigger == "" && !(there && same(old, q)) { // one of an earlier version goes on as it is
			if q.Trigger, err = usualTrigger(q); err != nil {
				return done, fmt.Errorf("query %s: %w", q.ID, err)
			}
		}
		switch {
		case !there:
			q.Created, q.From = r.cfg.Now(), -1
			_, err = r.cfg.Queries.AddQuery(ctx, q)
			done.Added++
		case same(old, q):
			done.Kept++
		default:
			q.Revision = 0 // the file overrides a concurrent edit
			_, err = r.cfg.Queries.UpdateQuery(ctx, q)
			done.Changed++
		}
		if err != nil {
			return done, fmt.Errorf("query %s: %w", q.ID, err)
		}
	}
	for id, q := range have {
		if q.Origin != freshet.FromFile {
			continue
		}
		if st, _ := r.Status(id); st.Waiting > 0 {
			r.cfg.Log.Warn("a query was removed from the configuration file before all its matches were sent", "query", id, "untold", st.Waiting, "waiting for", st.For)
		}
		if err := r.cfg.Queries.RemoveQuery(ctx, id); err != nil {
			return done, fmt.Errorf("query %s: %w", id, err)
		}
		done.Removed++
	}
	return done, nil
}

// same reports whether a query says the same as another.
func same(a, b Query) bool {
	b.Created, b.Revision, b.From, b.Last, b.Acknowledged = a.Created, a.Revision, a.From, a.Last, a.Acknowledged
	return reflect.DeepEqual(a, b)
}
