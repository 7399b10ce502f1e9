package sched_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/objective"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// An edit that leaves the URL alone leaves everything else alone too; another
// URL is another page, whose failures nobody has seen.
func TestEdits(t *testing.T) {
	tests := []struct {
		name string
		url  string
		want time.Duration // of the next poll, after one that failed at once
	}{
		{"the name", "https://a.example/page", time.Hour},
		{"the URL", "https://a.example/other", time.Second},
		{"the host", "https://b.example/page", time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Backoff.Gone = time.Hour
			w := newWorld(l)
			w.answer = fails(failure.Gone)
			w.put(freshet.Source{ID: "a", URL: "https://a.example/page"})
			w.run(time.Second)
			w.put(freshet.Source{ID: "a", URL: tt.url, Name: "edited"})
			w.run(2 * time.Hour)
			if got := w.times("a")[1]; got != tt.want {
				t.Errorf("polled again after %v, want %v", got, tt.want)
			}
			if p := w.polls[1]; p.Source.Name != "edited" || p.Source.URL != tt.url {
				t.Errorf("the poll is of %+v, want the source as edited", p.Source)
			}
		})
	}
}

// A poll under way of a source that moves to another host stays with the host that
// it went to, and so does what is learnt from its end.
func TestMoveWhileUnderWay(t *testing.T) {
	l := generous()
	l.Hosts.Delay = 10 * time.Second
	w := newWorld(l)
	w.latency = func(freshet.Poll) time.Duration { return time.Minute }
	w.put(freshet.Source{ID: "a", URL: "https://one.example/"})
	w.run(20 * time.Second)
	w.put(freshet.Source{ID: "a", URL: "https://two.example/", Paused: true})
	w.put(freshet.Source{ID: "b", URL: "https://one.example/"})
	w.put(freshet.Source{ID: "c", URL: "https://two.example/"})
	w.run(time.Second)
	if got := w.times("c"); !slices.Equal(got, seconds(20)) {
		t.Errorf("the host that is free was polled at %v, want 20 s", got)
	}
	if h, _ := w.s.Hold(w.now, "b"); h.Kind != sched.HoldHostBusy {
		t.Errorf("a source of the host that was left is held back by %q, want by the poll under way", h)
	}
	w.ends[0].NotBefore = start.Add(2 * time.Minute) // it asks to be left alone, and not the host that the source moved to
	w.run(4 * time.Minute)
	if got := w.times("b"); len(got) == 0 || got[0] != 2*time.Minute {
		t.Errorf("the host that asked for two minutes was polled at %v", got)
	}
	if got := w.times("c"); len(got) < 2 || got[1] != 90*time.Second {
		t.Errorf("the other host was polled at %v, want again after 90 s: its poll takes 60, and 10 more are owed", got)
	}
}

// Slots are given out again, and those in use can be listed.
func TestSlots(t *testing.T) {
	w := newWorld(generous())
	w.latency = func(p freshet.Poll) time.Duration { return time.Minute }
	all := func() map[freshet.SourceID]freshet.Slot {
		found := map[freshet.SourceID]freshet.Slot{}
		for slot, s := range w.s.All() {
			found[s.ID] = slot
			if own, ok := w.s.Slot(s.ID); !ok || own != slot {
				t.Errorf("%s is listed in slot %d and found in %d (%v)", s.ID, slot, own, ok)
			}
			if in, ok := w.s.Source(slot); !ok || in.ID != s.ID {
				t.Errorf("slot %d is listed with %s and holds %s (%v)", slot, s.ID, in.ID, ok)
			}
		}
		return found
	}
	holds := func(ids ...freshet.SourceID) {
		t.Helper()
		if got := slices.Sorted(maps.Keys(all())); !slices.Equal(got, ids) {
			t.Errorf("the scheduler holds %v, want %v", got, ids)
		}
	}
	holds()
	for _, name := range []freshet.SourceID{"a", "b", "c"} {
		w.put(freshet.Source{ID: name, URL: "https://a.example/", Paused: name != "b"})
	}
	holds("a", "b", "c")
	slot, _ := w.s.Slot("a")
	w.s.Remove("a")
	w.s.Remove("a")
	w.s.Remove("nobody")
	holds("b", "c")
	if _, ok := w.s.Source(slot); ok {
		t.Error("the slot of a source that was removed still holds one")
	}
	w.put(freshet.Source{ID: "d", URL: "https://a.example/", Paused: true})
	if again, _ := w.s.Slot("d"); again != slot || w.s.Slots() != 3 {
		t.Errorf("the next source is in slot %d of %d, want the free one, %d of 3", again, w.s.Slots(), slot)
	}
	w.run(time.Second) // a poll of b is under way
	slot, _ = w.s.Slot("b")
	w.s.Remove("b")
	holds("c", "d")
	if _, ok := w.s.Source(slot); ok {
		t.Error("the slot of a source that was removed during a poll still holds one")
	}
	w.put(freshet.Source{ID: "e", URL: "https://a.example/", Paused: true})
	if other, _ := w.s.Slot("e"); other == slot {
		t.Error("the slot of a poll under way was given to another source")
	}
	w.run(2 * time.Minute)
	w.put(freshet.Source{ID: "f", URL: "https://a.example/", Paused: true})
	if again, _ := w.s.Slot("f"); again != slot || w.s.Slots() != 4 {
		t.Errorf("the next source is in slot %d of %d, want the one that the poll had, %d of 4", again, w.s.Slots(), slot)
	}
	for _, slot := range []freshet.Slot{-1, 4} {
		if _, ok := w.s.Source(slot); ok {
			t.Errorf("there is a source in slot %d", slot)
		}
	}
	for range w.s.All() {
		break // the caller may stop
	}
}

