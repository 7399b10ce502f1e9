package learn

import (
	"math"

	"freshet/internal/freshet"
)

// A learner adds up what it thinks of sources in the order of their slots, and renews what it thinks of
// sites in the order in which they lie. Sums of floating-point numbers depend on that. So a saved state says in which
// slot each source lay and at which place each site: sources that are put there again make the learner go on
// to the bit, however many came and went before.

// SlotsOf returns how many slots there were when a state was saved, empty ones too, by what was saved of all sources
// together. It reports false for a state that does not say, or is none.
func SlotsOf(common []byte) (slots int, ok bool) {
	c := &codec{data: common}
	version, n := int64(0), int64(0)
	c.int(&version)
	c.int(&n)
	if c.bad || version != stateVersion || n < 0 || n > math.MaxInt32 {
		return 0, false
	}
	return int(n), true
}

// SeatOf returns in which slot a source lay, by what was saved of it in a state of which SlotsOf says
// how many there were.
func SeatOf(memory []byte) (slot freshet.Slot, ok bool) {
	c := &codec{data: memory}
	c.slot(&slot)
	return slot, !c.bad
}

// MakeRoom makes so many slots, most of which sources are about to be put in.
func (l *Learner) MakeRoom(slots int) {
	for l.pages.Len() < slots {
		l.pages.Add(page{})
		l.minds.Add(mind{})
		l.counts.Add(count{})
		l.minutely.of, l.announced.of = append(l.minutely.of, nil), append(l.announced.of, nil)
	}
}

// writeSeat writes at which place a site lies, and by which tags it goes.
func (s *site) writeSeat(c *codec) {
	place, tagged := int64(s.place), s.family != nil
	c.int(&place)
	if c.flag(&tagged); tagged {
		c.text(&s.family.key)
	}
}

// readSiteSeat puts a site at the place where it lay, with the tags by which it went. All that are read have
// places of their own, so that none is moved again.
func (l *population) readSiteSeat(c *codec, s *site) {
	place, tagged, key := int64(0), false, ""
	c.int(&place)
	if c.flag(&tagged); tagged {
		c.text(&key)
	}
	if c.bad = c.bad || place < 0; c.bad {
		return
	}
	if tagged {
		s.join(l.familyNamed(key))
	} else {
		s.join(nil)
	}
	if place < int64(len(l.sites)) { // some may have gone since
		other := l.sites[place]
		l.sites[s.place], other.place = other, s.place
		l.sites[place], s.place = s, int(place)
	}
}
