package learn_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A plainMind learns a rate as docs/explanation/learning.md says it: with plain loops, in
// double precision, and without any table.
type plainMind struct {
	rates, prior []float64
	evidence     [2][]float64 // of the long and the short memory: the logarithm of the likelihood of each rate
	switching    []float64    // what the switching memory thinks
	score        [3]float64
	world        [3]float64
}

func newPlainMind(rates, prior []float64) *plainMind {
	m := &plainMind{rates: rates, prior: prior, switching: append([]float64(nil), prior...)}
	for k := range m.evidence {
		m.evidence[k] = make([]float64, len(rates))
	}
	return m
}

// thoughts returns what each memory thinks of the rates.
func (m *plainMind) thoughts() [3][]float64 {
	var all [3][]float64
	for k, evidence := range m.evidence {
		q := make([]float64, len(m.rates))
		for i := range q {
			q[i] = m.prior[i] * math.Exp(evidence[i])
		}
		all[k] = normal(q)
	}
	all[2] = m.switching
	return all
}

// normal returns weights that add up to 1.
func normal(q []float64) []float64 {
	sum := 0.0
	for _, w := range q {
		sum += w
	}
	scaled := make([]float64, len(q))
	for i, w := range q {
		scaled[i] = w / sum
	}
	return scaled
}

// trust returns the weights of the memories.
func (m *plainMind) trust() []float64 {
	w := make([]float64, 3)
	for k := range w {
		w[k] = math.Exp(m.score[k] + m.world[k])
	}
	return normal(w)
}

// mean returns the weighted mean of the mean rates.
func (m *plainMind) mean() (sum float64) {
	trust := m.trust()
	for k, q := range m.thoughts() {
		for i, w := range q {
			sum += trust[k] * w * m.rates[i]
		}
	}
	return sum
}

// pass lets turns pass: the switching memory takes the rate to be drawn again
// 1.5 times a turn.
func (m *plainMind) pass(turns float64) {
	stays := math.Exp(-1.5 * turns)
	for i := range m.switching {
		m.switching[i] = stays*m.switching[i] + (1-stays)*m.prior[i]
	}
}

// chance returns the chance of a change in a mass.
func (m *plainMind) chance(mass float64) (sum float64) {
	trust := m.trust()
	for k, q := range m.thoughts() {
		for i, w := range q {
			sum += trust[k] * w * -math.Expm1(-m.rates[i]*mass)
		}
	}
	return sum
}

// see takes in a poll, the turns after the last one.
func (m *plainMind) see(mass, exposure float64, changed bool, turns float64) {
	likely := func(rate, mass float64) float64 {
		if changed {
			return -math.Expm1(-rate * mass)
		}
		return math.Exp(-rate * mass)
	}
	best := math.Inf(-1)
	for k, q := range m.thoughts() {
		right := 0.0
		for i, w := range q {
			right += w * likely(m.rates[i], mass)
		}
		score := math.Log(min(1-1e-9, max(1e-9, right))) // nothing surprises more than what has a chance of one in a billion
		m.score[k] = 0.95*m.score[k] + score
		m.world[k] += 0.02 * score
		best = max(best, m.world[k])
	}
	for k := range m.world {
		m.world[k] = 0.999 * (m.world[k] - best)
	}
	for k, keep := range []float64{0.995, 0.9} {
		keep = math.Pow(keep, 0.7+0.3*turns)
		for i, rate := range m.rates {
			m.evidence[k][i] = keep*m.evidence[k][i] + math.Log(likely(rate, exposure))
		}
	}
	for i, rate := range m.rates {
		m.switching[i] *= likely(rate, exposure)
	}
	m.switching = normal(m.switching)
}

