package sched

import (
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/timetable"
)

// A Hold is what keeps the next poll of a source back at some moment. Where
// several things do, it is the one that lasts longest.
type Hold struct {
	Kind     HoldKind
	Until    time.Time // when that ends; zero if time alone does not end it
	Failures int       // running, of the source or its host, if they are why

	Asked    bool                 // a poll of the source was requested
	Pushed   time.Time            // since when a push waits for a poll; zero if none does
	Push     Push                 // the last of these
	Deadline time.Time            // when the source's MaxGap runs out; zero if it has none
	Again    time.Time            // when a suspect capture wants a second look; zero if none does
	Planned  time.Time            // when its strategy has it polled; zero if it has none
	Strategy *timetable.Timetable // its own, or that of a tag; nil if there is none
	Active   *timetable.Openings  // its active hours; nil if it is polled at all hours
}

// A HoldKind is a kind of Hold.
type HoldKind uint8

// The kinds of hold. Those of the source and of its host come before those that
// all sources share.
const (
	NoHold          HoldKind = iota
	HoldUnderWay             // a poll of it is being made
	HoldPaused               // the operator wants none
	HoldHours                // outside of its active hours
	HoldBackoff              // it failed
	HoldMinGap               // its own bound
	HoldHint                 // its server says that it stays as it is
	HoldSourceGap            // the bound of all sources that have none of their own
	HoldSourceShare          // it has had its share of the budget
	HoldHostShare            // its host has had its share of the budget
	HoldGroupShare           // its site, or the sources with one of its tags, have had theirs
	HoldHostBusy             // as many polls of its host as may be are being made
	HoldHostWait             // politeness: the delay between two polls of its host
	HoldCrawlDelay           // likewise, as the host's robots.txt asks
	HoldHostAway             // its host asked to be left alone
	HoldHostDown             // its host failed several polls running
	HoldWorkers              // as many polls as may be are being made
	HoldBudget               // spent for the moment
)

var holdKinds = [...]string{
	"none", "under_way", "paused", "hours", "backoff", "min_gap",
	"hint", "source_gap", "source_share", "host_share", "group_share",
	"host_busy", "host_delay", "crawl_delay", "host_away", "host_failing", "workers", "budget",
}

// String returns the kind in a word, for programs.
func (k HoldKind) String() string {
	if int(k) >= len(holdKinds) {
		return fmt.Sprintf("unknown(%d)", k)
	}
	return holdKinds[k]
}

// String says for people what the hold is, without its end.
func (h Hold) String() string {
	switch h.Kind {
	case HoldUnderWay:
		return "a poll of it is under way"
	case HoldPaused:
		return "it is paused"
	case HoldHours:
		return "it is polled only in its active hours"
	case HoldBackoff:
		return "it is left alone after " + failedPolls(h.Failures)
	case HoldMinGap:
		return "its min_gap has not passed"
	case HoldHint:
		return "its server says that it stays fresh"
	case HoldSourceGap:
		return "it was polled a moment ago, and source_gap keeps polls of one source apart"
	case HoldSourceShare:
		return "it has had its share of the budget (source_share)"
	case HoldHostShare:
		return "its host has had its share of the budget (hosts.share)"
	case HoldGroupShare:
		return "its site, or the sources with one of its tags, have had their share of the budget (share)"
	case HoldHostBusy:
		return "another poll of its host is under way"
	case HoldHostWait:
		return "its host was polled a moment ago, and hosts.delay keeps polls of one host apart"
	case HoldCrawlDelay:
		return "the robots.txt of its host asks for a pause between requests (Crawl-delay)"
	case HoldHostAway:
		return "its host asked to be left alone"
	case HoldHostDown:
		return "its host is left alone after " + failedPolls(h.Failures)
	case HoldWorkers:
		return "as many polls as may be are under way"
	case HoldBudget:
		return "the budget is spent for the moment"
	}
	return "nothing holds it back"
}

func failedPolls(n int) string {
	if n == 1 {
		return "a failed poll"
	}
	return fmt.Sprintf("%d failed polls", n)
}

