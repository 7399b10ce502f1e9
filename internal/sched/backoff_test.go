package sched_test

import (
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
)

// fails returns an answer that fails in a class.
func fails(class failure.Class) func(freshet.Poll, *freshet.Outcome) {
	return func(_ freshet.Poll, o *freshet.Outcome) { o.Result, o.Failure = freshet.Failed, class }
}

// about reports whether a duration is another, give or take a fifth and the
// instant that a poll may have to wait for.
func about(got, want time.Duration) bool {
	return got >= want*8/10 && got <= want*12/10+100*time.Millisecond
}

// Sources that failed together do not come back together.
func TestBackoffIsSpread(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 1000, Per: time.Second}
	l.Backoff.Start = 1000 * time.Second
	w := newWorld(l)
	w.answer = fails("http.404")
	const sources = 100
	for i := range sources {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
	}
	w.run(1300 * time.Second)
	low, high, at := 0, 0, map[time.Duration]bool{}
	for i := range sources {
		times := w.times(id(i))
		if len(times) != 2 || !about(times[1]-times[0], 1000*time.Second) {
			t.Fatalf("%s was polled at %v, want again after 1000 s give or take a fifth", id(i), times)
		}
		at[times[1]] = true
		switch gap := times[1] - times[0]; {
		case gap < 900*time.Second:
			low++
		case gap > 1100*time.Second:
			high++
		}
	}
	if len(at) < 90 || low < 10 || high < 10 {
		t.Errorf("%d sources came back at %d moments, %d of them early and %d late, want them spread evenly", sources, len(at), low, high)
	}
}

// A source that was seen has its failures forgiven.
func TestBackoffStartsAnew(t *testing.T) {
	l := generous()
	l.Backoff.Start = 10 * time.Second
	w := newWorld(l)
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) {
		if len(w.polls) != 4 {
			o.Result, o.Failure = freshet.Failed, "http.404"
		}
	}
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", MinGap: time.Second})
	w.run(5 * time.Minute)
	at := w.times("a")
	want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Second, 10 * time.Second, 20 * time.Second}
	for i, gap := range want {
		if got := at[i+1] - at[i]; !about(got, gap) {
			t.Errorf("poll %d came %v after the one before, want %v", i+2, got, gap)
		}
	}
}

// What is gone for good is left alone for as long as Gone says, to the second,
// and however often it has failed.
func TestBackoffOfWhatIsGone(t *testing.T) {
	l := generous()
	l.Backoff = sched.Backoff{Start: time.Second, Most: time.Minute, Gone: time.Hour}
	w := newWorld(l)
	w.answer = fails(failure.Gone)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.run(3 * time.Hour)
	if got, want := w.times("a"), seconds(0, 3600, 7200, 10800); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v", got, want)
	}
}

// Three failures running that speak of the host have all its sources left
// alone; failures that speak of a page do not.
func TestFailuresThatSpeakOfTheHost(t *testing.T) {
	classes := map[failure.Class]bool{
		failure.DNS: true, failure.Connect: true, failure.TLS: true, failure.Protocol: true,
		failure.Timeout: true, failure.TimeoutHeader: true, failure.RetryAfter: true,
		failure.ServerError: true, "server_error.503": true,

		"http.404": false, failure.Gone: false, failure.Extract: false, failure.Internal: false,
		failure.TooLarge: false, failure.Truncated: false, failure.Decode: false,
		failure.Redirect: false, failure.Blocked: false, failure.Canceled: false, "connected": false,
	}
	for class, host := range classes {
		w := newWorld(generous())
		w.answer = fails(class)
		for i := range 4 {
			w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
		}
		w.put(freshet.Source{ID: "other", URL: "https://b.example/", Paused: true})
		want := 4
		if host {
			want = 3
		}
		w.run(time.Second)
		if len(w.polls) != want {
			t.Errorf("%d polls of a host whose polls fail with %s, want %d", len(w.polls), class, want)
		}
		if h, _ := w.s.Hold(w.now, "other"); h.Kind != sched.HoldPaused {
			t.Errorf("another host is held back as well: %v", h)
		}
	}
}

// The wait of a host doubles like that of a source, up to the most.
func TestHostBackoffDoubles(t *testing.T) {
	l := generous()
	l.Backoff = sched.Backoff{Start: time.Nanosecond, Host: 10 * time.Second, Most: time.Minute}
	w := newWorld(l)
	w.answer = fails(failure.Connect)
	for i := range 100 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/"})
	}
	w.run(5 * time.Minute)
	for i, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		if got := w.polls[i+3].At.Sub(w.polls[i+2].At); !about(got, want) {
			t.Errorf("the host was left alone for %v after failure %d, want %v", got, i+3, want)
		}
	}
}

