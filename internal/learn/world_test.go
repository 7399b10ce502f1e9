package learn_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// monday is midnight.
var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// A world is sources that change at moments known to the test, and a Learner
// that is told only what polls of them see.
type world struct {
	*learn.Learner
	draw    *rand.Rand
	sources []freshet.Source
	changes [][]time.Time // by slot, in order
	since   []time.Time   // by slot: when it was last seen
	log     []logged
}

// logged is an outcome and the slot it was of.
type logged struct {
	slot freshet.Slot
	freshet.Outcome
}

func newWorld(c learn.Config, seed uint64) *world {
	if c.Start.IsZero() {
		c.Start = monday
	}
	return &world{Learner: learn.New(c), draw: rand.New(rand.NewPCG(seed, 7))}
}

// add puts a source that was seen at the beginning, on a host of its own unless
// it has a URL.
func (w *world) add(s freshet.Source, changes []time.Time) freshet.Slot {
	slot := freshet.Slot(len(w.sources))
	s.ID = freshet.SourceID(fmt.Sprintf("s%04d", slot))
	if s.URL == "" {
		s.URL = fmt.Sprintf("https://h%d.example/", slot)
	}
	slices.SortFunc(changes, time.Time.Compare)
	w.sources, w.changes, w.since = append(w.sources, s), append(w.changes, changes), append(w.since, monday)
	w.Put(monday, slot, s, monday)
	return slot
}

// poll lets a poll happen, and reports whether it found a change.
func (w *world) poll(slot freshet.Slot, at time.Time) bool {
	o := freshet.Outcome{
		Cursor: freshet.Cursor(len(w.log) + 1), Source: w.sources[slot].ID,
		Since: w.since[slot], Began: at, Ended: at, Requests: 1,
	}
	if w.happened(slot, w.since[slot], at) > 0 {
		o.Result = freshet.Changed
	}
	w.since[slot] = at
	w.log = append(w.log, logged{slot, o})
	w.Observe(time.Time{}, slot, o)
	return o.Result == freshet.Changed
}

// happened returns how many changes there were in (from, to].
func (w *world) happened(slot freshet.Slot, from, to time.Time) int {
	return w.index(slot, to) - w.index(slot, from)
}

// index returns how many changes there were up to a moment.
func (w *world) index(slot freshet.Slot, at time.Time) int {
	n, _ := slices.BinarySearchFunc(w.changes[slot], at, func(c, at time.Time) int {
		if c.After(at) {
			return 1
		}
		return -1
	})
	return n
}

// pollAtRandom polls every source at moments of a Poisson process of its own,
// on average every gap, in the order of time. Before, if not nil, is called
// ahead of each poll.
func (w *world) pollAtRandom(until time.Time, gap time.Duration, before func(slot freshet.Slot, at time.Time)) {
	type poll struct {
		at   time.Time
		slot freshet.Slot
	}
	var polls []poll
	for slot, since := range w.since {
		for _, at := range w.poisson(since, until, 1/gap.Seconds()) {
			polls = append(polls, poll{at, freshet.Slot(slot)})
		}
	}
	slices.SortStableFunc(polls, func(a, b poll) int { return a.at.Compare(b.at) })
	for _, p := range polls {
		if before != nil {
			before(p.slot, p.at)
		}
		w.poll(p.slot, p.at)
	}
}

// poisson returns moments that come at a rate, in changes a second.
func (w *world) poisson(from, to time.Time, rate float64) (at []time.Time) {
	if rate <= 0 {
		return nil
	}
	for t := from; ; {
		t = t.Add(time.Duration(w.draw.ExpFloat64() / rate * 1e9))
		if !t.Before(to) {
			return at
		}
		at = append(at, t)
	}
}

// saved returns all that a Learner has learnt.
func saved(t testing.TB, l *learn.Learner) map[freshet.Slot]string {
	t.Helper()
	all := map[freshet.Slot]string{}
	err := l.Save(func(slot freshet.Slot, memory []byte) error {
		all[slot] = string(memory)
		return nil
	})
	if err != nil {
		t.Fatalf("saving: %v", err)
	}
	return all
}

// A failer is told what is wrong: a test, or a property of one.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// sane fails if anything that a Learner says of its sources is not a number
// that it could be.
func sane(t failer, l *learn.Learner, now time.Time, slots int) {
	t.Helper()
	expected, gaps := make([]float64, slots), make([]float64, slots)
	l.Expected(now, expected, gaps)
	for slot := range slots {
		if x := expected[slot]; math.IsNaN(x) || x < 0 {
			t.Fatalf("%v changes are expected of slot %d", x, slot)
		}
		if x := gaps[slot]; !finite(x) {
			t.Fatalf("slot %d was seen %v ticks ago", slot, x)
		}
		o := l.Outlook(now, freshet.Slot(slot))
		share := learn.Share(o.Tally)
		for what, x := range map[string]float64{
			"rate": o.Now.Mean, "lowest rate": o.Now.Low, "highest rate": o.Now.High,
			"expected": o.Expected, "chance": o.Chance,
			"polls": o.Polls, "captured": o.Captured, "happened": o.Happened, "variance": o.Variance,
			"delay": o.Delay, "watched": o.Watched, "stale": o.Stale, "age": o.Age,
			"share": share.Mean, "lowest share": share.Low, "highest share": share.High,
			"freshness": o.Freshness(),
		} {
			if !finite(x) {
				t.Fatalf("the %s of slot %d is %v", what, slot, x)
			}
		}
		switch {
		case o.Chance > 1 || share.High > 1 || o.Freshness() > 1:
			t.Fatalf("slot %d has a chance of %v, a share of %v and a freshness of %v", slot, o.Chance, share, o.Freshness())
		case o.Now.Low > o.Now.High || share.Low > share.High:
			t.Fatalf("slot %d has the ranges %v and %v, upside down", slot, o.Now, share)
		case o.Captured > o.Happened*(1+1e-5) || o.Stale > o.Watched*(1+1e-5):
			t.Fatalf("slot %d captured %v of %v and was stale %v of %v seconds", slot, o.Captured, o.Happened, o.Stale, o.Watched)
		}
	}
	r := l.Reliability()
	if gap := r.Gap(); !finite(gap) || gap > 1 {
		t.Fatalf("the reliability is off by %v", gap)
	}
}

// finite reports whether x is a number, and not below zero.
func finite(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// logLoss returns how surprised one is who gave a chance to what happened.
func logLoss(chance float64, happened bool) float64 {
	chance = min(1-1e-12, max(1e-12, chance))
	if happened {
		return -math.Log(chance)
	}
	return -math.Log1p(-chance)
}

// lognormal returns a number around a median.
func (w *world) lognormal(median, sd float64) float64 {
	return median * math.Exp(sd*w.draw.NormFloat64())
}

// chanceOf returns the chance of any change where x are expected at random.
func chanceOf(x float64) float64 { return -math.Expm1(-x) }
