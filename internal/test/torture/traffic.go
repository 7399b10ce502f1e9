//go:build unix

package torture

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/internal/sched"
)

// A traffic holds the servers' log of requests against what was allowed.
type traffic struct {
	rules
	budgets []allowance
	checked int // visits that were looked at
	window  []visit
	hosts   map[string]*hostLog
	polled  map[string]time.Time // when a poll of a source last came
}

// An allowance is a budget and when it may have been in force. The moment when a
// daemon takes on another one lies between the question and the answer, and
// for that long both are allowed.
type allowance struct {
	polls    float64
	from, to time.Time // to is zero while it is in force
}

// A hostLog is what is still needed of a host's visits.
type hostLog struct {
	last  visit
	aways []visit // that asked to be left alone
	slow  []visit // whose answers took a while
}

func newTraffic(r rules) traffic {
	return traffic{rules: r, budgets: []allowance{{polls: r.budget.Polls}}, hosts: map[string]*hostLog{}, polled: map[string]time.Time{}}
}

// allow notes that another budget is about to be in force. Calling the function
// that it returns says that it is.
func (t *traffic) allow(b sched.Budget) (settled func()) {
	t.budgets = append(t.budgets, allowance{polls: b.Polls, from: time.Now()})
	return sync.OnceFunc(func() {
		now := time.Now()
		for i := range t.budgets[:len(t.budgets)-1] {
			if t.budgets[i].to.IsZero() {
				t.budgets[i].to = now
			}
		}
	})
}

// most returns the largest budget in force at some moment of a stretch.
func (t *traffic) most(from, to time.Time) (polls float64) {
	for _, a := range t.budgets {
		if !a.from.After(to) && (a.to.IsZero() || !a.to.Before(from)) {
			polls = max(polls, a.polls)
		}
	}
	return polls
}

// checkTraffic looks at the requests that came since it was last called.
func (e *episode) checkTraffic() {
	t := &e.traffic
	fresh := e.web.visits.since(t.checked)
	t.checked += len(fresh)
	for _, v := range fresh {
		if v.unheard {
			e.report.excuse("request that the server came to late")
			continue
		}
		e.checkBudget(v)
		e.checkManners(v)
		e.checkWanted(v)
	}
	e.report.checked("budget", len(fresh))
	e.report.checked("politeness", len(fresh))
}

// checkBudget counts the requests in the stretch that ends with a visit. A
// stretch has its beginning and not its end, and there is no tolerance: a request
// counts for the daemon from before it leaves until a whole stretch after its
// answer is in.
func (e *episode) checkBudget(v visit) {
	t := &e.traffic
	t.window = append(t.window, v)
	per := t.budget.Per
	for v.at.Sub(t.window[0].at) >= per {
		t.window = t.window[1:]
	}
	from := v.at.Add(-per)
	if most := t.most(from, v.at); float64(len(t.window)) > most {
		if e.clockHidWhen(from, v.at) {
			e.report.excuse("budget")
			return
		}
		e.violate("budget", "%d requests in %v, want at most %g: %s", len(t.window), per, most, e.tellWindow(v.at))
	}
}

// tellWindow lists the requests of the window that ends now, and the deaths in it.
func (e *episode) tellWindow(now time.Time) string {
	var b strings.Builder
	deaths := slices.DeleteFunc(slices.Clone(e.deaths), func(d death) bool { return d.at.Before(e.traffic.window[0].at) })
	for _, v := range e.traffic.window {
		for len(deaths) > 0 && deaths[0].at.Before(v.at) {
			fmt.Fprintf(&b, " [died %v]", deaths[0].at.Sub(now))
			deaths = deaths[1:]
		}
		fmt.Fprintf(&b, " %v %s at %s", v.at.Sub(now).Round(time.Microsecond), v.source, v.host)
		switch {
		case v.left.IsZero():
			b.WriteString(" (unanswered)")
		case v.done.IsZero() || v.left.Sub(v.at) > 100*time.Millisecond:
			fmt.Fprintf(&b, " (until %v)", v.left.Sub(now).Round(time.Microsecond))
		}
		b.WriteByte(',')
	}
	return b.String()
}

