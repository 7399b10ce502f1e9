package policy

import (
	"cmp"
	"math"

	"freshet/internal/freshet"
)

// A kernel is a life and an urgency, brought to the simplest form that gives
// the same numbers.
//
// Worth is kept as a polynomial in two unknowns, cut off beyond their highest
// powers: y carries the urgency and x the changes that came after. When an
// instant passes, the polynomial is multiplied by step(y), and, if changes
// push each other out, by (1-p) + p*x; then the chance p of a new change is
// added. The powers of x that are cut off are the changes pushed out. Reading
// is a weighted sum of the coefficients. An exponential urgency is the step r;
// e^-At * sum (At)^m/m! is the step e^-A * e^(A*y), and 1 - t/A is 1+y read
// with weights 1 and -1/A.
type kernel struct {
	step []float64 // what an instant does, by power of y
	read []float64 // what the powers of y count for
	last int       // changes until one is pushed out; 0 means never
	keep int       // instants for which a change counts, its own included; 0 means for ever

	// An urgency without a step is a table of the worth by age, and a sum of
	// exponentials for the ages beyond it.
	table []float64
	tail  []exponential
}

// newKernel returns the kernel of a life and an urgency.
func newKernel(life freshet.Span, u freshet.Decay) kernel {
	k := kernel{read: []float64{1}}
	switch life.Kind {
	case freshet.LifeOverwrite:
		k.last = 1
	case freshet.LifeLast:
		k.last = life.N
	case freshet.LifeWindow:
		k.bound(life.N + 1)
	}
	switch u.Kind {
	case freshet.UrgencyUniform:
		k.step = []float64{1}
	case freshet.UrgencyExp:
		k.step = []float64{u.A}
	case freshet.UrgencyWindow:
		k.step = []float64{1}
		k.bound(int(u.A) + 1)
	case freshet.UrgencyPolyexp:
		k.step = erlang(u.K, u.A)
		k.read = ones(u.K + 1)
	case freshet.UrgencyChordal:
		k.step = []float64{1, 1}
		k.read = []float64{1, -1 / u.A}
		k.keep = min(cmp.Or(k.keep, longestWindow), longestWindow, int(math.Ceil(u.A)))
	case freshet.UrgencyPoly:
		k.poly(u)
	case freshet.UrgencyTable:
		k.table = tabulated(u, min(longestTable, int(math.Ceil(u.End()))))
	}
	if k.table != nil && k.keep > 0 && k.keep <= len(k.table) {
		k.table, k.tail = k.table[:k.keep], nil
	}
	if len(k.table) == 1 && k.tail == nil {
		k.table, k.step = nil, []float64{1}
		k.bound(1)
	}
	if k.keep == 1 || k.table == nil && k.step[0] == 0 { // only the change of this very instant counts
		k = kernel{step: []float64{0}, read: []float64{1}}
	}
	return k
}

// longestWindow is for how many instants a change can count and then no more. A
// window costs memory for each of them. Nobody polls so seldom that it matters
// whether a longer one ends.
const longestWindow = 1 << 20

// longestTable bounds how many instants are summed one by one.
const longestTable = 1 << 16

// bound lets a change count for at most n instants.
func (k *kernel) bound(n int) {
	if n <= longestWindow && (k.keep == 0 || n < k.keep) {
		k.keep = n
	}
}

// tabulated returns the worth after 0, 1, 2 ... up to n-1 instants.
func tabulated(u freshet.Decay, n int) []float64 {
	table := make([]float64, n)
	for t := range table {
		table[t] = u.At(float64(t))
	}
	return table
}

// poly sets the urgency (1+t)^-A, with t in units.
func (k *kernel) poly(u freshet.Decay) {
	if u.A == 0 {
		k.step = []float64{1}
		return
	}
	ages := polyAges
	switch {
	case u.A >= steepPoly && u.Units() >= 1:
		ages = maxPolyTable
	case k.keep > 0:
		ages = k.keep
	default:
		k.tail = polyTail(u.A, u.Units())
	}
	k.table = tabulated(u, ages)
}

// erlang returns e^-a * e^(a*y) up to the k-th power of y.
func erlang(k int, a float64) []float64 {
	step := make([]float64, k+1)
	term := math.Exp(-a)
	for m := range step {
		step[m] = term
		term *= a / float64(m+1)
	}
	return step
}

func ones(n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = 1
	}
	return s
}

// group returns an empty group for the kernel.
func (k kernel) group() gainGroup {
	switch {
	case k.table != nil:
		return gainGroup{notes: newTableNotes(k)}
	case k.keep > 0:
		return gainGroup{notes: newWindowNotes(k)}
	case len(k.step) > 1 || k.last > 1:
		return gainGroup{notes: newStepNotes(k)}
	}
	return gainGroup{simple: true, decay: k.step[0], thin: k.last == 1, loss: float64(k.last)}
}

// rows returns how many powers of x there are.
func (k *kernel) rows() int { return max(1, k.last) }

// size returns how many coefficients a polynomial has.
func (k *kernel) size() int { return k.rows() * len(k.step) }

// pass multiplies a polynomial by what an instant with chance p does.
func (k *kernel) pass(a []float64, p float64) {
	n := len(k.step)
	if k.last > 0 {
		thin(a, n, p)
	}
	if n == 1 {
		for q := range a {
			a[q] *= k.step[0]
		}
		return
	}
	for row := 0; row < len(a); row += n {
		r := a[row : row+n]
		for m := n - 1; m >= 0; m-- {
			sum := 0.0
			for i, c := range r[:m+1] {
				sum += k.step[m-i] * c
			}
			r[m] = sum
		}
	}
}

// thin multiplies a polynomial with rows of n by (1-p) + p*x.
func thin(a []float64, n int, p float64) {
	for i := len(a) - 1; i >= n; i-- {
		a[i] = (1-p)*a[i] + p*a[i-n]
	}
	for i := range a[:n] {
		a[i] *= 1 - p
	}
}

// worth reads a polynomial.
func (k *kernel) worth(a []float64) (sum float64) {
	n := len(k.step)
	for row := 0; row < len(a); row += n {
		for m, weight := range k.read {
			sum += weight * a[row+m]
		}
	}
	return sum
}

// worthOfProduct reads the product of two polynomials.
func (k *kernel) worthOfProduct(a, b []float64) (sum float64) {
	n := len(k.step)
	if len(a) == 1 {
		return a[0] * b[0] * k.read[0]
	}
	for ra := 0; ra < len(a); ra += n {
		for rb := 0; ra+rb < len(a); rb += n {
			for i, x := range a[ra : ra+n] {
				for j, y := range b[rb : rb+n-i] {
					sum += k.read[i+j] * x * y
				}
			}
		}
	}
	return sum
}
