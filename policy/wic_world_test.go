package policy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"freshet"
	"freshet/policy"
)

// pis is an estimator that has the chances of every instant in a table.
type pis [][]float64 // by slot and instant

func (p pis) Put(freshet.Slot, freshet.Source)      {}
func (p pis) Remove(freshet.Slot)                   {}
func (p pis) Observe(freshet.Slot, freshet.Outcome) {}
func (p pis) instant(t time.Time) int               { return int(t.Sub(noon) / time.Minute) }
func (p pis) Expect(s freshet.Slot, from, to time.Time) (sum float64) {
	for j := p.instant(from); j < min(p.instant(to), len(p[s])); j++ {
		sum += p[s][j]
	}
	return sum
}

func (p pis) Chances(dst []float64, from, to time.Time) {
	for s := range dst {
		dst[s] = 0
		for j := p.instant(from); j < min(p.instant(to), len(p[s])); j++ {
			dst[s] = 1 - (1-dst[s])*(1-p[s][j])
		}
	}
}

// A wicWorld is pages and how they change.
type wicWorld struct {
	pi    pis
	pages []freshet.Source
	polls int // an instant
}

func newWicWorld(pi pis, weights []float64, polls int, life []freshet.Life, urgency freshet.Urgency) wicWorld {
	w := wicWorld{pi: pi, polls: polls}
	for i := range pi {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("p%03d", i)), Life: life[i%len(life)], Urgency: urgency}
		if weights != nil {
			s.Weight = weights[i]
		}
		w.pages = append(w.pages, s)
	}
	return w
}

func (w wicWorld) instants() int { return len(w.pi[0]) }

// g is the worth of a poll of a page at j after one at prev.
func (w wicWorld) g(page, prev, j int) float64 {
	s := w.pages[page]
	return s.Importance() * accrued(s.Life, s.Urgency, w.pi[page], prev, j)
}

// run lets a policy poll, and returns the pages that it polls at each instant.
func (w wicWorld) run(p freshet.Policy) [][]int {
	for i, s := range w.pages {
		p.Put(noon, freshet.Slot(i), s, time.Time{})
	}
	schedule := make([][]int, w.instants())
	for j := range schedule {
		now := noon.Add(time.Duration(j+1) * time.Minute)
		p.Choose(now, w.polls, func(s freshet.Slot, _ float64) bool {
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

func (w wicWorld) wic() freshet.Policy {
	return policy.NewWIC(policy.WICConfig{Start: noon, Instant: time.Minute, Estimator: w.pi})
}

// utility is what a schedule is expected to capture; worthless polls are taken
// out of it on the way.
func (w wicWorld) utility(schedule [][]int) (sum float64, useful [][]int) {
	prev := make([]int, len(w.pages))
	for j, pages := range schedule {
		useful = append(useful, nil)
		for _, page := range pages {
			if g := w.g(page, prev[page], j+1); g > 0 {
				sum += g
				useful[j] = append(useful[j], page)
			}
			prev[page] = j + 1
		}
	}
	return sum, useful
}

// optimum is the most that any schedule can capture, by trying all.
func (w wicWorld) optimum() float64 {
	known := map[string]float64{}
	var best func(j int, prev []int) float64
	best = func(j int, prev []int) float64 {
		if j > w.instants() {
			return 0
		}
		key := fmt.Sprint(j, prev)
		if v, ok := known[key]; ok {
			return v
		}
		most := 0.0
		var choose func(from, left int, sum float64, next []int)
		choose = func(from, left int, sum float64, next []int) {
			if left == 0 || from == len(w.pages) {
				most = max(most, sum+best(j+1, next))
				return
			}
			choose(from+1, left, sum, next)
			with := slices.Clone(next)
			with[from] = j
			choose(from+1, left-1, sum+w.g(from, prev[from], j), with)
		}
		choose(0, w.polls, 0, prev)
		known[key] = most
		return most
	}
	return best(1, make([]int, len(w.pages)))
}

// shrink returns the largest factors by which an instant's delay shrinks what a
// change is worth: by urgency alone, and with its life.
func (w wicWorld) shrink() (a, withLife float64) {
	for i, s := range w.pages {
		for t := range w.instants() {
			if now := s.Urgency.At(t); now > 0 {
				a = max(a, s.Urgency.At(t+1)/now)
			}
		}
		for k := 1; k < w.instants(); k++ {
			for j := k; j < w.instants(); j++ {
				if now := s.Urgency.At(j-k) * lasts(s.Life, w.pi[i], k, j); w.pi[i][k-1] > 0 && now > 0 {
					withLife = max(withLife, s.Urgency.At(j+1-k)*lasts(s.Life, w.pi[i], k, j+1)/now)
				}
			}
		}
	}
	return a, withLife
}

type scheduleInput struct {
	Pi      pis
	W       []float64
	C       int
	Life    any // one for all pages, or a list
	Urgency string
}

func (in scheduleInput) world(t *testing.T) wicWorld {
	t.Helper()
	var lives []freshet.Life
	switch l := in.Life.(type) {
	case string:
		lives = append(lives, oracleLife(t, l))
	case []any:
		for _, name := range l {
			lives = append(lives, oracleLife(t, name.(string)))
		}
	}
	return newWicWorld(in.Pi, in.W, max(1, in.C), lives, oracleUrgency(t, in.Urgency))
}
