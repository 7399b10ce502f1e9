package queries_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/test/tier"
)

// TestWindowEdges counts what happened less than an hour before, and not what happened
// an hour before.
func TestWindowEdges(t *testing.T) {
	e := newEngine(t, queries.Query{ID: "q", Name: "q", When: `count("1h") >= 1`, Value: `count("1h")`})
	s := new(story).change("a", 0, added("")).change("a", 1, added("")).change("a", time.Hour, added("")).change("a", time.Hour, added(""))
	var got []any
	for _, event := range s.events {
		for _, m := range tell(e, event) {
			got = append(got, m.Value)
		}
	}
	if diff := cmp.Diff([]any{1.0, 2.0, 2.0, 3.0}, got); diff != "" {
		t.Error(diff)
	}
}

// TestToldAgain passes over what it has been told before.
func TestToldAgain(t *testing.T) {
	e := newEngine(t, queries.Query{ID: "q", Name: "q", When: `poll.failures >= 1`}, queries.Query{ID: "r", Name: "r"})
	s := new(story).change("a", 0, added("")).poll("a", 0, freshet.Failed).poll("a", 1, freshet.Unchanged)
	for round, want := range []int{2, 0} {
		got := 0
		for _, event := range s.events {
			got += len(tell(e, event))
		}
		if got != want {
			t.Errorf("round %d: %d matches, want %d", round, got, want)
		}
	}
	if changes, outcomes := e.Upto(); changes != 1 || outcomes != 2 {
		t.Errorf("told up to %d and %d", changes, outcomes)
	}
}

// TestMemoryIsBounded tells more than a query remembers. What is forgotten is counted,
// the notes are small, and they can be restored.
func TestMemoryIsBounded(t *testing.T) {
	tier.Slow(t, "it makes many matches")
	list := []queries.Query{
		{ID: "count", Name: "q", When: `count("30d") < 0`, Window: queries.Window{By: "all"}},
		{ID: "groups", Name: "q", When: `previous(now.sku) == "never"`, Window: queries.Window{By: "now.sku"}},
		{ID: "unseen", Name: "q", When: `size(unseen(lines(added))) < 0`, Window: queries.Window{By: "all"}},
	}
	e := newEngine(t, list...)
	disk := map[string]queries.State{}
	save := func() {
		for _, n := range e.Save() {
			if len(n.Body) > 64<<10 {
				t.Fatalf("note %s of %s has %d bytes", n.Name, n.Query, len(n.Body))
			}
			disk[string(n.Query)+" "+n.Name] = n
			if n.Body == nil {
				delete(disk, string(n.Query)+" "+n.Name)
			}
		}
	}
	for i := range 10_500 {
		c := freshet.Change{Cursor: freshet.Cursor(i + 1), Source: "a", Seq: i + 1, Before: start.Add(time.Duration(i) * time.Second)}
		text := ""
		for line := range 10 {
			text += fmt.Sprintf("line %d of %d\n", line, i)
		}
		e.Observe(queries.Event{Subject: queries.Subject{ID: "a"}, Change: &c, Content: queries.Content{Added: text, Now: freshet.Fields{"sku": fmt.Sprint(i)}}})
		if i%1000 == 0 {
			save()
		}
	}
	save()
	want := map[queries.ID]int64{"count": 5004, "groups": 1000, "unseen": 5002} // twice it is noted that the source is known
	for id, forgotten := range want {
		if got := e.Tally(id).Forgotten; got != forgotten {
			t.Errorf("%s has forgotten %d, want %d", id, got, forgotten)
		}
	}
	var notes []queries.State
	size := 0
	for _, n := range disk {
		notes, size = append(notes, n), size+len(n.Body)
	}
	t.Logf("%d notes, %d bytes", len(notes), size)
	again := newEngine(t, list...)
	if err := again.Restore(notes); err != nil {
		t.Fatal(err)
	}
}
