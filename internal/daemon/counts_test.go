package daemon_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
)

// A loading store has something happen while its sources are read.
type loading struct {
	freshet.Store
	meanwhile func(at int)
}

func (l *loading) Sources(ctx context.Context) iter.Seq2[freshet.SourceWithStatus, error] {
	return func(yield func(freshet.SourceWithStatus, error) bool) {
		n := 0
		for w, err := range l.Store.Sources(ctx) {
			if l.meanwhile(n); !yield(w, err) {
				return
			}
			n++
		}
		l.meanwhile(n)
	}
}

// Edits that are made while the sources are loaded are counted once, whether or
// not the load has seen them.
func TestCountWhileLoading(t *testing.T) {
	t.Parallel()
	for at := range 4 {
		t.Run(fmt.Sprintf("after %d of 3", at), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
				if err != nil {
					t.Fatal(err)
				}
				defer store.Close()
				source := func(id string) freshet.Source {
					return freshet.Source{ID: freshet.SourceID(id), URL: "http://" + id + ".example/", Paused: true}
				}
				for _, id := range []string{"b", "d", "f"} {
					if _, err := store.AddSource(t.Context(), source(id)); err != nil {
						t.Fatal(err)
					}
				}
				watched := &loading{Store: store}
				d := daemon.New(daemon.Config{Store: watched, Fetcher: page(0, 1), Policy: &policy.RoundRobin{}})
				watched.meanwhile = func(n int) {
					if n != at {
						return
					}
					for _, id := range []string{"a", "c", "e", "g"} {
						if _, err := d.AddSource(t.Context(), source(id)); err != nil {
							t.Error(err)
						}
					}
					for _, id := range []freshet.SourceID{"b", "f", "a"} {
						if err := d.RemoveSource(t.Context(), id, false); err != nil {
							t.Error(err)
						}
					}
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- d.Run(ctx) }()
				<-d.Started()
				if n := d.Status().Sources; n != 4 {
					t.Errorf("%d sources are counted, want c, d, e and g", n)
				}
				for _, id := range []freshet.SourceID{"c", "d", "e", "g"} {
					if err := d.RemoveSource(t.Context(), id, false); err != nil {
						t.Error(err)
					}
				}
				for _, id := range []freshet.SourceID{"c", "b", "g"} { // which nobody watches any more
					if err := d.RemoveSource(t.Context(), id, true); err != nil {
						t.Error(err)
					}
				}
				if n := d.Status().Sources; n != 0 {
					t.Errorf("%d sources are counted when all are gone", n)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
