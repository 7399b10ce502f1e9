package learn

import "freshet/internal/freshet"

// A Successor is a Learner that learns the log again by another tick, while the Learner that
// it replaces goes on. From the beginning it is told of every edit of sources that its
// predecessor is told of. What remains for its owner is to put the sources that are there,
// and to tell it of the outcomes of the log.
type Successor struct {
	*Learner
	of *Learner
}

// Successor begins a replacement of the Learner with another configuration. A replacement
// that was begun before is given up.
func (l *Learner) Successor(c Config) *Successor {
	next := New(c)
	next.growTo(l.pages.Len())
	l.next = next
	return &Successor{Learner: next, of: l}
}

// Abandon gives the replacement up.
func (s *Successor) Abandon() {
	if s.of.next == s.Learner {
		s.of.next = nil
	}
}

// Replace has the predecessor know what the successor knows, and divide time as that does, if
// both have learned from the same outcomes. It reports whether they have. A snapshot that is
// under way ends.
func (s *Successor) Replace() bool {
	l, next := s.of, s.Learner
	if l.next != next || next.upto < l.upto {
		return false
	}
	for slot := range min(l.pages.Len(), next.pages.Len()) {
		next.adopt(freshet.Slot(slot), l)
	}
	next.shots, next.next = l.shots, nil
	*l = *next
	return true
}

// adopt takes over when a source was last seen, if the log does not reach back so far.
func (l *Learner) adopt(slot freshet.Slot, from *Learner) {
	p, was := l.pages.At(slot), from.pages.At(slot)
	if p.site == nil || p.kind&unseen == 0 || was.site == nil || was.kind&unseen != 0 {
		return
	}
	p.kind &^= unseen
	p.last = l.clock.at(from.clock.time(was.last))
	p.upto = p.site.clock(p.last, l.open)
}
