package lab_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/lab"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// An hourOfChanges is what some pages do in an hour.
type hourOfChanges map[freshet.SourceID][]time.Time

// grid cuts the hour into minutes.
func (h hourOfChanges) grid(t interface{ Fatal(...any) }) *lab.Grid {
	history := lab.NewHistory(func(yield func(freshet.SourceID, time.Time) bool) {
		for id, changes := range h {
			for _, at := range changes {
				if !yield(id, at) {
					return
				}
			}
		}
	}, h.pages()...)
	g, err := history.Quantise(lab.Period{Start: start, End: start.Add(time.Hour), Instant: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (h hourOfChanges) pages() (ids []freshet.SourceID) {
	for id := range h {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// drawHour returns some pages with changes at random.
func drawHour(t *rapid.T) hourOfChanges {
	h := hourOfChanges{}
	for i := range rapid.IntRange(1, 6).Draw(t, "sources") {
		id := freshet.SourceID(fmt.Sprint("s", i))
		h[id] = nil
		at := start
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			at = at.Add(time.Duration(rapid.IntRange(1, 900).Draw(t, "gap")) * time.Second)
			h[id] = append(h[id], at)
		}
	}
	return h
}

// What polls find in continuous time agrees with what one finds by looking at
// every change on its own: a poll finds the source changed if a change lies
// between it and the poll before that saw the source.
func TestPollsFindTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hour := drawHour(t)
		polls := 0
		seen := map[freshet.SourceID]time.Time{}
		looks := map[freshet.SourceID][]time.Time{}
		o := lab.Options{
			Budget: float64(rapid.IntRange(1, 10).Draw(t, "polls")), Unseen: true,
			Conditions: lab.Conditions{
				Continuous: true,
				Latency:    time.Duration(rapid.IntRange(0, 3000).Draw(t, "latency")) * time.Millisecond,
				Limits:     &sched.Limits{Backoff: sched.Backoff{Start: time.Second, Most: time.Second, Host: time.Second}},
			},
			Answer: func(_ freshet.Poll, o *freshet.Outcome) {
				if polls++; polls%5 == 4 {
					o.Result, o.Failure = freshet.Failed, failure.Connect
				}
			},
			Observe: func(o freshet.Outcome) {
				if o.Result == freshet.Failed {
					return
				}
				want := freshet.Unchanged
				if seen[o.Source].IsZero() {
					want = freshet.First
				}
				for _, at := range hour[o.Source] {
					if want != freshet.First && at.After(seen[o.Source]) && !at.After(o.Began) {
						want = freshet.Changed
					}
				}
				if o.Result != want {
					t.Errorf("the poll of %s at %v found it %s, want %s", o.Source, o.Began.Sub(start), o.Result, want)
				}
				seen[o.Source] = o.Began
			},
		}
		ended := o.Answer
		o.Answer = func(p freshet.Poll, o *freshet.Outcome) {
			if ended(p, o); o.Result.Seen() {
				looks[o.Source] = append(looks[o.Source], o.Began)
			}
		}
		score, err := lab.Replay(t.Context(), hour.grid(t), &policy.RoundRobin{}, o)
		if err != nil {
			t.Fatal(err)
		}
		if polls < 50 || score.Polls != polls || score.Failed != (polls+1)/5 {
			t.Errorf("%d polls in an hour at one a minute or more, of which every fifth fails, and %d in the score, %d of them failed", polls, score.Polls, score.Failed)
		}
		changes, captured := hour.captured(looks)
		if score.Changes != changes || score.Captured != captured {
			t.Errorf("%d of %d changes are said to be captured, want %d of %d", score.Captured, score.Changes, captured, changes)
		}
	})
}

// captured counts the changes of the hour, those of a page in one minute as one,
// and how many of them a poll saw before the next one came.
func (h hourOfChanges) captured(looks map[freshet.SourceID][]time.Time) (changes, captured int) {
	for id, list := range h {
		var firsts []time.Time // of each minute
		for _, at := range list {
			if !at.Before(start.Add(time.Hour)) {
				break
			}
			if n := len(firsts); n == 0 || !at.Truncate(time.Minute).Equal(firsts[n-1].Truncate(time.Minute)) {
				firsts = append(firsts, at)
			}
		}
		changes += len(firsts)
		for i, at := range firsts {
			if slices.ContainsFunc(looks[id], func(look time.Time) bool {
				return !look.Before(at) && (i+1 == len(firsts) || look.Before(firsts[i+1]))
			}) {
				captured++
			}
		}
	}
	return changes, captured
}

// What the daemon's limits forbid does not happen in a replay either: a host is
// polled by one at a time with its delay in between, no more polls than workers
// are under way, and no stretch of time has more polls than the budget.
func TestLimitsBindInContinuousTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var outcomes []freshet.Outcome
		limits := sched.Limits{
			Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
			Hosts:   sched.Politeness{Delay: time.Duration(rapid.IntRange(0, 90).Draw(t, "delay")) * time.Second},
		}
		latency := time.Duration(rapid.IntRange(0, 50).Draw(t, "latency")) * time.Second
		budget := rapid.IntRange(1, 10).Draw(t, "polls")
		o := lab.Options{
			Budget:     float64(budget),
			Conditions: lab.Conditions{Continuous: true, Limits: &limits, Latency: latency},
			Weights:    lab.Weights{Adjust: func(page int, s *freshet.Source) { s.URL = fmt.Sprintf("https://h%d.example/%d", page%2, page) }},
			Observe:    func(o freshet.Outcome) { outcomes = append(outcomes, o) },
		}
		if _, err := lab.Replay(t.Context(), drawHour(t).grid(t), &policy.RoundRobin{}, o); err != nil {
			t.Fatal(err)
		}
		for i, o := range outcomes {
			if took := o.Ended.Sub(o.Began); took != latency {
				t.Fatalf("poll %d took %v, want %v", i, took, latency)
			}
			flying, within := 0, 0
			for j, other := range outcomes[:i+1] {
				if other.Ended.After(o.Began) && !other.Began.After(o.Began) {
					flying++
				}
				if other.Began.After(o.Began.Add(-time.Minute)) {
					within++
				}
				same := (other.Source[1]-o.Source[1])%2 == 0
				if pause := o.Began.Sub(other.Ended); same && j != i && limits.Hosts.Delay > 0 && pause < limits.Hosts.Delay {
					t.Fatalf("poll %d of a host began %v after another ended, want %v at least", i, pause, limits.Hosts.Delay)
				}
			}
			if flying > limits.Workers || within > budget {
				t.Fatalf("at poll %d, %d are under way and %d have begun within a minute, want at most %d and %d", i, flying, within, limits.Workers, budget)
			}
		}
	})
}