// A poll says when its source was last seen, whether that was before a restart
// or since, and a failed poll sees nothing.
func TestPollsSaySince(t *testing.T) {
	w := newWorld(generous())
	w.answer = func(p freshet.Poll, o *freshet.Outcome) {
		if len(w.polls) == 2 {
			o.Result = freshet.Failed
		}
	}
	seen := start.Add(-time.Hour)
	w.s.Put(w.now, freshet.SourceWithStatus{
		Source: freshet.Source{ID: "a", URL: "https://a.example/", MinGap: time.Minute},
		Status: freshet.Status{Seen: seen, Begun: seen},
	})
	w.run(3 * time.Minute)
	want := []time.Time{seen, start, start, start.Add(2 * time.Minute)}
	for i, p := range w.polls {
		if !p.Since.Equal(want[i]) {
			t.Errorf("poll %d says that the source was last seen at %v, want %v", i+1, p.Since, want[i])
		}
	}
	if len(w.polls) != 4 {
		t.Errorf("%d polls, want 4", len(w.polls))
	}
}

// Whoever asks is served once, first come first served, and no sooner than the
// source's own bound and its host allow.
func TestAskKeepsTheBounds(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 1, Per: time.Second}
	w := newWorld(l)
	for i := range 5 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/", MinGap: 10 * time.Second, Paused: true})
	}
	for _, i := range []int{3, 1, 3, 4, 99} {
		w.s.Ask(id(i))
	}
	w.s.Remove(id(4))
	w.run(5 * time.Second)
	w.s.Ask(id(1))
	w.run(30 * time.Second)
	for i, want := range [][]time.Duration{nil, seconds(1, 11), nil, seconds(0), nil} {
		if got := w.times(id(i)); !slices.Equal(got, want) {
			t.Errorf("%s was polled at %v, want %v", id(i), got, want)
		}
	}
}

// Asking does not get around the instants.
func TestAskedPollsWaitForInstants(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 60, Per: time.Minute}
	w := newWorld(l)
	for i := range 3 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/", Paused: true})
		w.s.Ask(id(i))
	}
	w.run(10 * time.Second)
	for i := range 3 {
		if got, want := w.times(id(i)), seconds(float64(i)); !slices.Equal(got, want) {
			t.Errorf("%s was polled at %v, want %v", id(i), got, want)
		}
	}
}

// A source that is removed and put again during a poll can be asked for again.
func TestAskAfterComingBack(t *testing.T) {
	w := newWorld(generous())
	w.latency = func(freshet.Poll) time.Duration { return 3 * time.Second }
	source := freshet.Source{ID: "a", URL: "https://a.example/", Paused: true}
	w.put(source)
	w.s.Ask("a")
	w.run(time.Second)
	w.s.Ask("a") // has to wait for the first
	w.s.Remove("a")
	w.s.Ask("a") // of nothing
	w.run(time.Second)
	w.put(source)
	w.run(10 * time.Second)
	if len(w.polls) != 1 {
		t.Errorf("%d polls, want 1: what was asked for was removed", len(w.polls))
	}
	w.s.Ask("a")
	w.run(time.Second)
	if got, want := w.times("a"), seconds(0, 12); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v: it was asked for again", got, want)
	}
}

