package lab

import (
	"math"

	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
)

// A Limit is what the best of all schedules could have captured: one that knew every change
// beforehand.
type Limit struct {
	Value   float64 `json:"limit"`   // no schedule within the budget has a higher utility
	Reached float64 `json:"reached"` // some schedule has this much
	Exact   bool    `json:"exact"`   // the two are the same
	Method  string  `json:"method"`  // how Value was found
}

// The ways of finding a limit.
const (
	// MethodTop: only the instant of a change counts, so the best changes of
	// each instant are the optimum.
	MethodTop = "top"

	// MethodDeadline: a change can be captured at any time until the next, and
	// all are worth the same. Capturing what ends first is then the optimum.
	MethodDeadline = "deadline"

	// MethodMatroid: the same with weights. The sets of changes that can all be
	// captured are a matroid, so taking the most worth first is the optimum.
	MethodMatroid = "matroid"

	// MethodPrices: every price list for instants bounds the utility from
	// above, by what all pages would gain if they paid for their polls, and by
	// what all polls cost. The least such bound that was found.
	MethodPrices = "prices"

	// MethodTotal: everything is captured.
	MethodTotal = "total"
)

// Limit returns the highest utility that any schedule of so many polls an
// instant can have: exact where it can be worked out, a proven bound otherwise.
func (g *Grid) Limit(budget float64, k Weights) (Limit, error) { return g.limit(budget, k, nil) }

// limit is Limit, and calls rest, if there is one, again and again.
func (g *Grid) limit(budget float64, k Weights, rest func()) (Limit, error) {
	if !(budget >= 0) || budget > 1e9 {
		return Limit{}, invalid.Errorf("budget", "%v is not a number of polls an instant", budget)
	}
	b := newBoard(g, k)
	if rest != nil {
		b.rest = rest
	}
	whole := budget == math.Trunc(budget)
	switch {
	case whole && b.immediate():
		return exactly(b.top(int(budget)), MethodTop), nil
	case whole && b.replacing() && b.uniform():
		return b.matching(int(budget)), nil
	}
	reached, asks := b.greedy(budget)
	l := Limit{Reached: reached}
	if whole && b.lasting() && b.uniform() {
		l.Reached = max(l.Reached, b.keepers(int(budget)))
	}
	l.lower(b.total(), MethodTotal)
	if whole && b.replacing() {
		// Late is worth no more than early, so uniform urgency is a bound.
		m := b.matching(int(budget))
		l.lower(m.Value, m.Method)
	}
	if !l.Exact {
		l.lower(b.priced(budget, l.Reached, asks), MethodPrices)
	}
	return l, nil
}

// Exactness says in words whether a limit can be reached.
func Exactness(exact bool) string {
	if exact {
		return "exact"
	}
	return "an upper bound"
}

func exactly(value float64, method string) Limit {
	return Limit{Value: value, Reached: value, Exact: true, Method: method}
}

// lower takes a bound into account.
func (l *Limit) lower(bound float64, method string) {
	if l.Method == "" || bound < l.Value {
		// What has been reached is a bound on bounds: below it is rounding.
		l.Value, l.Method = max(bound, l.Reached), method
	}
	l.Exact = l.Value-l.Reached <= 1e-12*l.Value
}

// A board is a grid with the weights of each page laid out for computing.
type board struct {
	grid    *Grid
	weights pageWeights
	curves  []curve // by page, or one for all
	rest    func()  // called now and then
}

// A curve is an urgency as a table of worths after 0, 1, 2 ... instants, as far
// as they are above zero.
type curve []float64

func newBoard(g *Grid, k Weights) *board {
	b := &board{grid: g, weights: k.onPages(g), rest: func() {}}
	known := map[string]curve{}
	for i := range b.weights {
		s := &b.weights[i]
		if s.life == (objective.Span{Kind: objective.VisibleLast, N: 1}) {
			s.life = objective.Span{} // the same by another name
		}
		name := s.urgency.String()
		if known[name] == nil {
			known[name] = tabulate(s.urgency, g.Instants)
		}
		b.curves = append(b.curves, known[name])
	}
	return b
}

func tabulate(u objective.Decay, instants int) curve {
	var c curve
	for t := 0; t < max(1, instants); t++ {
		worth := u.At(float64(t))
		if worth <= 0 {
			break
		}
		c = append(c, worth)
	}
	return c
}

// page returns the weight and the curve of a page.
func (b *board) page(page int) (*pageWeight, curve) {
	if len(b.weights) == 1 {
		page = 0
	}
	return &b.weights[page], b.curves[page]
}

// every reports whether something is so of all pages.
func (b *board) every(is func(*pageWeight, curve) bool) bool {
	for i := range b.weights {
		if !is(&b.weights[i], b.curves[i]) {
			return false
		}
	}
	return true
}

// immediate reports whether changes are worth something in their own instant
// alone.
func (b *board) immediate() bool {
	return b.every(func(s *pageWeight, c curve) bool {
		return len(c) == 1 || s.life == objective.Span{Kind: objective.VisibleFor}
	})
}

// replacing reports whether every change replaces the one before.
func (b *board) replacing() bool {
	return b.every(func(s *pageWeight, _ curve) bool { return s.life.Kind == objective.VisibleUntilNext })
}

// lasting reports whether all changes stay.
func (b *board) lasting() bool {
	return b.every(func(s *pageWeight, _ curve) bool { return s.life.Kind == objective.VisibleForever })
}

// uniform reports whether late is as good as early.
func (b *board) uniform() bool {
	return b.every(func(_ *pageWeight, c curve) bool { return c[len(c)-1] == 1 && len(c) >= b.grid.Instants })
}

// total returns the weight of all changes.
func (b *board) total() (sum float64) {
	for page := range b.grid.pages {
		s, _ := b.page(page)
		sum += s.weight * float64(len(b.grid.Of(page)))
	}
	return sum
}
