package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

var archiveTests = []test{
	{"nothing is known of a source that is not there", func(b *bench) {
		_, err := b.Source(b.Context(), "none")
		b.is("the source", err, freshet.ErrNotFound)
		b.is("a poll", b.begin(freshet.Poll{Source: freshet.Source{ID: "none"}, At: noon}), freshet.ErrNotFound)
		for _, result := range []freshet.Result{freshet.Unchanged, freshet.First, freshet.Failed} {
			_, _, err = b.Commit(b.Context(), saw("none", noon, result, "x"))
			b.is("an outcome", err, freshet.ErrNotFound)
		}
		_, err = b.Version(b.Context(), "none", 1)
		b.is("a version", err, freshet.ErrNotFound)
		_, err = b.Raw(b.Context(), "none", 1)
		b.is("a response", err, freshet.ErrNotFound)
	}},
	{"a picture is kept with its version, and goes with it", func(b *bench) {
		b.add("a")
		for i, text := range []string{"x", "y", "z"} {
			r := saw("a", minute(i), freshet.Changed, text)
			if i != 1 {
				r.Capture.Picture = []byte("picture of " + text)
			}
			b.commit(r)
		}
		b.reopen()
		for i, want := range []string{"picture of x", "", "picture of z"} {
			v, err := b.Version(b.Context(), "a", i+1)
			b.ok("version", err)
			same(b, "its size", v.Picture, int64(len(want)))
			picture, err := b.Picture(b.Context(), "a", i+1)
			if want == "" {
				b.is("no picture", err, freshet.ErrNotFound)
				continue
			}
			b.ok("picture", err)
			same(b, "the picture", string(picture), want)
		}
		b.prune(minute(9), freshet.Keep{Versions: 1}, 0)
		_, err := b.Picture(b.Context(), "a", 1)
		b.is("a picture that was pruned", err, freshet.ErrNotFound)
		picture, err := b.Picture(b.Context(), "a", 3)
		b.ok("picture", err)
		same(b, "the newest picture", string(picture), "picture of z")
	}},
	{"where a source has moved is kept until a poll finds it otherwise", func(b *bench) {
		s := b.add("a")
		moved := freshet.Moved{URL: "https://new.example/", At: noon}
		r := saw("a", noon, freshet.First, "x")
		r.Moved = moved
		b.commit(r)
		for range 2 {
			head, err := b.Begin(b.Context(), freshet.Poll{Source: s, At: minute(1)})
			b.ok("begin", err)
			same(b, "where it has moved", head.Moved, moved)
			same(b, "where it is said to have moved", b.watched("a").Status.Moved, moved)
			b.reopen()
		}
		b.commit(saw("a", minute(1), freshet.Unchanged, ""))
		b.reopen()
		same(b, "where it has moved", b.watched("a").Status.Moved, freshet.Moved{})
	}},
	{"what an old URL of a source told is not told to a new one", func(b *bench) {
		s := b.add("a")
		r := saw("a", noon, freshet.First, "x")
		r.Moved, r.Validators = freshet.Moved{URL: "https://new.example/", At: noon}, freshet.Validators{ETag: `"1"`, LastModified: "Sun, 01 Mar 2026 10:00:00 GMT"}
		b.commit(r)
		s.Name, s.Revision = "renamed", 0
		b.ok("rename", b.UpdateSource(b.Context(), s))
		if got := b.watched("a").Status; got.Moved != r.Moved || got.Validators != r.Validators {
			b.Errorf("after another edit the source stands at %+v, %+v", got.Moved, got.Validators)
		}
		old := s.URL
		s.URL = "https://new.example/"
		b.ok("move", b.UpdateSource(b.Context(), s))
		late := r // a poll of the old URL that was under way
		late.URL, late.Outcome.Result, late.Capture = old, freshet.Unchanged, nil
		b.commit(late)
		for range 2 {
			if got := b.watched("a").Status; got.Moved != (freshet.Moved{}) || got.Validators != (freshet.Validators{}) || got.Head.Number != 1 {
				b.Errorf("under its new URL the source stands at %+v, %+v, version %d", got.Moved, got.Validators, got.Head.Number)
			}
			head, err := b.Begin(b.Context(), freshet.Poll{Source: s, At: minute(1)})
			b.ok("begin", err)
			if head.Moved != (freshet.Moved{}) || head.Validators != (freshet.Validators{}) || head.Sums.Known {
				b.Errorf("the next poll compares with %+v", head)
			}
			b.reopen()
		}
	}},
	{"a poll that failed by our own doing is no failure of the source", func(b *bench) {
		b.add("a")
		r := saw("a", noon, freshet.Failed, "")
		r.Outcome.Failure = failure.DeferredHost
		b.commit(r)
		for range 2 {
			if got := b.watched("a").Status; got.Failures != 0 || got.Failure != failure.DeferredHost {
				b.Errorf("%d failures after %q, want none", got.Failures, got.Failure)
			}
			b.reopen()
		}
	}},
	{"an outcome comes back as it was committed", func(b *bench) {
		b.add("a")
		want := freshet.Outcome{
			Source: "a", Cause: freshet.ByHand, Since: minute(-3), Began: noon.Add(123456789), Ended: minute(1),
			Result: freshet.Failed, Status: 503, Requests: 3, Route: "a.example b.example b.example", Bytes: 1 << 40,
			Modified: minute(-9), NotBefore: minute(60), Failure: "http.503", Err: "no\x00 \"service\" é",
		}
		got, c := b.commit(freshet.Record{Outcome: want})
		if got.Cursor == 0 || c.Cursor != 0 || c.Seq != 0 || c.Source != "" {
			b.Errorf("the outcome is at %d, with the change %+v", got.Cursor, c)
		}
		want.Cursor = got.Cursor
		same(b, "the outcome as committed", got, want)
		b.reopen()
		log, err := b.Outcomes(b.Context(), freshet.OutcomeQuery{})
		b.ok("outcomes", err)
		same(b, "the outcome as stored", log, []freshet.Outcome{want})
	}},
	{"outcomes are counted by when the polls began", func(b *bench) {
		b.add("a")
		for i, result := range []freshet.Result{freshet.First, freshet.Changed, freshet.Failed, freshet.Unchanged, freshet.Changed, freshet.Failed, freshet.Failed} {
			r := saw("a", minute(4*i), result, fmt.Sprint(i))
			if result == freshet.Failed {
				r = failed("a", minute(4*i), "dns")
			}
			b.commit(r)
		}
		log, err := b.Outcomes(b.Context(), freshet.OutcomeQuery{})
		b.ok("outcomes", err)
		for range 2 {
			for _, since := range []time.Time{minute(-100), log[3].Began, log[3].Began.Add(1), minute(500)} {
				for _, after := range []freshet.Cursor{0, log[1].Cursor, log[6].Cursor} {
					got, upto, err := b.CountOutcomes(b.Context(), after, since, 10*time.Minute)
					b.ok("count", err)
					if upto != log[6].Cursor {
						b.Errorf("outcomes are counted up to %d, want %d", upto, log[6].Cursor)
					}
					same(b, fmt.Sprintf("those after %d since %v", after, since), got, countedBy(log, after, since))
				}
			}
			b.reopen()
		}
	}},
	{"changes are counted by source and day", func(b *bench) {
		b.add("a")
		b.add("b")
		const day = 24 * 60
		for i, at := range []int{0, 1, day + 1, day + 2, 2*day + 1} {
			b.commit(saw("a", minute(at), freshet.Changed, fmt.Sprint("a", i)))
			if i%2 == 0 {
				b.commit(saw("b", minute(at+5), freshet.Changed, fmt.Sprint("b", i)))
			}
		}
		log, err := b.Changes(b.Context(), freshet.ChangeQuery{})
		b.ok("changes", err)
		for range 2 {
			for _, since := range []time.Time{minute(-100), minute(day), log[2].Before, minute(9 * day)} {
				from, err := b.FirstChange(b.Context(), since)
				b.ok("first", err)
				i := slices.IndexFunc(log, func(c freshet.Change) bool { return !c.Before.Before(since) })
				if want := log[len(log)-1].Cursor; i < 0 && from != want || i >= 0 && (from >= log[i].Cursor || i > 0 && from < log[i-1].Cursor) {
					b.Errorf("the first change since %v is after %d", since, from)
				}
				for _, upto := range []freshet.Cursor{log[1].Cursor, log[len(log)-1].Cursor} {
					got, err := b.ChangesByDay(b.Context(), from, upto, since)
					b.ok("count", err)
					same(b, fmt.Sprintf("those up to %d since %v", upto, since), got, dailyOf(log, upto, since))
				}
			}
			b.reopen()
		}
	}},
	{"outcomes can be read from either end, for all or one", func(b *bench) {
		b.add("a")
		b.add("b")
		var all, own []freshet.Cursor
		for i := range 10 {
			id := freshet.SourceID("a")
			if i%3 == 0 {
				id = "b"
			}
			o, _ := b.commit(saw(id, minute(i), freshet.Unchanged, ""))
			all = append(all, o.Cursor)
			if id == "b" {
				own = append(own, o.Cursor)
			}
		}
		cases := []struct {
			q    freshet.OutcomeQuery
			want []freshet.Cursor
		}{
			{freshet.OutcomeQuery{}, all},
			{freshet.OutcomeQuery{After: all[3], Limit: 2}, all[4:6]},
			{freshet.OutcomeQuery{Newest: true, Limit: 2}, []freshet.Cursor{all[9], all[8]}},
			{freshet.OutcomeQuery{Newest: true, After: all[2]}, []freshet.Cursor{all[1], all[0]}},
			{freshet.OutcomeQuery{Source: "b"}, own},
			{freshet.OutcomeQuery{Source: "b", After: own[0], Limit: 2}, own[1:3]},
			{freshet.OutcomeQuery{Source: "b", Newest: true, Limit: 2}, []freshet.Cursor{own[3], own[2]}},
			{freshet.OutcomeQuery{Source: "b", Newest: true, After: own[2]}, []freshet.Cursor{own[1], own[0]}},
			{freshet.OutcomeQuery{After: all[9]}, nil},
			{freshet.OutcomeQuery{Source: "none"}, nil},
		}
		for range 2 {
			for _, tt := range cases {
				log, err := b.Outcomes(b.Context(), tt.q)
				b.ok("outcomes", err)
				var got []freshet.Cursor
				for _, o := range log {
					got = append(got, o.Cursor)
				}
				same(b, "the answer to a query", got, tt.want)
			}
			b.reopen()
		}
	}},
	{"the first capture is a version and no change", func(b *bench) {
		b.add("a")
		o, c := b.commit(saw("a", noon, freshet.First, "one"))
		if o.Result != freshet.First || o.Version != 1 || c.Cursor != 0 || c.Seq != 0 || c.Source != "" {
			b.Errorf("the outcome is %+v with the change %+v, want version 1 and no change", o, c)
		}
	}},
	{"a change from nothing is recorded as first", func(b *bench) {
		b.add("a")
		o, c := b.commit(saw("a", noon, freshet.Changed, "one"))
		if o.Result != freshet.First || o.Version != 1 || c.Cursor != 0 || c.Seq != 0 || c.Source != "" {
			b.Errorf("the outcome is %+v with the change %+v, want a first version and no change", o, c)
		}
		log, err := b.Outcomes(b.Context(), freshet.OutcomeQuery{})
		b.ok("outcomes", err)
		same(b, "the log", log, []freshet.Outcome{o})
	}},
	{"a first version under another recipe is no change", func(b *bench) {
		b.add("a")
		b.history("a", 2)
		r := saw("a", minute(5), freshet.First, "read otherwise")
		r.Capture.Recipe = reading.Recipe{CSS: "p"}.Key()
		o, c := b.commit(r)
		if o.Version != 3 || c.Cursor != 0 || c.Seq != 0 || c.Source != "" {
			b.Errorf("the outcome is %+v with the change %+v, want version 3 and no change", o, c)
		}
		_, c = b.commit(saw("a", minute(6), freshet.Changed, "on"))
		if c.Seq != 2 || c.Number != 4 || c.From != r.Capture.Hash {
			b.Errorf("the next change is %+v, want number 2, to version 4", c)
		}
	}},
	{"a capture without a body is refused", func(b *bench) {
		b.add("a")
		r := saw("a", noon, freshet.First, "x")
		r.Capture = nil
		_, _, err := b.Commit(b.Context(), r)
		if _, ok := errors.AsType[*invalid.Error](err); !ok {
			b.Errorf("the error is %v, want an InvalidError", err)
		}
		same(b, "the standing", b.watched("a").Status, freshet.Status{})
	}},
	{"an outcome says which version was seen", func(b *bench) {
		b.add("a")
		b.history("a", 2)
		if o, _ := b.commit(saw("a", minute(3), freshet.Unchanged, "")); o.Version != 2 {
			b.Errorf("an unchanged source was seen at version %d, want 2", o.Version)
		}
		if o, _ := b.commit(failed("a", minute(4), "dns")); o.Version != 0 {
			b.Errorf("a failed poll saw version %d", o.Version)
		}
	}},
	{"the standing is what the log adds up to", standingTest},
	{"what a source is suspected of is kept until it is seen otherwise", suspectTest},
	{"what a server says of freshness is kept, and that it was wrong", freshTest},
	{"a host's wish ends at its moment", func(b *bench) {
		b.add("a")
		for i, passed := range []bool{false, true, true} {
			r := failed("a", minute(10*i), failure.RetryAfter)
			r.Outcome.NotBefore = minute(10*i + 5)
			b.commit(r)
			b.commit(saw("a", minute(10*i+4+i), freshet.Unchanged, ""))
			if got := b.watched("a").Status.NotBefore; got.IsZero() != passed {
				b.Errorf("%d minutes after a wish of 5 it ends at %v", 4+i, got)
			}
		}
	}},
	{"what a worker said of another host ends with the next outcome", func(b *bench) {
		b.add("a")
		r := failed("a", minute(0), failure.RetryAfter.AtTarget())
		r.Outcome.NotBefore, r.Outcome.Route = minute(60), "a.example b.example"
		b.commit(r)
		if got := b.watched("a").Status.NotBefore; !got.Equal(minute(60)) {
			b.Errorf("it is kept until %v", got)
		}
		b.commit(failed("a", minute(1), "http.404"))
		if got := b.watched("a").Status.NotBefore; !got.IsZero() {
			b.Errorf("after another outcome it is kept until %v", got)
		}
	}},
	{"a commit begun under a done context is not made", func(b *bench) {
		b.add("a")
		ctx, cancel := contextDone(b)
		defer cancel()
		_, _, err := b.Commit(ctx, saw("a", noon, freshet.First, "x"))
		if err == nil {
			b.Error("there is no error")
		}
		if polls := b.watched("a").Status.Polls; polls != 0 {
			b.Errorf("%d polls are recorded", polls)
		}
	}},
}

