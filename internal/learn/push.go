package learn

import (
	"math"

	"freshet/internal/freshet"
)

// A push is the message of a webhook or a hub that a source has changed. Where pushes have
// come for the changes of a source, it is quiet while none comes: only the changes that they
// omit are expected. How many that are is learned as for an index, from every poll of the
// source. None is taken to announce all changes: the source is still polled now and then, and
// a few changes without a push reduce the trust.
//
// Nothing is kept for a source without pushes.

// pushes are how far those who push can be believed.
type pushes struct {
	*expectations
	of  map[freshet.Slot]*trust
	all kindTrust
}

// byPush is which of the leaks of a trust is that of pushes.
const byPush = 1

// from returns the trust in the pushes of a source, which may be new.
func (p *pushes) from(slot freshet.Slot) *trust {
	t := p.of[slot]
	if t == nil {
		t = &trust{}
		t.renew(&p.all)
		if p.of == nil {
			p.of = map[freshet.Slot]*trust{}
		}
		p.of[slot] = t
	}
	return t
}

// untold returns the share of what is expected of a source of which no push would tell.
func (p *pushes) untold(slot freshet.Slot) float64 {
	if t := p.of[slot]; t != nil {
		return 1 - t.borneOut*(1-t.leaks[byPush])
	}
	return 1
}

// check learns from a poll how reliably pushes announce the changes of its source, where so
// many were expected without any word of them. It reports whether one had told of what
// the poll found, and which share of what was expected was still to be expected.
func (l *pushes) check(slot freshet.Slot, whole float64, o *freshet.Outcome, see *sighting) (told bool, open float64) {
	pushed := !o.Pushed.IsZero()
	if !pushed && l.of[slot] == nil {
		return false, 1
	}
	open = l.untold(slot)
	t, says := l.from(slot), pageHint{} // of a page that is dated
	switch {
	case pushed:
		t.bear(-math.Expm1(-whole), see.changed, &l.all)
		if !see.changed {
			return false, 1
		}
		t.leak(&says, whole, false, &l.all)
		if see.dated.n == 0 {
			l.dateByPush(slot, l.clock.at(o.Pushed), see)
		}
		return true, 1
	case see.changed && see.dated.n == 0:
		see.quiet += (1 - open) * see.exposure
		see.exposure *= open
	}
	t.leak(&says, whole, see.changed, &l.all)
	return false, open
}

// dateByPush dates a change by the push that announced it.
func (l *expectations) dateByPush(slot freshet.Slot, at float64, see *sighting) {
	last := l.pages.At(slot).last
	tick := int64(math.Floor(min(see.at, max(last, at))))
	if tick <= l.open-window {
		return
	}
	d := &see.dated
	d.n, d.all, d.since = 1, true, int64(math.Floor(last))
	d.ticks[0], d.moments[0] = tick, max(tiny, l.massOf(slot, tick))
	d.quiet = max(0, see.mass-d.moments[0])
}
