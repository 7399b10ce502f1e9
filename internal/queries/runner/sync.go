package runner

import (
	"context"
	"fmt"
	"reflect"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// A Synced counts what a Sync did.
type Synced struct{ Added, Changed, Removed, Kept int }

// Sync makes the queries that come from the configuration file those listed, which have been
// through queries.Check. One that is no longer listed is removed. One that was added otherwise
// and is now listed becomes the file's.
func (r *Runner) Sync(ctx context.Context, listed []queries.Query) (done Synced, err error) {
	defer r.Edited()
	have := map[queries.ID]queries.Query{}
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
		switch {
		case !there:
			q.Created, q.From = r.cfg.Now(), -1
			_, err = r.cfg.Queries.AddQuery(ctx, q)
			done.Added++
		case same(old, q):
			done.Kept++
		default:
			q.Revision = 0 // whoever edited it meanwhile, the file counts
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
		if st, _ := r.Standing(id); st.Waiting > 0 {
			r.cfg.Log.Warn("a query went from the configuration file before all its matches were told", "query", id, "untold", st.Waiting, "waiting for", st.For)
		}
		if err := r.cfg.Queries.RemoveQuery(ctx, id); err != nil {
			return done, fmt.Errorf("query %s: %w", id, err)
		}
		done.Removed++
	}
	return done, nil
}

// same reports whether a query says the same as another.
func same(a, b queries.Query) bool {
	b.Created, b.Revision, b.From, b.Last = a.Created, a.Revision, a.From, a.Last
	return reflect.DeepEqual(a, b)
}
