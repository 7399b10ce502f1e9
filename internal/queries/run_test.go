package queries_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%q, want\n%q", what, got, want)
	}
}

// A query hears of every change that is committed after it was added, and of none before,
// wherever it was stopped and started.
func TestFromNowOn(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.see("a", "sale one\n", nil)
		r.stop()
		r.see("a", "sale two\n", nil) // which the runner has not looked at
		r.start()
		r.add(queries.Query{ID: "p", Name: "p", From: -1, When: `added.contains("sale")`, Value: "text"})
		r.see("a", "sale three\n", nil)
		r.see("b", "nothing\n", nil)
		want(t, "at once", r.matches(), "p.1 a.3 sale three\n")
		r.reopen()
		r.see("b", "sale four\n", nil)
		want(t, "after a start", r.matches(), "p.1 a.3 sale three\n", "p.2 b.2 sale four\n")
	})
}

// A query that begins in the past catches up, in the order of the log, and goes on with
// the others.
func TestFromThePast(t *testing.T) {
	inBubble(t, func(r *rig) {
		var all []string
		for i := range 600 {
			id := freshet.SourceID("a")
			if i%3 == 0 {
				id = "b"
			}
			c := r.see(id, fmt.Sprintf("number %d\n", i), freshet.Fields{"n": float64(i)})
			if i >= 100 && i%2 == 0 {
				all = append(all, fmt.Sprintf("p.%d %s.%d %d", len(all)+1, c.Source, c.Seq, i))
			}
			time.Sleep(time.Second)
		}
		want(t, "before", r.matches())
		r.add(queries.Query{ID: "p", Name: "p", From: 100, When: "int(now.n) % 2 == 0", Trigger: queries.Each, Value: "int(now.n)"})
		r.reopen()
		r.see("a", "number 600\n", freshet.Fields{"n": 600.0})
		got := r.matches()
		if len(got) != len(all)+1 {
			t.Fatalf("%d matches, want %d: %q", len(got), len(all)+1, got[:min(5, len(got))])
		}
		want(t, "matches", got[:len(all)], all...)
	})
}

// Absence is told when its time has come, also if the runner was stopped meanwhile.
func TestSilence(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.add(queries.Query{ID: "p", Name: "p", From: -1, Scope: queries.Scope{Sources: []freshet.SourceID{"a"}}, Window: queries.Window{Silent: queries.Silence{For: 2 * time.Hour}}})
		synctest.Wait()
		r.see("a", "one\n", nil)
		time.Sleep(time.Hour)
		r.see("a", "two\n", nil)
		r.see("b", "two\n", nil)
		time.Sleep(119 * time.Minute)
		want(t, "just before", r.matches())
		r.stop()
		time.Sleep(10 * time.Minute)
		r.start()
		if got := r.matches(); len(got) != 1 {
			t.Errorf("after two hours the matches are %q", got)
		}
	})
}

// Matches wait for their digest over a start, and each is told once.
func TestDigest(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.add(queries.Query{ID: "p", Name: "p", From: -1, Digest: queries.Digest{Every: queries.DigestDay, At: 8 * 60}})
		synctest.Wait()
		for i := range 3 {
			r.see("a", fmt.Sprintf("one %d\n", i), nil)
			time.Sleep(time.Hour)
		}
		want(t, "in the night", r.batches())
		r.reopen()
		time.Sleep(6 * time.Hour)
		want(t, "in the morning", r.batches(), "p 1-3 digest 08:00")
		r.see("a", "another\n", nil)
		r.reopen()
		time.Sleep(24 * time.Hour)
		want(t, "a day later", r.batches(), "p 1-3 digest 08:00", "p 4-4 digest 08:00")
	})
}

// What is edited or removed takes effect, and numbers go on.
func TestRunnerEdits(t *testing.T) {
	inBubble(t, func(r *rig) {
		q := r.add(queries.Query{ID: "p", Name: "p", From: -1, When: `text.contains("x")`, Trigger: queries.Each})
		r.see("a", "x\n", nil)
		want(t, "at first", r.matches(), "p.1 a.1")
		q.When = `text.contains("y")`
		if _, err := r.queries.UpdateQuery(r.t.Context(), q); err != nil {
			t.Fatal(err)
		}
		r.runner.Edited()
		synctest.Wait()
		r.see("a", "xx\n", nil)
		r.see("a", "y\n", nil)
		want(t, "after an edit", r.matches(), "p.1 a.1", "p.2 a.3")
		if err := r.queries.RemoveQuery(r.t.Context(), "p"); err != nil {
			t.Fatal(err)
		}
		r.runner.Edited()
		synctest.Wait()
		r.see("a", "yy\n", nil)
		want(t, "after a removal", r.matches())
		r.add(queries.Query{ID: "p", Name: "p", From: -1, When: `text.contains("y")`, Trigger: queries.Each})
		r.see("a", "yyy\n", nil)
		want(t, "under the same name", r.matches(), "p.3 a.5")
	})
}

