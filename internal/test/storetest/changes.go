package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/suspect"
)

var changeTests = []test{
	{"a change says what is known of it", func(b *bench) {
		b.add("a")
		first := saw("a", noon, freshet.First, "one")
		b.commit(first)
		r := saw("a", minute(5), freshet.Changed, "two")
		r.Outcome.Since, r.Outcome.Modified = minute(2), minute(3)
		_, got := b.commit(r)
		want := freshet.Change{
			Cursor: got.Cursor, Source: "a", Seq: 1, Number: 2, From: first.Capture.Hash, To: r.Capture.Hash,
			After: minute(2), Before: minute(5).Add(time.Second), Modified: minute(3), Summary: "now two",
			Epoch: got.Epoch, Label: freshet.Label{URL: "https://a.example/"},
		}
		same(b, "the change as committed", got, want)
		b.reopen()
		log, err := b.Changes(b.Context(), freshet.ChangeQuery{})
		b.ok("changes", err)
		same(b, "the change as stored", log, []freshet.Change{want})
	}},
	{"a change that does not say since when happened after its source was last seen", func(b *bench) {
		b.add("a")
		b.commit(saw("a", noon, freshet.First, "one"))
		for i, text := range []string{"two", "three"} {
			last := minute(10*i + 3)
			b.commit(saw("a", last, freshet.Unchanged, ""))
			b.commit(failed("a", last.Add(time.Minute), failure.DNS))
			r := saw("a", last.Add(2*time.Minute), freshet.Changed, text)
			r.Outcome.Modified = last.Add(time.Minute)
			_, c := b.commit(r)
			if !c.After.Equal(last) || !c.Before.Equal(r.Outcome.Ended) || !c.Modified.Equal(r.Outcome.Modified) {
				b.Errorf("the change to %s happened after %v and by %v (at %v, it says), want after %v and by %v",
					text, c.After, c.Before, c.Modified, last, r.Outcome.Ended)
			}
			b.reopen()
			log, err := b.Changes(b.Context(), freshet.ChangeQuery{After: c.Cursor - 1})
			b.ok("changes", err)
			same(b, "the change as stored", log, []freshet.Change{c})
		}
	}},
	{"changes and versions are found by the time when they were seen", func(b *bench) {
		b.add("a")
		b.add("b")
		for i, text := range []string{"one", "two", "three", "four", "five"} {
			b.commit(saw("a", minute(10*i), freshet.Changed, text))
			b.commit(saw("b", minute(10*i+5), freshet.Changed, text))
		}
		doubted := saw("a", minute(60), freshet.Doubted, "")
		doubted.Capture = saw("a", minute(60), freshet.Changed, "six").Capture
		doubted.Capture.Quiet, doubted.Outcome.Suspect = freshet.QuietSuspect, suspect.Login
		doubted.Held = freshet.Held{Suspect: suspect.Login, Since: minute(60), Looks: 1}
		b.commit(doubted)
		b.commit(saw("b", minute(70), freshet.Changed, "six"))
		span := func(since, until int) (in freshet.Between) {
			if since >= 0 {
				in.Since = minute(since)
			}
			if until >= 0 {
				in.Until = minute(until)
			}
			return in
		}
		numbers := func(in freshet.Between, before, limit int) (list []int) {
			found, err := b.Versions(b.Context(), "a", in, before, limit)
			b.ok("versions in a span", err)
			for _, v := range found {
				list = append(list, v.Number)
			}
			return list
		}
		same(b, "all versions", numbers(span(-1, -1), 0, 0), []int{6, 5, 4, 3, 2, 1})
		same(b, "those from one time to another", numbers(span(10, 30), 0, 0), []int{3, 2})
		same(b, "those before one and a time", numbers(span(-1, 50), 4, 2), []int{3, 2})
		at := func(after time.Duration) int {
			v, err := freshet.VersionAt(b.Context(), b.Store, "a", noon.Add(after))
			if err != nil {
				b.is("no version at a time", err, freshet.ErrNotFound)
			}
			return v.Number
		}
		same(b, "before the first", at(0), 0)
		same(b, "at the very moment of the first", at(time.Second), 1)
		same(b, "in between", at(25*time.Minute), 3)
		same(b, "while another is held", at(time.Hour+time.Minute), 5)
		_, err := b.Confirm(b.Context(), "a", 6)
		b.ok("confirm", err)
		same(b, "when that was confirmed", at(time.Hour+time.Minute), 6)

		changes := func(q freshet.ChangeQuery) (list []string) {
			found, err := b.Changes(b.Context(), q)
			b.ok("changes", err)
			for _, c := range found {
				list = append(list, fmt.Sprint(c.Source, c.Number))
			}
			return list
		}
		b.reopen()
		same(b, "changes from one time to another", changes(freshet.ChangeQuery{Seen: span(20, 35)}), []string{"a3", "b3", "a4"})
		same(b, "those of one source", changes(freshet.ChangeQuery{Seen: span(20, 45), Source: "b"}), []string{"b3", "b4"})
		same(b, "one that was confirmed later is of when it was seen", changes(freshet.ChangeQuery{Seen: span(50, 65)}), []string{"a6"})
		same(b, "those of a time without any", changes(freshet.ChangeQuery{Seen: span(500, -1)}), []string(nil))
		first, err := b.Changes(b.Context(), freshet.ChangeQuery{Seen: span(20, -1), Limit: 2})
		b.ok("changes", err)
		same(b, "those after a place", changes(freshet.ChangeQuery{Seen: span(20, -1), After: first[1].Cursor, Limit: 2}), []string{"a4", "b4"})

		all := changes(freshet.ChangeQuery{})
		back := slices.Clone(all)
		slices.Reverse(back)
		same(b, "the newest first", changes(freshet.ChangeQuery{Newest: true}), back)
		same(b, "the newest two", changes(freshet.ChangeQuery{Newest: true, Limit: 2}), back[:2])
		same(b, "the newest before a place", changes(freshet.ChangeQuery{Newest: true, After: first[1].Cursor, Limit: 2}), []string{"a3", "b2"})
		same(b, "the newest of a span", changes(freshet.ChangeQuery{Newest: true, Seen: span(20, 35), Limit: 2}), []string{"a4", "b3"})
		same(b, "the newest of one source", changes(freshet.ChangeQuery{Newest: true, Source: "b", Limit: 2}), []string{"b6", "b5"})
		same(b, "none before the first", changes(freshet.ChangeQuery{Newest: true, After: 1}), []string(nil))
	}},
	{"what a source says of itself counts only if it can be true", func(b *bench) {
		b.add("a")
		b.commit(saw("a", noon, freshet.First, "one"))
		tests := []struct {
			after time.Duration // since the source was last seen, a minute before it was seen changed
			can   bool
		}{
			{-time.Hour, false}, {0, false}, {time.Nanosecond, true}, {30 * time.Second, true},
			{61 * time.Second, true}, {61*time.Second + time.Nanosecond, false}, {time.Hour, false},
		}
		for i, tt := range tests {
			r := saw("a", minute(i+1), freshet.Changed, tt.after.String())
			r.Outcome.Since, r.Outcome.Modified = minute(i), minute(i).Add(tt.after)
			var want time.Time
			if tt.can {
				want = r.Outcome.Modified
			}
			if _, c := b.commit(r); !c.Modified.Equal(want) {
				b.Errorf("the change between %v and %v is said to have happened at %v, want %v", c.After, c.Before, c.Modified, want)
			}
		}
	}},
	{"the log is in one order, each source without gaps", func(b *bench) {
		var all []freshet.Change
		for _, id := range []freshet.SourceID{"a", "b", "c"} {
			b.add(id)
			b.history(id, 1)
		}
		for i := range 12 {
			id := []freshet.SourceID{"a", "b", "c", "a"}[i%4]
			_, c := b.commit(saw(id, minute(i+1), freshet.Changed, minute(i).String()))
			all = append(all, c)
		}
		seq := map[freshet.SourceID]int{}
		for i, c := range all {
			seq[c.Source]++
			if c.Seq != seq[c.Source] {
				b.Errorf("change %d of %s has number %d", seq[c.Source], c.Source, c.Seq)
			}
			if i > 0 && c.Cursor <= all[i-1].Cursor {
				b.Errorf("the change at %d comes after the one at %d", c.Cursor, all[i-1].Cursor)
			}
		}
		got, err := b.Changes(b.Context(), freshet.ChangeQuery{})
		b.ok("changes", err)
		same(b, "the log", got, all)
		got, err = b.Changes(b.Context(), freshet.ChangeQuery{After: all[2].Cursor, Limit: 3})
		b.ok("changes", err)
		same(b, "a part of the log", got, all[3:6])
		got, err = b.Changes(b.Context(), freshet.ChangeQuery{Source: "b", After: all[1].Cursor, Limit: 5})
		b.ok("changes", err)
		same(b, "the log of one source", got, []freshet.Change{all[5], all[9]})
		got, err = b.Changes(b.Context(), freshet.ChangeQuery{Source: "a", Above: 2, Upto: 4})
		b.ok("changes", err)
		same(b, "those that led to some versions of one source", got, []freshet.Change{all[3], all[4]})
		got, err = b.Changes(b.Context(), freshet.ChangeQuery{Above: 4})
		b.ok("changes", err)
		same(b, "those that led to late versions", got, []freshet.Change{all[7], all[8], all[11]})
		last, err := b.LastChange(b.Context())
		b.ok("last change", err)
		same(b, "the end of the log", last, all[11].Cursor)
		got, err = b.Changes(b.Context(), freshet.ChangeQuery{After: last})
		b.ok("changes", err)
		if len(got) != 0 {
			b.Errorf("there are %d changes after the last", len(got))
		}
	}},
	{"an empty log ends at zero", func(b *bench) {
		last, err := b.LastChange(b.Context())
		b.ok("last change", err)
		same(b, "the end", last, freshet.Cursor(0))
	}},
	{"waiting ends with the next change", func(b *bench) {
		b.add("a")
		first := b.history("a", 2)[0].Cursor
		b.ok("waiting for what is there", b.Wait(b.Context(), first-1))
		woken := make(chan error)
		go func() { woken <- b.Wait(b.Context(), first) }()
		b.commit(saw("a", minute(5), freshet.Unchanged, ""))
		b.commit(saw("a", minute(6), freshet.Changed, "next"))
		b.ok("waiting for the next", <-woken)
	}},
	{"waiting ends with its context", func(b *bench) {
		ctx, cancel := context.WithCancelCause(b.Context())
		woken := make(chan error)
		go func() { woken <- b.Wait(ctx, 0) }()
		enough := errors.New("enough")
		cancel(enough)
		b.is("waiting", <-woken, enough)
	}},
	{"a cursor is not given out twice", func(b *bench) {
		b.add("a")
		changes := b.history("a", 3)
		b.ok("purge", b.RemoveSource(b.Context(), "a", true))
		b.reopen()
		last, err := b.LastChange(b.Context())
		b.ok("last change", err)
		same(b, "the end of the log", last, changes[1].Cursor)
		b.add("b")
		if c := b.history("b", 2)[0]; c.Cursor <= last {
			b.Errorf("the next change is at %d, want it after %d", c.Cursor, last)
		}
	}},
}
