package sched

import (
	"time"

	"freshet/internal/freshet"
)

// Three limits keep what the policy chooses considerate, so that a budget is a
// ceiling and not an order: the gap between two polls of a source, and the shares
// of the budget that a source and a host may take. What somebody asks for in so
// many words, a poll by hand or a source's MaxGap, counts but is not held back.

const (
	// evenShares is how many times an even share of the budget a source or a host
	// may always take. So a share throws no budget away where there are too few
	// others to spend it on.
	evenShares = 3

	// shareBurst is how many requests of a share may come close together, as when
	// a source has just changed.
	shareBurst = 10
)

// Portion returns how much of the budget a part of the sources may take when the
// operator allows a share of it; 1 means all.
func Portion(share float64, part, all int) float64 {
	if share <= 0 || share >= 1 || part <= 0 || all <= 0 {
		return 1
	}
	return min(1, max(share, evenShares*float64(part)/float64(all)))
}

// spacing returns how far apart the requests of a portion of the budget are on
// average; 0 if nothing keeps them apart.
func (s *Scheduler) spacing(portion float64) time.Duration {
	if portion >= 1 {
		return 0
	}
	const longest = 366 * freshet.Day // or a tiny budget would overflow
	return time.Duration(min(float64(longest), float64(time.Second)/(portion*s.limits.Budget.PerSecond())))
}

// sourceSpacing returns how far apart the requests of one source are on average.
func (s *Scheduler) sourceSpacing() time.Duration {
	return s.spacing(Portion(s.limits.SourceShare, 1, s.active))
}

// hostSpacing returns how far apart the requests to a host are on average. A host
// that only redirects lead to has no bound of its own: those that they come from do.
func (s *Scheduler) hostSpacing(h *host) time.Duration {
	return s.spacing(Portion(s.limits.Hosts.Share, h.sources, s.active))
}

// A meter keeps the requests of a share apart. In any stretch of time it lets
// through at most shareBurst requests more than the stretch has spacings.
type meter struct {
	full stamp // when all that was let through is paid for
}

// count lets so many requests through at now.
func (m *meter) count(now time.Time, requests int, spacing time.Duration) {
	if spacing <= 0 {
		m.full = 0
		return
	}
	m.full = stampOf(later(m.full.time(), now).Add(time.Duration(requests) * spacing))
}

// opens returns when the next request is let through; zero means at any time. That
// is never later than so many spacings after the last time as requests were made
// then: neither a spacing that was longer before nor polls by hand run up a debt.
func (m *meter) opens(last time.Time, requests int, spacing time.Duration) time.Time {
	if spacing <= 0 || m.full == 0 {
		return time.Time{}
	}
	return earlier(m.full.time().Add(-(shareBurst-1)*spacing), last.Add(time.Duration(requests)*spacing))
}

// enlist counts a source among those that share the budget, or no longer.
func (s *Scheduler) enlist(e *entry, counts bool) {
	if e.shares != nil {
		e.shares.sources--
		s.active--
		e.shares = nil
	}
	if counts {
		e.shares = e.host
		e.shares.sources++
		s.active++
	}
}

// gap returns the least time from one poll of a source to the next that the policy
// wants.
func (e *entry) gap(l *Limits) time.Duration {
	if e.source.MinGap > 0 {
		return e.source.MinGap
	}
	return l.SourceGap
}

// sourceOpens returns when the share of a source lets a poll of it through.
func (s *Scheduler) sourceOpens(e *entry) time.Time {
	return e.meter.opens(e.begun.time(), int(e.requests), s.sourceSpacing())
}

// hostOpens returns when the share of a host lets a request to it through.
func (s *Scheduler) hostOpens(h *host) time.Time {
	return h.meter.opens(h.touched, 1, s.hostSpacing(h))
}

// courteous reports whether a source may be polled at now because the policy wants it
// or, which goes by no hint, because a suspect capture wants a second look.
func (s *Scheduler) courteous(now time.Time, e *entry, cause freshet.Cause) bool {
	if gap := e.gap(&s.limits); gap > 0 && e.begun != 0 && e.begun.time().Add(gap).After(now) {
		return false
	}
	if cause == freshet.ByPolicy && s.hintUntil(e).After(now) || s.sourceOpens(e).After(now) || s.hostOpens(e.first()).After(now) {
		return false
	}
	for _, h := range e.beyond() {
		if s.hostOpens(h).After(now) {
			return false
		}
	}
	return s.groupsOpen(now, e)
}

// courtesies returns what of this holds a source back, past or not. None outlasts
// the source's MaxGap.
func (s *Scheduler) courtesies(e *entry) (holds []Hold) {
	add := func(kind HoldKind, until time.Time) {
		if until.IsZero() {
			return
		}
		if due := e.runsOut(); !due.IsZero() {
			until = earlier(until, due)
		}
		holds = append(holds, Hold{Kind: kind, Until: until})
	}
	if e.asked || e.timing != nil {
		return nil
	}
	if e.source.MinGap == 0 && s.limits.SourceGap > 0 && e.begun != 0 {
		add(HoldSourceGap, e.begun.time().Add(s.limits.SourceGap))
	}
	add(HoldHint, s.hintUntil(e))
	add(HoldSourceShare, s.sourceOpens(e))
	for _, h := range e.way() {
		add(HoldHostShare, s.hostOpens(h))
	}
	for _, g := range e.groups.all() {
		add(HoldGroupShare, s.groupOpens(g))
	}
	return holds
}

// remind sets an alarm for when the gap, the hint and the share of a source have
// passed.
func (s *Scheduler) remind(now time.Time, e *entry) {
	at := later(s.sourceOpens(e), s.hintUntil(e))
	if gap := e.gap(&s.limits); gap > 0 && e.begun != 0 {
		at = later(at, e.begun.time().Add(gap))
		if opens := later(s.sourceOpens(e), e.begun.time().Add(gap)); e.again != 0 && opens.After(now) {
			s.alarms.set(opens)
		}
	}
	if at.After(now) {
		s.alarms.set(at)
	}
}

// recount counts what was polled before the first poll, as far as it is on record.
func (s *Scheduler) recount(a freshet.Attempt) {
	requests := max(1, a.Requests)
	slot, known := s.slots.get(string(a.Source))
	if known {
		s.entries.At(slot).meter.count(a.Began, requests, s.sourceSpacing())
	}
	hosts := a.Route.Hosts()
	for _, name := range hosts {
		h := s.hostNamed(name)
		h.meter.count(a.Began, 1, s.hostSpacing(h))
	}
	if known {
		s.charge(a.Began, s.entries.At(slot), requests)
	}
	if known && len(hosts) == 0 {
		h := s.entries.At(slot).host
		h.meter.count(a.Began, requests, s.hostSpacing(h))
	}
}
