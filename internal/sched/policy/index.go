package policy

import (
	"math"

	"freshet/internal/freshet/objective"
)

// A Value says what polls of a source are worth by its life and urgency, when
// it changes at a steady rate. With a chance p of a change in each instant, and
// h(s) = p * urgency(s) * survival(s) of what a change s instants ago is still
// worth, a poll tau instants after the last one gains
//
//	g(tau) = h(0) + h(1) + ... + h(tau-1)
//
// and its index is what it gains over the best later moment,
//
//	I(tau) = g(tau) - tau*h(tau),
//
// because to wait an instant brings h(tau) and delays every later poll, of which
// each instant of waiting is worth g(tau)/tau. Where polls have a price, a source
// is best polled when its index comes to it. Weight and cost are the caller's to
// multiply and to divide by.
//
// For overwrite and append with uniform or exponential urgency, bounded by a
// window or not, both are closed forms, and for last:Z with uniform urgency they
// are sums of Z terms at most. For all other pairs they are sums over a few ages,
// as many as tau has binary digits, with an error of about a thousandth, and of a
// hundredth for last:Z. Nothing is allocated. Make one with NewValue, once for all sources that are alike in
// life and urgency.
type Value struct {
	form  valueForm
	last  int     // changes until one is pushed out; 0 means never
	decay float64 // of a closed form: the urgency is e^(-decay*t)
	keep  float64 // instants for which a change counts, its own included
	ages  *ages   // of a summed form
}

// A valueForm is a way of working out a Value.
type valueForm uint8

const (
	closedForm valueForm = iota // a geometric series
	listForm                    // the latest changes, late as good as early
	summedForm                  // a sum over ages
)

// A ValueConfig says what a Value is of. The zero ValueConfig works.
type ValueConfig struct {
	Life    objective.Span
	Urgency objective.Decay
}

// NewValue returns the Value of a life and an urgency.
func NewValue(c ValueConfig) Value {
	v := Value{keep: math.Inf(1)}
	switch c.Life.Kind {
	case objective.VisibleUntilNext:
		v.last = 1
	case objective.VisibleLast:
		v.last = c.Life.N
	case objective.VisibleFor:
		v.bound(c.Life.N + 1)
	}
	switch u := c.Urgency; u.Kind {
	case objective.UrgencyUniform:
	case objective.UrgencyExp:
		v.decay = -math.Log(u.A)
	case objective.UrgencyWindow:
		v.bound(int(u.A) + 1)
	case objective.UrgencyChordal:
		v.bound(int(math.Ceil(u.A)))
		v.form = summedForm
	case objective.UrgencyTable:
		v.bound(int(math.Ceil(u.End())))
		v.form = summedForm
	case objective.UrgencyPoly, objective.UrgencyPolyexp:
		if u.A > 0 {
			v.form = summedForm
		}
	}
	if v.form == closedForm && v.last > 1 {
		v.form = listForm
		if v.decay > 0 {
			v.form = summedForm
		}
	}
	if v.form == closedForm && v.last == 0 && v.decay == 0 {
		v.decay = 1.0 / patience
	}
	if v.form == summedForm {
		v.ages = newAges(c.Urgency, v.keep)
	}
	return v
}

// patience is after how many instants a change has lost all but a third of its worth where
// nothing is ever lost and late is as good as early: a month of minutes. Without it the index
// would be zero there, however much there is to be captured.
const patience = 50_000

// bound lets a change count for at most n instants.
func (v *Value) bound(n int) { v.keep = min(v.keep, float64(n)) }

// Gain returns what a poll is expected to capture tau instants after the last
// one, when x changes are expected since.
func (v Value) Gain(x, tau float64) float64 {
	gain, _ := v.GainAndSlope(x, tau)
	return gain
}

// Index returns the advantage of a poll over the best later one, tau instants
// after the last one, when x changes are expected since. It grows with tau.
func (v Value) Index(x, tau float64) float64 {
	if v.form == closedForm && tau < v.keep {
		return v.closedIndex(x, tau)
	}
	gain, slope := v.GainAndSlope(x, tau)
	return max(0, gain-tau*slope)
}

// GainAndSlope returns the gain, and what an instant of waiting adds to it.
func (v Value) GainAndSlope(x, tau float64) (gain, slope float64) {
	if !(x > 0) || !(tau > 0) {
		return 0, 0
	}
	rate := x / tau
	over := tau >= v.keep // waiting adds as much as it takes away
	tau = min(tau, v.keep)
	p := -math.Expm1(-rate)
	switch v.form {
	case closedForm:
		step := v.step(rate)
		end := math.Exp(-step * tau)
		gain, slope = p*geometric(step, tau), p*end
	case listForm:
		var stays float64
		gain, stays = atMost(v.last, rate*tau, tau)
		slope = p * stays
	default:
		gain, slope = v.ages.sum(v.last, rate, tau)
		gain, slope = p*gain, p*slope
	}
	if over {
		slope = 0
	}
	return gain, slope
}

