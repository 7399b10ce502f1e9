package sched

import (
	"fmt"
	"time"

	"freshet/internal/freshet"
)

// A page that is rendered asks for its parts side by side: scripts, data, pictures.
// Every one of them is a request of the budget. To its hosts, the page is one visit:
// parts do not wait for a host's delay, and count until the poll is over. The page's
// own host is closed to others all that time.

// partPatience is how long a part waits for the budget. A page cannot be kept waiting
// as a redirect can: it is given up, and the next poll reserves more.
const partPatience = 5 * time.Second

// tryPart grants a part if the budget has room.
func (s *Scheduler) tryPart(now time.Time, h *pendingRequest, f *flight) bool {
	taken := f.parts
	if f.at != nil {
		taken++
	}
	if f.reserved <= taken {
		if h.tight = !s.ceiling.room(1); h.tight {
			return false
		}
		s.ceiling.begin(1)
		s.purse.left--
		f.reserved++
	}
	f.parts++
	h.host.meter.count(now, 1, s.hostSpacing(h.host))
	s.charge(now, s.entries.At(h.slot), 1)
	h.Answer(nil)
	return true
}

// refusalOfPart returns why a part is not to be waited for, nil if it is.
func (s *Scheduler) refusalOfPart(now time.Time, h *pendingRequest) error {
	f := s.entries.At(h.slot).flight
	switch {
	case h.host.notBefore.After(now):
		return deferred(freshet.FailDeferredHost, "a part of the page is at %s, which must not be polled until %s", h.Host, h.host.notBefore.UTC().Format(time.RFC3339))
	case h.tight && f.parts+1 >= s.ceiling.most:
		return tooLarge("the page makes more requests than the budget of %s allows at all", s.limits.Budget)
	case h.tight && now.Sub(h.asked) >= partPatience:
		return tooLarge("the budget of %s has no room now for all requests of the page, of which %d were made", s.limits.Budget, f.parts+1)
	}
	return nil
}

func tooLarge(format string, args ...any) error {
	return &freshet.FetchError{
		Class: freshet.FailDeferredBudget,
		Err:   fmt.Errorf(format, args...),
		Hint:  "raise the budget, or poll the page without render",
	}
}

// reserveMore has the next poll of a source set out with more room than this one had.
func (s *Scheduler) reserveMore(e *entry) {
	granted := e.flight.granted()
	e.requests = max(e.requests, int32(granted+granted/2+1))
}