func standingTest(b *bench) {
	s := b.add("a")
	check := func(what string, want freshet.Status) {
		b.Helper()
		last, err := b.LastOutcome(b.Context())
		b.ok("the end of the log", err)
		want.Upto = last
		same(b, "the standing "+what, b.watched("a").Status, want)
		b.reopen()
		same(b, "the standing "+what+", opened again,", b.watched("a").Status, want)
	}
	check("at first", freshet.Status{})

	r := saw("a", noon, freshet.First, "one")
	r.Validators = freshet.Validators{ETag: `"1"`, LastModified: "Sun, 01 Mar 2026 12:00:00 GMT"}
	r.Capture.Title = "The Page"
	b.ok("begin", b.begin(freshet.Poll{Source: s, At: noon}))
	b.commit(r)
	want := freshet.Status{
		Begun: noon, Seen: noon, Requests: 1, Polls: 1, Recipe: r.Capture.Recipe, Validators: r.Validators,
		Head: freshet.Version{Source: "a", Number: 1, Hash: r.Capture.Hash, SeenAt: noon.Add(time.Second), TextBytes: 3, RawBytes: 6, MediaType: "text/html", Title: "The Page", URL: "https://a.example/"},
	}
	check("after the first poll", want)

	r = failed("a", minute(1), "timeout.header")
	r.Outcome.NotBefore, r.Outcome.Requests = minute(30), 4
	r.Validators = freshet.Validators{ETag: "of an error page"}
	b.commit(r)
	b.commit(failed("a", minute(2), "dns"))
	want.Begun, want.Polls, want.Requests = minute(2), 3, 1
	want.Failures, want.Failure, want.Err, want.NotBefore = 2, "dns", "it was dns", minute(30)
	check("after two failures", want)

	r = saw("a", minute(31), freshet.Unchanged, "")
	r.Validators = freshet.Validators{ETag: `"2"`}
	b.commit(r)
	want.Begun, want.Seen, want.Polls, want.Validators = minute(31), minute(31), 4, r.Validators
	want.Failures, want.Failure, want.Err, want.NotBefore = 0, "", "", time.Time{}
	check("after it was seen again", want)

	r = saw("a", minute(40), freshet.Changed, "two!")
	r.Outcome.Since = minute(31)
	b.commit(r)
	want.Begun, want.Seen, want.Polls, want.Validators = minute(40), minute(40), 5, freshet.Validators{}
	want.Head = freshet.Version{Source: "a", Number: 2, Hash: r.Capture.Hash, SeenAt: r.Outcome.Ended, TextBytes: 4, RawBytes: 7, MediaType: "text/html", URL: "https://a.example/"}
	want.Changes, want.ChangedAt = 1, r.Outcome.Ended
	check("after a change", want)

	b.ok("begin", b.begin(freshet.Poll{Source: s, At: minute(50)}))
	want.Begun = minute(50)
	check("while a poll is under way", want)
}

