package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
)

// told returns the IDs of what a sink of r.many was sent.
func told(t *testing.T, dir string, sink int) (ids []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.jsonl", sink)))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var e client.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	return ids
}

// add adds a source with tags, and captures its first version.
func (r *rig) add(id freshet.SourceID, tags ...string) {
	r.t.Helper()
	if _, err := r.store.AddSource(r.t.Context(), freshet.Source{ID: id, URL: "http://page.example/" + string(id), Tags: tags}); err != nil {
		r.t.Fatal(err)
	}
	r.capture(id)
}

// bySource returns IDs of changes in the order of their sources, each in the order in which
// it was told.
func bySource(ids []string) []string {
	slices.SortStableFunc(ids, func(a, b string) int {
		a, _, _ = strings.Cut(a, ".")
		b, _, _ = strings.Cut(b, ".")
		return strings.Compare(a, b)
	})
	return ids
}

// Sinks that want tags, sources or everything are told of all that they want, in order and
// once, however changes fall.
func TestEachSinkIsToldWhatItWants(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				draw := rand.New(rand.NewPCG(seed, 1))
				r := newRig(t)
				defer r.close()
				const sources, count = 6, 12
				some := func(prefix string) (names []string) {
					for i := range sources {
						if draw.IntN(4) == 0 {
							names = append(names, fmt.Sprint(prefix, i))
						}
					}
					return names
				}
				for i := range sources {
					r.add(freshet.SourceID(fmt.Sprint("page", i)), some("tag")...)
				}
				var listed []sinks.Sink
				all := r.many(count, nil, func(i int, s *sinks.Sink) {
					s.Tags = some("tag")
					for _, id := range some("page") {
						s.Sources = append(s.Sources, freshet.SourceID(id))
					}
					listed = append(listed, *s)
				})
				defer all.Stop()
				if err := all.Run(t.Context(), func(err error) { t.Error(err) }); err != nil {
					t.Fatal(err)
				}
				want := make([][]string, count)
				for range 30 {
					for range 1 + draw.IntN(4) {
						c := r.capture(freshet.SourceID(fmt.Sprint("page", draw.IntN(sources))))
						for i, s := range listed {
							if s.Wants(c) {
								want[i] = append(want[i], c.ID())
							}
						}
					}
					time.Sleep(time.Duration(draw.IntN(40)) * time.Second)
				}
				synctest.Wait()
				for i := range listed {
					if got := told(t, r.files, i); !slices.Equal(bySource(got), bySource(want[i])) {
						t.Errorf("sink %d was told %v, want %v", i, got, want[i])
					}
				}
			})
		})
	}
}

// A counted store counts what it is asked for and told.
type counted struct {
	store
	mu    sync.Mutex
	calls map[string]int
}

func (c *counted) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[what]++
}

func (c *counted) Changes(ctx context.Context, q freshet.ChangeQuery) ([]freshet.Change, error) {
	c.count("changes")
	return c.store.Changes(ctx, q)
}

func (c *counted) Wait(ctx context.Context, after freshet.Cursor) error {
	c.count("wait")
	return c.store.Wait(ctx, after)
}

func (c *counted) LastChange(ctx context.Context) (freshet.Cursor, error) {
	c.count("end")
	return c.store.LastChange(ctx)
}

func (c *counted) Advance(ctx context.Context, reader string, to sinks.Position, more []sinks.NewDelivery) error {
	c.count("advance")
	return c.store.Advance(ctx, reader, to, more)
}

// Sinks that want nothing of what comes are not asked. Their places are shown as they are,
// and put on record now and then, and at the end.
func TestChangesWakeOnlyThoseWhoWantThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		log := &counted{store: r.store, calls: map[string]int{}}
		r.store = log
		const count, changes = 50, 20
		all := r.many(count, nil, func(i int, s *sinks.Sink) {
			if s.Tags = []string{"news"}; i > 0 {
				s.Tags = []string{"other"}
			}
		})
		if err := all.Run(t.Context(), func(err error) { t.Error(err) }); err != nil {
			t.Fatal(err)
		}
		var last freshet.Change
		for range 3 { // the first ones have all at work
			last = r.capture(page)
			synctest.Wait()
		}
		clear(log.calls)
		for range changes {
			last = r.capture(page)
			synctest.Wait()
		}
		for call, n := range log.calls {
			if n > 5*changes {
				t.Errorf("%d changes that one sink of %d wants made for %d calls of %s", changes, count, n, call)
			}
		}
		if got := told(t, r.files, 0); len(got) != changes+3 {
			t.Errorf("the sink that wants them was told %d", len(got))
		}
		states, err := all.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range states {
			if st.Place != last.Place() {
				t.Errorf("sink %s is said to be at %v, want %v", st.Sink.Name, st.Place, last.Place())
			}
		}
		at := func() (kept int) {
			for i := range count {
				if place, err := r.store.Place(t.Context(), fmt.Sprintf("s%d", i)); err == nil && place == sinks.PositionOf(last) {
					kept++
				}
			}
			return kept
		}
		if n := at(); n != 1 {
			t.Errorf("the places of %d sinks are on record at once, want that of the one that wants the changes", n)
		}
		time.Sleep(2 * time.Minute)
		last = r.capture(page)
		synctest.Wait()
		if n := at(); n != count {
			t.Errorf("after a minute the places of %d sinks are on record, want all", n)
		}
		last = r.capture(page)
		synctest.Wait()
		all.Stop()
		if n := at(); n != count {
			t.Errorf("in the end the places of %d sinks are on record, want all", n)
		}
	})
}
