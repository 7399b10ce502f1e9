package sched

import (
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// A Request asks for a permit for one more request of a poll under way, because a
// redirect led on, a connection broke, the first request was for a robots.txt, or the
// one that was permitted was not sent. The answer to the request before it is in. It is
// answered once: with nil as soon as the budget and the host allow, or with a
// *freshet.FetchError of class deferred.
type Request struct {
	Source freshet.SourceID
	Visit  *Visit        // whose request it is, instead of a source's
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

// A page that is rendered asks for its parts side by side: scripts, data, pictures.
// Every one of them is a request of the budget. To its hosts, the page is one visit:
// parts do not wait for a host's delay, and count until the poll is over. The page's
// own host is closed to others all that time.

// How long a poll waits for a permit to follow a redirect. The wait for the budget
// may take a whole stretch of it, within reason: nobody else gets ahead meanwhile.
const (
	requestPatience = 30 * time.Second
	budgetPatience  = 15 * time.Minute
)

// partPatience is how long a part waits for the budget. A page cannot be kept waiting
// as a redirect can: it is given up, and the next poll reserves more.
const partPatience = 5 * time.Second

// A permitQueue gives the polls under way permits for further requests, first come first
// served.
type permitQueue struct {
	limits  *Limits
	alarms  *alarms
	sources *sourceTable
	hosts   *hostTable
	budget  *spending
	shares  *shareTable
	pending []*pendingRequest
}

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

// target names the host that the request goes to, as the subject of a sentence.
func (r *pendingRequest) target() string {
	if r.Unsent || r.home {
		return r.Host
	}
	return "a redirect leads to " + r.Host + ", which"
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

	asked, hurry bool // of a source in a shared fetch, as they were when it began
}

// granted returns how many requests the poll has made or may still make.
func (f *flight) granted() int { return f.answered + f.reserved }

// enter lets the next request of a flight go to a host.
func (q *permitQueue) enter(now time.Time, f *flight, h *host) {
	f.at = h
	h.flying++
	h.meter.count(now, 1, q.shares.hostSpacing(h))
	q.hosts.touch(h, now)
	if at := q.shares.hostOpens(h); at.After(now) {
		q.alarms.set(at)
	}
}

// leave ends the request that a flight has under way.
func (q *permitQueue) leave(now time.Time, f *flight) {
	if f.at == nil {
		return
	}
	f.at.flying--
	q.hosts.touch(f.at, now)
	f.at = nil
}

// request asks for a permit for one more request of a poll under way, or of a visit.
func (q *permitQueue) request(now time.Time, r Request) {
	if r.Visit != nil {
		q.requestOfVisit(now, r)
		return
	}
	slot, ok := q.sources.ids.get(string(r.Source))
	if !ok || !q.sources.entries.At(slot).busy || q.sources.entries.At(slot).shared {
		r.Answer(deferred(failure.DeferredHost, "the poll is over"))
		return
	}
	e := q.sources.entries.At(slot)
	f := e.flight
	if r.Part {
		q.pending = append(q.pending, &pendingRequest{Request: r, slot: slot, host: q.hosts.named(r.Host), asked: now})
		q.grantAll(now)
		return
	}
	q.endRequest(now, f, r)
	to := q.hosts.named(r.Host)
	q.pending = append(q.pending, &pendingRequest{Request: r, slot: slot, host: to, asked: now, notBefore: now.Add(r.Wait), home: to == e.first()})
	q.grantAll(now)
}

// endRequest ends the request of a flight before r, which is answered unless it was not sent.
func (q *permitQueue) endRequest(now time.Time, f *flight, r Request) {
	f.rules = r.Robots
	q.leave(now, f)
	if f.seen {
		f.seen = false
	} else if !r.Unsent && f.reserved > 0 {
		q.budget.hard.end(now, 1, 1)
		f.reserved--
		f.answered++
	}
}

// flightOf returns the flight that a pending request belongs to, and the entry of its source, nil for a visit.
func (q *permitQueue) flightOf(r *pendingRequest) (*flight, *entry) {
	if r.Visit != nil {
		return &r.Visit.flight, nil
	}
	e := q.sources.entries.At(r.slot)
	return e.flight, e
}

// grantAll answers the requests that can be answered at now.
func (q *permitQueue) grantAll(now time.Time) {
	if len(q.pending) == 0 {
		return
	}
	q.budget.hard.forget(now)
	kept, before := q.pending[:0], 0
	for _, r := range q.pending {
		switch why := q.refusal(now, r, before); {
		case why != nil:
			q.noteRefusal(now, r)
			r.Answer(why)
		case !q.grant(now, r):
			kept = append(kept, r)
		}
		if !r.Part {
			before++
		}
	}
	clear(q.pending[len(kept):])
	q.pending = kept
}

// grant grants a request if the host is open and the budget has room.
func (q *permitQueue) grant(now time.Time, r *pendingRequest) bool {
	f, e := q.flightOf(r)
	r.tight = false
	if r.Part {
		return q.grantPart(now, r, f, e)
	}
	if r.notBefore.After(now) || !r.host.open(now, q.limits.Hosts) {
		return false
	}
	if f.reserved == 0 {
		if r.tight = !q.budget.reserveOne(); r.tight {
			return false
		}
		f.reserved++
	}
	q.enter(now, f, r.host)
	if e != nil {
		q.shares.charge(now, e, 1)
	}
	if i := slices.Index(f.ahead, r.host); i >= 0 {
		f.ahead = slices.Delete(f.ahead, i, i+1)
		r.host.heading--
	}
	r.Answer(nil)
	return true
}

// grantPart grants a part if the budget has room.
func (q *permitQueue) grantPart(now time.Time, r *pendingRequest, f *flight, e *entry) bool {
	taken := f.parts
	if f.at != nil {
		taken++
	}
	if f.reserved <= taken {
		if r.tight = !q.budget.reserveOne(); r.tight {
			return false
		}
		f.reserved++
	}
	f.parts++
	r.host.meter.count(now, 1, q.shares.hostSpacing(r.host))
	if e != nil {
		q.shares.charge(now, e, 1)
	}
	r.Answer(nil)
	return true
}

// refusal returns why a request is not to be waited for any longer, nil if it is. So
// many wait before it.
func (q *permitQueue) refusal(now time.Time, r *pendingRequest, before int) error {
	opens := later(r.notBefore, r.host.notBefore)
	if r.Part {
		return q.refusalOfPart(now, r)
	}
	switch {
	case opens.Sub(r.asked) > requestPatience:
		return deferred(failure.DeferredHost, "%s must not be polled until %s", r.target(), opens.UTC().Format(time.RFC3339))
	case r.tight && now.Sub(r.asked) >= q.budgetPatience():
		return &freshet.FetchError{
			Class: failure.DeferredBudget,
			Err:   fmt.Errorf("the budget of %s is too small for the redirects of this source", q.limits.Budget),
			Hint:  "change the source to the URL that the redirects lead to, or raise the budget",
		}
	case !r.tight && now.Sub(r.asked) >= q.hostPatience(r.host):
		return deferred(failure.DeferredHost, "%s was busy for %v", r.target(), q.hostPatience(r.host))
	case before >= max(1, q.limits.Workers/2):
		return deferred(failure.DeferredHost, "a redirect leads to %s, and too many polls are waiting for redirects", r.Host)
	}
	return nil
}

// refusalOfPart returns why a part is not to be waited for, nil if it is.
func (q *permitQueue) refusalOfPart(now time.Time, r *pendingRequest) error {
	f, _ := q.flightOf(r)
	switch {
	case r.host.notBefore.After(now):
		return deferred(failure.DeferredHost, "a part of the page is at %s, which must not be polled until %s", r.Host, r.host.notBefore.UTC().Format(time.RFC3339))
	case r.tight && f.parts+1 >= q.budget.hard.most:
		return tooLarge("the page makes more requests than the budget of %s allows at all", q.limits.Budget)
	case r.tight && now.Sub(r.asked) >= partPatience:
		return tooLarge("the budget of %s has no room now for all requests of the page, of which %d were made", q.limits.Budget, f.parts+1)
	}
	return nil
}

func deferred(class failure.Class, format string, args ...any) error {
	return &freshet.FetchError{Class: class, Err: fmt.Errorf(format, args...)}
}

func tooLarge(format string, args ...any) error {
	return &freshet.FetchError{
		Class: failure.DeferredBudget,
		Err:   fmt.Errorf(format, args...),
		Hint:  "raise the budget, or poll the page without render",
	}
}

// hostPatience returns how long a request waits for a host.
func (q *permitQueue) hostPatience(h *host) time.Duration {
	return requestPatience + q.limits.Hosts.delayOf(h)
}

// budgetPatience returns how long a request waits for the budget.
func (q *permitQueue) budgetPatience() time.Duration {
	return min(q.limits.Budget.Per, budgetPatience) + requestPatience
}

// noteRefusal notes where a poll wanted to go that was not let through: the next one
// sets out when all of the way is open.
func (q *permitQueue) noteRefusal(now time.Time, r *pendingRequest) {
	_, e := q.flightOf(r)
	if e == nil {
		return // a visit does not come back
	}
	if r.Part {
		q.reserveMore(e)
		return
	}
	e.requests = max(e.requests, int32(e.flight.answered+1))
	if !slices.Contains(e.route.all(), r.host) && r.host != e.first() {
		e.route = &route{e.first(), r.host}
	}
	if until := later(r.notBefore, r.host.notBefore); until.After(now) {
		e.notBefore = max(e.notBefore, stampOf(until))
	}
}

// reserveMore has the next poll of a source set out with more room than this one had.
func (q *permitQueue) reserveMore(e *entry) {
	granted := e.flight.granted()
	e.requests = max(e.requests, int32(granted+granted/2+1))
}

// drop forgets the request that a poll of a source waits for: the poll is over.
func (q *permitQueue) drop(id freshet.SourceID) {
	q.pending = slices.DeleteFunc(q.pending, func(r *pendingRequest) bool { return r.Visit == nil && r.Source == id })
}

// wake returns when a request that waits may be granted, or is refused.
func (q *permitQueue) wake(now time.Time) (wake time.Time) {
	for _, r := range q.pending {
		if r.Part {
			wake = sooner(wake, r.asked.Add(partPatience))
			wake = sooner(wake, q.budget.hard.opens())
			continue
		}
		if r.tight {
			wake = sooner(wake, r.asked.Add(q.budgetPatience()))
			wake = sooner(wake, q.budget.hard.opens())
			continue
		}
		wake = sooner(wake, r.asked.Add(q.hostPatience(r.host)))
		at := later(r.notBefore, r.host.notBefore)
		if !r.host.touched.IsZero() {
			at = later(at, r.host.touched.Add(q.limits.Hosts.delayOf(r.host)))
		}
		if at.After(now) {
			wake = sooner(wake, at)
		}
	}
	return wake
}

// slowTimes is how many times as many polls as there are workers may be slow, if the
// limits do not say.
const slowTimes = 8

// SlowPoll says that a poll under way waits for its server for longer than most do.
type SlowPoll struct {
	Source freshet.SourceID
	Begun  time.Time // the At of the poll: it may have ended, and another begun
	Seen   bool      // the server has begun to answer the request that is under way
}

// slowPoll lets another poll have the place of a slow one: it takes next to nothing of this
// machine, and a few servers that never answer would hold up all other sources.
//
// Once the server has begun to answer, the request has been seen, and counts against
// the budget from now on like one whose answer is in. Before that its time is
// not known.
func (s *Scheduler) slowPoll(now time.Time, w SlowPoll) {
	slot, ok := s.ids.get(string(w.Source))
	if !ok {
		return
	}
	e := s.entries.At(slot)
	if !e.busy || e.shared || e.begun != stampOf(w.Begun) {
		return
	}
	if !e.slow && s.slow < s.limits.Slow {
		e.slow = true
		s.slow++
	}
	if f := e.flight; w.Seen && !f.seen && f.at != nil && f.reserved > 0 {
		s.budget.hard.forget(now)
		s.budget.hard.end(now, 1, 1)
		f.reserved--
		f.answered++
		f.seen = true
	}
}

// working returns how many polls take the place of a worker.
func (s *Scheduler) working() int { return s.inFlight - s.slow }
