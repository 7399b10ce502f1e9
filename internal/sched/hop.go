package sched

import (
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// A Request asks for a permit for one more request of a poll under way, because a
// redirect led on, a connection broke, the first request was for a robots.txt, or the
// one that was permitted was not sent. The answer to the request before it is in. It is
// answered once: with nil as soon as the budget and the host allow, or with a
// *freshet.FetchError of class deferred.
type Request struct {
	Source freshet.SourceID
	Host   string        // that the request goes to
	Wait   time.Duration // that the redirect asked for
	Unsent bool          // the request that was last permitted was not sent
	Robots int           // requests that the poll has made for robots.txt files so far

	// Part says that the request is for a part of a page that is being rendered. It
	// is made beside the others, and does not wait for the delay of its host.
	Part bool

	// Answer is called in the loop and must not block.
	Answer func(error)
}

// How long a poll waits for a permit to follow a redirect. The wait for the budget
// may take a whole stretch of it, within reason: nobody else gets ahead meanwhile.
const (
	hopPatience    = 30 * time.Second
	budgetPatience = 15 * time.Minute
)

// A pendingRequest is a Request that waits for its permit.
type pendingRequest struct {
	Request
	slot      freshet.Slot
	host      *host
	asked     time.Time
	notBefore time.Time // as the redirect asked
	home      bool      // it goes to where the poll began
	tight     bool      // it is the budget that it waits for
}

// A flight is where the poll under way of a source is.
type flight struct {
	at       *host   // that a request is with; nil if the poll waits to make the next
	ahead    []*host // that redirects are expected to lead it to
	robots   *host   // whose robots.txt its first request is for; nil if for none
	reserved int     // requests that it holds room for, the one under way included
	answered int     // requests before that
	rules    int     // requests for robots.txt files that it has made
	parts    int     // requests for parts of the page, which count as under way until the poll is over
	seen     bool    // the one under way is among those answered, since its server has begun to

	asked, hurry bool // of a source that was taken along, as they were then
}

// granted returns how many requests the poll has made or may still make.
func (f *flight) granted() int { return f.answered + f.reserved }

// enter lets the next request of a flight go to a host.
func (s *Scheduler) enter(now time.Time, f *flight, h *host) {
	f.at = h
	h.flying++
	h.meter.count(now, 1, s.hostSpacing(h))
	s.shut(h, now)
	if at := s.hostOpens(h); at.After(now) {
		s.alarms.set(at)
	}
}

// leave ends the request that a flight has under way.
func (s *Scheduler) leave(now time.Time, f *flight) {
	if f.at == nil {
		return
	}
	f.at.flying--
	s.shut(f.at, now)
	f.at = nil
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

// routeOf returns the hosts of a route; none if all requests went to one host, the
// source's own.
func (s *Scheduler) routeOf(r freshet.Route) *route {
	if r == "" {
		return nil
	}
	var hosts route
	for _, name := range r.Hosts() {
		hosts = append(hosts, s.hostNamed(name))
	}
	return &hosts
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

// routeOpen reports whether all hosts that a poll of a source is expected to reach
// may be polled at now.
func (s *Scheduler) routeOpen(now time.Time, e *entry) bool {
	if !e.first().open(now, s.limits.Hosts) {
		return false
	}
	for _, h := range e.beyond() {
		if !h.open(now, s.limits.Hosts) || !h.expects(s.limits.Hosts) {
			return false
		}
	}
	return true
}

// request asks for a permit for one more request of a poll under way.
func (s *Scheduler) request(now time.Time, h Request) {
	slot, ok := s.slots.get(string(h.Source))
	if !ok || !s.entries.At(slot).busy || s.entries.At(slot).aboard {
		h.Answer(deferred(freshet.FailDeferredHost, "the poll is over"))
		return
	}
	e := s.entries.At(slot)
	f := e.flight
	if h.Part {
		s.hops = append(s.hops, &pendingRequest{Request: h, slot: slot, host: s.hostNamed(h.Host), asked: now})
		s.tryHops(now)
		return
	}
	f.rules = h.Robots
	s.leave(now, f)
	if f.seen {
		f.seen = false
	} else if !h.Unsent && f.reserved > 0 { // the request before this one is answered
		s.ceiling.end(now, 1, 1)
		f.reserved--
		f.answered++
	}
	to := s.hostNamed(h.Host)
	s.hops = append(s.hops, &pendingRequest{Request: h, slot: slot, host: to, asked: now, notBefore: now.Add(h.Wait), home: to == e.first()})
	s.tryHops(now)
}

// tryHops answers the hops that can be answered at now.
func (s *Scheduler) tryHops(now time.Time) {
	if len(s.hops) == 0 {
		return
	}
	s.ceiling.forget(now)
	kept, before := s.hops[:0], 0
	for _, h := range s.hops {
		switch why := s.refusal(now, h, before); {
		case why != nil:
			s.detour(now, h)
			h.Answer(why)
		case !s.tryHop(now, h):
			kept = append(kept, h)
		}
		if !h.Part {
			before++
		}
	}
	clear(s.hops[len(kept):])
	s.hops = kept
}

// tryHop grants a hop if the host is open and the budget has room.
func (s *Scheduler) tryHop(now time.Time, h *pendingRequest) bool {
	f := s.entries.At(h.slot).flight
	h.tight = false
	if h.Part {
		return s.tryPart(now, h, f)
	}
	if h.notBefore.After(now) || !h.host.open(now, s.limits.Hosts) {
		return false
	}
	if f.reserved == 0 {
		if h.tight = !s.ceiling.room(1); h.tight {
			return false
		}
		s.ceiling.begin(1)
		s.purse.left--
		f.reserved++
	}
	s.enter(now, f, h.host)
	s.charge(now, s.entries.At(h.slot), 1)
	if i := slices.Index(f.ahead, h.host); i >= 0 {
		f.ahead = slices.Delete(f.ahead, i, i+1)
		h.host.heading--
	}
	h.Answer(nil)
	return true
}

// refusal returns why a hop is not to be waited for any longer, nil if it is. So
// many wait before it.
func (s *Scheduler) refusal(now time.Time, h *pendingRequest, before int) error {
	opens := later(h.notBefore, h.host.notBefore)
	if h.Part {
		return s.refusalOfPart(now, h)
	}
	switch {
	case opens.Sub(h.asked) > hopPatience:
		return deferred(freshet.FailDeferredHost, "%s must not be polled until %s", h.aim(), opens.UTC().Format(time.RFC3339))
	case h.tight && now.Sub(h.asked) >= s.budgetPatience():
		return &freshet.FetchError{
			Class: freshet.FailDeferredBudget,
			Err:   fmt.Errorf("the budget of %s is too small for the redirects of this source", s.limits.Budget),
			Hint:  "change the source to the URL that the redirects lead to, or raise the budget",
		}
	case !h.tight && now.Sub(h.asked) >= s.hostPatience(h.host):
		return deferred(freshet.FailDeferredHost, "%s was busy for %v", h.aim(), s.hostPatience(h.host))
	case before >= max(1, s.limits.Workers/2):
		return deferred(freshet.FailDeferredHost, "a redirect leads to %s, and too many polls are waiting for redirects", h.Host)
	}
	return nil
}

// aim names the host that the hop goes to, as the subject of a sentence.
func (h *pendingRequest) aim() string {
	if h.Unsent || h.home {
		return h.Host
	}
	return "a redirect leads to " + h.Host + ", which"
}

// hostPatience returns how long a hop waits for a host.
func (s *Scheduler) hostPatience(h *host) time.Duration {
	return hopPatience + s.limits.Hosts.delayOf(h)
}

// budgetPatience returns how long a hop waits for the budget.
func (s *Scheduler) budgetPatience() time.Duration {
	return min(s.limits.Budget.Per, budgetPatience) + hopPatience
}

// detour notes where a poll wanted to go that was not let through: the next one
// sets out when all of the way is open.
func (s *Scheduler) detour(now time.Time, h *pendingRequest) {
	e := s.entries.At(h.slot)
	if h.Part {
		s.reserveMore(e)
		return
	}
	e.requests = max(e.requests, int32(e.flight.answered+1))
	if !slices.Contains(e.route.all(), h.host) && h.host != e.first() {
		e.route = &route{e.first(), h.host}
	}
	if until := later(h.notBefore, h.host.notBefore); until.After(now) {
		e.notBefore = max(e.notBefore, stampOf(until))
	}
}

// dropHop forgets the hop that a poll of a source waits for: the poll is over.
func (s *Scheduler) dropHop(id freshet.SourceID) {
	s.hops = slices.DeleteFunc(s.hops, func(h *pendingRequest) bool { return h.Source == id })
}

// hopWake returns when a hop that waits may be granted, or is refused.
func (s *Scheduler) hopWake(now time.Time) (wake time.Time) {
	for _, h := range s.hops {
		if h.Part {
			wake = sooner(wake, h.asked.Add(partPatience))
			wake = sooner(wake, s.ceiling.opens())
			continue
		}
		if h.tight {
			wake = sooner(wake, h.asked.Add(s.budgetPatience()))
			wake = sooner(wake, s.ceiling.opens())
			continue
		}
		wake = sooner(wake, h.asked.Add(s.hostPatience(h.host)))
		at := later(h.notBefore, h.host.notBefore)
		if !h.host.touched.IsZero() {
			at = later(at, h.host.touched.Add(s.limits.Hosts.delayOf(h.host)))
		}
		if at.After(now) {
			wake = sooner(wake, at)
		}
	}
	return wake
}

func deferred(class freshet.Failure, format string, args ...any) error {
	return &freshet.FetchError{Class: class, Err: fmt.Errorf(format, args...)}
}
