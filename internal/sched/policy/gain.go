package policy

import (
	"math"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
)

// Gains holds, for every slot, the utility that has accrued since its source
// was last polled: what a poll now is expected to capture,
//
//	g(j) = sum over instants k since the poll of urgency(j-k) * p(k) * life(k, j)
//
// where p(k) is the chance of a change at instant k, and life(k, j) the chance
// that such a change can still be captured at j. One instant costs each slot
// constant time, whatever its life and urgency, but for tables of numbers; see
// the kernels for what each pair costs and how exact it is.
//
// Slots may differ in life and urgency. The common pairs (uniform or
// exponential urgency, append or overwrite) need one number a slot and run as
// tight loops over whole stretches of slots.
type Gains struct {
	now    []float64 // by slot: utility accrued
	group  []int32   // by slot: which of groups, noGroup where there is no source
	place  []int32   // by slot: its place in a group with notes of its own
	groups []gainGroup
	index  map[Pair]int32
	runs   []gainRun
	stale  bool // runs are out of date
}

// noGroup marks a slot without a source.
const noGroup = -1

// A Pair tells pairs of life and urgency apart.
type Pair struct {
	life  objective.Span
	kind  objective.UrgencyKind
	a     float64
	k     int
	scale float64
	table string
}

// PairOf returns the pair of a life and an urgency.
func PairOf(life objective.Span, u objective.Decay) Pair {
	key := Pair{life: life, kind: u.Kind, a: u.A, k: u.K, scale: u.Scale}
	if u.Kind == objective.UrgencyTable {
		key.table = u.String()
	}
	return key
}

// A gainGroup is the slots that share a kernel.
type gainGroup struct {
	simple bool
	decay  float64 // of a simple kernel: what an instant leaves of the worth
	thin   bool    // of a simple kernel: a change replaces the one before
	loss   float64 // of a simple kernel: what a change takes of the worth: all if thin, or nothing

	notes accrual        // of any other kernel
	slots []freshet.Slot // by place; -1 where free
	free  []int32        // places
}

// An accrual keeps what a kernel needs to know of each of its places.
type accrual interface {
	grow()                                  // adds a place, empty
	reset(place int)                        // empties it
	add(place int, p float64) (now float64) // one instant with chance p
}

// A gainRun is a stretch of slots that share a simple kernel, or that have a
// mixture of them in stretches too short to be worth a loop each.
type gainRun struct {
	from, to int
	decay    float64
	thin     bool
	mixed    bool
}

// shortRun is how many slots make a run of their own.
const shortRun = 16

// Put tells the life and urgency of the source in a slot, and reports whether
// the slot begins again, with nothing accrued. An edit that changes neither
// leaves what has accrued.
func (g *Gains) Put(slot freshet.Slot, life objective.Span, urgency objective.Decay) (reset bool) {
	for int(slot) >= len(g.now) {
		g.now, g.group, g.place = append(g.now, 0), append(g.group, noGroup), append(g.place, 0)
	}
	group := g.groupOf(life, urgency)
	if g.group[slot] == group {
		return false
	}
	g.Remove(slot)
	g.group[slot], g.stale = group, true
	if gr := &g.groups[group]; !gr.simple {
		g.place[slot] = gr.admit(slot)
	}
	return true
}

// Remove forgets a slot.
func (g *Gains) Remove(slot freshet.Slot) {
	if int(slot) >= len(g.group) || g.group[slot] == noGroup {
		return
	}
	if gr := &g.groups[g.group[slot]]; !gr.simple {
		gr.slots[g.place[slot]] = -1
		gr.free = append(gr.free, g.place[slot])
	}
	g.group[slot], g.now[slot], g.stale = noGroup, 0, true
}

// groupOf returns the group of a kernel, which it makes if need be.
func (g *Gains) groupOf(life objective.Span, u objective.Decay) int32 {
	key := PairOf(life, u)
	at, ok := g.index[key]
	if !ok {
		if g.index == nil {
			g.index = map[Pair]int32{}
		}
		at = int32(len(g.groups))
		g.index[key] = at
		g.groups = append(g.groups, newKernel(life, u).group())
	}
	return at
}

// admit finds a place for a slot.
func (gr *gainGroup) admit(slot freshet.Slot) int32 {
	if n := len(gr.free); n > 0 {
		place := gr.free[n-1]
		gr.free = gr.free[:n-1]
		gr.slots[place] = slot
		gr.notes.reset(int(place))
		return place
	}
	gr.slots = append(gr.slots, slot)
	gr.notes.grow()
	return int32(len(gr.slots) - 1)
}

// Of returns what has accrued for a slot.
func (g *Gains) Of(slot freshet.Slot) float64 { return g.now[slot] }

