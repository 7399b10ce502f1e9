package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/lab"
	"freshet/internal/sched/policy"
)

// modelInstant is the length of an instant in the models.
const modelInstant = time.Minute

// A knownModel is pages of which the chance of a change at every instant is
// known, to those who poll and to those who judge.
type knownModel struct {
	chance  [][]float64 // by page and instant, from 0
	weights []float64   // by page
	life    objective.Visibility
	urgency objective.Urgency
	polls   int // an instant
}

// knownChances is the estimator of a model whose pages are in the slots of their
// numbers.
type knownChances struct {
	chance [][]float64
}

// Put implements [freshet.Estimator]. There is nothing to learn.
func (knownChances) Put(time.Time, freshet.Slot, freshet.Source, time.Time) {}

// Remove implements [freshet.Estimator].
func (knownChances) Remove(freshet.Slot) {}

// Observe implements [freshet.Estimator].
func (knownChances) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

// span returns the instants in (from, to], of those that there are.
func (k knownChances) span(from, to time.Time) (first, last int) {
	at := func(t time.Time) int { return max(0, min(int(t.Sub(beyondStart)/modelInstant), len(k.chance[0]))) }
	return at(from), at(to)
}

// Expect implements [freshet.Estimator].
func (k knownChances) Expect(slot freshet.Slot, from, to time.Time) (sum float64) {
	first, last := k.span(from, to)
	for _, p := range k.chance[slot][first:max(first, last)] {
		sum += p
	}
	return sum
}

// Chances implements [freshet.Estimator].
func (k knownChances) Chances(dst []float64, from, to time.Time) {
	first, last := k.span(from, to)
	for slot := range dst {
		none := 1.0
		for _, p := range k.chance[slot][first:max(first, last)] {
			none *= 1 - p
		}
		dst[slot] = 1 - none
	}
}

// expected returns the utility that the polls of a policy are expected to have.
func (m knownModel) expected(ctx context.Context, make policyMaker, name string) (utility float64, err error) {
	p, err := make(name, policy.Setting{Start: beyondStart, Instant: modelInstant, Polls: float64(m.polls), Estimator: knownChances{chance: m.chance}})
	if err != nil {
		return 0, err
	}
	var gains policy.Gains
	for i := range m.chance {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("%04d", i)), Life: m.life, Urgency: m.urgency, Weight: m.weights[i]}
		p.Put(beyondStart, freshet.Slot(i), s, time.Time{})
		gains.Put(freshet.Slot(i), m.life.In(modelInstant), m.urgency.In(modelInstant))
	}
	now := beyondStart
	var polled []freshet.Slot
	chances := knownChances{chance: m.chance}
	dst := newFloats(len(m.chance))
	for range m.chance[0] {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		before := now
		now = now.Add(modelInstant)
		chances.Chances(dst, before, now)
		gains.Step(dst)
		polled = polled[:0]
		p.Choose(now, m.polls, func(slot freshet.Slot, _ float64) bool {
			polled = append(polled, slot)
			return true
		})
		for _, slot := range polled {
			utility += m.weights[slot] * gains.Of(slot)
			gains.Reset(slot)
			p.Observe(now, slot, freshet.Outcome{Began: now, Ended: now, Since: before})
		}
	}
	return utility, nil
}

func newFloats(n int) []float64 { return make([]float64, n) }

// limit returns what no schedule that is made from the chances can be expected
// to surpass, and what a plan is expected to reach.
func (m knownModel) limit() (lab.Limit, error) {
	instants := len(m.chance[0])
	worth, decay := newFloats(instants), m.urgency.In(modelInstant)
	for t := range worth {
		worth[t] = decay.At(float64(t))
	}
	pages := make([]lab.Gains, len(m.chance))
	for i, chance := range m.chance {
		at, from, left := 0, 0, 1.0 // left is the chance of no change in (from, at]
		pages[i] = func(k, j int) float64 {
			if j != at || k > from {
				at, from, left = j, j, 1
			}
			for ; from > k; from-- {
				left *= 1 - chance[from-1]
			}
			gain := m.weights[i] * worth[j-k] * chance[k-1]
			if m.life.Kind == objective.VisibleUntilNext {
				gain *= left
			}
			return gain
		}
	}
	return lab.LimitOf(instants, float64(m.polls), pages)
}

// A changeFamily is a way in which chances of change differ by page and time.
type changeFamily struct {
	name string
	draw func(r *rand.Rand, instants int) []float64 // of one page
}

// changeFamilies are those of which the choice rules are to be compared.
func changeFamilies() []changeFamily {
	return []changeFamily{
		{"steady", func(r *rand.Rand, instants int) []float64 {
			chance := newFloats(instants)
			p := min(.9, .03*math.Exp(r.NormFloat64()))
			for j := range chance {
				chance[j] = p
			}
			return chance
		}},
		{"hourly peaks", func(r *rand.Rand, instants int) []float64 {
			chance := newFloats(instants)
			base, peak, minute := .004*r.Float64(), .2+.6*r.Float64(), r.IntN(hourly)
			for j := range chance {
				d := (j + hourly/2 - minute) % hourly
				z := float64(d-hourly/2) / 1.5
				chance[j] = min(.95, base+peak*math.Exp(-z*z/2)*.4)
			}
			return chance
		}},
		{"events", func(r *rand.Rand, instants int) []float64 {
			chance := newFloats(instants)
			for range 1 + r.IntN(instants/45) {
				at := r.IntN(instants)
				for d := -12; d <= 12; d++ {
					if j := at + d; j >= 0 && j < instants {
						z := float64(d) / 2
						chance[j] = min(1, chance[j]+math.Exp(-z*z/2)/(2*math.Sqrt(2*math.Pi)))
					}
				}
			}
			return chance
		}},
	}
}
