package queries_test

import (
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// TestRepeat tells matches again, over restarts and quiet hours, until somebody acknowledges them.
func TestRepeat(t *testing.T) {
	inBubble(t, func(r *rig) { // from midnight on
		q := r.add(queries.Query{ID: "q", Name: "q", From: -1, When: `added.contains("sale")`})
		r.see("a", "old sale\n", nil)
		r.matches()
		q.Repeat, q.Revision = queries.Repeat(30*time.Minute), 0
		quiet := queries.QuietHours{From: 120, To: 180}
		q.Quiet = quiet
		if _, err := r.queries.UpdateQuery(r.t.Context(), q); err != nil {
			t.Fatal(err)
		}
		r.runner.Edited()
		time.Sleep(time.Hour)
		want(t, "what was told before it", r.batches(), "q 1-1  00:00")
		r.see("a", "sale\n", nil)
		synctest.Wait()
		time.Sleep(10 * time.Minute)
		r.see("a", "another sale\n", nil)
		synctest.Wait()
		time.Sleep(15 * time.Minute)
		r.reopen()
		time.Sleep(10 * time.Minute)
		want(t, "once", r.batches(), "q 1-1  00:00", "q 2-2  01:00", "q 3-3  01:10", "q 2-3 repeat 01:30")
		time.Sleep(85 * time.Minute) // 03:00 is the end of the quiet hours
		got := r.batches()
		want(t, "after the quiet hours", got[4:], "q 2-3 repeat 03:00")
		acknowledge := func(upTo int64) queries.Query {
			t.Helper()
			q, err := r.queries.Acknowledge(r.t.Context(), "q", upTo)
			if err != nil {
				t.Fatal(err)
			}
			r.runner.Edited()
			synctest.Wait()
			return q
		}
		if q := acknowledge(2); q.Unacknowledged() != 1 {
			t.Errorf("%d matches are not acknowledged, want 1", q.Unacknowledged())
		}
		acknowledge(1) // which says nothing new
		time.Sleep(30 * time.Minute)
		want(t, "in part", r.batches()[5:], "q 3-3 repeat 03:30")
		if q := acknowledge(1000); q.Acknowledged != 3 {
			t.Errorf("acknowledged up to %d, want 3", q.Acknowledged)
		}
		time.Sleep(5 * time.Hour)
		want(t, "not any more", r.batches()[6:])
		r.see("a", "one more sale\n", nil)
		synctest.Wait()
		time.Sleep(31 * time.Minute)
		want(t, "what comes later", r.batches()[6:], "q 4-4  08:30", "q 4-4 repeat 09:00")
		all, err := r.queries.Batches(r.t.Context(), queries.MatchQuery{})
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]bool{}
		for _, p := range all {
			ids[p.ID()] = true
		}
		if len(ids) != len(all) {
			t.Errorf("%d batches have %d ids", len(all), len(ids))
		}
	})
}

// TestRepeatAfterReturn starts with what comes next if a query takes the ID of one that was removed.
func TestRepeatAfterReturn(t *testing.T) {
	inBubble(t, func(r *rig) {
		q := queries.Query{ID: "q", Name: "q", From: -1, Repeat: queries.Repeat(time.Hour), Scope: queries.Scope{Sources: []freshet.SourceID{"a"}}}
		r.add(q)
		r.see("a", "one\n", nil)
		r.batches()
		if err := r.queries.RemoveQuery(r.t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
		if added := r.add(q); added.Unacknowledged() != 0 || added.Last != 1 {
			t.Errorf("%d of %d matches are not acknowledged, want none", added.Unacknowledged(), added.Last)
		}
		time.Sleep(3 * time.Hour)
		want(t, "nothing is repeated", r.batches())
	})
}
