package learn

import "freshet/internal/freshet"

// A Successor is a Learner that learns the log again with another tick, while the Learner that
// it replaces continues. It receives every edit of a source that its predecessor receives. Its
// owner adds the sources that exist at the start, and feeds it the outcomes of the log.
type Successor struct {
	*Learner
	of *Learner
}

// Successor begins a replacement of the Learner with another configuration. It abandons an
// earlier replacement.
func (l *Learner) Successor(c Config) *Successor {
	next := New(c)
	next.growTo(l.pages.Len())
	l.next = next
	return &Successor{Learner: next, of: l}
}

// Abandon ends the replacement.
func (s *Successor) Abandon() {
	if s.of.next == s.Learner {
		s.of.next = nil
	}
}

// Replace copies the state of the successor into its predecessor if both have learned from the
// same outcomes, and reports whether they have. It ends a snapshot that is in progress.
func (s *Successor) Replace() bool {
	l, next := s.of, s.Learner
	if l.next != next || next.upto < l.upto {
		return false
	}
	for slot := range min(l.pages.Len(), next.pages.Len()) {
		next.adopt(freshet.Slot(slot), l)
	}
	next.shots, next.next = l.shots, nil
	for slot, t := range l.taught { // in the ticks of the successor
		if _, told := next.taught[slot]; !told {
			t.last *= l.clock.seconds() / next.clock.seconds()
			next.taught[slot] = t
		}
	}
	*l = *next
	return true
}

// adopt copies when a source was last seen, if the log does not reach back that far.
func (l *Learner) adopt(slot freshet.Slot, from *Learner) {
	p, was := l.pages.At(slot), from.pages.At(slot)
	if p.site == nil || p.kind&unseen == 0 || was.site == nil || was.kind&unseen != 0 {
		return
	}
	p.kind &^= unseen
	p.last = l.clock.at(from.clock.time(was.last))
	p.upto = p.site.clock(p.last, l.open)
}