// What is thought of a rate after any polls is what Bayes' rule makes of them.
func TestRateIsThatOfBayesRule(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rates := learn.NewClock(monday, time.Minute).Grid()
		prior := learn.NewPrior(rates, math.Exp(rapid.Float64Range(0, 8).Draw(rt, "expected every")))
		plain := newPlainMind(rates, prior)
		var mind learn.Mind
		var world [3]float64
		for range rapid.IntRange(1, 25).Draw(rt, "polls") {
			mass := math.Exp(rapid.Float64Range(-3, 6).Draw(rt, "mass"))
			exposure := mass * math.Exp(rapid.Float64Range(-1, 1).Draw(rt, "correction"))
			changed, turns := rapid.Bool().Draw(rt, "changed"), rapid.Float64Range(0, 3).Draw(rt, "turns")
			plain.pass(turns)
			want := plain.chance(mass)
			got := mind.Poll(rates, prior, mass, exposure, changed, turns, &world)
			if math.Abs(got-want) > 1e-4 {
				rt.Fatalf("the chance of a change is %v, want %v", got, want)
			}
			plain.see(mass, exposure, changed, turns)
			if got, want := mind.Mean(world), plain.mean(); math.Abs(got/want-1) > 1e-3 {
				rt.Fatalf("the rate is %v, want %v", got, want)
			}
		}
	})
}

// alone is a learner of one source that was seen on Monday, with ticks of an hour
// and turns of a hundred: too long for the source to have a profile of its own.
func alone() *learn.Learner {
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 0.01})
	l.Put(monday, 0, freshet.Source{ID: "s", URL: "https://h.example/"}, monday)
	return l
}

// alonePlain is what is thought of that source before any poll.
func alonePlain() *plainMind {
	rates := learn.NewClock(monday, time.Hour).Grid()
	return newPlainMind(rates, learn.NewPrior(rates, 200)) // once in two turns
}

// typical returns the rate by which changes are counted before any poll.
func (m *plainMind) typical() float64 {
	log := 0.0
	for i, rate := range m.rates {
		log += m.prior[i] * math.Log(rate)
	}
	return math.Sqrt(m.mean() * math.Exp(log))
}

// hours returns a moment, in ticks of that learner.
func hours(x float64) time.Time { return monday.Add(time.Duration(x * float64(time.Hour))) }

// Before any poll and after the first, the outlook is what can be worked out by
// hand from the prior.
func TestOutlookOfTheFirstPoll(t *testing.T) {
	for _, c := range []struct {
		gap     float64 // ticks
		changed bool
	}{{10, true}, {10, false}, {0.25, true}, {300, true}, {300, false}} {
		l, plain := alone(), alonePlain()
		at := hours(c.gap)
		near := func(what string, got, want float64) {
			t.Helper()
			if !(math.Abs(got/want-1) <= 2e-5) {
				t.Errorf("%v ticks, changed %v: the %s is %v, want %v", c.gap, c.changed, what, got, want)
			}
		}
		before := l.Outlook(at, 0)
		chance := plain.chance(c.gap)
		near("rate before", before.Now.Mean*3600, plain.mean())
		near("number expected before", before.Expected, plain.mean()*c.gap)
		near("chance before", before.Chance, chance)

		o := freshet.Outcome{Began: at, Ended: at}
		if c.changed {
			o.Result = freshet.Changed
		}
		l.Observe(time.Time{}, 0, o)
		plain.pass(c.gap / 100)
		plain.see(c.gap, c.gap, c.changed, c.gap/100)
		// One step of a regression that knows its weight to 0.2: expectations
		// are now thought to be off by its weight.
		expected := -math.Log1p(-chance)
		odds := (1 - chance) / chance
		slope := -expected
		if c.changed {
			slope = expected * odds
		}
		off := math.Exp(0.04 * slope / (1 + 0.04*expected*expected*odds))
		after := l.Outlook(at, 0).Now
		near("rate after", after.Mean*3600, plain.mean()*off)
		near("lowest rate after", after.Low*3600, quantile(plain, 0.05)*off)
		near("highest rate after", after.High*3600, quantile(plain, 0.95)*off)
	}
}

// quantile returns the rate below which a share of what is thought lies, where
// each rate stands for those around it, evenly on the scale of the logarithm. It
// is found by bisection.
func quantile(m *plainMind, share float64) float64 {
	half := math.Log(m.rates[1]/m.rates[0]) / 2
	trust := m.trust()
	below := func(x float64) (sum float64) {
		for k, q := range m.thoughts() {
			for i, w := range q {
				within := (x - math.Log(m.rates[i]) + half) / (2 * half)
				sum += trust[k] * w * min(1, max(0, within))
			}
		}
		return sum
	}
	low, high := math.Log(m.rates[0])-half, math.Log(m.rates[len(m.rates)-1])+half
	for range 60 {
		if middle := (low + high) / 2; below(middle) < share {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp(low)
}
