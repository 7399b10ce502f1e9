package sched

import "time"

// Manners are what a host's robots.txt asks of those who come often. The scheduler
// wants to know them before it lets a second request to the host follow the one
// before within the longest delay that it would keep, and then once a day.

// RobotsRead is what was found in the robots.txt of a host.
type RobotsRead struct {
	Host  string
	Delay time.Duration // between two requests; 0 if it asks for none
	Read  time.Time     // when; zero means now

	// Unread says that it could not be read. What it said before holds on.
	Unread bool
}

// mannersLast is for how long what a robots.txt said holds.
const mannersLast = 24 * time.Hour

// mannersRetry is when a robots.txt that could not be read is asked for again.
const mannersRetry = time.Hour

// delayOf returns how long requests to a host are kept apart.
func (p Politeness) delayOf(h *host) time.Duration {
	return max(p.Delay, min(h.manners, p.CrawlDelay))
}

// strange reports whether a poll that begins at now has to read the robots.txt of
// the host first.
func (s *Scheduler) strange(now time.Time, h *host) bool {
	longest := s.limits.Hosts.CrawlDelay
	return longest > 0 && !h.reading && !h.touched.IsZero() && h.touched.Add(longest).After(now) &&
		(h.read.IsZero() || !h.read.Add(mannersLast).After(now))
}

// robotsRead keeps what the robots.txt of a host asks for.
func (s *Scheduler) robotsRead(now time.Time, m RobotsRead) {
	h := s.hostNamed(m.Host)
	was := s.limits.Hosts.delayOf(h)
	switch {
	case m.Unread:
		h.read = now.Add(mannersRetry - mannersLast)
	case m.Read.IsZero():
		h.read, h.manners = now, m.Delay
	default:
		h.read, h.manners = m.Read, m.Delay
	}
	if !h.told {
		h.told, s.told = true, append(s.told, h)
	}
	if s.limits.Hosts.delayOf(h) < was {
		clear(s.bars)
	}
	if !h.touched.IsZero() {
		s.alarms.set(h.touched.Add(s.limits.Hosts.delayOf(h)))
	}
}

// TakeRobots returns what the robots.txt files ask for that were read since they were last
// returned, of at most so many hosts: no poll begins meanwhile.
func (s *Scheduler) TakeRobots(most int) []RobotsRead {
	n := min(most, len(s.told))
	taken := make([]RobotsRead, n)
	for i, h := range s.told[:n] {
		h.told = false
		taken[i] = RobotsRead{Host: h.name, Delay: h.manners, Read: h.read}
	}
	if s.told = s.told[n:]; len(s.told) == 0 {
		s.told = nil
	}
	return taken
}
