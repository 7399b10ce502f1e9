package sched

import "time"

// A host is what several sources share and politeness is owed to.
type host struct {
	name      string
	flying    int
	touched   time.Time // when a poll of it last began or ended
	notBefore time.Time // it asked us to stay away, or failed too often
	away      time.Time // of that, what it asked for
	failures  int       // polls running
	heading   int       // polls under way that redirects will lead here
	sources   int       // of its own that are polled
	meter     meter     // of its share

	read    time.Time     // when its robots.txt was last read
	manners time.Duration // between two requests, as that asks
	reading bool          // a poll under way reads it
	told    bool          // what it says was told, and not taken since
}

// expects reports whether one more poll may set out that redirects will lead to
// the host. Those wait for each other before their first request; polls of the
// host's own sources do not wait for them.
func (h *host) expects(p Politeness) bool {
	return h.heading < p.Concurrency && (h.heading == 0 || p.delayOf(h) == 0)
}

// open reports whether the host may be polled at now. The delay counts from
// the end of the last poll: when the request of one under way leaves, or has
// left, is not known here, so a host that is owed a delay is polled by one.
func (h *host) open(now time.Time, p Politeness) bool {
	delay := p.delayOf(h)
	return h.flying < p.Concurrency &&
		(h.flying == 0 || delay == 0) &&
		!h.notBefore.After(now) &&
		(h.touched.IsZero() || !h.touched.Add(delay).After(now))
}

// shutUntil returns a time before which a host that is not open at now does not open,
// whatever happens but that its delay is made shorter.
func (h *host) shutUntil(now time.Time, p Politeness) time.Time {
	delay := p.delayOf(h)
	until := later(now, h.notBefore)
	if h.flying > 0 && delay > 0 { // the delay counts from the end of what is under way
		return later(until, now.Add(delay))
	}
	if !h.touched.IsZero() {
		until = later(until, h.touched.Add(delay))
	}
	return until
}

// stayAway leaves the host alone until a moment, as it asked.
func (h *host) stayAway(until time.Time) {
	h.notBefore, h.away = later(h.notBefore, until), later(h.away, until)
}