// Len returns how many slots there are, those without a source included.
func (g *Gains) Len() int { return len(g.now) }

// Reset empties a slot: its source has just been polled.
func (g *Gains) Reset(slot freshet.Slot) {
	if g.group[slot] == noGroup {
		return
	}
	g.now[slot] = 0
	if gr := &g.groups[g.group[slot]]; !gr.simple {
		gr.notes.reset(int(g.place[slot]))
	}
}

// Pass lets n instants pass for one slot alone, each with chance p of a change.
// For the common pairs it takes constant time; for others at most maxPasses
// instants count, the latest.
func (g *Gains) Pass(slot freshet.Slot, p float64, n int) {
	if g.group[slot] == noGroup {
		return
	}
	gr := &g.groups[g.group[slot]]
	if !gr.simple {
		for range min(n, maxPasses) {
			g.now[slot] = gr.notes.add(int(g.place[slot]), p)
		}
		return
	}
	// The worth goes from x to keep*x + p, again and again.
	keep := gr.decay * (1 - gr.loss*p)
	left := math.Pow(keep, float64(n))
	if keep == 1 {
		g.now[slot] += float64(n) * p
	} else {
		g.now[slot] = left*g.now[slot] + p*(1-left)/(1-keep)
	}
}

// maxPasses bounds the work of one Pass.
const maxPasses = 1 << 10

// Step lets an instant pass for all slots, with chances p[slot] of a change.
func (g *Gains) Step(p []float64) {
	g.stepGroups(p)
	g.stepRuns(p, 0, len(g.now), 0)
}

// stepGroups lets an instant pass for the slots whose kernels keep notes.
func (g *Gains) stepGroups(p []float64) {
	if g.stale {
		g.gather()
	}
	for i := range g.groups {
		gr := &g.groups[i]
		for place, slot := range gr.slots {
			if slot >= 0 {
				g.now[slot] = gr.notes.add(place, p[slot])
			}
		}
	}
}

// stepRuns lets an instant pass for the slots with simple kernels in [from,
// to). Runs before at lie before from; it returns the same for to.
func (g *Gains) stepRuns(p []float64, from, to, at int) int {
	for at < len(g.runs) && g.runs[at].from < to {
		r := &g.runs[at]
		a, b := max(from, r.from), min(to, r.to)
		switch {
		case r.mixed:
			stepMixed(g.now[a:b], p[a:b], g.group[a:b], g.groups)
		case r.thin:
			stepThin(g.now[a:b], p[a:b], r.decay)
		default:
			stepSum(g.now[a:b], p[a:b], r.decay)
		}
		if r.to > to {
			break
		}
		at++
	}
	return at
}

// gather finds the runs again.
func (g *Gains) gather() {
	g.runs, g.stale = g.runs[:0], false
	for slot, group := range g.group {
		if group == noGroup || !g.groups[group].simple {
			continue
		}
		gr := &g.groups[group]
		if n := len(g.runs); n > 0 {
			if r := &g.runs[n-1]; !r.mixed && r.to == slot && r.decay == gr.decay && r.thin == gr.thin {
				r.to++
				continue
			}
		}
		g.join()
		g.runs = append(g.runs, gainRun{from: slot, to: slot + 1, decay: gr.decay, thin: gr.thin})
	}
	g.join()
}

// join makes the last two runs one if they meet and are short or mixed.
func (g *Gains) join() {
	n := len(g.runs)
	if n < 2 {
		return
	}
	a, b := &g.runs[n-2], g.runs[n-1]
	if a.to == b.from && (a.mixed || a.to-a.from < shortRun) && b.to-b.from < shortRun {
		a.to, a.mixed = b.to, true
		g.runs = g.runs[:n-1]
	}
}

// negligible is where worth is taken for nothing. It is far below what anybody
// could tell from nothing, and spares the processor its slow smallest numbers.
const negligible = 1e-290

// stepSum is the kernel of exponential urgency where changes append.
func stepSum(now, p []float64, decay float64) {
	p = p[:len(now)]
	for i := range now {
		x := decay*now[i] + p[i]
		if x < negligible {
			x = 0
		}
		now[i] = x
	}
}

// stepThin is the kernel of exponential urgency where changes overwrite.
func stepThin(now, p []float64, decay float64) {
	p = p[:len(now)]
	for i := range now {
		x := decay*(1-p[i])*now[i] + p[i]
		if x < negligible {
			x = 0
		}
		now[i] = x
	}
}

// stepMixed is both kernels, each slot by its own group.
func stepMixed(now, p []float64, group []int32, groups []gainGroup) {
	p, group = p[:len(now)], group[:len(now)]
	for i := range now {
		gr := &groups[group[i]]
		x := gr.decay*(1-gr.loss*p[i])*now[i] + p[i]
		if x < negligible {
			x = 0
		}
		now[i] = x
	}
}