// A poll that somebody asked for, and that saw the source, ends its back-off.
func TestAskEndsABackoff(t *testing.T) {
	l := generous()
	l.Backoff.Gone = time.Hour
	w := newWorld(l)
	w.answer = fails(failure.Gone)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", MinGap: 10 * time.Second})
	w.run(time.Minute)
	w.answer = nil
	w.s.Ask("a")
	w.run(25 * time.Second)
	if got, want := w.times("a"), seconds(0, 60, 70, 80); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v", got, want)
	}
}

// Bounds are kept in the order in which they run out, however many there are.
func TestManyBounds(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 1000, Per: time.Second}
	w := &world{s: sched.New(never{}, l), now: start}
	gap := func(i int) time.Duration { return time.Duration(30+i*37%101) * time.Second }
	for i := range 101 {
		w.put(freshet.Source{ID: id(i), URL: "https://a.example/", MaxGap: gap(i)})
		w.s.Ask(id(i))
	}
	w.run(10 * time.Minute)
	for i := range 101 {
		at := w.times(id(i))
		if want := 1 + int((10*time.Minute-at[0])/gap(i)); len(at) != want {
			t.Errorf("%s, which is to be polled every %v, was polled %d times, want %d", id(i), gap(i), len(at), want)
		}
		for k := 1; k < len(at); k++ {
			if at[k]-at[k-1] != gap(i) {
				t.Errorf("%s was polled after %v, want %v", id(i), at[k]-at[k-1], gap(i))
			}
		}
	}
}

// Deadlines come up in the order of their times, in whatever order they came in.
func TestDeadlinesAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var times []time.Time
		for _, n := range rapid.SliceOfN(rapid.Int64Range(1, 30), 0, 40).Draw(t, "times") {
			times = append(times, start.Add(time.Duration(n)*time.Second))
		}
		got := sched.InOrder(times, rapid.IntRange(0, 20).Draw(t, "taken out"))
		slices.SortFunc(times, time.Time.Compare)
		if !slices.EqualFunc(got, times, time.Time.Equal) {
			t.Errorf("they come up as %v, want %v", got, times)
		}
	})
}

// A source that is known to take several requests and gets another URL is taken
// to need one, until it is known better.
func TestAnotherURLForgetsRequests(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 8, Per: 8 * time.Second} // not twice five
	w := newWorld(l)
	w.answer = func(p freshet.Poll, o *freshet.Outcome) {
		if p.Source.Name == "" {
			o.Requests = 5
		}
	}
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.run(4500 * time.Millisecond)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/other", Name: "edited"})
	w.run(3 * time.Second)
	if got, want := w.times("a"), seconds(0, 5, 6, 7); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v", got, want)
	}
}

// The policy is told when a source was last seen, and of every outcome.
func TestPolicyIsTold(t *testing.T) {
	told := &told{Policy: &policy.Uniform{}}
	w := &world{s: sched.New(told, generous()), now: start}
	seen := start.Add(-time.Hour)
	w.s.Put(w.now, freshet.SourceWithStatus{
		Source: freshet.Source{ID: "a", URL: "https://a.example/", MinGap: 10 * time.Second},
		Status: freshet.Status{Seen: seen},
	})
	w.run(10 * time.Second)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", Name: "edited", Paused: true})
	if want := []time.Time{seen, start.Add(10 * time.Second)}; !slices.EqualFunc(told.since, want, time.Time.Equal) {
		t.Errorf("the policy was told that the source was last seen at %v, want %v", told.since, want)
	}
	if told.outcomes != 2 {
		t.Errorf("the policy was told of %d outcomes, want 2", told.outcomes)
	}
	w.s.Remove("a")
	if told.removed != 1 {
		t.Errorf("the policy was told of %d removals, want 1", told.removed)
	}
}

