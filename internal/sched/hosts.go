package sched

import (
	"slices"
	"time"

	"freshet/internal/freshet"
)

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

	robotsRead time.Time     // when its robots.txt was last read
	crawlDelay time.Duration // between two requests, as that asks
	reading    bool          // a poll under way reads its robots.txt
	unsaved    bool          // its robots.txt was read since TakeRobots last returned it
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

// A hostTable keeps the hosts that requests go to, and what politeness asks for each. A host
// stays when its last source goes: its delay outlives them.
type hostTable struct {
	limits  *Limits
	alarms  *alarms
	byName  map[string]*host
	unsaved []*host // whose robots.txt was read since TakeRobots last returned it, each once
}

// named returns a host. It is not forgotten when its last source goes: the
// politeness owed to it outlives them.
func (t *hostTable) named(name string) *host {
	h := t.byName[name]
	if h == nil {
		h = &host{name: name}
		t.byName[name] = h
	}
	return h
}

// touch closes a host for its delay from a moment at which a request to it began or ended.
func (t *hostTable) touch(h *host, at time.Time) {
	h.touched = later(h.touched, at)
	if delay := t.limits.Hosts.delayOf(h); delay > 0 {
		t.alarms.set(h.touched.Add(delay))
	}
}

// HostBackoff says that a host asked for no requests for some time. It comes before
// the outcome of the poll that got the answer, which may take long to be recorded.
type HostBackoff struct {
	Host string
	For  time.Duration
}

// backOff sends a host no requests for as long as it asked.
func (t *hostTable) backOff(now time.Time, b HostBackoff) {
	until := now.Add(min(b.For, t.limits.Backoff.RetryAfter))
	t.named(b.Host).stayAway(until)
	t.alarms.set(until)
}

// The scheduler wants to know the crawl delay of a host before it lets a second request
// follow the first within the longest delay that it would keep, and then once a day.

// RobotsRead is what was found in the robots.txt of a host.
type RobotsRead struct {
	Host  string
	Delay time.Duration // between two requests; 0 if it asks for none
	Read  time.Time     // when; zero means now

	// Unread says that it could not be read. What it said before holds on.
	Unread bool
}

// robotsLast is for how long what a robots.txt said holds.
const robotsLast = 24 * time.Hour

// robotsRetry is when a robots.txt that could not be read is asked for again.
const robotsRetry = time.Hour

// delayOf returns how long requests to a host are kept apart.
func (p Politeness) delayOf(h *host) time.Duration {
	return max(p.Delay, min(h.crawlDelay, p.CrawlDelay))
}

// needsRobots reports whether a poll that begins at now has to read the robots.txt of
// the host first.
func (t *hostTable) needsRobots(now time.Time, h *host) bool {
	longest := t.limits.Hosts.CrawlDelay
	return longest > 0 && !h.reading && !h.touched.IsZero() && h.touched.Add(longest).After(now) &&
		(h.robotsRead.IsZero() || !h.robotsRead.Add(robotsLast).After(now))
}

// keepRobots keeps what the robots.txt of a host asks for, and reports whether its delay is
// shorter than before.
func (t *hostTable) keepRobots(now time.Time, r RobotsRead) (shorter bool) {
	h := t.named(r.Host)
	was := t.limits.Hosts.delayOf(h)
	switch {
	case r.Unread:
		h.robotsRead = now.Add(robotsRetry - robotsLast)
	case r.Read.IsZero():
		h.robotsRead, h.crawlDelay = now, r.Delay
	default:
		h.robotsRead, h.crawlDelay = r.Read, r.Delay
	}
	if !h.unsaved {
		h.unsaved, t.unsaved = true, append(t.unsaved, h)
	}
	if !h.touched.IsZero() {
		t.alarms.set(h.touched.Add(t.limits.Hosts.delayOf(h)))
	}
	return t.limits.Hosts.delayOf(h) < was
}

func (t *hostTable) takeRobots(most int) []RobotsRead {
	n := min(most, len(t.unsaved))
	taken := make([]RobotsRead, n)
	for i, h := range t.unsaved[:n] {
		h.unsaved = false
		taken[i] = RobotsRead{Host: h.name, Delay: h.crawlDelay, Read: h.robotsRead}
	}
	if t.unsaved = t.unsaved[n:]; len(t.unsaved) == 0 {
		t.unsaved = nil
	}
	return taken
}

// A route is the hosts that the requests of a poll went to, in order.
type route []*host

// all returns the hosts; none if there is no route.
func (r *route) all() route {
	if r == nil {
		return nil
	}
	return *r
}

// routeOf returns the hosts of a route; none if all requests went to one host, the
// source's own.
func (t *hostTable) routeOf(r freshet.Route) *route {
	if r == "" {
		return nil
	}
	var hosts route
	for _, name := range r.Hosts() {
		hosts = append(hosts, t.named(name))
	}
	return &hosts
}

// first returns the host that the next poll of a source goes to first.
func (e *entry) first() *host {
	if r := e.route.all(); len(r) > 0 {
		return r[0]
	}
	return e.host
}

// last returns the host that answered the last poll of a source.
func (e *entry) last() *host {
	if r := e.route.all(); len(r) > 0 {
		return r[len(r)-1]
	}
	return e.host
}

// beyond returns the hosts that redirects of a source are expected to lead to, each
// once, without the first.
func (e *entry) beyond() (hosts []*host) {
	for _, h := range e.route.all() {
		if h != e.first() && !slices.Contains(hosts, h) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// way returns the hosts that a poll of a source is expected to reach, each once.
func (e *entry) way() []*host { return append([]*host{e.first()}, e.beyond()...) }

// routeOpen reports whether all hosts that a poll of a source is expected to reach
// may be polled at now.
func (t *hostTable) routeOpen(now time.Time, e *entry) bool {
	if !e.first().open(now, t.limits.Hosts) {
		return false
	}
	for _, h := range e.beyond() {
		if !h.open(now, t.limits.Hosts) || !h.expects(t.limits.Hosts) {
			return false
		}
	}
	return true
}
