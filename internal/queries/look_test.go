package queries_test

import (
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
	"freshet/internal/queries"
	"freshet/internal/test/kit"
)

// poll commits a poll that found a source as it was, or nothing good.
func (r *rig) poll(id freshet.SourceID, edit ...func(*freshet.Outcome)) {
	r.t.Helper()
	record := kit.Changed(id, "", "")
	record.Capture, record.Outcome.Result = nil, freshet.Unchanged
	w, err := r.store.Source(r.t.Context(), id)
	if err != nil {
		r.t.Fatal(err)
	}
	record.Outcome.Version = w.Status.Head.Number
	for _, e := range edit {
		e(&record.Outcome)
	}
	if _, _, err := r.store.Commit(r.t.Context(), record); err != nil {
		r.t.Fatal(err)
	}
}

func priced(p float64) freshet.Fields { return freshet.Fields{"price": p} }

// TestFirstLook matches what is true before anything changes: of a source that has been polled before the query
// was added, and of one that is added later. What it matched stays matched over a restart.
func TestFirstLook(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.see("a", "kettle\n", priced(90))
		q := queries.Query{ID: "cheap", Name: "cheap", From: -1, When: `now.price < 100 && text.contains("kettle")`, Trigger: queries.First, Value: "now.price"}
		r.add(q)
		want(t, "before a poll", r.matches())
		r.poll("a", func(o *freshet.Outcome) { o.Result, o.Version = freshet.Failed, 0 })
		r.poll("a", func(o *freshet.Outcome) { o.Suspect = suspect.Empty })
		r.poll("b") // which has no price, so that nothing is known of it
		want(t, "of what is not seen", r.matches())
		r.poll("a")
		r.poll("a")
		first := "cheap.1 90 poll " + time.Now().UTC().Format("15:04")
		want(t, "at the first look", r.matches(), first)
		r.reopen()
		r.poll("a")
		r.see("a", "kettle\n\n", priced(95))
		want(t, "while it stays true", r.matches(), first)
		r.see("a", "no kettle, 120\n", priced(120))
		r.see("a", "a kettle, 99\n", priced(99))
		want(t, "when it becomes true again", r.matches(), first, "cheap.2 a.4 99")
		r.see("b", "a kettle\n", priced(50)) // seen for the first time with a price
		want(t, "at the first value", r.matches(), first, "cheap.2 a.4 99", "cheap.3 b.1 50")
		r.see("b", "a kettle at 150\n", priced(150))
		r.poll("b")
		want(t, "not twice", r.matches(), first, "cheap.2 a.4 99", "cheap.3 b.1 50")
	})
}

// TestEveryPoll matches polls, whether anything changed or not.
func TestEveryPoll(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.add(queries.Query{ID: "low", Name: "low", From: -1, When: `now.price < 100`, Trigger: queries.Poll, Value: "now.price", Scope: queries.Scope{Sources: []freshet.SourceID{"a"}}})
		r.add(queries.Query{ID: "seen", Name: "seen", From: -1, Trigger: queries.Poll, Scope: queries.Scope{Tags: []string{"tag-b"}}})
		synctest.Wait() // polls count from when the queries run
		at := " poll " + time.Now().UTC().Format("15:04")
		r.see("a", "99\n", priced(99))
		r.poll("a")
		r.see("a", "120\n", priced(120))
		r.poll("a")
		r.poll("b")
		r.poll("b", func(o *freshet.Outcome) { o.Result, o.Version = freshet.Failed, 0 })
		want(t, "each poll", r.matches(), "low.1 99"+at, "low.2 99"+at, "seen.1"+at)
	})
}