// countedBy counts outcomes as CountOutcomes does, in stretches of ten minutes.
func countedBy(log []freshet.Outcome, after freshet.Cursor, since time.Time) (counts []freshet.OutcomeCount) {
	for _, o := range log {
		if o.Cursor <= after || o.Began.Before(since) {
			continue
		}
		at := o.Began.UTC().Truncate(10 * time.Minute)
		if n := len(counts); n == 0 || !counts[n-1].At.Equal(at) {
			counts = append(counts, freshet.OutcomeCount{At: at})
		}
		c := &counts[len(counts)-1]
		c.Polls++
		switch o.Result {
		case freshet.Changed:
			c.Changed++
		case freshet.Failed:
			c.Failed++
		}
	}
	return counts
}

// dailyOf counts changes as ChangesByDay does.
func dailyOf(log []freshet.Change, upto freshet.Cursor, since time.Time) (counts []freshet.DayCount) {
	for _, c := range log {
		if c.Cursor > upto || c.Before.Before(since) {
			continue
		}
		day := c.Before.UTC().Truncate(24 * time.Hour)
		i := slices.IndexFunc(counts, func(n freshet.DayCount) bool { return n.Source == c.Source && n.Day.Equal(day) })
		if i < 0 {
			i, counts = len(counts), append(counts, freshet.DayCount{Source: c.Source, Day: day})
		}
		counts[i].Changes++
	}
	slices.SortFunc(counts, func(x, y freshet.DayCount) int { return cmp.Or(cmp.Compare(x.Source, y.Source), x.Day.Compare(y.Day)) })
	return counts
}
