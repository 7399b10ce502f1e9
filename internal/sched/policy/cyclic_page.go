package policy

import (
	"hash/fnv"
	"math"
	"math/cmplx"
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched/cyclic"
)

// A cyclicPage is what a Cyclic policy knows of a source. Times are instants.
type cyclicPage struct {
	id     freshet.SourceID // empty if there is no source
	paused bool
	busy   bool    // it is being polled
	value  float64 // of a capture for the price of a poll
	polled int64   // when it was last polled

	looks  estimate.Looks
	notes  []changeNote // of the latest changes, a ring
	oldest int          // place of the oldest note in a full ring
	fresh  int          // notes since it was last fitted
	refit  bool         // it was fitted since it was last planned

	period  int     // that it keeps to; 0 if it keeps to none
	misses  []int32 // in the notes it was fitted to, with 1, 2, 3 ... polls a period, as far as was asked
	cycle   int     // the period of its offsets
	offsets []int32
}

// A changeNote is about when a change came: in the middle of the stretch between
// the polls on both sides of it, or when the source itself says it did.
type changeNote struct {
	at    int64
	width int64 // of the stretch; 0 if the source says when
}

// remember notes a change, in place of the oldest if there are most already.
func (p *cyclicPage) remember(n changeNote, most int) {
	p.fresh++
	if len(p.notes) < most {
		p.notes = append(p.notes, n)
	} else {
		p.notes[p.oldest] = n
		p.oldest = (p.oldest + 1) % most
	}
	if p.looks.Changes >= 2*float64(most) { // older looks count ever less
		p.looks.Changes /= 2
		p.looks.Changed /= 2
		p.looks.Same /= 2
	}
}

// stale reports whether enough has happened since the source was last fitted to
// make it worth while again: an eighth of what is known.
func (p *cyclicPage) stale() bool { return 8*p.fresh > len(p.notes) }

// next returns when the source is due next after an instant.
func (p *cyclicPage) next(after int64) int64 {
	s := int64(p.cycle)
	lap, offset := after/s, int32(after%s) // instant j is at offset (j-1) mod s
	i, _ := slices.BinarySearch(p.offsets, offset)
	if i == len(p.offsets) {
		return (lap+1)*s + int64(p.offsets[0]) + 1
	}
	return lap*s + int64(p.offsets[i]) + 1
}

// The chance that changes at any time look as regular as tooRegular is about
// exp(-0.4 tooRegular), in any one period.
const (
	tooRegular = 12
	fewNotes   = 6
	harmonics  = 20
)

// fit finds the period that the source keeps to, if any. Of periods that fit
// about equally well it is the longest: a page that changes at five past nine
// every day changes also at five past the hour, but not every hour.
func (p *cyclicPage) fit(periods []int) {
	p.period, p.misses, p.fresh, p.refit = 0, p.misses[:0], 0, true
	best := float64(tooRegular)
	for _, s := range slices.Backward(periods) {
		if r := p.regularity(s); r > best*1.1 || p.period == 0 && r > best {
			p.period, best = s, r
		}
	}
}

// timely returns the notes that can tell the offset in a period: those of
// changes that were found within a quarter of it.
func (p *cyclicPage) timely(period int) []int {
	var at []int
	for _, n := range p.notes {
		if 4*n.width <= int64(period) {
			at = append(at, int(n.at))
		}
	}
	slices.Sort(at)
	return at
}

// history returns what the source did in so far as that is known: the changes
// that were found within a period, several times over, with each change at
// another place between the polls on both sides of it.
func (p *cyclicPage) history(period int) cyclic.Timeline {
	const places = 3
	var h cyclic.Timeline
	for place := range places {
		var at []int
		for _, n := range p.notes {
			if n.width <= int64(period) {
				at = append(at, int(n.at+n.width*int64(2*place+1-places)/(2*places)))
			}
		}
		slices.Sort(at)
		h.Pages = append(h.Pages, at)
	}
	return h
}

// regularity says how far the changes are from coming at any time of a period,
// by the H-test of de Jager, Swanepoel and Raubenheimer, which asks for any
// shape of regularity. It is 0 if they are too few or span less than two
// periods.
func (p *cyclicPage) regularity(period int) float64 {
	at := p.timely(period)
	n := len(at)
	if n < fewNotes || at[n-1]-at[0] < 2*period {
		return 0
	}
	var sums [harmonics]complex128
	for _, x := range at {
		turn := cmplx.Rect(1, 2*math.Pi*float64(x%period)/float64(period))
		z := turn
		for k := range sums {
			sums[k] += z
			z *= turn
		}
	}
	best, z := 0.0, 0.0
	for k, sum := range sums {
		re, im := real(sum), imag(sum)
		z += 2 * (re*re + im*im) / float64(n)
		best = max(best, z-4*float64(k))
	}
	return best
}

// spread sets offsets at equal distances, begun where the name of the source
// puts it, so that sources do not all want their polls at once.
func (p *cyclicPage) spread(period, polls int) {
	h := fnv.New64a()
	h.Write([]byte(p.id))
	gap := period / polls
	p.set(period, cyclic.Spaced(period, polls, int(h.Sum64()>>33)%max(1, gap)))
}

func (p *cyclicPage) set(period int, offsets []int) {
	p.cycle, p.offsets = period, p.offsets[:0]
	for _, b := range offsets {
		p.offsets = append(p.offsets, int32(b))
	}
}
