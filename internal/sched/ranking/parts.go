package ranking

import (
	"math/bits"

	"freshet/internal/freshet"
)

// Parts are rankings of some slots each. Each can be made again while the others stay as
// they are. What they offer together comes in the order in which one ranking of all slots
// would offer it. Make them with NewParts.
type Parts struct {
	bits  int // of a slot within its part
	of    []Ranking
	heads []head // scratch: a heap of the parts by the next that each has to offer, the best on top
}

// NewParts returns parts of at least size slots each.
func NewParts(size int) Parts { return Parts{bits: bits.Len(uint(max(size, 1) - 1))} }

// A head is where a part is in an offer.
type head struct {
	candidate
	part   int
	at     int // place in best of that candidate
	behind int // how many of those before it stay
}

// Len returns how many parts there are.
func (p *Parts) Len() int { return len(p.of) }

// Of returns the part of a slot.
func (p *Parts) Of(slot freshet.Slot) int { return int(slot) >> p.bits }

// within returns the place of a slot in its part.
func (p *Parts) within(slot freshet.Slot) freshet.Slot { return slot & (1<<p.bits - 1) }

// Bounds returns the first slot of a part, and the one after its last, of n.
func (p *Parts) Bounds(part, n int) (from, to int) {
	return part << p.bits, min(n, (part+1)<<p.bits)
}

// Put adds or updates a source.
func (p *Parts) Put(slot freshet.Slot, s freshet.Source) {
	for p.Of(slot) >= len(p.of) {
		p.of = append(p.of, Ranking{})
	}
	p.of[p.Of(slot)].Put(p.within(slot), s)
}

// Remove forgets a source.
func (p *Parts) Remove(slot freshet.Slot) {
	if p.Of(slot) < len(p.of) {
		p.of[p.Of(slot)].Remove(p.within(slot))
	}
}

// Land ends the poll of a source.
func (p *Parts) Land(slot freshet.Slot) { p.of[p.Of(slot)].Land(p.within(slot)) }

// Factor returns by what the worth of a source's polls is multiplied, as that of a
// [Ranking].
func (p *Parts) Factor(slot freshet.Slot) float64 {
	if p.Of(slot) >= len(p.of) {
		return 0
	}
	return p.of[p.Of(slot)].Factor(p.within(slot))
}

// Rank makes one of the parts again, by what polls of all slots are worth, when n of all
// are about to be chosen.
func (p *Parts) Rank(part int, now []float64, n int) {
	from, to := p.Bounds(part, len(now))
	r := &p.of[part]
	r.Begin((n + len(p.of) - 1) / len(p.of))
	r.Scan(now[from:to], 0, to-from)
	r.End()
}

// Offer offers the best until n have been taken or there are no more. Those refused
// stay, and are offered again when asked again.
func (p *Parts) Offer(now []float64, n int, take func(freshet.Slot, float64) bool) {
	if len(p.of) == 1 {
		p.of[0].Offer(now, n, take)
		return
	}
	p.heads = p.heads[:0]
	for part := range p.of {
		if h := (head{part: part}); p.reach(now, &h) {
			p.heads = append(p.heads, h)
		}
	}
	for at := len(p.heads)/2 - 1; at >= 0; at-- {
		p.down(at)
	}
	for taken := 0; taken < n && len(p.heads) > 0; {
		h := &p.heads[0]
		r, slot := &p.of[h.part], freshet.Slot(h.part)<<p.bits+h.slot
		if take(slot, h.worth) {
			taken++
			r.factor[h.slot] = -r.factor[h.slot]
		} else {
			r.best[h.behind] = h.candidate
			h.behind++
		}
		h.at++
		if !p.reach(now, h) {
			last := len(p.heads) - 1
			p.heads[0] = p.heads[last]
			p.heads = p.heads[:last]
		}
		p.down(0)
	}
	for i := range p.heads {
		p.close(&p.heads[i])
	}
}

// reach goes on to the next that a part has to offer. If there is none, the part is
// closed.
func (p *Parts) reach(now []float64, h *head) bool {
	from, to := p.Bounds(h.part, len(now))
	r, worth := &p.of[h.part], now[from:to]
	for ; ; h.at++ {
		if h.at == len(r.best) && !r.all {
			r.more(worth, 1)
		}
		if h.at == len(r.best) {
			p.close(h)
			return false
		}
		if c := r.best[h.at]; worth[c.slot]*r.factor[c.slot] == c.worth { // or polled, edited or removed since
			h.candidate = c
			return true
		}
	}
}

// close drops what a part has no longer to offer.
func (p *Parts) close(h *head) {
	r := &p.of[h.part]
	r.best = r.best[:h.behind+copy(r.best[h.behind:], r.best[h.at:])]
}

// before reports whether what part a has to offer comes before what b has: more worth,
// or the smaller ID.
func (p *Parts) before(a, b *head) bool {
	if a.worth != b.worth {
		return a.worth > b.worth
	}
	return p.of[a.part].ids[a.slot] < p.of[b.part].ids[b.slot]
}

func (p *Parts) down(at int) {
	for {
		best := at
		for child := 2*at + 1; child <= 2*at+2 && child < len(p.heads); child++ {
			if p.before(&p.heads[child], &p.heads[best]) {
				best = child
			}
		}
		if best == at {
			return
		}
		p.heads[at], p.heads[best] = p.heads[best], p.heads[at]
		at = best
	}
}
