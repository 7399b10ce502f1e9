package storetest

import (
	"context"
	"errors"
	"net/http"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

var logTests = []test{
	{"the log is the same from the end as from the beginning", func(b *bench) {
		var all []freshet.Outcome
		for _, id := range []freshet.SourceID{"a", "b"} {
			b.add(id)
		}
		for i := range 40 {
			r := saw([]freshet.SourceID{"a", "b"}[i%2], minute(i), freshet.Unchanged, "")
			if i%5 == 4 {
				r = failed("a", minute(i), "dns")
			}
			o, _ := b.commit(r)
			all = append(all, o)
		}
		check := func(when string) {
			b.Helper()
			for after := range freshet.Cursor(len(all) + 1) {
				same(b, when, b.outcomes(after, 0), append([]freshet.Outcome(nil), all[after:]...))
				same(b, when+", three of it", b.outcomes(after, 3), append([]freshet.Outcome(nil), all[after:min(len(all), int(after)+3)]...))
			}
		}
		check("the log")
		b.reopen()
		check("the log, opened again,")
		o, _ := b.commit(saw("a", minute(50), freshet.Unchanged, ""))
		all = append(all, o)
		check("the log, gone on with,")
	}},
	{"a purge takes a source out of the log, and the end of the log stays", func(b *bench) {
		b.add("a")
		b.add("b")
		kept, _ := b.commit(saw("a", minute(1), freshet.Unchanged, ""))
		b.commit(saw("b", minute(2), freshet.Unchanged, ""))
		b.ok("purge", b.RemoveSource(b.Context(), "b", true))
		same(b, "the log", b.outcomes(0, 0), []freshet.Outcome{kept})
		same(b, "the log after what was kept", b.outcomes(kept.Cursor, 0), nil)
		same(b, "its end", b.end(), kept.Cursor+1)
		next, _ := b.commit(saw("a", minute(3), freshet.Unchanged, ""))
		same(b, "the log", b.outcomes(0, 0), []freshet.Outcome{kept, next})
		if next.Cursor != kept.Cursor+2 {
			b.Errorf("the next outcome is at %d, want %d: places are not given out twice", next.Cursor, kept.Cursor+2)
		}
	}},
	{"who waits for an outcome hears of the next one", func(b *bench) {
		b.add("a")
		o, _ := b.commit(saw("a", noon, freshet.Unchanged, ""))
		b.ok("waiting for what is there", b.WaitOutcome(b.Context(), o.Cursor-1))
		heard := make(chan error, 2)
		for range cap(heard) {
			go func() { heard <- b.WaitOutcome(b.Context(), o.Cursor) }()
		}
		next, _ := b.commit(saw("a", minute(1), freshet.Unchanged, ""))
		for range cap(heard) {
			b.ok("waiting", <-heard)
		}
		same(b, "the end of the log", b.end(), next.Cursor)
		ctx, cancel := context.WithCancelCause(b.Context())
		why := errors.New("nobody is interested any more")
		cancel(why)
		b.is("waiting in vain", b.WaitOutcome(ctx, next.Cursor), why)
	}},
	{"a poll is told what it compares with", headTest},
}

func headTest(b *bench) {
	s := b.add("a")
	check := func(what string, want freshet.Head) {
		b.Helper()
		got, err := b.Begin(b.Context(), freshet.Poll{Source: s, At: minute(999)})
		b.ok("begin", err)
		same(b, "the head "+what, got, want)
	}
	check("of a source never seen", freshet.Head{})

	first := saw("a", noon, freshet.First, "one")
	first.Validators = freshet.Validators{ETag: `"1"`}
	first.Sums = freshet.Sums{Known: true, Body: 1 << 63, Text: 7}
	b.commit(first)
	want := freshet.Head{
		Number: 1, Hash: first.Capture.Hash, Recipe: first.Capture.Recipe,
		Validators: first.Validators, Asked: noon, Sums: first.Sums, Polls: 1,
	}
	check("after the first poll", want)

	same := saw("a", minute(1), freshet.Unchanged, "")
	same.Outcome.Status = http.StatusNotModified
	same.Validators, same.Sums = first.Validators, first.Sums
	b.commit(same)
	want.Polls = 2
	check("after an answer without a body", want)

	same.Outcome.Status, same.Outcome.Began = http.StatusOK, minute(2)
	same.Validators, same.Sums.Body = freshet.Validators{ETag: `"2"`}, 8
	b.commit(same)
	want.Validators, want.Asked, want.Sums.Body, want.Polls = same.Validators, minute(2), 8, 3
	check("after another body with the same text", want)

	bad := failed("a", minute(3), "extract")
	bad.Validators, bad.Sums = freshet.Validators{ETag: "of an error page"}, freshet.Sums{Known: true, Body: 9}
	b.commit(bad)
	want.Polls = 4
	check("after a failure", want)

	next := saw("a", minute(4), freshet.Changed, "two")
	next.Capture.Recipe = reading.Recipe{CSS: "p"}.Key()
	b.commit(next)
	want = freshet.Head{Number: 2, Hash: next.Capture.Hash, Recipe: next.Capture.Recipe, Asked: minute(4), Polls: 5}
	check("after a change", want)

	b.reopen()
	want.Asked = next.Outcome.Ended
	check("of the store, opened again,", want)
}

// outcomes returns up to limit outcomes after a place.
func (b *bench) outcomes(after freshet.Cursor, limit int) []freshet.Outcome {
	b.Helper()
	found, err := b.Outcomes(b.Context(), freshet.OutcomeQuery{After: after, Limit: limit})
	b.ok("outcomes", err)
	return found
}

// end returns the end of the log of outcomes.
func (b *bench) end() freshet.Cursor {
	b.Helper()
	last, err := b.LastOutcome(b.Context())
	b.ok("the end of the log", err)
	return last
}