// What polls are for goes by the tags of a source, and follows edits of the source and of
// what is wanted of tags. The policy is told only where that changes something.
func TestAimsByTag(t *testing.T) {
	hears := &aims{never{}, map[freshet.Slot]objective.Objective{}, 0}
	w := &world{s: sched.New(hears, generous()), now: start}
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", Tags: []string{"news"}})
	w.put(freshet.Source{ID: "b", URL: "https://b.example/", Tags: []string{"shop"}, Aim: objective.Captures})
	w.put(freshet.Source{ID: "c", URL: "https://c.example/"})
	says := func(what string, times int, a, b, c objective.Objective) {
		t.Helper()
		for id, want := range map[freshet.SourceID]objective.Objective{"a": a, "b": b, "c": c} {
			slot, _ := w.s.Slot(id)
			if got := hears.of[slot]; got != want {
				t.Errorf("%s: polls of %s are for %q, want %q", what, id, got, want)
			}
		}
		if hears.told != times {
			t.Errorf("%s: the policy was told %d times, want %d", what, hears.told, times)
		}
		hears.told = 0
	}
	says("nothing wanted", 3, "", objective.Captures, "")
	w.s.SetLevels(w.now, []freshet.TagLevel{{Tag: "news", Aim: objective.Freshness}, {Tag: "shop", Aim: objective.Age}})
	says("by tag", 1, objective.Freshness, objective.Captures, "")
	w.s.SetLevels(w.now, []freshet.TagLevel{{Tag: "news", Aim: objective.Freshness}, {Aim: objective.Age}})
	says("for all others", 1, objective.Freshness, objective.Captures, objective.Age)
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", Tags: []string{"shop"}})
	says("another tag", 1, objective.Age, objective.Captures, objective.Age)
	w.s.SetLevels(w.now, nil)
	says("nothing wanted again", 2, "", objective.Captures, "")
}

// aims is a policy that notes what polls are for.
type aims struct {
	never
	of   map[freshet.Slot]objective.Objective
	told int
}

func (p *aims) Put(_ time.Time, slot freshet.Slot, s freshet.Source, _ time.Time) {
	p.of[slot], p.told = s.Aim, p.told+1
}

// A told policy notes what it is told.
type told struct {
	freshet.Policy
	since             []time.Time
	outcomes, removed int
}

func (p *told) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	p.since = append(p.since, since)
	p.Policy.Put(now, slot, s, since)
}

func (p *told) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	p.outcomes++
	p.Policy.Observe(now, slot, o)
}

func (p *told) Remove(slot freshet.Slot) {
	p.removed++
	p.Policy.Remove(slot)
}

// MaxGap does not reach past a pause, a back-off or a removal, and an edit of it
// counts from the last poll.
func TestMaxGap(t *testing.T) {
	tests := []struct {
		name   string
		answer func(freshet.Poll, *freshet.Outcome)
		edit   func(w *world)
		want   []time.Duration
	}{
		{"as it is", nil, func(*world) {}, seconds(0, 10, 20, 30)},
		{"a failure", fails(failure.Gone), func(*world) {}, seconds(0, 25)},
		{"shorter", nil, func(w *world) { w.put(bounded(4*time.Second, false)) }, seconds(0, 10, 15, 19, 23, 27)},
		{"longer", nil, func(w *world) { w.put(bounded(15*time.Second, false)) }, seconds(0, 10, 25)},
		{"none", nil, func(w *world) { w.put(bounded(0, false)) }, seconds(0, 10)},
		{"paused", nil, func(w *world) { w.put(bounded(10*time.Second, true)) }, seconds(0, 10)},
		{"removed", nil, func(w *world) { w.s.Remove("a") }, seconds(0, 10)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget, l.Backoff.Gone = sched.Budget{Polls: 10, Per: time.Second}, 25*time.Second
			w := &world{s: sched.New(never{}, l), now: start}
			w.answer = tt.answer
			w.put(bounded(10*time.Second, false))
			w.s.Ask("a") // a source that was never polled has no bound
			w.run(15 * time.Second)
			tt.edit(w)
			w.run(15 * time.Second)
			if got := w.times("a"); !slices.Equal(got, tt.want) {
				t.Errorf("polled at %v, want %v", got, tt.want)
			}
			for _, p := range w.polls[1:] {
				if p.Cause != freshet.ByBound {
					t.Errorf("a poll was made by %s, want by its bound", p.Cause)
				}
			}
		})
	}
}

func bounded(gap time.Duration, paused bool) freshet.Source {
	return freshet.Source{ID: "a", URL: "https://a.example/", MaxGap: gap, Paused: paused}
}

// never is a policy that wants nothing polled.
type never struct{}

func (never) Put(time.Time, freshet.Slot, freshet.Source, time.Time) {}
func (never) Remove(freshet.Slot)                                    {}
func (never) Observe(time.Time, freshet.Slot, freshet.Outcome)       {}
func (never) Choose(time.Time, int, func(freshet.Slot, float64) bool) (again time.Time) {
	return time.Time{}
}
