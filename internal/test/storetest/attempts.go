package storetest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// attemptTests say what is on record of requests before their answers are in.
var attemptTests = []test{
	{"an attempt survives without an outcome", func(b *bench) {
		s := b.add("a")
		b.ok("begin", b.begin(freshet.Poll{Source: s, At: noon}))
		b.reopen()
		want := []freshet.Attempt{{Source: "a", Began: noon, Requests: 1}}
		got, err := b.Attempts(b.Context(), noon)
		b.ok("attempts", err)
		same(b, "the attempts", got, want)
		same(b, "when it was last begun", b.watched("a").Status.Begun, noon)
	}},
	{"every request of a poll survives without an outcome", func(b *bench) {
		s := b.add("a")
		p := freshet.Poll{Source: s, At: noon}
		b.ok("begin", b.begin(p))
		b.ok("hop", b.Hop(b.Context(), p, noon, "b.example"))
		b.ok("hop", b.Hop(b.Context(), p, minute(1), "c.example:8080"))
		b.is("a hop of nothing", b.Hop(b.Context(), freshet.Poll{Source: freshet.Source{ID: "none"}, At: noon}, noon, "b.example"), freshet.ErrNotFound)
		b.reopen()
		got, err := b.Attempts(b.Context(), noon)
		b.ok("attempts", err)
		same(b, "the attempts", got, []freshet.Attempt{
			{Source: "a", Began: noon, Requests: 1},
			{Source: "a", Began: noon, Requests: 1, Route: "b.example"},
			{Source: "a", Began: minute(1), Requests: 1, Route: "c.example:8080"},
		})
		got, err = b.Attempts(b.Context(), minute(1))
		b.ok("attempts", err)
		if len(got) != 1 {
			b.Errorf("of a minute later there are %+v, want the last", got)
		}
		r := saw("a", noon, freshet.First, "x")
		r.Outcome.Requests, r.Outcome.Route, r.Outcome.Ended = 3, "a.example b.example c.example:8080", minute(2)
		b.commit(r)
		b.reopen()
		got, err = b.Attempts(b.Context(), noon)
		b.ok("attempts", err)
		same(b, "the attempts of a poll that ended", got, []freshet.Attempt{
			{Source: "a", Began: noon, Ended: minute(2), Requests: 3, Route: "a.example b.example c.example:8080"},
		})
		same(b, "the route", b.watched("a").Status.Route, r.Outcome.Route)
	}},
	{"the requests of visits survive without a source", func(b *bench) {
		for _, host := range []string{"b.example", "c.example:8080"} {
			b.ok("a request of a visit", b.Hop(b.Context(), freshet.Poll{At: noon}, noon, host))
		}
		b.ok("a request of another visit", b.Hop(b.Context(), freshet.Poll{At: minute(1)}, minute(1), "b.example"))
		b.reopen()
		want := []freshet.Attempt{{Began: noon, Requests: 1, Route: "b.example"}, {Began: noon, Requests: 1, Route: "c.example:8080"}, {Began: minute(1), Requests: 1, Route: "b.example"}}
		for _, attempts := range []func(context.Context, time.Time) ([]freshet.Attempt, error){b.Attempts, b.Unlogged} {
			got, err := attempts(b.Context(), noon)
			b.ok("attempts", err)
			slices.SortFunc(got, func(x, y freshet.Attempt) int { return cmp.Or(x.Began.Compare(y.Began), cmp.Compare(x.Route, y.Route)) })
			same(b, "the attempts", got, want)
		}
	}},
	{"the first request of a poll may go to another host", func(b *bench) {
		s := b.add("a")
		b.ok("begin", b.begin(freshet.Poll{Source: s, At: noon, Host: "b.example"}))
		b.reopen()
		got, err := b.Attempts(b.Context(), noon)
		b.ok("attempts", err)
		same(b, "the attempts", got, []freshet.Attempt{{Source: "a", Began: noon, Requests: 1, Route: "b.example"}})
	}},
	{"attempts are of a moment or later, the oldest first", func(b *bench) {
		one, two := b.add("a"), b.add("b")
		for i := range 6 {
			s := []freshet.Source{one, two}[i%2]
			b.ok("begin", b.begin(freshet.Poll{Source: s, At: minute(i)}))
			if i == 3 {
				continue // the crash
			}
			r := saw(s.ID, minute(i), freshet.Unchanged, "")
			r.Outcome.Requests = i
			b.commit(r)
		}
		b.reopen()
		got, err := b.Attempts(b.Context(), minute(2))
		b.ok("attempts", err)
		same(b, "the attempts", got, []freshet.Attempt{
			{Source: "a", Began: minute(2), Ended: minute(2).Add(time.Second), Requests: 2},
			{Source: "b", Began: minute(3), Requests: 1},
			{Source: "a", Began: minute(4), Ended: minute(4).Add(time.Second), Requests: 4},
			{Source: "b", Began: minute(5), Ended: minute(5).Add(time.Second), Requests: 5},
		})
	}},
	{"what is read from the poll of another sends nothing", func(b *bench) {
		one, two := b.add("a"), b.add("b")
		b.ok("begin", b.begin(freshet.Poll{Source: two, At: minute(0)}))
		r := saw(two.ID, minute(0), freshet.First, "as it was")
		r.Outcome.Requests, r.Outcome.Route, r.Validators = 2, "a.example b.example", freshet.Validators{ETag: "one"}
		b.commit(r)
		b.ok("begin", b.begin(freshet.Poll{Source: two, At: minute(1)})) // the crash
		head, err := b.Head(b.Context(), two.ID)
		b.ok("head", err)
		if want := freshet.HashOf([]byte("as it was")); head.Number != 1 || head.Hash != want || head.Validators.ETag != "one" {
			b.Errorf("it is compared with %+v", head)
		}
		b.ok("begin", b.begin(freshet.Poll{Source: one, At: minute(2)}))
		b.commit(saw(one.ID, minute(2), freshet.First, "all of it"))
		shared := saw(two.ID, minute(2), freshet.Changed, "as it is")
		shared.Outcome.Cause, shared.Outcome.Requests = freshet.BySharing, 0
		o, c := b.commit(shared)
		if o.Version != 2 || c.Seq != 1 || o.Requests != 0 || o.Cause != freshet.BySharing {
			b.Errorf("the outcome is %+v, and the change %+v", o, c)
		}
		for range 2 {
			st := b.watched("b").Status
			if st.Requests != 2 || st.Route != "a.example b.example" || st.Polls != 2 || !st.Seen.Equal(minute(2)) || !st.Begun.Equal(minute(2)) {
				b.Errorf("things stand so: %+v", st)
			}
			got, err := b.Attempts(b.Context(), minute(0))
			b.ok("attempts", err)
			same(b, "the attempts", got, []freshet.Attempt{
				{Source: "b", Began: minute(0), Ended: minute(0).Add(time.Second), Requests: 2, Route: "a.example b.example"},
				{Source: "b", Began: minute(1), Requests: 1},
				{Source: "a", Began: minute(2), Ended: minute(2).Add(time.Second), Requests: 1},
			})
			got, err = b.Unlogged(b.Context(), minute(0))
			b.ok("attempts that no outcome tells of", err)
			same(b, "those", got, []freshet.Attempt{{Source: "b", Began: minute(1), Requests: 1}})
			b.reopen()
		}
		b.ok("purge", b.RemoveSource(b.Context(), two.ID, true))
		got, err := b.Attempts(b.Context(), minute(0))
		b.ok("attempts", err)
		if len(got) != 3 {
			b.Errorf("when it is purged %d attempts are left, want the 3 that were made: %+v", len(got), got)
		}
		got, err = b.Unlogged(b.Context(), minute(1))
		b.ok("attempts that no outcome tells of", err)
		if len(got) != 1 {
			b.Errorf("when it is purged no outcome tells of %+v, want the one of a minute later", got)
		}
		_, err = b.Head(b.Context(), two.ID)
		b.is("the head of a source that is gone", err, freshet.ErrNotFound)
	}},
}
