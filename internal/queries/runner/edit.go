package runner

import (
	"context"
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// put has a lane run a query. One that cannot be run any more is left out, and the others
// go on.
func (r *Runner) put(l *lane, q queries.Query) {
	r.known[q.ID] = q
	if err := l.engine.Put(q); err != nil {
		r.cfg.Log.Error("a query cannot be run; edit it", "query", q.ID, "err", err)
	}
	// What others passed over it may hear of: where it begins has to be on disk.
	l.engine.Begin(l.engine.Upto())
}

// setPace says how the matches of a query are told.
func (r *Runner) setPace(q queries.Query, saved []byte) error {
	pace, err := queries.NewPace(q, q.Last)
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
	list, err := r.cfg.Queries.Queries(ctx)
	if err != nil {
		return err
	}
	there := map[queries.ID]bool{}
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

// add begins with a query.
func (r *Runner) add(ctx context.Context, q queries.Query) error {
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
	slices.SortFunc(r.ahead, func(a, b queries.Query) int { return int(a.From - b.From) })
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
func (r *Runner) edit(q queries.Query) error {
	if err := r.setPace(q, r.paces[q.ID].Save()); err != nil {
		return err
	}
	r.known[q.ID] = q
	if i := slices.IndexFunc(r.ahead, func(a queries.Query) bool { return a.ID == q.ID }); i >= 0 {
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
func (r *Runner) drop(id queries.ID) {
	r.main.engine.Remove(id)
	delete(r.known, id)
	delete(r.paces, id)
	delete(r.behind, id)
	r.ahead = slices.DeleteFunc(r.ahead, func(q queries.Query) bool { return q.ID == id })
	r.show(id)
}
