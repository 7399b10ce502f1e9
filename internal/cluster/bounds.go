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

// A compromised worker could invent redirects and responses. These bounds keep its effect on other
// sources as small as that of a Web site that redirects: a poll gets permits only for the first URL
// and a bounded number of redirects, and back-off reported for a host other than the source's own
// holds only for polls of that worker.

// A requestChain is the first request of a poll and the redirects that follow it.
type requestChain struct {
	url       string // URL of the last request
	retried   bool   // the last request was permitted twice, because a connection broke
	redirects int
}

// advance reports whether a request for url may follow, with at most maxRedirects redirects in the
// chain, and adds it.
func (h *requestChain) advance(url string, maxRedirects int) bool {
	switch {
	case url == h.url && !h.retried:
		h.retried = true
		return true
	case h.redirects < maxRedirects:
		*h = requestChain{url: url, redirects: h.redirects + 1}
		return true
	}
	return false
}

// Each worker has a quota of requests beyond the first of each task. Every task adds to the quota,
// so that polls with a few redirects each never exhaust it.
const (
	maxExtraRequests     = 30
	extraRequestsPerTask = 3
)

const maxURL = 64 << 10 // bytes

// permitNext waits until a request after the first may be sent.
func (e *assignment) permitNext(ctx context.Context, hop freshet.Hop) error {
	hop.Aside, hop.Wait = false, clamp(hop.Wait, maxBackoff)
	host := freshet.HostOf(hop.URL)
	if len(hop.URL) > maxURL || host == "" || freshet.MediumOf(hop.URL) != freshet.OnWeb {
		return unexpectedRequest("the worker wants to request a URL that is not http or https")
	}
	if err := e.countRequest(hop); err != nil {
		return err
	}
	if wait := e.link.backoffs.remaining(host); wait > 0 && host != e.sourceHost() {
		return &freshet.FetchError{
			Class: failure.RetryAfter.AtTarget(), Err: fmt.Errorf("%s asked worker %s to wait for another %s", host, e.link.hello.Name, wait.Round(time.Second)),
		}
	}
	e.deadline.Stop()
	defer e.deadline.Reset(e.link.pool.requestTimeout())
	return e.permit(ctx, hop)
}

// requestTimeout returns the longest time from the permit of a request to the next permit or the
// result. It covers fetching, waiting for memory and extraction. Without it, a worker could block a
// host for other sources indefinitely.
func (h *Pool) requestTimeout() time.Duration { return 3*h.cfg.Total + h.cfg.Lease }

// countRequest returns an error if the poll may not make another request.
func (e *assignment) countRequest(hop freshet.Hop) error {
	cfg := &e.link.pool.cfg
	e.mu.Lock()
	defer e.mu.Unlock()
	if hop.Part {
		if e.parts++; !e.task.Source.Recipe.Render.On || e.parts > cfg.Parts {
			return unexpectedRequest("the worker wants to request too many subresources of a page")
		}
		return nil
	}
	if !e.chain.advance(hop.URL, cfg.Redirects) {
		return unexpectedRequest("the worker wants to make more requests than a poll has")
	}
	if !e.link.takeExtra() {
		return &freshet.FetchError{
			Class: failure.DeferredBudget, Err: fmt.Errorf("the polls of worker %s are redirected more than %d times each", e.link.hello.Name, extraRequestsPerTask),
			Hint: "change the sources to the URLs that the redirects lead to",
		}
	}
	return nil
}

func unexpectedRequest(text string) error {
	return &freshet.FetchError{Class: failure.LocalHand, Err: fmt.Errorf("%s", text)}
}

// sourceHost returns the host of the source.
func (e *assignment) sourceHost() string { return e.task.Source.Host() }

// atSourceHost reports whether the last request went to the host of the source.
func (e *assignment) atSourceHost() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return freshet.HostOf(e.chain.url) == e.sourceHost()
}

// confineToSourceHost drops what a result claims about hosts other than the source's own. Back-off
// that such a host requested holds for this source and for polls of this worker.
func (e *assignment) confineToSourceHost(f *worker.Result) {
	maps.DeleteFunc(f.HostBackoffs, func(host string, wait time.Duration) bool {
		if host == e.sourceHost() {
			return false
		}
		e.link.backoffs.add(host, wait)
		return true
	})
	switch {
	case e.atSourceHost():
	case f.Result != freshet.Failed:
		f.RetryAfter = 0
	case f.Failure.BlamesHost(), f.RetryAfter > 0:
		f.Failure = f.Failure.AtTarget()
	}
}

// backoffs records which hosts asked a worker to back off, and until when.
type backoffs struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// add records that a host asked for a pause of the length wait.
func (b *backoffs) add(host string, wait time.Duration) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.until, func(_ string, t time.Time) bool { return !t.After(now) })
	if b.until == nil {
		b.until = map[string]time.Time{}
	}
	b.until[host] = now.Add(wait)
}

// remaining returns the rest of the pause of a host.
func (b *backoffs) remaining(host string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.until[host])
}

// takeExtra takes a request from the quota and reports whether one was left.
func (l *link) takeExtra() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.extraRequests == 0 {
		return false
	}
	l.extraRequests--
	return true
}
