package storetest

import (
	"errors"
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
)

// noise returns the record of a poll that found only what does not count.
func noise(id freshet.SourceID, at time.Time, text string) freshet.Record {
	r := saw(id, at, freshet.Changed, text)
	r.Outcome.Result, r.Capture.Quiet = freshet.Unchanged, freshet.QuietNoise
	return r
}

// doubted returns the record of a poll that is held: with a text if it brought another
// one than is held already.
func doubted(id freshet.SourceID, at time.Time, text string, h freshet.Held) freshet.Record {
	r := saw(id, at, freshet.Changed, text)
	r.Outcome.Result, r.Outcome.Suspect, r.Held = freshet.Doubted, suspect.Shrunk, h
	r.Outcome.LookAgain = 2 * time.Minute
	if r.Capture.Quiet = freshet.QuietSuspect; text == "" {
		r.Capture = nil
	}
	return r
}

var quietTests = []test{
	{"noise is a version and no change", func(b *bench) {
		b.add("a")
		b.commit(saw("a", noon, freshet.First, "one"))
		o, c := b.commit(noise("a", minute(1), "one, 12:01"))
		if o.Result != freshet.Unchanged || o.Quiet != freshet.QuietNoise || o.Version != 2 || c.Cursor != 0 {
			b.Errorf("noise leaves the outcome %+v and the change %+v", o, c)
		}
		_, c = b.commit(saw("a", minute(2), freshet.Changed, "two"))
		if c.Seq != 1 || c.Number != 3 || c.From != freshet.HashOf([]byte("one, 12:01")) {
			b.Errorf("the change after noise is %+v", c)
		}
		b.reopen()
		st := b.watched("a").Status
		same(b, "the count of quiet versions", st.Quiets, freshet.Quiets{Noise: 1})
		if st.Changes != 1 || st.Head.Number != 3 || st.Head.Quiet != "" || !st.Seen.Equal(minute(2)) {
			b.Errorf("the standing is %+v", st)
		}
		if v, err := b.Version(b.Context(), "a", 2); err != nil || v.Quiet != freshet.QuietNoise {
			b.Errorf("version 2 is %+v (%v), want it quiet", v, err)
		}
	}},
	{"imported versions come before the first poll, without changes", func(b *bench) {
		b.add("a")
		for i, text := range []string{"one", "two", "two again"} {
			c := *saw("a", noon, freshet.First, text).Capture
			c.Recipe = "imported"
			if err := b.ImportVersion(b.Context(), "a", minute(-10+i), c); err != nil {
				b.Fatal(err)
			}
			if err := b.ImportVersion(b.Context(), "a", minute(-10+i), c); !errors.Is(err, freshet.ErrConflict) {
				b.Errorf("the version of a moment is imported twice: %v", err)
			}
		}
		b.reopen()
		if st := b.watched("a").Status; st.Changes != 0 || st.Head.Number != 3 || st.Head.Quiet != freshet.QuietImported || !st.Seen.IsZero() || st.Head.SeenAt != minute(-8) {
			b.Errorf("the standing is %+v", st)
		}
		if _, c := b.commit(saw("a", noon, freshet.First, "three")); c.Cursor != 0 {
			b.Errorf("the first poll is the change %+v", c)
		}
		if _, c := b.commit(saw("a", minute(1), freshet.Changed, "four")); c.Seq != 1 || c.Number != 5 || c.From != freshet.HashOf([]byte("three")) {
			b.Errorf("the second is %+v", c)
		}
		if err := b.ImportVersion(b.Context(), "a", minute(2), freshet.Capture{Text: []byte("x"), Hash: freshet.HashOf([]byte("x"))}); !errors.Is(err, freshet.ErrConflict) {
			b.Errorf("a version is imported after polls: %v", err)
		}
		if err := b.ImportVersion(b.Context(), "nothing", noon, freshet.Capture{Text: []byte("x"), Hash: freshet.HashOf([]byte("x"))}); !errors.Is(err, freshet.ErrNotFound) {
			b.Errorf("a version of no source is imported: %v", err)
		}
		for n, text := range map[int]string{1: "one", 2: "two", 3: "two again", 4: "three"} {
			if got, err := b.Text(b.Context(), "a", n); err != nil || string(got) != text {
				b.Errorf("version %d is %q, %v", n, got, err)
			}
		}
	}},
	{"what is held leaves the head as it is", func(b *bench) {
		b.add("a")
		first := saw("a", noon, freshet.First, "one")
		first.Validators.ETag = "x"
		b.commit(first)
		r := doubted("a", minute(1), "log in", freshet.Held{Since: minute(1), Looks: 1, Agreed: 1, Again: minute(3)})
		r.Validators.ETag = "y"
		o, c := b.commit(r)
		if o.Result != freshet.Doubted || o.Quiet != freshet.QuietSuspect || o.Version != 2 || c.Cursor != 0 || o.LookAgain != 2*time.Minute {
			b.Errorf("a held capture leaves the outcome %+v and the change %+v", o, c)
		}
		for range 2 {
			st := b.watched("a").Status
			if st.Head.Number != 1 || st.Changes != 0 || st.Failures != 0 || st.Validators.ETag != "x" || !st.Seen.Equal(noon) || st.Suspect != suspect.Shrunk {
				b.Errorf("the standing is %+v", st)
			}
			same(b, "what is held", st.Held, freshet.Held{
				Number: 2, Hash: freshet.HashOf([]byte("log in")), Recipe: reading.Recipe{}.Key(), Suspect: suspect.Shrunk, Summary: "now log in",
				Seen: minute(1).Add(time.Second), Since: minute(1), Looks: 1, Agreed: 1, Again: minute(3),
			})
			b.reopen()
		}
		head, err := b.Begin(b.Context(), freshet.Poll{Source: freshet.Source{ID: "a"}, At: minute(2)})
		if err != nil || head.Number != 1 || head.Held.Number != 2 || head.Held.Looks != 1 || head.Suspect != "" {
			b.Errorf("the next poll compares with %+v (%v)", head, err)
		}
		o, _ = b.commit(saw("a", minute(2), freshet.Unchanged, ""))
		if st := b.watched("a").Status; o.Version != 1 || st.Held != (freshet.Held{}) || st.Suspect != "" || st.Quiets.Suspect != 1 {
			b.Errorf("when the page is back, the poll saw version %d and the standing is %+v", o.Version, st)
		}
		o, c = b.commit(saw("a", minute(4), freshet.Changed, "two"))
		if o.Version != 3 || c.Number != 3 || c.From != freshet.HashOf([]byte("one")) {
			b.Errorf("the next change is %+v of the outcome %+v", c, o)
		}
	}},
	{"what is confirmed is told of the version that is there", func(b *bench) {
		b.add("a")
		b.commit(saw("a", noon, freshet.First, "one"))
		b.commit(doubted("a", minute(1), "short", freshet.Held{Since: minute(1), Looks: 1, Agreed: 1}))
		again := doubted("a", minute(2), "", freshet.Held{Since: minute(1), Looks: 2, Agreed: 2})
		if o, _ := b.commit(again); o.Version != 2 || o.Quiet != "" || b.watched("a").Status.Held.Agreed != 2 {
			b.Errorf("the look that agreed saw version %d, quiet by %q", o.Version, o.Quiet)
		}
		r := saw("a", minute(5), freshet.Changed, "short")
		r.Outcome.Since = noon
		o, c := b.commit(r)
		if o.Result != freshet.Changed || o.Version != 2 || c.Number != 2 || c.Seq != 1 || c.From != freshet.HashOf([]byte("one")) || c.Suspect != "" {
			b.Errorf("the confirmed change is %+v of the outcome %+v", c, o)
		}
		if !c.After.Equal(noon) || !c.Before.Equal(minute(1).Add(time.Second)) {
			b.Errorf("it happened between %v and %v, want by when it was first seen", c.After, c.Before)
		}
		b.reopen()
		st := b.watched("a").Status
		if st.Head.Number != 2 || st.Head.Quiet != "" || st.Head.Suspect != "" || st.Held.Number != 0 || st.Quiets.Suspect != 0 || st.Changes != 1 {
			b.Errorf("the standing is %+v", st)
		}
		if o, _ := b.commit(saw("a", minute(6), freshet.Changed, "three")); o.Version != 3 {
			b.Errorf("the next version has number %d", o.Version)
		}
	}},
	{"somebody can confirm a first version that is suspect", func(b *bench) {
		b.add("a")
		wall := saw("a", noon, freshet.First, "captcha")
		wall.Outcome.Suspect = suspect.Blocked
		b.commit(wall)
		b.commit(doubted("a", minute(1), "another captcha", freshet.Held{Since: minute(1), Looks: 1, Agreed: 1}))
		c, err := b.Confirm(b.Context(), "a", 1)
		if err != nil || c.Seq != 0 {
			b.Errorf("confirming tells of %+v (%v), want no change", c, err)
		}
		_, err = b.Confirm(b.Context(), "a", 1)
		b.is("confirming twice", err, freshet.ErrNotFound)
		_, err = b.Confirm(b.Context(), "a", 2)
		b.is("confirming what was held", err, freshet.ErrNotFound)
		b.reopen()
		if st := b.watched("a").Status; st.Head.Number != 1 || st.Head.Suspect != "" || st.Suspect != "" || st.Held.Number != 0 || st.Changes != 0 {
			b.Errorf("the standing is %+v", st)
		}
	}},
	{"somebody can confirm what is held", func(b *bench) {
		b.add("a")
		first := saw("a", noon, freshet.First, "one")
		first.Validators.ETag = "x"
		b.commit(first)
		_, err := b.Confirm(b.Context(), "a", 1)
		b.is("confirming what is not held", err, freshet.ErrNotFound)
		b.commit(doubted("a", minute(1), "short", freshet.Held{Since: minute(1), Looks: 1, Agreed: 1}))
		_, err = b.Confirm(b.Context(), "a", 1)
		b.is("confirming another version", err, freshet.ErrNotFound)
		c, err := b.Confirm(b.Context(), "a", 2)
		if err != nil || c.Seq != 1 || c.Number != 2 || c.Summary != "now short" || !c.After.Equal(noon) {
			b.Errorf("confirming tells of %+v (%v)", c, err)
		}
		_, err = b.Confirm(b.Context(), "a", 2)
		b.is("confirming twice", err, freshet.ErrNotFound)
		b.reopen()
		if st := b.watched("a").Status; st.Head.Number != 2 || st.Validators.ETag != "" || st.Suspect != "" || st.Held.Number != 0 {
			b.Errorf("the standing is %+v", st)
		}
		// The log of outcomes has nothing of it until a poll sees it.
		b.commit(failed("a", minute(2), failure.DNS))
		b.commit(doubted("a", minute(3), "other", freshet.Held{Since: minute(3), Looks: 1, Agreed: 1}))
		b.reopen()
		if o, c := b.commit(saw("a", minute(4), freshet.Unchanged, "")); o.Result != freshet.Changed || o.Version != 2 || c.Cursor != 0 {
			b.Errorf("the poll that sees it ends as %+v with the change %+v", o, c)
		}
		b.reopen()
		if o, _ := b.commit(saw("a", minute(5), freshet.Unchanged, "")); o.Result != freshet.Unchanged {
			b.Errorf("the poll after that ends as %v", o.Result)
		}
		told, err := b.Changes(b.Context(), freshet.ChangeQuery{})
		if err != nil || len(told) != 1 {
			b.Errorf("the changes are %+v (%v)", told, err)
		}
	}},
	{"of what was held only the newest few stay", func(b *bench) {
		b.add("a")
		b.commit(saw("a", noon, freshet.First, "one"))
		for i := range 20 {
			b.commit(doubted("a", minute(i+1), fmt.Sprintf("wrong page %d", i), freshet.Held{Since: minute(1), Looks: i + 1, Agreed: 1}))
		}
		versions, err := b.Versions(b.Context(), "a", freshet.Between{}, 0, 0)
		if err != nil || len(versions) != 4 || versions[0].Number != 21 || versions[2].Number != 19 || versions[3].Number != 1 {
			b.Errorf("the versions are %+v (%v)", versions, err)
		}
		text, err := b.Text(b.Context(), "a", 21)
		if err != nil || string(text) != "wrong page 19" {
			b.Errorf("the newest reads %q (%v)", text, err)
		}
		b.reopen()
		if o, _ := b.commit(saw("a", minute(30), freshet.Changed, "two")); o.Version != 22 {
			b.Errorf("the next version has number %d", o.Version)
		}
		same(b, "the count of quiet versions", b.watched("a").Status.Quiets, freshet.Quiets{Suspect: 20})
	}},
	{"another URL ends what is held", func(b *bench) {
		b.add("a")
		b.commit(saw("a", noon, freshet.First, "one"))
		b.commit(doubted("a", minute(1), "log in", freshet.Held{Since: minute(1), Looks: 1, Agreed: 1}))
		s := b.watched("a").Source
		s.URL, s.Revision = "https://b.example/", 0
		b.ok("edit", b.UpdateSource(b.Context(), s))
		late := doubted("a", minute(2), "log in!", freshet.Held{Since: minute(1), Looks: 2, Agreed: 1})
		late.URL = "https://a.example/"
		b.commit(late)
		if st := b.watched("a").Status; st.Held.Number != 0 || st.Head.Number != 1 {
			b.Errorf("the standing is %+v", st)
		}
	}},
	{"what does not fit together is refused", func(b *bench) {
		b.add("a")
		b.commit(saw("a", noon, freshet.First, "one"))
		for _, r := range []freshet.Record{noise("a", minute(1), "x"), doubted("a", minute(1), "x", freshet.Held{}), saw("a", minute(1), freshet.Changed, "x")} {
			for _, result := range []freshet.Result{freshet.Unchanged, freshet.Changed, freshet.Failed, freshet.Doubted} {
				odd := r
				if odd.Outcome.Result == result {
					continue
				}
				odd.Outcome.Result = result
				if _, _, err := b.Commit(b.Context(), odd); err == nil {
					b.Errorf("a capture that is quiet by %q is taken from a poll that ended as %s", r.Capture.Quiet, result)
				}
			}
		}
	}},
	{"what is held first is a first version", func(b *bench) {
		b.add("a")
		o, _ := b.commit(doubted("a", noon, "log in", freshet.Held{Since: noon, Looks: 1, Agreed: 1}))
		if st := b.watched("a").Status; o.Result != freshet.First || st.Head.Number != 1 || st.Held.Number != 0 || st.Head.Quiet != "" {
			b.Errorf("the outcome is %+v, the standing %+v", o, st)
		}
	}},
}