// A host can ask to be left alone whatever it answers, but not for longer than
// the operator allows.
func TestHostsWish(t *testing.T) {
	tests := []struct {
		name      string
		cap, wish time.Duration
		result    freshet.Result
		want      time.Duration
	}{
		{"after a failure", 0, time.Hour, freshet.Failed, time.Hour},
		{"after an answer", 0, time.Hour, freshet.Unchanged, time.Hour},
		{"for very long", 0, 1000 * time.Hour, freshet.Failed, 24 * time.Hour},
		{"for longer than allowed", 2 * time.Hour, 3 * time.Hour, freshet.Changed, 2 * time.Hour},
		{"until a moment that is past", 0, -time.Hour, freshet.Unchanged, 100 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Backoff = sched.Backoff{Start: time.Nanosecond, Most: time.Nanosecond, RetryAfter: tt.cap}
			w := newWorld(l)
			w.answer = func(p freshet.Poll, o *freshet.Outcome) {
				if len(w.polls) == 1 {
					o.Result, o.NotBefore = tt.result, p.At.Add(tt.wish)
				}
			}
			w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
			w.put(freshet.Source{ID: "b", URL: "https://a.example/other"})
			w.run(tt.want)
			if got := w.polls[1].At.Sub(start); got != tt.want {
				t.Errorf("the host was polled again after %v, want %v", got, tt.want)
			}
		})
	}
}

// A source that was failing before a restart is polled when it would have been
// without one.
func TestBackoffGoesOnAfterARestart(t *testing.T) {
	l := generous()
	l.Backoff.Start = 10 * time.Second
	before := newWorld(l)
	before.answer = fails("http.404")
	source := freshet.Source{ID: "a", URL: "https://a.example/"}
	before.put(source)
	before.run(10 * time.Minute)
	at := before.times("a")
	for failures := 1; failures < len(at); failures++ {
		last := start.Add(at[failures-1])
		after := newWorld(l)
		after.now = last.Add(time.Second)
		after.s.Put(after.now, freshet.SourceWithStatus{Source: source, Status: freshet.Status{
			Begun: last, Failures: failures, Failure: "http.404",
		}})
		after.run(10 * time.Minute)
		if got := after.times("a")[0]; !about(got-at[failures-1], at[failures]-at[failures-1]) || (got-at[failures]).Abs() > 100*time.Millisecond {
			t.Errorf("after failure %d and a restart it was polled at %v, want %v as without one", failures, got, at[failures])
		}
	}
}

// What a worker elsewhere says of a host that redirects led to holds back its source for as long as it was
// asked to wait, after a restart too, and no source of that host.
func TestFailuresAtTheTargetOfARedirect(t *testing.T) {
	const away = 10 * time.Hour
	for class, believed := range map[failure.Class]bool{failure.RetryAfter: true, failure.RetryAfter.AtTarget(): false} {
		w := newWorld(generous())
		w.answer = func(p freshet.Poll, o *freshet.Outcome) {
			if p.Source.ID == "led" {
				o.Result, o.Failure, o.Route, o.Requests = freshet.Failed, class, "a.example b.example", 2
				o.NotBefore = o.Ended.Add(away)
			}
		}
		w.put(freshet.Source{ID: "led", URL: "https://a.example/", MinGap: time.Minute})
		w.run(time.Minute)
		own := freshet.Source{ID: "own", URL: "https://b.example/", MinGap: time.Minute}
		w.put(own)
		w.run(away - 2*time.Minute)
		if led, polled := len(w.times("led")), len(w.times("own")) > 0; led != 1 || polled == believed {
			t.Errorf("%s: the source was polled %d times, and whether the other one was is answered with %v", class, led, polled)
		}

		restarted := newWorld(generous())
		status := freshet.Status{Begun: start, NotBefore: start.Add(away), Failures: 1, Failure: class, Requests: 2, Route: "a.example b.example"}
		led := freshet.Source{ID: "led", URL: "https://a.example/led", MinGap: time.Minute}
		restarted.s.Put(restarted.now, freshet.SourceWithStatus{Source: led, Status: status})
		restarted.put(own)
		restarted.run(away - time.Minute)
		if led, polled := len(restarted.times("led")), len(restarted.times("own")) > 0; led != 0 || polled == believed {
			t.Errorf("%s, after a restart: the source was polled %d times, and whether the other one was is answered with %v", class, led, polled)
		}
		restarted.run(time.Hour)
		if len(restarted.times("led")) == 0 {
			t.Errorf("%s: the source is not polled again", class)
		}
	}
}