// windowNotes is the accrual of kernels that count a change for so many
// instants only. Instants fall out of the window one by one, and what they
// brought must leave the sum without being subtracted: a difference of sums
// leaves crumbs where there is nothing, and cannot undo a chance of 1.
//
// So the instants of a window lie in two parts, as a queue made of two stacks.
// Each instant of the older part holds the polynomial of itself and all of that
// part after it; of the newer part the sum and the product of all passes are
// kept. The window is the older part's first polynomial times that product,
// plus that sum. When the older part has run out, the newer becomes the older
// in one sweep, so an instant costs constant time on average, and nothing is
// ever divided.
type windowNotes struct {
	kernel
	n    int       // coefficients of a polynomial
	ring []float64 // by place, keep polynomials each; of the newer part only the chance
	sum  []float64 // by place, of the newer part
	prod []float64 // by place, of the newer part
	span []windowSpan
	sub  []float64 // scratch: a product
}

// A windowSpan says which instants of a ring are filled.
type windowSpan struct {
	oldest       int32 // where the oldest is
	older, newer int32 // how many there are
}

func newWindowNotes(k kernel) *windowNotes {
	return &windowNotes{kernel: k, n: k.size(), sub: make([]float64, k.size())}
}

func (w *windowNotes) grow() {
	w.ring = append(w.ring, make([]float64, w.n*w.keep)...)
	w.sum = append(w.sum, make([]float64, w.n)...)
	w.prod = append(w.prod, make([]float64, w.n)...)
	w.span = append(w.span, windowSpan{})
	w.reset(len(w.span) - 1)
}

func (w *windowNotes) reset(place int) {
	w.span[place] = windowSpan{}
	w.empty(place)
}

// empty begins a newer part.
func (w *windowNotes) empty(place int) {
	sum, prod := w.newer(place)
	clear(sum)
	clear(prod)
	prod[0] = 1
}

func (w *windowNotes) newer(place int) (sum, prod []float64) {
	return w.sum[place*w.n : (place+1)*w.n], w.prod[place*w.n : (place+1)*w.n]
}

// entry returns the i-th oldest instant of a place.
func (w *windowNotes) entry(place int, i int32) []float64 {
	at := int(w.span[place].oldest+i) % w.keep
	from := (place*w.keep + at) * w.n
	return w.ring[from : from+w.n]
}

func (w *windowNotes) add(place int, p float64) float64 {
	s := &w.span[place]
	if int(s.older+s.newer) == w.keep {
		if s.older == 0 {
			w.turn(place)
		}
		s.older--
		s.oldest = (s.oldest + 1) % int32(w.keep)
	}
	w.entry(place, s.older+s.newer)[0] = p
	s.newer++
	sum, prod := w.newer(place)
	w.pass(sum, p)
	sum[0] += p
	w.pass(prod, p)
	worth := w.worth(sum)
	if s.older > 0 {
		worth += w.worthOfProduct(prod, w.entry(place, 0))
	}
	if worth < negligible {
		return 0
	}
	return worth
}

// turn makes the newer part the older: from the newest instant back, each
// entry becomes what it and those after it add up to.
func (w *windowNotes) turn(place int) {
	s := &w.span[place]
	clear(w.sub)
	w.sub[0] = 1
	var after []float64
	for i := s.newer - 1; i >= 0; i-- {
		e := w.entry(place, i)
		p := e[0]
		for m := range e {
			e[m] = p * w.sub[m]
			if after != nil {
				e[m] += after[m]
			}
		}
		w.pass(w.sub, p)
		after = e
	}
	s.older, s.newer = s.newer, 0
	w.empty(place)
}

// stepNotes is the accrual of kernels that count changes for ever: one
// polynomial a place. An instant costs as many multiplications as it has
// coefficients, times the powers of y.
type stepNotes struct {
	kernel
	a []float64 // by place, size numbers each
}

func newStepNotes(k kernel) *stepNotes { return &stepNotes{kernel: k} }

func (s *stepNotes) grow() { s.a = append(s.a, make([]float64, s.size())...) }

func (s *stepNotes) at(place int) []float64 {
	n := s.size()
	return s.a[place*n : place*n+n]
}

func (s *stepNotes) reset(place int) { clear(s.at(place)) }

func (s *stepNotes) add(place int, p float64) float64 {
	a := s.at(place)
	s.pass(a, p)
	a[0] += p
	return settle(s.worth(a), a)
}

// settle empties a once it is worth next to nothing.
func settle(worth float64, a []float64) float64 {
	if worth < negligible {
		clear(a)
		return 0
	}
	return worth
}
