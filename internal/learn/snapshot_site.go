package learn

// A siteBrief is what most chores change of a site, as it was when a snapshot began. It has no
// pointers, because there may be as many as there are sites.
type siteBrief struct {
	number     uint32 // of the snapshot
	prior, sum spread
	upto, pace float64
}

// briefsAtOnce is for how many of them room is made at once.
const briefsAtOnce = 256

// hasBrief reports whether a site is kept in brief.
func (s *Snapshot) hasBrief(at *site) bool { return at.was != nil && at.was.number == s.number }

// keepSite keeps what is known of a site.
func (l *Learner) keepSite(at *site) {
	s := l.shot
	if s == nil || at.kept == s.number {
		return
	}
	at.kept = s.number
	s.scratch.data = s.scratch.data[:0]
	s.writeSite(&s.scratch, at)
	s.sites[at] = s.store(s.scratch.data)
}

// keepSiteFor keeps what is known of a site for a chore, which changes more than what is kept
// in brief or not.
func (l *Learner) keepSiteFor(at *site, more bool) {
	s := l.shot
	if more {
		l.keepSite(at)
	}
	if s == nil || at.kept == s.number || s.hasBrief(at) {
		return
	}
	s.enterSite(at)
	if len(s.briefs) == 0 {
		s.briefs = make([]siteBrief, briefsAtOnce)
	}
	at.was, s.briefs = &s.briefs[0], s.briefs[1:]
	*at.was = at.brief(s.number)
}

// writeSite writes what was known of a site that is not kept in whole.
func (s *Snapshot) writeSite(c *codec, at *site) {
	s.enterSite(at)
	write := func() {
		at.encode(c)
		at.encodeClaims(c)
		at.writeSeat(c)
	}
	if !s.hasBrief(at) {
		write()
		return
	}
	now := at.brief(0)
	at.setBrief(at.was)
	write()
	at.setBrief(&now)
	at.was = nil
}

// enterSite lets a site enter the tick that was under way when the snapshot began.
func (s *Snapshot) enterSite(at *site) {
	if s.learner.open == s.open {
		s.learner.enterSite(at)
	}
}

func (s *site) brief(number uint32) siteBrief {
	return siteBrief{number: number, prior: s.prior, sum: s.sum, upto: s.upto, pace: s.pace}
}

func (s *site) setBrief(b *siteBrief) {
	s.prior, s.sum, s.upto, s.pace = b.prior, b.sum, b.upto, b.pace
}
