package sched

import (
	"slices"
	"time"
)

// A Visit is a look at a page that no source watches. It asks for a permit for each request, by a
// [Request] with the visit in it, and counts against the budget and its hosts as a poll does. It takes
// no place of a worker, and the policy learns nothing of it.
type Visit struct{ flight flight }

// VisitEnded says that a visit makes no more requests.
type VisitEnded struct{ Visit *Visit }

func (e VisitEnded) apply(now time.Time, s *Scheduler) { s.permits.endVisit(now, e.Visit) }

// requestOfVisit asks for a permit for one more request of a visit.
func (q *permitQueue) requestOfVisit(now time.Time, r Request) {
	q.budget.start(now, q.limits.Budget)
	to := q.hosts.named(r.Host)
	if !r.Part {
		q.endRequest(now, &r.Visit.flight, r)
	}
	q.pending = append(q.pending, &pendingRequest{Request: r, host: to, asked: now, notBefore: now.Add(r.Wait), home: r.Visit.flight.granted() == 0})
	q.grantAll(now)
}

// endVisit ends a visit. The requests that it holds room for count as made.
func (q *permitQueue) endVisit(now time.Time, v *Visit) {
	q.pending = slices.DeleteFunc(q.pending, func(r *pendingRequest) bool { return r.Visit == v })
	f := &v.flight
	q.budget.end(now, f.reserved, f.reserved)
	q.leave(now, f)
	v.flight = flight{}
}
