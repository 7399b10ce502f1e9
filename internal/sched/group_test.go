package sched_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sched"
)

// A site takes no more of the budget than it says, however much the policy likes its
// pages; one that says nothing takes more only while nobody else wants it.
func TestSiteShare(t *testing.T) {
	tests := []struct {
		name   string
		share  crawl.Percentage
		others int
		want   float64 // of the polls
		all    float64 // of the budget that is spent
	}{
		{name: "as it says", share: 0.3, others: 100, want: 0.3, all: 1},
		{name: "as it says, also when nobody else wants it", share: 0.3, want: 1, all: 0.3},
		{name: "half of it", others: 100, want: 0.5, all: 1},
		{name: "all of it when nobody else wants it", want: 1, all: 1},
		{name: "all of it as it says", share: 1, others: 100, want: 1, all: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget = sched.Budget{Polls: 60, Per: time.Minute}
			w := &world{s: sched.New(&favourites{}, l), now: start}
			w.put(freshet.Source{ID: "docs", URL: "https://docs.example/", Site: &crawl.Settings{Share: tt.share}})
			for i := range 50 {
				w.put(freshet.Source{ID: freshet.SourceID(fmt.Sprintf("docs.%02d", i)), Of: "docs", URL: fmt.Sprintf("https://docs.example/%d", i)})
			}
			for i := range tt.others {
				w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/", i)})
			}
			w.run(4 * time.Hour)
			checkGroup(t, w, tt.want, tt.all, func(s freshet.Source) bool { return s.Of == "docs" || s.ID == "docs" })
		})
	}
}

// Sources with a tag get what they are granted before all others, and no more than
// they may have.
func TestTagShares(t *testing.T) {
	tests := []struct {
		name     string
		min, max float64
		first    bool // the policy likes them best
		want     float64
	}{
		{name: "none granted", max: 1},
		{name: "a fifth granted", min: 0.2, want: 0.2},
		{name: "a fifth granted, and more is to be had", min: 0.2, first: true, want: 1},
		{name: "at most a fifth", max: 0.2, first: true, want: 0.2},
		{name: "between", min: 0.1, max: 0.4, first: true, want: 0.4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := generous()
			l.Budget = sched.Budget{Polls: 60, Per: time.Minute}
			l.Shares = []sched.Share{{Tag: "news", Min: tt.min, Max: tt.max}}
			w := &world{s: sched.New(&favourites{}, l), now: start}
			news := func() {
				for i := range 50 {
					w.put(freshet.Source{ID: freshet.SourceID(fmt.Sprintf("news%02d", i)), Tags: []string{"news"}, URL: fmt.Sprintf("https://n%d.example/", i)})
				}
			}
			if tt.first {
				news()
			}
			for i := range 100 {
				w.put(freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/", i)})
			}
			if !tt.first {
				news()
			}
			w.run(4 * time.Hour)
			checkGroup(t, w, tt.want, 1, func(s freshet.Source) bool { return len(s.Tags) > 0 })
		})
	}
}

// A tag that had no share gets one while polls go on, and loses it again.
func TestTagShareIsSetLater(t *testing.T) {
	l := generous()
	l.Budget = sched.Budget{Polls: 60, Per: time.Minute}
	w := &world{s: sched.New(&favourites{}, l), now: start}
	w.put(freshet.Source{ID: "a", URL: "https://a.example/", Tags: []string{"news"}})
	w.put(freshet.Source{ID: "b", URL: "https://b.example/"})
	w.run(time.Hour)
	before := len(w.polls)
	l.Shares = []sched.Share{{Tag: "news", Max: 0.25}}
	w.s.SetLimits(w.now, l)
	w.run(time.Hour)
	w.polls = w.polls[before:]
	checkGroup(t, w, 0.25, 0, func(s freshet.Source) bool { return s.ID == "a" })
	if h, _ := w.s.Hold(w.now, "a"); h.Kind != sched.HoldGroupShare {
		t.Errorf("it is held back by %v, want by the share of its tag", h.Kind)
	}
	l.Shares = nil
	w.s.SetLimits(w.now, l)
	if h, _ := w.s.Hold(w.now, "a"); h.Kind == sched.HoldGroupShare {
		t.Error("it is held back by a share that is no more")
	}
}

// checkGroup checks which part of the polls a group has, and which part of the budget
// of 60 a minute all polls are, if that is above zero.
func checkGroup(t *testing.T, w *world, part, all float64, of func(freshet.Source) bool) {
	t.Helper()
	n := 0.0
	for _, p := range w.polls {
		if of(p.Source) {
			n++
		}
	}
	polls := float64(len(w.polls))
	if got := n / polls; math.Abs(got-part) > 0.003 {
		t.Errorf("the group had %.4f of the polls, want %v", got, part)
	}
	if want := all * w.now.Sub(start).Seconds(); all > 0 && math.Abs(polls-want) > 0.01*want {
		t.Errorf("%v polls were made, want about %v", polls, want)
	}
}
