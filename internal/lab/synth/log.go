package synth

import (
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
)

// A Request is one request as the web saw it: the outside truth about a poller.
type Request struct {
	At         time.Time        // when it arrived
	Host       string           // the virtual host; "" if it is not known
	Page       freshet.SourceID // "" if there is no such page
	ByETag     bool             // it carried If-None-Match
	ByDate     bool             // it carried If-Modified-Since
	Status     int              // of the answer
	Version    int              // that the page was at; zero if it was in trouble
	RetryAfter time.Duration
}

// An entry is a Request in 32 bytes, since a long campaign has millions.
type entry struct {
	at         int64 // nanoseconds since the start
	retryAfter time.Duration
	page, host int32 // -1 if unknown
	version    int32
	status     int16
	asked      asked
}

// asked says which conditional headers a request carried.
type asked uint8

const (
	byETag asked = 1 << iota
	byDate
)

// A log holds the requests in the order of their arrival.
type log struct {
	mu      sync.Mutex
	start   time.Time
	entries []entry
}

// arrive notes a request. The clock is read and the answer decided under the
// lock, so that the order of the log is the order of time.
func (l *log) arrive(now func() time.Time, decide func(at time.Time) entry) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := now()
	e := decide(at)
	e.at = int64(at.Sub(l.start))
	l.entries = append(l.entries, e)
	return at
}

// snapshot returns what is logged so far. Entries are never changed, so the
// slice may be read without the lock.
func (l *log) snapshot() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.entries
}

// Requests returns all requests so far in the order of their arrival.
func (w *Web) Requests() []Request {
	entries := w.log.snapshot()
	requests := make([]Request, len(entries))
	for i, e := range entries {
		requests[i] = w.request(e)
	}
	return requests
}

func (w *Web) request(e entry) Request {
	r := Request{
		At:         w.start.Add(time.Duration(e.at)),
		ByETag:     e.asked&byETag != 0,
		ByDate:     e.asked&byDate != 0,
		Status:     int(e.status),
		Version:    int(e.version),
		RetryAfter: e.retryAfter,
	}
	if e.host >= 0 {
		r.Host = w.hosts[e.host]
	}
	if e.page >= 0 {
		r.Page = w.pages[e.page].ID
	}
	return r
}

// Served returns what a page answered with a body, in the order of the
// requests: the poller has had the chance to capture these versions.
func (w *Web) Served(id freshet.SourceID) []Capture {
	p := w.byID[id]
	if p == nil {
		return nil
	}
	var served []Capture
	for _, e := range w.log.snapshot() {
		if int(e.page) == p.index && e.status == 200 {
			served = append(served, Capture{Page: id, Version: int(e.version), At: w.start.Add(time.Duration(e.at))})
		}
	}
	return served
}

// MaxInWindow returns the largest number of requests that arrived in any
// window of length d, which holds its beginning but not its end.
func (w *Web) MaxInWindow(d time.Duration) int {
	at := arrivals(w.log.snapshot())
	most, first := 0, 0
	for last := range at {
		for at[last]-at[first] >= int64(d) && first < last {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

// MinGap returns the shortest time between two requests to a host, and false
// if it has had fewer than two. Requests for pages that do not exist count.
func (w *Web) MinGap(host string) (time.Duration, bool) {
	h := int32(slices.Index(w.hosts, host))
	at := arrivals(slices.DeleteFunc(slices.Clone(w.log.snapshot()), func(e entry) bool { return e.host != h }))
	if h < 0 || len(at) < 2 {
		return 0, false
	}
	shortest := at[1] - at[0]
	for i := 2; i < len(at); i++ {
		shortest = min(shortest, at[i]-at[i-1])
	}
	return time.Duration(shortest), true
}

// Early returns the requests that came to a host after it had asked with
// Retry-After to be left alone and before that time was over.
func (w *Web) Early() []Request {
	var early []Request
	until := make([]int64, len(w.hosts))
	for _, e := range w.log.snapshot() {
		if e.host < 0 {
			continue
		}
		if e.at < until[e.host] {
			early = append(early, w.request(e))
		}
		if e.retryAfter > 0 {
			until[e.host] = max(until[e.host], e.at+int64(e.retryAfter))
		}
	}
	return early
}

// arrivals returns when requests arrived, the earliest first even if the clock
// has been set back between them.
func arrivals(entries []entry) []int64 {
	at := make([]int64, len(entries))
	for i, e := range entries {
		at[i] = e.at
	}
	slices.Sort(at)
	return at
}