// TestLasting drops changes that are taken back in time.
func TestLasting(t *testing.T) {
	for name, tt := range map[string]struct {
		when string
		do   func(r *rig)
		want []string
	}{
		"it stays":             {do: func(r *rig) { r.see("a", "new\n", nil) }, want: []string{"q.1 a.1 held"}},
		"it goes back":         {do: func(r *rig) { r.see("a", "new\n", nil); time.Sleep(time.Minute); r.see("a", "nothing yet\n", nil) }},
		"it goes on":           {do: func(r *rig) { r.see("a", "new\n", nil); time.Sleep(time.Minute); r.see("a", "newer\n", nil) }, want: []string{"q.1 a.2 held"}},
		"it goes on, and back": {do: func(r *rig) { r.see("a", "new\n", nil); r.see("a", "newer\n", nil); r.see("a", "nothing yet\n", nil) }},
		"it goes back too late": {do: func(r *rig) { r.see("a", "new\n", nil); time.Sleep(10 * time.Minute); r.see("a", "nothing yet\n", nil) },
			want: []string{"q.1 a.1 held", "q.2 a.2 held"}},
		"over a restart": {do: func(r *rig) {
			r.see("a", "new\n", nil)
			r.reopen()
			time.Sleep(time.Minute)
			r.reopen()
			r.see("a", "nothing yet\n", nil)
		}},
		"a value stays": {when: "now.price != before.price", do: func(r *rig) {
			r.see("a", "x\n", priced(100))
			r.see("a", "99\n", priced(99))
			r.see("a", "99, updated\n", priced(99))
		}, want: []string{"q.1 a.2 held"}},
		"a value goes back, and the text does not": {when: "now.price != before.price", do: func(r *rig) {
			r.see("a", "x\n", priced(100))
			r.see("a", "99\n", priced(99))
			r.reopen()
			r.see("a", "100, updated\n", priced(100))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.add(queries.Query{ID: "q", Name: "q", From: -1, When: tt.when, Window: queries.Window{Lasting: 10 * time.Minute}})
				tt.do(r)
				time.Sleep(9 * time.Minute)
				synctest.Wait()
				time.Sleep(6 * time.Minute)
				var got []string
				for _, line := range r.matches() {
					got = append(got, line[:len(line)-len(" 00:00")])
				}
				want(t, "matches", got, tt.want...)
			})
		})
	}
}

// TestVersionOneIsSeen finds only lines that were not there from the start, of each source by itself and of all.
func TestVersionOneIsSeen(t *testing.T) {
	for _, by := range []string{"", "all"} {
		inBubble(t, func(r *rig) { // both begin as "nothing yet"
			r.add(queries.Query{ID: "new", Name: "new", From: -1, When: `size(unseen(lines(added))) > 0`, Value: `unseen(lines(added))`, Window: queries.Window{By: by}})
			r.see("a", "one\n", nil)
			r.see("a", "one\nnothing yet\n", nil)
			r.see("b", "nothing yet\ntwo\n", nil)
			r.reopen()
			r.see("a", "one\n", nil)
			r.see("a", "nothing yet\nthree\n", nil)
			want(t, "by "+by, r.matches(), "new.1 a.1 [one]", "new.2 b.1 [two]", "new.3 a.4 [three]")
		})
	}
}

// What is not kept any more is not empty: a condition on it is neither true nor false.
func TestTextThatIsGone(t *testing.T) {
	inBubble(t, func(r *rig) {
		for id, when := range map[queries.ID]string{"text": `!mentions(text, "sold out")`, "added": `!mentions(added, "sold out")`, "removed": `!removed.contains("sold")`} {
			r.add(queries.Query{ID: id, Name: string(id), From: -1, When: when, Trigger: queries.Each})
		}
		r.gone.Store(true)
		r.see("a", "in stock\n", nil)
		r.see("a", "still in stock\n", nil)
		want(t, "of versions that are gone", r.matches())
		r.gone.Store(false)
		r.see("a", "on sale\n", nil)
		want(t, "of one that is kept", r.matches(), "added.1 a.3", "removed.1 a.3", "text.1 a.3")
	})
}
