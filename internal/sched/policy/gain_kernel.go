package policy

import (
	"cmp"
	"math"

	"freshet/internal/freshet/objective"
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
func newKernel(life objective.Span, u objective.Decay) kernel {
	k := kernel{read: []float64{1}}
	switch life.Kind {
	case objective.VisibleUntilNext:
		k.last = 1
	case objective.VisibleLast:
		k.last = life.N
	case objective.VisibleFor:
		k.bound(life.N + 1)
	}
	switch u.Kind {
	case objective.UrgencyUniform:
		k.step = []float64{1}
	case objective.UrgencyExp:
		k.step = []float64{u.A}
	case objective.UrgencyWindow:
		k.step = []float64{1}
		k.bound(int(u.A) + 1)
	case objective.UrgencyPolyexp:
		k.step = erlang(u.K, u.A)
		k.read = ones(u.K + 1)
	case objective.UrgencyChordal:
		k.step = []float64{1, 1}
		k.read = []float64{1, -1 / u.A}
		k.keep = min(cmp.Or(k.keep, longestWindow), longestWindow, int(math.Ceil(u.A)))
	case objective.UrgencyPoly:
		k.poly(u)
	case objective.UrgencyTable:
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
// window costs memory for each of them. No source is polled so rarely that it matters
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
func tabulated(u objective.Decay, n int) []float64 {
	table := make([]float64, n)
	for t := range table {
		table[t] = u.At(float64(t))
	}
	return table
}

// poly sets the urgency (1+t)^-A, with t in units.
func (k *kernel) poly(u objective.Decay) {
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

// tableNotes is the accrual of urgencies without a step: the chances of the
// latest instants are kept and summed again each time, as many as the table is
// long. With a tail, what grows older than the table goes on as a sum of
// exponentials.
type tableNotes struct {
	kernel
	ring  []float64 // by place, the chances of the latest instants
	tails []float64 // by place, for each exponential a polynomial in x
	span  []tableSpan
	left  []float64 // scratch: how likely so many changes came after
}

// A tableSpan says which instants of a ring are filled.
type tableSpan struct{ newest, count int32 }

func newTableNotes(k kernel) *tableNotes {
	return &tableNotes{kernel: k, left: make([]float64, k.rows())}
}

func (t *tableNotes) grow() {
	t.ring = append(t.ring, make([]float64, len(t.table))...)
	t.tails = append(t.tails, make([]float64, len(t.tail)*t.rows())...)
	t.span = append(t.span, tableSpan{})
}

func (t *tableNotes) reset(place int) {
	t.span[place] = tableSpan{}
	clear(t.tailsAt(place))
}

func (t *tableNotes) tailsAt(place int) []float64 {
	n := len(t.tail) * t.rows()
	return t.tails[place*n : place*n+n]
}

func (t *tableNotes) add(place int, p float64) float64 {
	n := len(t.table)
	ring, s := t.ring[place*n:place*n+n], &t.span[place]
	s.newest++
	if int(s.newest) >= n {
		s.newest = 0
	}
	leaving := 0.0
	if int(s.count) == n {
		leaving = ring[s.newest]
	} else {
		s.count++
	}
	ring[s.newest] = p
	worth := t.recent(ring, *s)
	if t.tail != nil {
		worth += t.older(place, p, leaving)
	}
	if worth < negligible {
		return 0
	}
	return worth
}

// recent sums over the table, and leaves in left what the passing of all its
// instants leaves of a change before them.
func (t *tableNotes) recent(ring []float64, s tableSpan) (sum float64) {
	clear(t.left)
	t.left[0] = 1
	lasts := 1.0 // the chance that a change of the instant in question is still there
	at := int(s.newest)
	for age := range int(s.count) {
		p := ring[at]
		sum += t.table[age] * p * lasts
		if t.last > 0 && p > 0 {
			thin(t.left, 1, p)
			lasts = 0
			for _, x := range t.left {
				lasts += x
			}
		}
		if at--; at < 0 {
			at = len(ring) - 1
		}
	}
	return sum
}

// older lets an instant pass for the exponentials, takes in the change that
// has just grown older than the table, and sums.
func (t *tableNotes) older(place int, p, leaving float64) (sum float64) {
	rows := t.rows()
	tails := t.tailsAt(place)
	for i, e := range t.tail {
		a := tails[i*rows : i*rows+rows]
		if t.last > 0 {
			thin(a, 1, p)
		}
		for q := range a {
			a[q] = e.decay*a[q] + e.weight*leaving*t.left[q]
			if a[q] < negligible {
				a[q] = 0
			}
			sum += a[q]
		}
	}
	return sum
}

// An exponential is weight * decay^t.
type exponential struct{ weight, decay float64 }

// The urgency (1+t)^-a, with t in units, falls too slowly to be cut off and has
// no step. Up to polyAges instants it is summed as it stands; for longer gaps it
// is a sum of exponentials,
//
//	(1+t)^-a = 1/Gamma(a) * integral of e^(a*x - (1+t)*e^x) dx,
//
// by the trapezoid rule. The relative error is below a millionth up to
// polyHorizon instants, after which the worth of a change ceases to fall. Where
// a is at least steepPoly, a change that is maxPolyTable units old is worth less
// than a billionth; if an instant is a unit or more, it counts for nothing.
const (
	polyAges     = 32
	polyHorizon  = 1 << 17
	maxPolyTable = 256
	steepPoly    = 3.75
)

// polyTail returns the exponentials for ages from polyAges on, with weights as
// of that age. An instant has so many units.
func polyTail(a, units float64) []exponential {
	// The error of the rule falls as e^(-pi^2/h), and grows with a.
	h, most := 0.5, 40.0
	switch {
	case a >= steepPoly: // the integrand is a bell of width 1/sqrt(a) about log(a)
		h, most = min(0.3, 1/math.Sqrt(a)), 40+3*a
	case a > 1:
		h = 0.3
	}
	// Below low the integrand does not decay within the horizon: what is
	// there is a geometric series of constants.
	low := -math.Log(max(1, polyHorizon*units)) - 15/(1+a)
	high := math.Log(most / (polyAges*units + 1))
	terms := exponentials(a, h, low, high)
	rest := h * math.Exp(a*(low-h)) / (1 - math.Exp(-a*h)) / math.Gamma(a)
	terms = append(terms, exponential{weight: rest, decay: 1})
	for i := range terms {
		terms[i].decay = math.Pow(terms[i].decay, units)
		terms[i].weight *= math.Pow(terms[i].decay, polyAges)
	}
	return terms
}

// exponentials returns the terms of the trapezoid rule for (1+t)^-a with
// steps of h from low to high.
func exponentials(a, h, low, high float64) (terms []exponential) {
	for i := 0; ; i++ {
		x := low + float64(i)*h
		if x > high+1e-9 {
			return terms
		}
		s := math.Exp(x)
		terms = append(terms, exponential{
			weight: h * math.Exp(a*x-s) / math.Gamma(a),
			decay:  math.Exp(-s),
		})
	}
}
