package queries_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/queries"
)

// TestUsualTriggers decides by what a condition looks at.
func TestUsualTriggers(t *testing.T) {
	for _, tt := range []struct {
		query queries.Query
		want  queries.Trigger
	}{
		{queries.Query{When: `now.price < 100`}, queries.Becomes},
		{queries.Query{When: `text.contains("sold out") && "shop" in source.tags`}, queries.Becomes},
		{queries.Query{When: `!poll.ok`}, ""},
		{queries.Query{When: `now.price < 100 && added.contains("x")`, Window: queries.Window{For: time.Hour}}, ""},
		{queries.Query{}, ""},
		{queries.Query{When: `added.contains("x")`}, ""},
		{queries.Query{When: `now.price < before.price`}, ""},
		{queries.Query{When: `now.price < 100 && !suspect`}, ""},
		{queries.Query{When: `"shop" in source.tags`}, ""},
		{queries.Query{When: `now.price < lowest(now.price, "30d")`}, ""},
		{queries.Query{When: `now.price < 100`, Value: `previous(now.price)`}, ""},
		{queries.Query{When: `now.price < 100`, Window: queries.Window{By: "all"}}, ""},
		{queries.Query{When: `now.price < 100`, Trigger: queries.Each}, queries.Each},
	} {
		tt.query.Name = "q"
		rep, err := queries.Check(tt.query, nil)
		if err != nil || rep.Query.Trigger != tt.want {
			t.Errorf("%+v triggers as %q (%v), want %q", tt.query, rep.Query.Trigger, err, tt.want)
		}
	}
	for want, q := range map[string]queries.Query{
		"when:1:20: a condition on added is about one change":   {When: `now.price < 100 && added.contains("x")`, Trigger: queries.Becomes},
		"trigger:1:1: only a condition on now or text":          {When: `"shop" in source.tags`, Trigger: queries.Becomes},
		"trigger:1:1: a condition becomes true for each source": {When: `now.price < 1`, Window: queries.Window{By: "all"}, Trigger: queries.Becomes},
		"trigger:1:1: window.for matches once":                  {When: `now.price < 1`, Window: queries.Window{For: time.Hour}, Trigger: queries.Each},
		`trigger: "often" is not becomes, first`:                {When: `now.price < 1`, Trigger: "often"},
	} {
		q.Name = "q"
		if _, err := queries.Check(q, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", q, err, want)
		}
	}
}

// A shop is a source whose price and text differ from change to change.
func shop(prices ...any) *story {
	s := new(story)
	var before any = prices[0]
	for i, price := range prices[1:] {
		c := queries.Content{Now: freshet.Fields{"price": price}, Before: freshet.Fields{"price": before}}
		s.change("a", time.Duration(i)*time.Hour, c)
		before = price
	}
	return s
}