// Hold returns what keeps the next poll of a source back at now, and whether
// there is such a source. It changes nothing.
func (s *Scheduler) Hold(now time.Time, id freshet.SourceID) (Hold, bool) {
	slot, ok := s.Slot(id)
	if !ok {
		return Hold{}, false
	}
	e := s.entries.At(slot)
	h := s.holdOf(now, e)
	h.Asked, h.Deadline, h.Again = e.asked, e.runsOut(), e.again.time()
	if p := s.pushes[slot]; p != nil {
		h.Pushed, h.Push = p.at, p.Push
	}
	if e.timing != nil {
		h.Planned, h.Strategy = e.timing.next, e.timing.Timetable
	}
	if e.source.hours != nil {
		h.Active = e.source.hours.Openings
	}
	return h, true
}

// HoldAsked returns what would hold back a requested poll of a source at now, and whether there is
// such a source. It changes nothing.
func (s *Scheduler) HoldAsked(now time.Time, id freshet.SourceID) (Hold, bool) {
	slot, ok := s.Slot(id)
	if !ok {
		return Hold{}, false
	}
	e := *s.entries.At(slot) // a copy: to look is not to ask
	e.asked = true
	return s.holdOf(now, &e), true
}

func (s *Scheduler) holdOf(now time.Time, e *entry) Hold {
	switch {
	case e.busy:
		return Hold{Kind: HoldUnderWay}
	case e.source.Paused && !e.asked:
		return Hold{Kind: HoldPaused}
	}
	holds := append(e.holds(now), e.first().holds(s.limits.Hosts)...)
	for _, h := range e.beyond() {
		holds = append(holds, h.holds(s.limits.Hosts)...)
	}
	holds = append(holds, s.shares.holds(e)...)
	h := longest(now, holds)
	if h.Kind == NoHold {
		h = s.sharedHold(now, e)
	}
	return h
}

// longest returns the hold that lasts longest after now.
func longest(now time.Time, holds []Hold) (h Hold) {
	for _, other := range holds {
		if other.Until.After(now) && other.Until.After(h.Until) {
			h = other
		}
	}
	for _, other := range holds {
		if h.Kind == NoHold && other.Until.IsZero() {
			h = other
		}
	}
	return h
}

// holds returns what holds back the source itself, past or not.
func (e *entry) holds(now time.Time) (holds []Hold) {
	if opens := e.source.hours.opens(now); !e.asked && opens.After(now) {
		holds = append(holds, Hold{Kind: HoldHours, Until: opens})
	}
	if !e.asked && e.notBefore != 0 {
		holds = append(holds, Hold{Kind: HoldBackoff, Until: e.notBefore.time(), Failures: int(e.failures)})
	}
	if e.source.MinGap > 0 && e.begun != 0 && !(e.asked && e.hurry) {
		holds = append(holds, Hold{Kind: HoldMinGap, Until: e.begun.time().Add(e.source.MinGap)})
	}
	return holds
}

// holds returns what holds back all sources of a host, past or not.
func (h *host) holds(p Politeness) (holds []Hold) {
	delay := p.delayOf(h)
	if h.flying >= p.Concurrency || h.flying > 0 && delay > 0 {
		holds = append(holds, Hold{Kind: HoldHostBusy})
	}
	switch {
	case h.notBefore.IsZero():
	case h.away.Before(h.notBefore):
		holds = append(holds, Hold{Kind: HoldHostDown, Until: h.notBefore, Failures: h.failures})
	default:
		holds = append(holds, Hold{Kind: HoldHostAway, Until: h.notBefore})
	}
	switch {
	case h.touched.IsZero() || delay == 0:
	case delay > p.Delay:
		holds = append(holds, Hold{Kind: HoldCrawlDelay, Until: h.touched.Add(delay)})
	default:
		holds = append(holds, Hold{Kind: HoldHostWait, Until: h.touched.Add(delay)})
	}
	return holds
}

// sharedHold returns what holds back all sources.
func (s *Scheduler) sharedHold(now time.Time, e *entry) Hold {
	if s.working() >= s.limits.Workers {
		return Hold{Kind: HoldWorkers}
	}
	p := s.budget.bucket // a copy: to look is not to spend
	if !s.budget.started {
		p = newTokenBucket(s.limits.Budget, now)
	}
	p.fill(now)
	full, opens := s.budget.hard.full(now, s.budget.hard.atMost(int(e.requests)))
	switch {
	case full && opens.IsZero():
		return Hold{Kind: HoldBudget}
	case p.whole() <= 0:
		return Hold{Kind: HoldBudget, Until: later(p.next(), opens)}
	case full:
		return Hold{Kind: HoldBudget, Until: opens}
	}
	return Hold{}
}