// A page fails for as long as its trace says, in every kind of time, and is left
// alone when its server says so.
func TestFailuresOfATrace(t *testing.T) {
	at := func(minute int) int64 { return start.Add(time.Duration(minute) * time.Minute).Unix() }
	text := fmt.Sprintf("page,time,failure\na,%d,\na,%d,server_error\na,%d,ok\nb,%d,retry_after:7m\nb,%d,timeout\nb,%d,ok\n",
		at(1), at(10), at(20), at(30), at(31), at(50))
	h, err := lab.ReadHistory(strings.NewReader(text), "x.csv")
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.Quantise(lab.Period{Start: start, End: start.Add(time.Hour), Instant: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	want := map[freshet.SourceID]func(minute float64) failure.Class{
		"a": func(m float64) failure.Class {
			if m >= 10 && m < 20 {
				return failure.ServerError
			}
			return ""
		},
		"b": func(m float64) failure.Class {
			switch {
			case m >= 30 && m < 31:
				return failure.RetryAfter
			case m >= 31 && m < 50:
				return failure.Timeout
			}
			return ""
		},
	}
	for _, continuous := range []bool{false, true} {
		failed := map[failure.Class]int{}
		var sentAway time.Time
		o := lab.Options{
			Budget:     4,
			Conditions: lab.Conditions{Continuous: continuous, Limits: &sched.Limits{Backoff: sched.Backoff{Start: time.Second, Most: time.Second, Host: time.Second}}},
			Observe: func(o freshet.Outcome) {
				minute := o.Began.Sub(start).Minutes()
				if o.Failure != want[o.Source](minute) || (o.Failure != "") != (o.Result == freshet.Failed) {
					t.Errorf("continuous %v: the poll of %s at minute %.2f ended as %s %q, want %q", continuous, o.Source, minute, o.Result, o.Failure, want[o.Source](minute))
				}
				if o.Source == "b" && o.Began.Before(sentAway) {
					t.Errorf("continuous %v: b was polled at minute %.2f and had asked for more patience", continuous, minute)
				}
				if o.Failure == failure.RetryAfter {
					sentAway = o.Ended.Add(7 * time.Minute)
				}
				failed[o.Failure]++
			},
		}
		score, err := lab.Replay(t.Context(), g, &policy.RoundRobin{}, o)
		if err != nil {
			t.Fatal(err)
		}
		if failed[failure.ServerError] == 0 || failed[failure.Timeout] == 0 || failed[failure.RetryAfter] != 1 {
			t.Errorf("continuous %v: failures were %v, want some of each and one retry_after", continuous, failed)
		}
		if score.Failed != score.Polls-failed[""] || score.Captured != 1 {
			t.Errorf("continuous %v: the score has %d polls, %d failed and %d captures; %d saw their page, want 1 capture", continuous, score.Polls, score.Failed, score.Captured, failed[""])
		}
	}
}

// By chance so many polls fail as were wanted, and always the same.
func TestFailuresByChance(t *testing.T) {
	run := func(seed uint64) lab.Score {
		o := lab.Options{Budget: 4, Conditions: lab.Conditions{Continuous: true, Failures: lab.Failures{Share: 0.2, Class: failure.Extract, Seed: seed}}}
		o.Limits = &sched.Limits{Backoff: sched.Backoff{Start: 1, Most: 1, Host: 1}}
		score, err := lab.Replay(t.Context(), lab.NewGrid(start, time.Minute, 1000, make([][]int, 30)), &policy.RoundRobin{}, o)
		if err != nil {
			t.Fatal(err)
		}
		return score
	}
	one, again, other := run(1), run(1), run(2)
	if share := float64(one.Failed) / float64(one.Polls); share < 0.18 || share > 0.22 {
		t.Errorf("%.3f of %d polls failed, want 0.2", share, one.Polls)
	}
	if one.Failed != again.Failed || one.Failed == other.Failed {
		t.Errorf("%d polls failed, %d in the same replay again and %d with another seed", one.Failed, again.Failed, other.Failed)
	}
}
