package sched_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/profile"
	"freshet/internal/sched"
)

// lined returns polls as lines: when they were made, of which sources at once, and why.
func lined(polls []freshet.Poll) (lines []string) {
	for _, p := range polls {
		names := []string{string(p.Source.ID)}
		for _, c := range p.Along {
			names = append(names, string(c.Source.ID))
		}
		slices.Sort(names)
		lines = append(lines, fmt.Sprintf("%v %s by %s", p.At.Sub(start).Round(time.Second), strings.Join(names, "+"), p.Cause))
	}
	return lines
}

// document returns a source that watches the one document of this test.
func document(id freshet.SourceID) freshet.Source {
	return freshet.Source{ID: id, URL: "https://a.example/document", MinGap: time.Minute}
}

// Sources of one document are polled by one request: the one that is due takes along
// those that could be polled themselves.
func TestAlong(t *testing.T) {
	edited := func(s freshet.Source, edit func(*freshet.Source)) freshet.Source {
		edit(&s)
		return s
	}
	fresh, a, b, c := func(w *world) {}, document("a"), document("b"), document("c")
	for _, tt := range []struct {
		name    string
		sources []freshet.Source
		then    func(*world) // after thirty seconds
		want    []string     // of the first two minutes
	}{
		{"three of them", []freshet.Source{a, b, c}, fresh, []string{"0s a+b+c by policy", "1m0s a+b+c by policy", "2m0s a+b+c by policy"}},
		{"one is paused", []freshet.Source{a, edited(b, func(s *freshet.Source) { s.Paused = true }), c}, fresh,
			[]string{"0s a+c by policy", "1m0s a+c by policy", "2m0s a+c by policy"}},
		{"one keeps a longer distance", []freshet.Source{a, edited(b, func(s *freshet.Source) { s.MinGap = 90 * time.Second })}, fresh,
			[]string{"0s a+b by policy", "1m0s a by policy", "1m30s b by policy", "2m0s a by policy"}},
		{"one is asked for otherwise", []freshet.Source{a, edited(b, func(s *freshet.Source) { s.Request = &profile.Profile{Language: "de"} }), c}, fresh,
			[]string{"0s a+c by policy", "0s b by policy", "1m0s a+c by policy", "1m0s b by policy", "2m0s a+c by policy"}},
		{"one comes later", []freshet.Source{a}, func(w *world) { w.put(b) },
			[]string{"0s a by policy", "30s b by policy", "1m0s a by policy", "1m30s b by policy", "2m0s a by policy"}},
		{"one comes later, and the other has no gap", []freshet.Source{edited(a, func(s *freshet.Source) { s.MinGap = 0; s.MaxGap = time.Minute; s.Paused = true })},
			func(w *world) { w.put(b); w.s.Ask("a") }, []string{"30s a+b by hand", "1m30s b by policy"}},
		{"one moves to another document", []freshet.Source{a, b}, func(w *world) { w.put(edited(b, func(s *freshet.Source) { s.URL += "s" })) },
			[]string{"0s a+b by policy", "1m0s b by policy", "1m0s a by policy", "2m0s b by policy"}},
		{"one comes from another document", []freshet.Source{a, edited(b, func(s *freshet.Source) { s.URL += "s"; s.Paused = true })},
			func(w *world) { w.put(edited(b, func(s *freshet.Source) { s.MinGap = 30 * time.Second })) },
			[]string{"0s a by policy", "30s b by policy", "1m0s a+b by policy", "1m30s b by policy", "2m0s a+b by policy"}},
		{"one is removed", []freshet.Source{a, b, c}, func(w *world) { w.s.Remove("b") },
			[]string{"0s a+b+c by policy", "1m0s a+c by policy", "2m0s a+c by policy"}},
		{"the one that was polled is removed", []freshet.Source{a, b, c}, func(w *world) { w.s.Remove("a") },
			[]string{"0s a+b+c by policy", "1m0s b+c by policy", "2m0s b+c by policy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(generous())
			for _, s := range tt.sources {
				w.put(s)
			}
			w.run(30 * time.Second)
			tt.then(w)
			w.run(90 * time.Second)
			if got := lined(w.polls); !slices.Equal(got, tt.want) {
				t.Errorf("the polls are\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(tt.want, "\n  "))
			}
		})
	}
}

// What is read along takes nothing of the budget, the workers and the host, while the
// poll is under way and when it is over.
func TestAlongIsFree(t *testing.T) {
	l := sched.Limits{Budget: sched.Budget{Polls: 4, Per: time.Hour}, Workers: 2, Hosts: sched.Politeness{Concurrency: 2}}
	w := newWorld(l)
	w.latency = func(freshet.Poll) time.Duration { return time.Second }
	for i := range 20 {
		w.put(document(id(i)))
	}
	w.run(time.Millisecond)
	w.put(freshet.Source{ID: "other", URL: "https://a.example/other", MinGap: time.Hour})
	w.s.Ask("other")
	w.run(20 * time.Minute)
	if used, _ := w.s.Spent(w.now); used != 2 || len(w.polls) != 2 || len(w.polls[0].Along) != 19 {
		t.Errorf("%d requests are spent after %q, want 2: one for twenty sources, and one beside it", used, lined(w.polls))
	}
	for i := range 20 {
		if h, ok := w.s.Hold(w.now, id(i)); !ok || h.Kind == sched.HoldUnderWay {
			t.Errorf("%s is held back by %q when all is over", id(i), h)
		}
	}
}

// A document that fails fails for all its sources, each of which backs off, and once for its
// host. They come back together.
func TestAlongFails(t *testing.T) {
	l := generous()
	l.Backoff = sched.Backoff{Start: time.Hour, Most: time.Hour, Host: time.Hour}
	w := newWorld(l)
	w.answer = fails(failure.ServerError)
	for _, name := range []freshet.SourceID{"a", "b", "c", "d", "e"} {
		s := document(name)
		s.MinGap = 0
		w.put(s)
	}
	w.put(freshet.Source{ID: "other", URL: "https://a.example/other", Paused: true})
	w.run(time.Minute)
	if got, want := lined(w.polls), []string{"0s a+b+c+d+e by policy"}; !slices.Equal(got, want) {
		t.Fatalf("the polls are %q, want %q", got, want)
	}
	for _, name := range []freshet.SourceID{"a", "e"} {
		if h, _ := w.s.Hold(w.now, name); h.Kind != sched.HoldBackoff || h.Failures != 1 {
			t.Errorf("%s is held back by %q, want its own failure", name, h)
		}
	}
	w.s.Ask("other")
	if h, _ := w.s.Hold(w.now, "other"); h.Kind != sched.NoHold {
		t.Errorf("another source of the host is held back by %q after one request that failed", h)
	}
	w.answer = nil
	w.run(61 * time.Minute)
	if got := lined(w.polls[1:3]); len(w.polls[2].Along) != 4 || got[0] != "1m0s other by hand" {
		t.Errorf("the polls that follow are %q, want one that takes all four others along although they back off", got)
	}
}

func TestMates(t *testing.T) {
	w := newWorld(generous())
	other := document("other")
	other.URL += "s"
	paused := document("paused")
	paused.Paused = true
	for _, s := range []freshet.Source{document("c"), document("a"), other, paused, document("b")} {
		w.put(s)
	}
	for id, want := range map[freshet.SourceID][]freshet.SourceID{"a": {"b", "c"}, "c": {"a", "b"}, "other": nil, "paused": nil, "none": nil} {
		if got := w.s.Mates(id); !slices.Equal(got, want) {
			t.Errorf("%s is polled together with %q, want %q", id, got, want)
		}
	}
}

// A source that was to be read along and was not is as it was: a poll that somebody
// asked for is still wanted, and it can be polled at once.
func TestLeftBehind(t *testing.T) {
	w := newWorld(generous())
	w.latency = func(freshet.Poll) time.Duration { return time.Second }
	a, b := document("a"), document("b")
	a.Paused, b.Paused = true, true
	w.put(a)
	w.put(b)
	w.s.Ask("a")
	w.s.Ask("b")
	w.run(time.Millisecond)
	if h, _ := w.s.Hold(w.now, "b"); h.Kind != sched.HoldUnderWay || h.Asked {
		t.Errorf("b is held back by %q, asked for %t, want to be under way", h, h.Asked)
	}
	w.ends = slices.DeleteFunc(w.ends, func(o *freshet.Outcome) bool { return o.Source == "b" })
	w.s.Apply(w.now, sched.PollAbandoned{Source: "b"})
	w.run(time.Minute)
	if got, want := lined(w.polls), []string{"0s a+b by hand", "0s b by hand"}; !slices.Equal(got, want) {
		t.Errorf("the polls are %q, want %q", got, want)
	}
}

// A wish that comes while a source is read along is for a poll after that one.
func TestAskedWhileAboard(t *testing.T) {
	w := newWorld(generous())
	w.latency = func(freshet.Poll) time.Duration { return time.Second }
	for _, name := range []freshet.SourceID{"a", "b"} {
		s := document(name)
		s.Paused, s.MinGap = true, 0
		w.put(s)
	}
	w.s.Ask("b")
	w.s.Ask("a")
	w.run(time.Millisecond)
	w.s.Ask("a")
	w.run(time.Minute)
	if got, want := lined(w.polls), []string{"0s a+b by hand", "1s a by hand"}; !slices.Equal(got, want) {
		t.Errorf("the polls are %q, want %q", got, want)
	}
}
