// Package policytest helps to test policies: a small world in which the chance of
// every change is known, and the behaviour that every policy must show whatever
// comes and goes.
package policytest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
)

// Noon is when every test begins.
var Noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Table is an estimator that has the chances of a change in every instant, which
// is a minute: by slot and instant.
type Table [][]float64

// Put implements [freshet.Estimator].
func (p Table) Put(time.Time, freshet.Slot, freshet.Source, time.Time) {}

// Remove implements [freshet.Estimator].
func (p Table) Remove(freshet.Slot) {}

// Observe implements [freshet.Estimator].
func (p Table) Observe(time.Time, freshet.Slot, freshet.Outcome) {}

func (p Table) instant(t time.Time) int { return int(t.Sub(Noon) / time.Minute) }

// Expect implements [freshet.Estimator].
func (p Table) Expect(s freshet.Slot, from, to time.Time) (sum float64) {
	for j := p.instant(from); j < min(p.instant(to), len(p[s])); j++ {
		sum += p[s][j]
	}
	return sum
}

// Chances implements [freshet.Estimator].
func (p Table) Chances(dst []float64, from, to time.Time) {
	for s := range dst {
		dst[s] = 0
		for j := p.instant(from); j < min(p.instant(to), len(p[s])); j++ {
			dst[s] = 1 - (1-dst[s])*(1-p[s][j])
		}
	}
}

// DrawChance draws the chance of a change in an instant.
func DrawChance(t *rapid.T) float64 {
	return rapid.SampledFrom([]float64{0, 0, 0.01, 0.2, 0.5, 0.9, 1}).Draw(t, "chance")
}

// A World is pages and how they change.
type World struct {
	Chance Table
	Pages  []freshet.Source
	Polls  int // an instant
}

// NewWorld returns a world. Lives are given to the pages in turn; without weights
// all weigh the same.
func NewWorld(chance Table, weights []float64, polls int, lives []objective.Visibility, urgency objective.Urgency) World {
	w := World{Chance: chance, Polls: polls}
	for i := range chance {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("p%03d", i)), Life: lives[i%len(lives)], Urgency: urgency}
		if weights != nil {
			s.Weight = weights[i]
		}
		w.Pages = append(w.Pages, s)
	}
	return w
}

// Instants returns how many instants the world lasts.
func (w World) Instants() int { return len(w.Chance[0]) }

// Gain returns the worth of a poll of a page at instant j after one at prev.
func (w World) Gain(page, prev, j int) float64 {
	s := w.Pages[page]
	return s.Importance() * Accrued(s.Life, s.Urgency, w.Chance[page], prev, j)
}

// Run lets a policy poll, and returns the pages that it polls at each instant.
func (w World) Run(p freshet.Policy) [][]int {
	for i, s := range w.Pages {
		p.Put(Noon, freshet.Slot(i), s, time.Time{})
	}
	schedule := make([][]int, w.Instants())
	for j := range schedule {
		now := Noon.Add(time.Duration(j+1) * time.Minute)
		p.Choose(now, w.Polls, func(s freshet.Slot, _ float64) bool {
			schedule[j] = append(schedule[j], int(s))
			return true
		})
		for _, page := range schedule[j] {
			p.Observe(now, freshet.Slot(page), freshet.Outcome{Began: now, Ended: now})
		}
		slices.Sort(schedule[j])
	}
	return schedule
}

// Utility returns what a schedule is expected to capture, and the schedule
// without polls that are worth nothing.
func (w World) Utility(schedule [][]int) (sum float64, useful [][]int) {
	prev := make([]int, len(w.Pages))
	for j, pages := range schedule {
		useful = append(useful, nil)
		for _, page := range pages {
			if g := w.Gain(page, prev[page], j+1); g > 0 {
				sum += g
				useful[j] = append(useful[j], page)
			}
			prev[page] = j + 1
		}
	}
	return sum, useful
}

// Optimum returns the most that any schedule can capture, by trying all.
func (w World) Optimum() float64 {
	known := map[string]float64{}
	var best func(j int, prev []int) float64
	best = func(j int, prev []int) float64 {
		if j > w.Instants() {
			return 0
		}
		key := fmt.Sprint(j, prev)
		if v, ok := known[key]; ok {
			return v
		}
		most := 0.0
		var choose func(from, left int, sum float64, next []int)
		choose = func(from, left int, sum float64, next []int) {
			if left == 0 || from == len(w.Pages) {
				most = max(most, sum+best(j+1, next))
				return
			}
			choose(from+1, left, sum, next)
			with := slices.Clone(next)
			with[from] = j
			choose(from+1, left-1, sum+w.Gain(from, prev[from], j), with)
		}
		choose(0, w.Polls, 0, prev)
		known[key] = most
		return most
	}
	return best(1, make([]int, len(w.Pages)))
}

// Lasts returns the chance that a change at instant k can still be captured at j:
// that not too many of the independent changes after it came. The chances are
// those of a page, from instant 1.
func Lasts(life objective.Visibility, chance []float64, k, j int) float64 {
	d := []float64{1} // the chance of so many changes
	for _, p := range chance[k:j] {
		next := make([]float64, len(d)+1)
		for n, x := range d {
			next[n] += (1 - p) * x
			next[n+1] += p * x
		}
		d = next
	}
	sum := 0.0
	for n, x := range d {
		if life.In(Tick).Lasts(j-k, n) {
			sum += x
		}
	}
	return sum
}

// Accrued returns the utility between polls at instants prev and j, by its
// definition.
func Accrued(life objective.Visibility, u objective.Urgency, chance []float64, prev, j int) (sum float64) {
	for k := prev + 1; k <= j; k++ {
		sum += u.In(Tick).At(float64(j-k)) * chance[k-1] * Lasts(life, chance, k, j)
	}
	return sum
}
