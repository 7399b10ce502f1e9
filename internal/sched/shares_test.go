package sched_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/units"
)

// in10s are limits that keep polls of a source ten seconds apart.
func in10s() sched.Limits {
	l := generous()
	l.Budget = sched.Budget{Polls: 1, Per: time.Second}
	l.SourceGap = 10 * time.Second
	return l
}

// Under the limits that ship a single page is not polled as often as the budget
// would pay for.
func TestDefaultLimitsAreCourteous(t *testing.T) {
	w := newWorld(sched.DefaultLimits())
	w.put(freshet.Source{ID: "a", URL: "https://a.example/"})
	w.run(time.Minute - 1)
	if n := len(w.polls); n != 6 {
		t.Errorf("a page was polled %d times in the first minute, want 6", n)
	}
}

func TestSourceGap(t *testing.T) {
	tests := []struct {
		name   string
		source freshet.Source
		limits func(*sched.Limits)
		asks   bool            // after three seconds
		want   []time.Duration // polls of the first half minute
	}{
		{name: "it keeps polls of a source apart", want: seconds(0, 10, 20, 30)},
		{name: "none", limits: func(l *sched.Limits) { l.SourceGap, l.Budget.Per = 0, 15*time.Second }, want: seconds(0, 15, 30)},
		{name: "a source's own gap comes before it", source: freshet.Source{MinGap: 25 * time.Second}, want: seconds(0, 25)},
		{name: "a source's own gap comes before it when it is shorter", source: freshet.Source{MinGap: 7 * time.Second}, want: seconds(0, 7, 14, 21, 28)},
		{name: "a deadline is kept", source: freshet.Source{MaxGap: 8 * time.Second}, want: seconds(0, 8, 16, 24)},
		{name: "a poll by hand is made, and counts", asks: true, want: seconds(0, 3, 13, 23)},
		{name: "a poll by hand waits for the source's own gap", source: freshet.Source{MinGap: 10 * time.Second}, asks: true, want: seconds(0, 10, 20, 30)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := in10s()
			if tt.limits != nil {
				tt.limits(&l)
			}
			w := newWorld(l)
			tt.source.ID, tt.source.URL = "a", "https://a.example/"
			w.put(tt.source)
			w.run(3 * time.Second)
			if tt.asks {
				w.s.Ask("a")
			}
			w.run(27 * time.Second)
			if got := w.times("a"); !slices.Equal(got, tt.want) {
				t.Errorf("polled at %v, want %v", got, tt.want)
			}
		})
	}
}

// The gap counts from the poll before a restart, and it ends at once when the
// operator takes it away.
func TestSourceGapAcrossARestartAndAReload(t *testing.T) {
	w := newWorld(in10s())
	w.s.Put(w.now, freshet.SourceWithStatus{
		Source: freshet.Source{ID: "a", URL: "https://a.example/"},
		Status: freshet.Status{Seen: start.Add(-4 * time.Second), Begun: start.Add(-4 * time.Second), Requests: 1},
	})
	w.run(18 * time.Second)
	l := in10s()
	l.SourceGap = 0
	w.s.SetLimits(w.now, l)
	w.run(2 * time.Second)
	if got, want := w.times("a"), seconds(6, 16, 18, 19, 20); !slices.Equal(got, want) {
		t.Errorf("polled at %v, want %v", got, want)
	}
	w.s.SetLimits(w.now, in10s())
	w.run(20 * time.Second)
	if got, want := w.times("a")[5:], seconds(30, 40); !slices.Equal(got, want) {
		t.Errorf("with the gap back it was polled at %v, want %v", got, want)
	}
}

// favourites is a policy that wants the first sources before all others, always.
type favourites struct{ slots int }

func (f *favourites) Put(_ time.Time, slot freshet.Slot, _ freshet.Source, _ time.Time) {
	f.slots = max(f.slots, int(slot)+1)
}
func (f *favourites) Remove(freshet.Slot)                              {}
func (f *favourites) Observe(time.Time, freshet.Slot, freshet.Outcome) {}
func (f *favourites) Choose(_ time.Time, _ int, take func(freshet.Slot, float64) bool) time.Time {
	for slot := range freshet.Slot(f.slots) {
		take(slot, 1)
	}
	return time.Time{}
}