// Replaced reports whether each change takes the place of the one before.
func (v *Value) Replaced() bool { return v.last == 1 }

// Counts reports whether a change of an age can still be captured, as far as that
// depends on its age alone.
func (v *Value) Counts(age float64) bool { return age < v.keep }

// Urgency returns what a change of an age is worth if it can be captured.
func (v *Value) Urgency(age float64) float64 {
	if v.form == summedForm {
		return v.ages.urgency.At(age)
	}
	if age == 0 { // however fast it falls
		return 1
	}
	return math.Exp(-v.decay * age)
}

// step returns by which rate a closed form falls: the urgency falls, and changes
// are replaced.
func (v *Value) step(rate float64) float64 {
	if v.last == 1 {
		return v.decay + rate
	}
	return v.decay
}

// geometric returns the sum of e^(-step*s) for s from 0 to n-1.
func geometric(step, n float64) float64 {
	if step == 0 {
		return n
	}
	return math.Expm1(-step*n) / math.Expm1(-step)
}

// closedIndex is the index of a closed form. It is worked out as one fraction,
// of which the parts all but cancel where tau is short.
func (v *Value) closedIndex(x, tau float64) float64 {
	if !(x > 0) || !(tau > 0) {
		return 0
	}
	rate := x / tau
	step := v.step(rate)
	y := step * tau
	if y < shortGap && tau >= 1 {
		// p/(1-e^-step) times the series of the bracket below.
		t := 1 / tau
		series := y * y * ((1+t)/2 - y*(1.0/3+t*(1.0/2+t/6)))
		return series * firstOf(rate, step)
	}
	lost := -math.Expm1(-y)     // of a change at the last poll
	falls := -math.Expm1(-step) // in an instant
	bracket := lost - tau*falls*(1-lost)
	if v.last == 1 && v.decay == 0 { // p is falls
		return max(0, bracket)
	}
	return max(0, -math.Expm1(-rate)/falls*bracket)
}

// shortGap is below which y the series is the better one.
const shortGap = 1e-4

// firstOf returns (1-e^-a)/(1-e^-b).
func firstOf(a, b float64) float64 {
	if a == b {
		return 1
	}
	return math.Expm1(-a) / math.Expm1(-b)
}

// atMost returns, of the changes of n instants, of which x are expected, how many
// are among the latest z, and the chance that one more would push none out.
func atMost(z int, x, n float64) (among, room float64) {
	p := -math.Expm1(-x / n)
	if n < float64(z) { // an instant brings one at most
		return n * p, 1
	}
	if z > longList {
		return atMostMany(float64(z), n*p, math.Sqrt(n*p*(1-p)))
	}
	odds := p / (1 - p)
	if x > 700 || math.IsInf(odds, 1) { // beyond the smallest numbers; hardly anything is left to chance
		return atMostMany(float64(z), n*p, 0)
	}
	term := math.Exp(-x) // the chance of k changes of n
	for k := range z {
		room += term
		among += float64(k) * term
		left := n - float64(k)
		if left <= 0 || term == 0 {
			break
		}
		term *= left / float64(k+1) * odds
	}
	room = min(1, room)
	return among + float64(z)*(1-room), room
}

// longList is how many changes a list holds for their number to be taken for
// normally distributed.
const longList = 32

// atMostMany is atMost where the number of changes is normal.
func atMostMany(z, mean, deviation float64) (among, room float64) {
	if deviation < 1e-9*z {
		if mean < z {
			return mean, 1
		}
		return z, 0
	}
	d := (mean - z) / deviation
	over := math.Erfc(-d/math.Sqrt2) / 2
	density := math.Exp(-d*d/2) / math.Sqrt(2*math.Pi)
	// There is room while there are at most z-1: half way to z.
	room = math.Erfc((mean-z+0.5)/deviation/math.Sqrt2) / 2
	return mean - ((mean-z)*over + deviation*density), room
}

