package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// A gated store lets sources of the file in only when its gate is open.
type gated struct {
	*sqlite.Store
	gate chan struct{}

	once chan struct{}
}

func (g *gated) AddSources(ctx context.Context, list []freshet.Source) ([]freshet.Source, []error, error) {
	g.wait(list)
	return g.Store.AddSources(ctx, list)
}

func (g *gated) UpdateSources(ctx context.Context, list []freshet.Source) ([]error, error) {
	g.wait(list)
	return g.Store.UpdateSources(ctx, list)
}

func (g *gated) wait(list []freshet.Source) {
	if len(list) == 0 || list[0].Origin != freshet.FromFile {
		return
	}
	select {
	case g.once <- struct{}{}:
	default:
	}
	<-g.gate
}

// Whoever edits or removes a source while a list is taken on has the last word,
// and the list holds for all others.
func TestEditsDuringASync(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir(), Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	g := &gated{Store: store, gate: make(chan struct{}), once: make(chan struct{}, 1)}
	d := daemon.New(daemon.Config{Store: g, Policy: &policy.RoundRobin{}, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Hour}}})
	const n = 1000
	var list []freshet.Source
	for i := range n {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprint("page", i)), URL: fmt.Sprintf("https://example.com/%d", i)}
		if i < 3 { // these are there already, and the list has changed
			s.Origin = freshet.FromFile
			if _, err := store.AddSource(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			s.Name = "listed"
		}
		list = append(list, s)
	}
	type result struct {
		did daemon.Synced
		err error
	}
	synced := make(chan result, 1)
	go func() {
		did, err := d.Sync(t.Context(), freshet.PackSources(list...))
		synced <- result{did, err}
	}()
	<-g.once
	if st := d.Status(); st.Listed != n || st.Loaded >= n {
		t.Errorf("meanwhile the status is %+v", st)
	}

	// An edit, a removal of one that is there, and of one that is still to come.
	edited := freshet.Source{ID: "page0", URL: "https://example.com/0", Name: "edited"}
	if _, err := d.UpdateSource(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	for _, id := range []freshet.SourceID{"page1", "page999"} {
		if err := d.RemoveSource(t.Context(), id, false); err != nil {
			t.Errorf("remove %s: %v", id, err)
		}
	}
	if err := d.RemoveSource(t.Context(), "page999", false); !errors.Is(err, freshet.ErrNotFound) {
		t.Errorf("remove page999 again: %v, want ErrNotFound", err)
	}
	// Two that are still to come are added by hand, one of them under another ID.
	for _, s := range []freshet.Source{{ID: "mine", URL: "https://example.com/998"}, {ID: "page997", URL: "https://example.com/997"}} {
		s.Origin = freshet.FromAPI
		if _, err := d.AddSource(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	close(g.gate)
	r := <-synced
	if want := (daemon.Synced{Added: n - 6, Changed: 3, Kept: 2}); r.err != nil || r.did != want {
		t.Errorf("the sync did %+v, %v, want %+v", r.did, r.err, want)
	}
	for id, want := range map[freshet.SourceID]string{"page0": "edited", "page2": "listed"} {
		if w, err := store.Source(t.Context(), id); err != nil || w.Name != want {
			t.Errorf("%s is called %q (%v), want %q", id, w.Name, err, want)
		}
	}
	for _, id := range []freshet.SourceID{"page1", "page999", "page998"} {
		if _, err := store.Source(t.Context(), id); !errors.Is(err, freshet.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", id, err)
		}
	}
	for _, id := range []freshet.SourceID{"mine", "page997"} {
		if w, err := store.Source(t.Context(), id); err != nil || w.Origin != freshet.FromFile {
			t.Errorf("%s comes from %q (%v), want the file", id, w.Origin, err)
		}
	}
	if all := countSources(t, store); all != n-2 {
		t.Errorf("in the end there are %d sources, want %d", all, n-2)
	}
	if st := d.Status(); st.Listed != 0 {
		t.Errorf("in the end the status is %+v", st)
	}
}

func countSources(t *testing.T, store freshet.Catalog) (n int) {
	for _, err := range store.Sources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// Listed sources that take over each other's URLs find their places.
func TestSyncMovesURLs(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: t.TempDir(), Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	d := daemon.New(daemon.Config{Store: store, Policy: &policy.RoundRobin{}})
	list := func(shift int) (list []freshet.Source) {
		for i := range 50 {
			list = append(list, freshet.Source{ID: freshet.SourceID(fmt.Sprint("page", i)), URL: fmt.Sprintf("https://example.com/%d", i+shift)})
		}
		return list
	}
	for _, shift := range []int{0, -1, 0} {
		if did, err := d.Sync(t.Context(), freshet.PackSources(list(shift)...)); err != nil || did.Added+did.Changed != 50 {
			t.Errorf("by %d: %+v, %v", shift, did, err)
		}
	}
	if w, err := store.Source(t.Context(), "page49"); err != nil || w.URL != "https://example.com/49" {
		t.Errorf("page49 is at %s (%v)", w.URL, err)
	}
}