// No source and no host takes more than its share, the budget is spent on others,
// and it is not thrown away where there are none.
func TestShares(t *testing.T) {
	tests := []struct {
		name        string
		sources     int
		perHost     int
		source      float64
		host        float64
		first, last float64 // of the budget that the first source, and its host, get
	}{
		{name: "no shares", sources: 100, perHost: 1, first: 1, last: 1},
		{name: "all of it", sources: 100, perHost: 1, source: 1, host: 1, first: 1, last: 1},
		{name: "a tenth a source", sources: 100, perHost: 1, source: 0.1, first: 0.1, last: 0.1},
		{name: "half a host", sources: 100, perHost: 10, host: 0.5, first: 0.5, last: 0.5},
		{name: "both", sources: 100, perHost: 10, source: 0.1, host: 0.5, first: 0.1, last: 0.5},
		{name: "one source", sources: 1, perHost: 1, source: 0.1, host: 0.5, first: 1, last: 1},
		{name: "three sources", sources: 3, perHost: 1, source: 0.1, host: 0.5, first: 1, last: 1},
		{name: "ten sources", sources: 10, perHost: 1, source: 0.1, host: 0.5, first: 0.3, last: 0.3},
		{name: "all on one host", sources: 60, perHost: 60, source: 0.1, host: 0.5, first: 0.1, last: 1},
		{name: "two hosts", sources: 60, perHost: 30, source: 0.1, host: 0.5, first: 0.1, last: 1},
		{name: "most on one host", sources: 60, perHost: 45, source: 0.1, host: 0.5, first: 0.1, last: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget = sched.Budget{Polls: 60, Per: time.Minute}
			l.SourceShare, l.Hosts.Share = tt.source, tt.host
			w := &world{s: sched.New(&favourites{}, l), now: start}
			for i := range tt.sources {
				w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/%d", i/tt.perHost, i)})
			}
			w.run(4 * time.Hour)
			all := float64(len(w.polls))
			if want := 4 * 3600.0; all < want {
				t.Errorf("%v polls were made, want all %v of the budget", all, want)
			}
			first, host := 0.0, 0.0
			for _, p := range w.polls {
				if p.Source.ID == id(0) {
					first++
				}
				if p.Source.Host() == "h0.example" {
					host++
				}
			}
			if got := first / all; got < tt.first-0.002 || got > tt.first+0.002 {
				t.Errorf("the first source had %.4f of the budget, want %v", got, tt.first)
			}
			if got := host / all; got < tt.last-0.002 || got > tt.last+0.002 {
				t.Errorf("its host had %.4f of the budget, want %v", got, tt.last)
			}
		})
	}
}

// What somebody asks for is not held back by a share, and leaves no debt that a
// source would have to work off for long.
func TestSharesLeaveNoDebt(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 60, Per: time.Minute}
	l.SourceShare = 0.1
	w := &world{s: sched.New(&favourites{}, l), now: start}
	for i := range 100 {
		w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/", i)})
	}
	for range 60 {
		w.s.Ask(id(0))
		w.run(time.Second)
	}
	if n := len(w.times(id(0))); n < 59 {
		t.Fatalf("of 60 polls by hand %d were made", n)
	}
	last := w.times(id(0))[len(w.times(id(0)))-1]
	h, _ := w.s.Hold(w.now, id(0))
	if want := start.Add(last + 10*time.Second); h.Kind != sched.HoldSourceShare || !h.Until.Equal(want) {
		t.Errorf("after that it is held back by %v until %v, want by its share until %v", h.Kind, h.Until, want)
	}
	l.SourceShare = 0
	w.s.SetLimits(w.now, l)
	if h, _ := w.s.Hold(w.now, id(0)); h.Kind == sched.HoldSourceShare {
		t.Errorf("without a share it is held back by it until %v", h.Until)
	}
}

// What was polled before a restart counts.
func TestSharesAcrossARestart(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 60, Per: time.Minute}
	l.SourceShare, l.Hosts.Share = 0.1, 0.5
	w := &world{s: sched.New(&favourites{}, l), now: start}
	var attempts []freshet.Attempt
	for i := range 100 {
		w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/%d", i/10, i)})
		if i < 30 {
			at := start.Add(time.Duration(i-30) * time.Second)
			attempts = append(attempts, freshet.Attempt{Source: id(i % 2), Began: at, Ended: at, Requests: 1})
		}
	}
	w.s.Resume(w.now, attempts)
	if h, _ := w.s.Hold(w.now, id(0)); h.Kind != sched.HoldSourceShare {
		t.Errorf("a source that was polled fifteen times in half a minute is held back by %v, want by its share", h.Kind)
	}
	if h, _ := w.s.Hold(w.now, id(5)); h.Kind != sched.HoldHostShare {
		t.Errorf("another of a host that had all polls of half a minute is held back by %v, want by the share of its host", h.Kind)
	}
	if h, _ := w.s.Hold(w.now, id(50)); h.Kind != sched.NoHold {
		t.Errorf("a source of another host is held back by %v", h.Kind)
	}
}

// A budget as small as can be set, and sources that come, go and pause.
func TestSharesOfATinyBudget(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 0.0001, Per: 366 * units.Day}
	l.SourceShare, l.Hosts.Share = 0.1, 0.5
	w := &world{s: sched.New(&favourites{}, l), now: start}
	for i := range 100 {
		w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/%d", i/10, i)})
	}
	w.s.Ask(id(0))
	w.run(time.Second)
	for i := range 99 {
		if i%2 == 0 {
			w.s.Remove(id(i + 1))
		} else {
			w.put(freshet.Source{ID: id(i + 1), URL: "https://h0.example/", Paused: true})
		}
	}
	w.run(time.Second)
	if h, _ := w.s.Hold(w.now, id(0)); h.Kind == sched.HoldSourceShare || h.Kind == sched.HoldHostShare {
		t.Errorf("the only source left is held back by %v until %v", h.Kind, h.Until)
	}
}