// clockHidWhen reports whether a daemon started in a stretch of time whose clock
// had been set since the daemon before wrote its times down. It cannot know how
// long ago they were.
func (e *episode) clockHidWhen(from, to time.Time) bool {
	return slices.ContainsFunc(e.hidden, func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
}

// checkManners wants a host to be visited as it is owed.
func (e *episode) checkManners(v visit) {
	t := &e.traffic
	h := t.hosts[v.host]
	if h == nil {
		h = &hostLog{}
		t.hosts[v.host] = h
	}
	defer func() {
		h.last = v
		if v.away > 0 {
			h.aways = append(h.aways, v)
		}
		if !v.done.IsZero() {
			h.slow = append(h.slow, v)
		}
	}()
	h.aways = slices.DeleteFunc(h.aways, func(a visit) bool { return !a.at.Add(a.away).After(v.at) })
	h.slow = slices.DeleteFunc(h.slow, func(s visit) bool { return !s.done.After(v.at) })
	if gap := v.at.Sub(h.last.at); !h.last.at.IsZero() && gap < t.delay && !e.excusedBy(h.last.at, v.at) {
		e.violate("host delay", "two requests to %s came %v apart, want %v: %s%s for %s, then %s%s for %s",
			v.host, gap, t.delay, h.last.host, h.last.path, h.last.source, v.host, v.path, v.source)
	}
	e.checkCrowd(h, v)
	e.checkAway(h, v)
}

// checkCrowd wants no more requests to a host at once than are allowed. Only
// visits that were answered count: when a client has given up, its server hears
// of that later.
func (e *episode) checkCrowd(h *hostLog, v visit) {
	allowed := e.traffic.concurrency
	if e.traffic.delay > 0 {
		allowed = 1
	}
	if !v.done.IsZero() && len(h.slow)+1 > allowed && !e.excusedBy(h.slow[0].at, v.at) {
		e.violate("host concurrency", "%s was asked for %s while it was at %d other requests, such as %s, want %d at once", v.host, v.path, len(h.slow), h.slow[0].path, allowed)
	}
}

// checkAway wants a host that asked to be left alone to be left alone.
func (e *episode) checkAway(h *hostLog, v visit) {
	for _, a := range h.aways {
		e.report.checked("retry-after", 1)
		// Requests that had left when the answer came are no fault.
		if e.traffic.delay == 0 && v.at.Sub(a.left) < 100*time.Millisecond {
			continue
		}
		switch {
		case e.diedUnrecorded(a, v.at), e.clockHidWhen(a.at, v.at):
			e.report.excuse("retry-after")
		default:
			e.violate("retry-after", "%s was asked for %s %v after it had asked, for %s, to be left alone for %v", v.host, v.path, v.at.Sub(a.at), a.source, a.away)
		}
		return
	}
}

// diedUnrecorded reports whether a daemon died without a chance to write down an
// answer that it had just got.
func (e *episode) diedUnrecorded(a visit, until time.Time) bool {
	writing := 2 * time.Second // the poll may have had redirects to go, and the disk may have been away
	if slices.ContainsFunc(e.stalls, func(at time.Time) bool { return at.After(a.at.Add(-10*time.Second)) && at.Before(until) }) {
		writing = 10 * time.Second // it was held up by a fault, too
	}
	return slices.ContainsFunc(e.deaths, func(d death) bool {
		return d.hard && d.at.After(a.at) && d.at.Before(until) && d.at.Sub(a.at) < writing
	})
}

// excusedBy reports whether the clock was set between two visits and a restart.
func (e *episode) excusedBy(from, to time.Time) bool {
	if !e.clockHidWhen(from, to) {
		return false
	}
	e.report.excuse("politeness")
	return true
}
