package lab

import (
	"context"
	"fmt"
	"net/url"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// Options say how a policy is replayed.
type Options struct {
	// Budget is how many polls an instant brings. On a grid a fraction is a rate:
	// what is left over is carried, up to one instant's worth (at least one poll).
	Budget float64

	Weights
	Measures

	// Evidence is how much of the truth a poll shows. It changes what a policy
	// can learn, not what counts as captured.
	Evidence Evidence

	Conditions

	Unseen bool   // no page counts as seen at the start
	Edits  []Edit // in order

	// Chances are given of pages at the start; see [freshet.Chances].
	Chances map[freshet.SourceID]imported.Forecast

	// Answer, if set, has the last word on how a poll ended.
	Answer func(p freshet.Poll, o *freshet.Outcome)

	// Learner, if set, learns from the polls beside the policy.
	Learner freshet.Learner

	// Observe, if set, is called with every outcome when its poll ends.
	Observe func(freshet.Outcome)

	// Look, if set, is shown every poll that saw its page: which page, at the
	// end of which instant, and whether it had changed.
	Look func(page, instant int, changed bool)

	// Progress, if set, is called when an instant begins.
	Progress func(instant int)

	dates  func(page int) bool // which pages show dates, if the evidence is Dated or a Feed; nil means all
	absent func(page int) bool // which pages are not there at the start; nil means none
}

// Replay lets a policy poll its way through a grid, and scores what it
// captured. Unless the options say otherwise, the policy is asked at the end of
// every instant, from 1 to the last, and its polls take no time.
func Replay(ctx context.Context, g *Grid, p freshet.Policy, o Options) (Score, error) {
	if !(o.Budget >= 0) || o.Budget > 1e9 {
		return Score{}, invalid.Errorf("budget", "%v is not a number of polls an instant", o.Budget)
	}
	w := newWorld(g, &o)
	if hears(p) && o.Evidence.Kind == Index {
		w.addIndexes()
	}
	if o.Budget == 0 || g.Instants == 0 {
		return w.scorer.Score(), nil
	}
	s := w.scheduler(p, o.limits(g, o.Budget))
	if o.Progress != nil {
		o.Progress(max(1, w.instant))
	}
	if err := sched.Run(ctx, s, w); err != nil {
		return Score{}, fmt.Errorf("replaying: %w", err)
	}
	return w.scorer.Score(), nil
}

// scheduler returns a scheduler for a policy that knows what is known of the world at its
// beginning.
func (w *world) scheduler(p freshet.Policy, l sched.Limits) *sched.Scheduler {
	g, o := w.grid, w.options
	var beside []freshet.Learner
	if o.Learner != nil {
		beside = append(beside, o.Learner)
	}
	s := sched.New(p, l, beside...)
	standing := freshet.Status{Seen: g.Start}
	if o.Unseen {
		standing = freshet.Status{}
	}
	for page := range g.pages {
		if o.absent == nil || !o.absent(page) {
			s.Put(g.Start, freshet.SourceWithStatus{Source: o.source(g, page), Status: standing})
		}
	}
	for _, x := range w.indexes.all() {
		s.Put(g.Start, freshet.SourceWithStatus{Source: x.source, Status: standing})
	}
	for id, c := range o.Chances {
		s.Apply(g.Start, sched.ForecastOverride{Source: id, Given: &c})
	}
	if !o.Unseen {
		w.showDates(s)
	}
	for w.asks.due(w.now) { // the first instant ends before anybody waits for it
		ev, _ := w.ask()
		s.Apply(w.now, ev)
	}
	return s
}

// hears reports whether a policy hears what indexes say. WIC learns as well, but takes
// from its learner only what is forecast.
func hears(p freshet.Policy) bool {
	if _, ok := p.(interface{ HearsIndexes() }); ok {
		return true
	}
	_, learns := p.(interface{ Learner() *learn.Learner })
	_, wic := p.(*policy.WIC)
	return learns && !wic
}

// showDates shows the dates of all pages at the start, in the look that they
// count as having had, and what the indexes say.
func (w *world) showDates(s *sched.Scheduler) {
	first := freshet.Outcome{Began: w.grid.Start, Ended: w.grid.Start, Result: freshet.First, Version: 1}
	if w.options.dates == nil {
		for page, id := range w.grid.pages {
			o := first
			if w.show(page, &o); !o.Modified.IsZero() {
				o.Source = id
				s.Observe(w.grid.Start, o)
			}
		}
	}
	for _, x := range w.indexes.all() {
		o := first
		o.Source = x.source.ID
		w.open(x, &o)
		s.Observe(w.grid.Start, o)
	}
}

// source returns the source that stands for a page. Where there are indexes all have a
// URL, which is what they are known to an index by.
func (o *Options) source(g *Grid, page int) freshet.Source {
	s := o.Weights.source(g, page)
	if s.URL == "" && o.Evidence.Kind == Index {
		s.URL = "https://" + noHost + "/" + url.PathEscape(string(s.ID))
	}
	return s
}

// noHost stands for the host of pages that have none.
const noHost = "pages.invalid"