// However often the runner is stopped, windows count what they count when it is not.
func TestStopsChangeNothing(t *testing.T) {
	queries := []queries.Query{
		{ID: "p", Name: "p", From: -1, When: `count("1h") > 2`},
		{ID: "q", Name: "q", From: -1, When: `now.n < lowest(now.n, "2h")`, Value: "now.n", Window: queries.Window{By: queries.ByNothing}},
		{ID: "r", Name: "r", From: -1, When: `after(source.id == "a", "30m") && source.id == "b"`, Window: queries.Window{By: queries.ByNothing}},
	}
	type happening struct {
		source freshet.SourceID
		after  time.Duration
		n      int
		stop   int // 0 no, 1 stopped and started, 2 the store too
	}
	for seed := range uint64(8) {
		draw := rand.New(rand.NewPCG(seed, 1))
		var happenings []happening
		for range 20 {
			happenings = append(happenings, happening{freshet.SourceID([]string{"a", "b"}[draw.IntN(2)]), time.Duration(1+draw.IntN(50)) * time.Minute, draw.IntN(20), draw.IntN(3)})
		}
		run := func(stops bool) (found []string) {
			inBubble(t, func(r *rig) {
				for _, q := range queries {
					r.add(q)
				}
				synctest.Wait()
				for i, h := range happenings {
					time.Sleep(h.after)
					r.see(h.source, fmt.Sprintf("%d %d\n", i, h.n), freshet.Fields{"n": float64(h.n)})
					switch {
					case stops && h.stop == 1:
						r.stop()
						r.start()
					case stops && h.stop == 2:
						r.reopen()
					}
				}
				found = r.matches()
			})
			slices.Sort(found) // queries of one change come in one step or in two
			return found
		}
		if plain, stopped := run(false), run(true); !slices.Equal(plain, stopped) || len(plain) == 0 {
			t.Fatalf("seed %d: with stops:\n%q, without:\n%q", seed, stopped, plain)
		}
	}
}

// What no query matches is not worth a write.
func TestNothingMatchedNothingWritten(t *testing.T) {
	inBubble(t, func(r *rig) {
		notes := func() (found []string) {
			synctest.Wait()
			for n, err := range r.queries.States(r.t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, fmt.Sprintf("%s/%s=%x", n.Query, n.Name, n.Body))
			}
			return found
		}
		change := func(text string) {
			for i := range 20 {
				r.see("a", fmt.Sprintf("%s %d\n", text, i), nil)
				synctest.Wait()
			}
		}
		change("before")
		want(t, "without a query", notes())
		r.add(queries.Query{ID: "p", Name: "p", From: -1, When: `added.contains("sale")`})
		begun := notes()
		change("nothing")
		want(t, "without a match", notes(), begun...)
		r.reopen()
		change("sale")
		if got := r.matches(); len(got) != 20 || got[0] != "p.1 a.41" || slices.Equal(notes(), begun) {
			t.Errorf("the matches are %q, and the notes %q", got, notes())
		}
	})
}

// The store cannot be read for a while: queries go on by themselves, and match what they would have
// matched, once.
func TestOutagesChangeNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.add(queries.Query{ID: "p", Name: "p", From: -1, When: `added.contains("sale")`})
		r.see("a", "sale one\n", nil)
		want(t, "before", r.matches(), "p.1 a.1")
		for n, more := range []string{"sale two\n", "sale three\n"} {
			r.out.Store(true)
			r.see("b", more, nil)
			want(t, "while nothing can be read", r.matches(), []string{"p.1 a.1", "p.2 b.1"}[:n+1]...)
			time.Sleep(time.Hour)
			r.out.Store(false)
			time.Sleep(time.Minute)
		}
		want(t, "after", r.matches(), "p.1 a.1", "p.2 b.1", "p.3 b.2")
	})
}

func TestSync(t *testing.T) {
	inBubble(t, func(r *rig) {
		cheap := queries.Query{ID: "cheap", Name: "Cheap", When: "now.price < 10.0", Origin: freshet.FromFile}
		any := queries.Query{ID: "any", Name: "Any", Origin: freshet.FromFile}
		if _, err := r.queries.AddQuery(r.t.Context(), queries.Query{ID: "own", Name: "Own", Origin: freshet.FromAPI, From: -1}); err != nil {
			t.Fatal(err)
		}
		edited := cheap
		edited.Digest = queries.Digest{Count: 2}
		for i, step := range []struct {
			listed []queries.Query
			want   queries.Synced
			ids    string
		}{
			{[]queries.Query{cheap, any}, queries.Synced{Added: 2}, "any cheap own "},
			{[]queries.Query{any, cheap}, queries.Synced{Kept: 2}, "any cheap own "},
			{[]queries.Query{edited, any}, queries.Synced{Changed: 1, Kept: 1}, "any cheap own "},
			{[]queries.Query{{ID: "own", Name: "Now of the file"}}, queries.Synced{Changed: 1, Removed: 2}, "own "},
			{nil, queries.Synced{Removed: 1}, ""},
		} {
			time.Sleep(time.Second)
			got, err := r.runner.Sync(r.t.Context(), step.listed)
			if err != nil || got != step.want {
				t.Errorf("step %d does %+v, %v; want %+v", i, got, err, step.want)
			}
			all, err := r.queries.Queries(r.t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ids := ""
			for _, q := range all {
				ids += string(q.ID) + " "
			}
			if ids != step.ids {
				t.Errorf("after step %d there are %s, want %s", i, ids, step.ids)
			}
		}
	})
}
