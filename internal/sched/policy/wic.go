package policy

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
	"freshet/internal/sched/ranking"
)

// WIC polls the sources for which the most utility has accrued since their
// last poll, per cost, at every instant (Pandey, Dhamdhere and Olston, "WIC: a
// general-purpose algorithm for monitoring web information sources", 2004).
// What a capture is worth follows each source's Life, Urgency and Weight; how
// likely sources are to change, an estimator says.
//
// It is greedy and looks no further than the present instant, yet captures at
// least 1/(1+a) of the most that any schedule could, where a is the largest
// factor by which waiting an instant shrinks the worth of a change: half at
// worst, and all where only captures without delay count.
//
// Make one with NewWIC.
type WIC struct {
	est     freshet.Estimator
	grid    ranking.Instants
	reached int64 // the instant up to which utility has accrued

	gains  Gains
	chance []float64 // scratch: of a change in one instant, by slot
	rank   ranking.Ranking
}

// A WICConfig says how WIC sees time and where its chances come from. The zero
// WICConfig works.
type WICConfig struct {
	Start     time.Time         // of the first instant; zero means when the first source is put
	Instant   time.Duration     // how long an instant is; zero means a minute
	Estimator freshet.Estimator // nil means that all sources are equally likely to change, always
}

// evenChance is the chance of a change in an instant where nobody has a view.
// Only that it is the same for all matters.
const evenChance = 1.0 / 64

// NewWIC returns a WIC.
func NewWIC(c WICConfig) *WIC {
	return &WIC{est: c.Estimator, grid: ranking.NewInstants(c.Start, c.Instant)}
}

// Learner returns what WIC has its chances from, if that is a learner; nil otherwise.
func (w *WIC) Learner() *learn.Learner {
	l, _ := w.est.(*learn.Learner)
	return l
}

// OverrideForecast sets how likely a source is to change at coming times, by an imported forecast;
// nil takes that back. It counts where WIC has its chances from a learner, from when the
// source was last seen on.
func (w *WIC) OverrideForecast(slot freshet.Slot, c *imported.Forecast) {
	l := w.Learner()
	if l == nil {
		return
	}
	l.OverrideForecast(slot, c)
	if seen := l.Seen(slot); !seen.IsZero() && !w.grid.Start.IsZero() {
		w.gains.Reset(slot)
		w.credit(slot, seen, w.grid.Time(w.reached))
	}
}

// Put implements [freshet.Policy]. A source that has been seen before brings
// along what it is expected to have done since; one that has not counts as seen
// now.
func (w *WIC) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	w.grid.Begin(now)
	w.accrue(w.grid.At(now))
	if w.est != nil {
		w.est.Put(now, slot, s, since)
	}
	reset := w.gains.Put(slot, s.Life.In(w.grid.Length), s.Urgency.In(w.grid.Length))
	if w.rank.Put(slot, s) {
		w.gains.Reset(slot)
		reset = true
	}
	if reset && !since.IsZero() {
		w.credit(slot, since, now)
	}
}

// Remove implements [freshet.Policy].
func (w *WIC) Remove(slot freshet.Slot) {
	if w.est != nil {
		w.est.Remove(slot)
	}
	w.gains.Remove(slot)
	w.rank.Remove(slot)
}

// Choose implements [freshet.Policy].
func (w *WIC) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	w.grid.Begin(now)
	if at := w.grid.At(now); at > w.reached {
		w.accrue(at - 1)
		w.step(at, n)
	}
	w.rank.Offer(w.gains.now, n, take)
	return w.grid.Time(w.reached + 1)
}

// Observe implements [freshet.Policy]. A poll shows the source as it was when
// the poll began: what accrued until then has been captured, or was lost. If it
// failed, all of it is still to be had. Either way the source has had its turn
// and is not offered again at this instant.
func (w *WIC) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	if w.est != nil {
		w.est.Observe(now, slot, o)
	}
	w.rank.Land(slot)
	if !o.Result.Seen() {
		return
	}
	if o.Began.IsZero() {
		o.Began = now
	}
	began := w.grid.At(o.Began)
	w.accrue(began)
	w.gains.Reset(slot)
	from := w.grid.Time(began)
	if o.Began.Before(from) && began == 0 { // an old outcome, replayed after a restart
		from = o.Began
	}
	w.credit(slot, from, w.grid.Time(w.reached))
}

// credit lets accrue what a source is expected to do in (from, to], as if it
// were equally likely to change at all instants of it.
func (w *WIC) credit(slot freshet.Slot, from, to time.Time) {
	if w.est == nil || !from.Before(to) {
		return
	}
	n := max(1, int((to.Sub(from)+w.grid.Length/2)/w.grid.Length))
	w.gains.Pass(slot, min(1, w.est.Expect(slot, from, to)/float64(n)), n)
}

// maxSteps bounds how many instants are caught up on one by one. After a
// longer sleep the oldest ones pass as one.
const maxSteps = 1 << 11

// accrue lets the instants up to at pass.
func (w *WIC) accrue(at int64) {
	for w.reached < at {
		w.chances(max(w.reached+1, at-maxSteps))
		w.gains.Step(w.chance)
		w.rank.Forget()
	}
}

// step lets the one instant up to at pass, and finds the n best on the way.
func (w *WIC) step(at int64, n int) {
	w.chances(at)
	w.gains.stepGroups(w.chance)
	w.rank.Begin(n)
	run := 0
	for from := 0; from < len(w.gains.now); from += ranking.Block {
		to := min(from+ranking.Block, len(w.gains.now))
		run = w.gains.stepRuns(w.chance, from, to, run)
		w.rank.Scan(w.gains.now, from, to)
	}
	w.rank.End()
}

// chances moves on to an instant, and asks how likely each source was to
// change on the way.
func (w *WIC) chances(at int64) {
	if grown := w.gains.Len() - len(w.chance); grown > 0 {
		w.chance = append(w.chance, make([]float64, grown)...)
		if w.est == nil {
			fillWith(w.chance, evenChance)
		}
	}
	if w.est != nil {
		w.est.Chances(w.chance, w.grid.Time(w.reached), w.grid.Time(at))
	}
	w.reached = at
}

func fillWith(s []float64, x float64) {
	for i := range s {
		s[i] = x
	}
}
