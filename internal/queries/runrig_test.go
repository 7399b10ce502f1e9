package queries_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/kit"
)

// A rig is a store with sources, and a runner that can be stopped and started.
type rig struct {
	t       *testing.T
	dir     string
	store   freshet.Store
	queries *queries.Store
	out     atomic.Bool // the runner cannot read the store
	gone    atomic.Bool // nor texts
	runner  *queries.Runner
	stop    func()
}

// inBubble runs a test with a rig in time that passes by itself.
func inBubble(t *testing.T, do func(r *rig)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, dir: dir}
		r.open()
		for _, id := range []freshet.SourceID{"a", "b"} {
			if _, err := r.store.AddSource(t.Context(), freshet.Source{ID: id, URL: "http://" + string(id) + ".example/", Tags: []string{"tag-" + string(id)}}); err != nil {
				t.Fatal(err)
			}
			r.see(id, "nothing yet\n", nil)
		}
		do(r)
		r.close()
	})
}

func (r *rig) open() {
	store, err := sqlite.Open(context.WithoutCancel(r.t.Context()), sqlite.Config{Features: features.All(), Dir: r.dir})
	if err != nil {
		r.t.Fatal(err)
	}
	r.store, r.queries = store, queries.NewStore(store.DB())
	r.start()
}

// start has the queries run.
func (r *rig) start() {
	r.runner = queries.NewRunner(queries.RunnerConfig{Store: shaky{r.store, &r.out, &r.gone}, Queries: r.queries, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	done := make(chan error)
	go func() { done <- r.runner.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("running: %v", err)
		}
		r.stop = func() {}
	}
}

// A shaky store is one whose changes cannot be read now and then, and whose texts are gone.
type shaky struct {
	freshet.Store
	out, gone *atomic.Bool
}

// Text implements [freshet.Store].
func (s shaky) Text(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	if s.gone.Load() {
		return nil, freshet.ErrNotFound
	}
	return s.Store.Text(ctx, id, number)
}

// Changes implements [freshet.Store].
func (s shaky) Changes(ctx context.Context, q freshet.ChangeQuery) ([]freshet.Change, error) {
	if s.out.Load() {
		return nil, fmt.Errorf("reading changes: %w", freshet.ErrStorage)
	}
	return s.Store.Changes(ctx, q)
}

func (r *rig) close() {
	r.stop()
	if err := r.store.Close(); err != nil {
		r.t.Errorf("closing the store: %v", err)
	}
}

// reopen stops all and starts it again.
func (r *rig) reopen() {
	r.close()
	r.open()
}

// see commits a poll of a source that brought a text, and values.
func (r *rig) see(id freshet.SourceID, text string, fields freshet.Fields) freshet.Change {
	r.t.Helper()
	record := kit.Changed(id, text, "other")
	record.Capture.Fields = fields
	_, c, err := r.store.Commit(r.t.Context(), record)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// add adds a query, which begins now unless it says otherwise.
func (r *rig) add(q queries.Query) queries.Query {
	r.t.Helper()
	checked, err := queries.Check(q, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	checked.Query.From, checked.Query.Created = q.From, time.Now()
	added, err := r.queries.AddQuery(r.t.Context(), checked.Query)
	if err != nil {
		r.t.Fatal(err)
	}
	r.runner.Edited()
	return added
}

// matches returns what queries have matched by now, such as "p.1 a.2".
func (r *rig) matches() (found []string) {
	r.t.Helper()
	synctest.Wait()
	all, err := r.queries.Matches(r.t.Context(), queries.MatchQuery{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, m := range all {
		line := fmt.Sprintf("%s.%d", m.Query, m.Number)
		for _, ref := range m.Changes {
			line += fmt.Sprintf(" %s.%d", ref.Source, ref.Seq)
		}
		if m.Value != nil {
			line += fmt.Sprintf(" %v", m.Value)
		}
		if m.Cause != queries.MatchChange {
			line += fmt.Sprintf(" %s %s", m.Cause, m.At.UTC().Format("15:04"))
		}
		found = append(found, line)
	}
	return found
}

// batches returns what has been told by now, such as "p 1-3 digest 08:00".
func (r *rig) batches() (found []string) {
	r.t.Helper()
	synctest.Wait()
	all, err := r.queries.Batches(r.t.Context(), queries.MatchQuery{})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, p := range all {
		found = append(found, fmt.Sprintf("%s %d-%d %s %s", p.Query, p.From, p.To, p.Delay, p.At.UTC().Format("15:04")))
	}
	return found
}