// Due returns how many instants after a poll the index comes to a price, when
// changes come at a rate an instant: infinitely many where it never does. Of
// two neighbouring instants it is the later one.
func (v Value) Due(rate, price float64) float64 {
	if !(rate > 0) {
		return math.Inf(1)
	}
	reaches := func(tau float64) bool { return v.Index(rate*tau, tau) >= price }
	high := 1.0
	for !reaches(high) {
		if high *= 2; high > mostAges {
			return math.Inf(1)
		}
	}
	low := high / 2 // not reached there, unless it is within the first instant
	for high-low > max(1, high/1024) {
		if mid := math.Floor((low + high) / 2); reaches(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// ages is an urgency laid out to be summed over, times the chance that a change
// survives: its first ages one by one, and then blocks, each as long as all
// before it, by three points of Gauss and Legendre. Between whole numbers a sum
// from a to b-1 is taken for the integral from a-1/2 to b-1/2.
type ages struct {
	urgency objective.Decay
	first   []float64 // the urgency at 0, 1, 2 ...
	blocks  []ageBlock
	until   float64 // where the blocks end
}

// An ageBlock is the ages from one up to below another.
type ageBlock struct {
	from, to float64
	worth    [3]float64 // of the urgency at the points, times their weights
	before   float64    // the urgency summed over all ages before
}

// How many ages are summed one by one: of a table, which may fall in steps, more
// than of a smooth urgency; and how far blocks go.
const (
	smoothAges = 8
	tableAges  = 64
	mostAges   = 1 << 24
)

// The points of Gauss and Legendre between 0 and 1, and their weights.
var (
	gaussPoints  = [3]float64{0.5 - 0.3872983346207417, 0.5, 0.5 + 0.3872983346207417}
	gaussWeights = [3]float64{5.0 / 18, 8.0 / 18, 5.0 / 18}
)

// newAges lays out an urgency up to an age.
func newAges(u objective.Decay, keep float64) *ages {
	a := &ages{urgency: u}
	n := smoothAges
	if u.Kind == objective.UrgencyTable {
		n = tableAges
	}
	keep = min(keep, mostAges)
	sum := 0.0
	for s := range min(n, int(keep)) {
		a.first = append(a.first, u.At(float64(s)))
		sum += a.first[s]
	}
	a.until = float64(len(a.first))
	for a.until < keep {
		b := ageBlock{from: a.until, to: min(2*a.until, keep), before: sum}
		for i := range gaussPoints {
			b.worth[i] = u.At(b.point(i)) * gaussWeights[i] * (b.to - b.from)
			sum += b.worth[i]
		}
		a.blocks = append(a.blocks, b)
		a.until = b.to
	}
	return a
}

// point returns where one of a block's points lies.
func (b *ageBlock) point(i int) float64 { return b.from - 0.5 + (b.to-b.from)*gaussPoints[i] }

// sum returns the sum over the ages below tau, and what comes next, of the
// urgency times the chance that fewer than last changes come after, when they
// come at a rate.
func (a *ages) sum(last int, rate, tau float64) (sum, next float64) {
	tau = min(tau, a.until)
	next = a.urgency.At(tau) * survival(last, rate, tau)
	if last == 0 {
		return a.plain(tau), next
	}
	for s, worth := range a.first {
		if left := tau - float64(s); left < 1 {
			return sum + max(0, left)*worth*survival(last, rate, float64(s)), next
		}
		sum += worth * survival(last, rate, float64(s))
	}
	for i := range a.blocks {
		b := &a.blocks[i]
		if b.to > tau {
			b := ageBlock{from: b.from, to: tau}
			for i, weight := range gaussWeights {
				t := b.point(i)
				sum += a.urgency.At(t) * survival(last, rate, t) * weight * (b.to - b.from)
			}
			return sum, next
		}
		stays := survival(last, rate, b.from)
		if stays < 1e-9 {
			break
		}
		for i, worth := range b.worth {
			sum += worth * survival(last, rate, b.point(i))
		}
	}
	return sum, next
}

// plain is the sum where all changes survive.
func (a *ages) plain(tau float64) (sum float64) {
	if tau < float64(len(a.first)) || len(a.blocks) == 0 {
		for s, worth := range a.first {
			sum += worth * max(0, min(1, tau-float64(s)))
		}
		return sum
	}
	at := math.Ilogb(tau / float64(len(a.first))) // blocks double
	b := a.blocks[min(at, len(a.blocks)-1)]
	sum, b.to = b.before, tau
	for i, weight := range gaussWeights {
		sum += a.urgency.At(b.point(i)) * weight * (b.to - b.from)
	}
	return sum
}

// survival returns the chance that fewer than last changes come in t instants,
// at a rate.
func survival(last int, rate, t float64) float64 {
	switch {
	case last == 0 || t <= 0:
		return 1
	case last == 1:
		return math.Exp(-rate * t)
	}
	_, room := atMost(last, rate*t, t)
	return room
}
