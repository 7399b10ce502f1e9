package storetest

import (
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/suspect"
)

// suspectTest goes through what a source is suspected of, from poll to poll.
func suspectTest(b *bench) {
	b.add("a")
	login := "https://a.example/login"
	check := func(what string, why suspect.Class, landed string) {
		b.Helper()
		for range 2 {
			st := b.watched("a").Status
			if st.Suspect != why || st.Landed != landed {
				b.Errorf("%s the source is suspect by %q, landed on %q; want %q and %q", what, st.Suspect, st.Landed, why, landed)
			}
			b.reopen()
		}
	}
	first := saw("a", noon, freshet.First, "one")
	b.commit(first)
	check("at first", "", "")
	r := saw("a", minute(1), freshet.Changed, "log in")
	r.Outcome.Suspect, r.Outcome.Landed = suspect.Login, login
	o, c := b.commit(r)
	if o.Suspect != suspect.Login || o.Landed != login || c.Suspect != suspect.Login || c.Landed != login {
		b.Errorf("the outcome comes back as %+v, the change as %+v", o, c)
	}
	check("sent to log in", suspect.Login, login)
	b.commit(failed("a", minute(2), "dns"))
	check("after a failure", suspect.Login, login)
	for n, why := range map[int]suspect.Class{1: "", 2: suspect.Login} {
		if v, err := b.Version(b.Context(), "a", n); err != nil || v.Suspect != why || v.URL != "https://a.example/" {
			b.Errorf("version %d is suspect by %q at %q (%v), want %q", n, v.Suspect, v.URL, err, why)
		}
	}
	told, err := b.Changes(b.Context(), freshet.ChangeQuery{})
	if err != nil || len(told) != 1 || told[0].Suspect != suspect.Login || told[0].Landed != login {
		b.Errorf("the log of changes is %+v (%v)", told, err)
	}
	logged, err := b.Outcomes(b.Context(), freshet.OutcomeQuery{})
	if err != nil || len(logged) != 3 || logged[1].Suspect != suspect.Login || logged[1].Landed != login || logged[2].Suspect != "" {
		b.Errorf("the log of outcomes is %+v (%v)", logged, err)
	}
	b.commit(saw("a", minute(3), freshet.Unchanged, ""))
	check("when nothing speaks against it any more", "", "")

	r.Outcome.Began, r.Outcome.Ended = minute(4), minute(4)
	b.commit(r)
	s := b.watched("a").Source
	s.URL, s.Revision = login, 0
	b.ok("edit", b.UpdateSource(b.Context(), s))
	check("with another URL", "", "")
	r.URL = "https://a.example/" // of a poll that began before the edit
	r.Outcome.Began, r.Outcome.Ended = minute(5), minute(5)
	b.commit(r)
	check("after a poll of the old URL", "", "")
}

// freshTest goes through what servers say about how long a source stays as it is.
func freshTest(b *bench) {
	b.add("a")
	poll := func(at int, result freshet.Result, fresh time.Duration) {
		b.Helper()
		r := saw("a", minute(at), result, fmt.Sprint(at))
		r.Outcome.FreshFor = fresh
		b.commit(r)
	}
	check := func(what string, until time.Time, belied bool) {
		b.Helper()
		for range 2 {
			if st := b.watched("a").Status; !st.Fresh.Equal(until) || st.Belied != belied {
				b.Errorf("%s it stays as it is until %v, belied: %t; want %v and %t", what, st.Fresh, st.Belied, until, belied)
			}
			b.reopen()
		}
	}
	poll(0, freshet.First, 10*time.Minute)
	check("at first", minute(10).Add(time.Second), false)
	b.commit(failed("a", minute(1), "dns"))
	check("after a failure", minute(10).Add(time.Second), false)
	poll(2, freshet.Unchanged, 0)
	check("when the server says nothing", time.Time{}, false)
	poll(3, freshet.Changed, 10*time.Minute)
	check("after a change that was not ruled out", minute(13).Add(time.Second), false)
	poll(13, freshet.Changed, 10*time.Minute)
	check("after a change just before", minute(23).Add(time.Second), true)
	poll(30, freshet.Unchanged, 0)
	check("later", time.Time{}, true)
	s := b.watched("a").Source
	s.URL, s.Revision = "https://b.example/", 0
	b.ok("edit", b.UpdateSource(b.Context(), s))
	check("with another URL", time.Time{}, false)
}
