package cluster

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/worker"
)

// A worker could make up redirects and what servers say. So that this does to other sources no more than
// a Web site could that redirects: a look asks only for where redirects lead from where it is, no more often
// than it would itself, and for a host other than the source's own a worker speaks to its own looks alone.

// hops are the requests of a look, but for parts of a page in a browser.
type hops struct {
	at        string // URL of the last one
	again     bool   // it was asked for twice, because a connection broke
	redirects int
}

// next reports whether a look of so many redirects at most may ask for a URL now, and takes note.
func (h *hops) next(url string, most int) bool {
	switch {
	case url == h.at && !h.again:
		h.again = true
		return true
	case h.redirects < most:
		*h = hops{at: url, redirects: h.redirects + 1}
		return true
	}
	return false
}

// A worker has a store of requests beyond the first of each task, which grows with every task: looks that
// are all redirected a few times never use it up.
const (
	mostExtra = 30
	taskExtra = 3
)

const mostURL = 64 << 10 // bytes

// permitNext returns when a request may be sent that a worker asks for after the first.
func (e *assignment) permitNext(ctx context.Context, hop freshet.Hop) error {
	hop.Aside, hop.Wait = false, within(hop.Wait, longestAway)
	host := freshet.HostOf(hop.URL)
	if len(hop.URL) > mostURL || host == "" || freshet.MediumOf(hop.URL) != freshet.OnWeb {
		return excess("the worker asks for what is not on the Web")
	}
	if err := e.count(hop); err != nil {
		return err
	}
	if wait := e.by.backoffs.left(host); wait > 0 && host != e.ownHost() {
		return &freshet.FetchError{
			Class: failure.RetryAfter.AtTarget(), Err: fmt.Errorf("%s asked worker %s to wait for another %s", host, e.by.hello.Name, wait.Round(time.Second)),
		}
	}
	e.late.Stop()
	defer e.late.Reset(e.by.pool.longest())
	return e.permit(ctx, hop)
}

// longest returns how long a worker may take from the permit of a request to the next one, or to the result: to
// fetch, to wait for memory and to read. Otherwise it could keep a host closed to other sources for ever.
func (h *Pool) longest() time.Duration { return 3*h.cfg.Total + h.cfg.Lease }

// count returns an error if a look makes no more requests.
func (e *assignment) count(hop freshet.Hop) error {
	cfg := &e.by.pool.cfg
	e.mu.Lock()
	defer e.mu.Unlock()
	if hop.Part {
		if e.parts++; !e.task.Source.Recipe.Render.On || e.parts > cfg.Parts {
			return excess("the worker asks for more parts of a page than it may have")
		}
		return nil
	}
	if !e.hops.next(hop.URL, cfg.Redirects) {
		return excess("the worker asks for more requests than a look makes")
	}
	if !e.by.takeExtra() {
		return &freshet.FetchError{
			Class: failure.DeferredBudget, Err: fmt.Errorf("the polls of worker %s are redirected more than %d times each", e.by.hello.Name, taskExtra),
			Hint: "change the sources to the URLs that the redirects lead to",
		}
	}
	return nil
}

func excess(text string) error {
	return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("%s", text)}
}

// ownHost returns the host of the source, whose polls are this worker's.
func (e *assignment) ownHost() string { return e.task.Source.Host() }

// atOwnHost reports whether the last request was to the source's own host.
func (e *assignment) atOwnHost() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return freshet.HostOf(e.hops.at) == e.ownHost()
}

// boundHosts has what a worker says of hosts count for other sources only if it is the source's own. What
// another one asked for holds back this source, and the looks of the worker.
func (e *assignment) boundHosts(f *worker.Result) {
	maps.DeleteFunc(f.HostBackoffs, func(host string, wait time.Duration) bool {
		if host == e.ownHost() {
			return false
		}
		e.by.backoffs.note(host, wait)
		return true
	})
	switch {
	case e.atOwnHost():
	case f.Result != freshet.Failed:
		f.RetryAfter = 0
	case f.Failure.BlamesHost(), f.RetryAfter > 0:
		f.Failure = f.Failure.AtTarget()
	}
}

// backoffs are the hosts that asked a worker to be left alone, and until when.
type backoffs struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// note keeps how long a host wants to be left alone.
func (b *backoffs) note(host string, wait time.Duration) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.until, func(_ string, t time.Time) bool { return !t.After(now) })
	if b.until == nil {
		b.until = map[string]time.Time{}
	}
	b.until[host] = now.Add(wait)
}

// left returns how long a host is still to be left alone.
func (b *backoffs) left(host string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.until[host])
}

// takeExtra takes a request beyond the first of a task, and reports whether there was one.
func (l *link) takeExtra() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.extra == 0 {
		return false
	}
	l.extra--
	return true
}