// TestBecomes tells prices, of which nil is none. The first is that of version 1, which is no change.
func TestBecomes(t *testing.T) {
	for name, tt := range map[string]struct {
		query  queries.Query
		prices []any
		want   []string
	}{
		"once, and again after it was false": {queries.Query{}, []any{120.0, 99.0, 99.0, 98.0, 100.0, 97.0}, []string{"1 change a +0s = 99", "2 change a +4h = 97"}},
		"not if it was true from the start":  {queries.Query{}, []any{99.0, 99.0, 98.0}, nil},
		"a missing value changes nothing":    {queries.Query{}, []any{99.0, nil, 98.0, 120.0, nil, 97.0, nil, 96.0}, []string{"1 change a +4h = 97"}},
		"each":                               {queries.Query{Trigger: queries.Each}, []any{120.0, 99.0, 99.0, 120.0}, []string{"1 change a +0s = 99", "2 change a +1h = 99"}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.query.ID, tt.query.Name, tt.query.When, tt.query.Value = "q", name, `now.price < 100`, `now.price`
			e := newEngine(t, tt.query)
			var got []string
			for _, event := range shop(tt.prices...).events {
				for _, m := range tell(e, event) {
					got = append(got, short(m))
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestBecomesIsExact holds many queries and restarts against the definition: a match is a change that makes a
// condition true which was false the last time that it had a value, for each source.
func TestBecomesIsExact(t *testing.T) {
	conditions := map[string]func(price float64) bool{
		"now.price < 2":                    func(p float64) bool { return p < 2 },
		"now.price >= 2 || now.price == 0": func(p float64) bool { return p >= 2 || p == 0 },
		"!(now.price < 2) && now.n > 0":    func(p float64) bool { return p >= 2 },
		"now.price == 1":                   func(p float64) bool { return p == 1 },
		"now.price * 2 > 3":                func(p float64) bool { return p*2 > 3 },
	}
	rapid.Check(t, func(t *rapid.T) {
		var list []queries.Query
		for when := range conditions {
			list = append(list, queries.Query{ID: queries.IDFor(when), Name: when, When: when, Trigger: queries.Becomes})
		}
		start := func() *queries.Engine {
			e, err := queries.NewEngine()
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range list {
				if err := e.Put(q); err != nil {
					t.Fatal(err)
				}
			}
			return e
		}
		e := start()
		disk := map[string]queries.State{}
		now := map[freshet.SourceID]any{}
		held := map[string]bool{}
		value := rapid.SampledFrom([]any{nil, 0.0, 1.0, 1.5, 2.0, 3.0})
		for _, id := range []freshet.SourceID{"s0", "s1"} { // as version 1 has it
			now[id] = value.Draw(t, "first")
			for when, is := range conditions {
				price, ok := now[id].(float64)
				held[when+string(id)] = ok && is(price)
			}
		}
		for i := range rapid.IntRange(1, 20).Draw(t, "changes") {
			id := rapid.SampledFrom([]freshet.SourceID{"s0", "s1"}).Draw(t, "source")
			next := value.Draw(t, "price")
			c := freshet.Change{Cursor: freshet.Cursor(i + 1), Seq: i + 1, Source: id, Before: toldAt(time.Duration(i) * time.Minute)}
			fields := func(price any) freshet.Fields { return freshet.Fields{"price": price, "n": 1.0} }
			var got, want []string
			for _, m := range e.Observe(queries.Event{Subject: queries.Subject{ID: id}, Change: &c, Content: queries.Content{Now: fields(next), Before: fields(now[id])}}) {
				got = append(got, string(m.Query))
			}
			now[id] = next
			for _, q := range list {
				price, ok := next.(float64)
				if !ok {
					continue
				}
				key := q.When + string(id)
				if is := conditions[q.When](price); is && !held[key] {
					want = append(want, string(q.ID))
				}
				held[key] = conditions[q.When](price)
			}
			if diff := cmp.Diff(want, got, cmp.Transformer("sort", sorted)); diff != "" {
				t.Fatalf("change %d of %s to %v:\n%s", i+1, id, next, diff)
			}
			for _, n := range e.Save() {
				if disk[string(n.Query)+"/"+n.Name] = n; n.Body == nil {
					delete(disk, string(n.Query)+"/"+n.Name)
				}
			}
			if rapid.IntRange(0, 4).Draw(t, "restart") == 0 {
				e = start()
				var notes []queries.State
				for _, n := range disk {
					notes = append(notes, n)
				}
				if err := e.Restore(notes); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// A query that begins in the past finds what one has found that was there all the time, and a pause ends what
// held.
func TestBecomesFromThePast(t *testing.T) {
	inBubble(t, func(r *rig) {
		q := queries.Query{ID: "live", Name: "live", From: -1, When: `now.price < 100 && text.contains("kettle")`, Value: "now.price", Scope: queries.Scope{Sources: []freshet.SourceID{"a"}}}
		r.add(q)
		for i, price := range []any{99.0, 98.0, nil, 97.0, 101.0, 99.0} {
			r.see("a", fmt.Sprintf("kettle %d\n", i), freshet.Fields{"price": price})
			time.Sleep(time.Minute)
			if i%2 == 1 {
				r.reopen()
			}
		}
		want(t, "live", r.matches(), "live.1 a.1 99", "live.2 a.6 99")
		q.ID, q.From = "past", 0
		r.add(q)
		want(t, "and from the past", r.matches(), "live.1 a.1 99", "live.2 a.6 99", "past.1 a.1 99", "past.2 a.6 99")
		paused, err := r.queries.Query(r.t.Context(), "live")
		if err != nil {
			t.Fatal(err)
		}
		for _, pause := range []bool{true, false} {
			paused.Paused, paused.Revision = pause, 0
			if _, err := r.queries.UpdateQuery(r.t.Context(), paused); err != nil {
				t.Fatal(err)
			}
			r.runner.Edited()
			synctest.Wait()
			if pause {
				r.see("a", "kettle while it is paused\n", freshet.Fields{"price": 120.0})
				synctest.Wait()
			}
		}
		r.see("a", "kettle at last\n", freshet.Fields{"price": 96.0})
		got := r.matches()
		want(t, "after a pause", got[4:], "live.3 a.8 96", "past.3 a.8 96")
	})
}

// TestRetrigger keeps the trigger of an edited query where it was chosen.
func TestRetrigger(t *testing.T) {
	state, change := `now.price < 100`, `added.contains("x")`
	for _, tt := range []struct {
		when    string
		trigger queries.Trigger
		edited  string
		want    queries.Trigger
	}{
		{state, queries.Becomes, state, queries.Becomes},
		{state, queries.Becomes, change, ""},
		{state, queries.Each, `now.price < 90`, queries.Each},
		{change, "", state, ""},
		{change, queries.Each, state, queries.Each},
		{state, "", state, queries.Each}, // of an earlier version
		{state, "", `now.price < 90`, queries.Each},
		{`!poll.ok`, "", `poll.failures > 2`, ""},
	} {
		before := queries.Query{Name: "q", When: tt.when, Trigger: tt.trigger}
		edited := before
		edited.When = tt.edited
		if got, err := queries.Retrigger(before, edited); err != nil || got != tt.want {
			t.Errorf("%s (%s) as %s: %q (%v), want %q", tt.when, tt.trigger, tt.edited, got, err, tt.want)
		}
	}
}
