package queries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// TestLate tells changes in any order. Which of them match does not depend on it, as
// long as nothing that comes late can make a match untrue.
func TestLate(t *testing.T) {
	list := []queries.Query{
		{ID: "count", When: `count("1h") > 2 && now.price > 1`, Window: queries.Window{By: "all"}},
		{ID: "after", When: `source.id == "s0" && after(source.id == "s1" && added.contains("a"), "1h")`, Window: queries.Window{By: "all"}},
		{ID: "distinct", When: `distinct(source.id, "40m") >= 2`, Window: queries.Window{By: "all"}},
	}
	rapid.Check(t, func(t *rapid.T) {
		var events []queries.Event
		for i := range rapid.IntRange(1, 15).Draw(t, "events") {
			event := anyEvent(t, i+1, time.Duration(rapid.IntRange(0, 90).Draw(t, "minute"))*time.Minute+time.Duration(i))
			event.Change.Modified = time.Time{}
			events = append(events, event)
		}
		fired := func(events []queries.Event) map[string]bool {
			e, err := queries.NewEngine()
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range list {
				if err := e.Put(q); err != nil {
					t.Fatal(err)
				}
			}
			all := map[string]bool{}
			for i, event := range events {
				c := *event.Change
				c.Cursor = freshet.Cursor(i + 1)
				event.Change = &c
				for _, m := range e.Observe(event) {
					name := fmt.Sprintf("%s %d", m.Query, m.Changes[len(m.Changes)-1].Seq)
					if all[name] {
						t.Fatalf("%s is told twice", name)
					}
					all[name] = true
				}
			}
			return all
		}
		got := fired(rapid.Permutation(events).Draw(t, "order"))
		slices.SortFunc(events, func(a, b queries.Event) int { return a.Change.Before.Compare(b.Change.Before) })
		if diff := cmp.Diff(fired(events), got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestLateStateIsOld does not take what came late for how things are.
func TestLateStateIsOld(t *testing.T) {
	e := newEngine(t,
		queries.Query{ID: "red", Name: "q", When: `now.status == "red"`, Window: queries.Window{For: 10 * time.Minute}},
		queries.Query{ID: "silent", Name: "q", Window: queries.Window{Silent: queries.Silence{For: time.Hour}}},
	)
	late := func(c *freshet.Change) { c.Modified = start.Add(2 * time.Minute) }
	s := new(story).change("a", 0, fields("status", "red", "green")).change("a", 5*time.Minute, fields("status", "green", "red")).
		change("a", 6*time.Minute, fields("status", "red", "green"), late).tick(30 * time.Minute).tick(2 * time.Hour)
	var got []string
	for _, event := range s.events {
		for _, m := range tell(e, event) {
			got = append(got, short(m))
		}
	}
	if diff := cmp.Diff([]string{"1 silent a +1h5m"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestMatchNamesItsChanges tells which changes a match rests on.
func TestMatchNamesItsChanges(t *testing.T) {
	e := newEngine(t,
		queries.Query{ID: "after", Name: "q", When: `source.id == "b" && after(source.id == "a", "1h")`, Window: queries.Window{By: "all"}},
		queries.Query{ID: "count", Name: "q", When: `count(source.id != "c", "1h") == 3`, Window: queries.Window{By: "all"}},
	)
	s := new(story).change("a", 0, added("")).change("c", time.Minute, added("")).change("a", 2*time.Minute, added("")).change("b", 3*time.Minute, added(""))
	got := map[queries.ID][]freshet.ChangeRef{}
	for _, event := range s.events {
		for _, m := range tell(e, event) {
			got[m.Query] = m.Changes
		}
	}
	want := map[queries.ID][]freshet.ChangeRef{
		"after": {{Source: "a", Seq: 2, Cursor: 3}, {Source: "b", Seq: 1, Cursor: 4}},
		"count": {{Source: "a", Seq: 1, Cursor: 1}, {Source: "a", Seq: 2, Cursor: 3}, {Source: "b", Seq: 1, Cursor: 4}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestWholeValues are seen by the change that they belong to, also where they are too
// large to be remembered.
func TestWholeValues(t *testing.T) {
	long := strings.Repeat("long ", 100)
	for when, want := range map[string]int{
		`unseen(lines(added)).exists(l, l in source.tags)`:                                  1,
		`added == previous(added)`:                                                          1,
		`previous(added) != added`:                                                          1,
		`others(added).exists(x, x == added)`:                                               1,
		`items.added.exists(i, i.title in ["x"]) || first(added) && size(items.added) == 0`: 2,
	} {
		e := newEngine(t, queries.Query{ID: "q", Name: "q", When: when, Window: queries.Window{By: "all"}})
		got := 0
		for _, event := range new(story).change("a", 0, added(long)).change("b", time.Minute, added(long)).change("a", 2*time.Minute, added("shop")).events {
			got += len(tell(e, event))
		}
		if got != want {
			t.Errorf("%s: %d matches, want %d", when, got, want)
		}
	}
}

// TestEdits keeps the numbers of matches, and what is remembered if the condition is as
// before.
func TestEdits(t *testing.T) {
	q := queries.Query{ID: "q", Name: "q", When: `count("1h") >= 2`}
	e := newEngine(t, q)
	s := new(story).change("a", 0, added("")).change("a", time.Minute, added("")).change("a", 2*time.Minute, added("")).change("a", 3*time.Minute, added("")).change("a", 4*time.Minute, added("")).change("a", 5*time.Minute, added(""))
	var got []string
	next := func() {
		for _, m := range tell(e, s.events[0]) {
			got = append(got, short(m))
		}
		s.events = s.events[1:]
	}
	put := func(q queries.Query) {
		if err := e.Put(q); err != nil {
			t.Fatal(err)
		}
	}
	next()
	q.Name = "renamed"
	put(q)
	next() // the one before is remembered
	q.When = `count("2h") >= 2`
	put(q)
	next() // it begins anew
	next()
	q.Paused = true
	put(q)
	next()
	q.Paused = false
	put(q)
	if err := e.Put(queries.Query{ID: "q", When: `nonsense(`}); err == nil {
		t.Error("nonsense is taken")
	}
	next()
	if diff := cmp.Diff([]string{"1 change a +1m", "2 change a +3m", "3 change a +5m"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestNumbersGoOn when a query was removed and is put again, also after a restart.
func TestNumbersGoOn(t *testing.T) {
	q := queries.Query{ID: "q", Name: "q", When: `true`, Value: `unseen(lines(added))`}
	e := newEngine(t, q)
	s := new(story).change("a", 0, added("x")).change("a", time.Minute, added("x")).change("a", 2*time.Minute, added("x"))
	if got := short(tell(e, s.events[0])[0]); got != "1 change a +0s = [x]" {
		t.Error(got)
	}
	e.Remove("q")
	if err := e.Put(q); err != nil {
		t.Fatal(err)
	}
	if got := short(tell(e, s.events[1])[0]); got != "2 change a +1m = [x]" {
		t.Error(got)
	}
	e.Remove("q")
	again := newEngine(t)
	if err := again.Restore(e.Save()); err != nil {
		t.Fatal(err)
	}
	if err := again.Put(q); err != nil {
		t.Fatal(err)
	}
	if got := short(tell(again, s.events[2])[0]); got != "3 change a +2m = [x]" {
		t.Error(got)
	}
}

// TestDamagedNotes are refused.
func TestDamagedNotes(t *testing.T) {
	e := newEngine(t, looking...)
	for i := range 40 {
		c := added(fmt.Sprintf("line %d", i))
		c.Now = freshet.Fields{"price": float64(i), "name": "a"}
		e.Observe(new(story).change("s0", time.Duration(i)*time.Minute, c, func(c *freshet.Change) { c.Cursor = freshet.Cursor(i + 1) }).events[0].(queries.Event))
	}
	notes := e.Save()
	if err := newEngine(t, looking...).Restore(notes); err != nil {
		t.Fatal(err)
	}
	for i, n := range notes {
		if n.Body == nil {
			continue
		}
		cut := slices.Clone(notes)
		cut[i].Body = n.Body[:len(n.Body)-1]
		if err := newEngine(t, looking...).Restore(cut); err == nil {
			t.Errorf("note %s %s is taken without its last byte", n.Query, n.Name)
		}
	}
	if again := e.Save(); len(again) != 0 {
		t.Errorf("%d notes are saved again", len(again))
	}
}

// TestOthers has the newest value of each other source, and none of its own.
func TestOthers(t *testing.T) {
	e := newEngine(t, queries.Query{ID: "q", Name: "q", When: `size(others(now.price)) > 0`, Value: `others(now.price)`, Window: queries.Window{By: "all"}})
	s := new(story).change("a", 0, price(1, 0)).change("b", time.Minute, price(2, 0)).change("b", 2*time.Minute, price(3, 0)).change("a", 3*time.Minute, price(4, 0)).change("c", 4*time.Minute, price(5, 0))
	var got []any
	for _, event := range s.events {
		for _, m := range tell(e, event) {
			got = append(got, m.Value)
		}
	}
	if diff := cmp.Diff([]any{[]any{1.0}, []any{1.0}, []any{3.0}, []any{4.0, 3.0}}, got); diff != "" {
		t.Error(diff)
	}
}
