package daemon

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/worker"
)

// A passage is the way of one poll from host to host. It sees to it that every
// request has its leave from the brain and is on record before it leaves: the
// budget and the politeness hold for redirects too, and across a crash.
type passage struct {
	daemon *Daemon
	poll   freshet.Poll
	stop   <-chan struct{}  // closed when the brain answers no more
	now    func() time.Time // as the dates of the poll
	hosts  []string         // that requests have gone to, in order
	unsent bool             // the request that last had leave was not made
	early  *answer          // to the next request, which was asked for ahead
	obeys  bool             // pages are asked for only if robots.txt files allow it
	order  worker.Order     // of the poll
	robots int              // requests that were made for robots.txt files
	retry  time.Duration    // that the answer to one of them asked to wait

	patience time.Time   // until when it waits to be sure that this process decides
	granted  int         // requests of the present look that had leave, but for parts
	givenUp  atomic.Bool // the daemon stops before it is sure
}

// errStopping is what a poll gets that wants to go on while the daemon stops.
var errStopping = &freshet.FetchError{Class: freshet.FailDeferredHost, Err: errors.New("the redirect was not followed because the daemon is stopping")}

// leave returns when a request may leave. It is a Leave of [freshet.Request].
func (w *passage) leave(ctx context.Context, hop freshet.Hop) error {
	if hop.Part {
		if err := w.leavePart(ctx, freshet.HostOf(hop.URL)); err != nil {
			return err
		}
		return w.sure(ctx)
	}
	err := w.leaveWhole(ctx, hop)
	if err == nil {
		err = w.sure(ctx) // it may have taken long to put it on record
	}
	if err == nil {
		w.granted++
	}
	return err
}

// leaveWhole returns when a request for a page of its own may leave.
func (w *passage) leaveWhole(ctx context.Context, hop freshet.Hop) error {
	if early := w.early; early != nil {
		w.early = nil
		if early.url == hop.URL {
			return early.err
		}
	}
	host := freshet.HostOf(hop.URL)
	first := len(w.hosts) == 0
	if !first || host != w.poll.FirstHost() { // the decision to poll is leave for the first
		if err := w.ask(ctx, sched.Request{Source: w.poll.Source.ID, Host: host, Wait: hop.Wait, Unsent: first || w.unsent, Robots: w.robots}); err != nil {
			return err
		}
		if err := w.daemon.record.hop(ctx, w.poll, w.now(), host); err != nil {
			return err
		}
	}
	// The host may have asked another poll to stay away while this one was put on record.
	if w.daemon.wishes.away(host, w.daemon.dates.Now()) {
		if err := w.ask(ctx, sched.Request{Source: w.poll.Source.ID, Host: host, Unsent: true, Robots: w.robots}); err != nil {
			return err
		}
	}
	w.hosts, w.unsent = append(w.hosts, host), false
	return nil
}

// leavePart returns when a request for a part of the page may leave. Many may ask at
// once. It says nothing of the way of the poll, which is that of the page itself.
func (w *passage) leavePart(ctx context.Context, host string) error {
	if err := w.ask(ctx, sched.Request{Source: w.poll.Source.ID, Host: host, Part: true}); err != nil {
		return err
	}
	return w.daemon.record.hop(ctx, w.poll, w.now(), host)
}

// An answer is what a request was told before it was to leave.
type answer struct {
	url string
	err error
}

// askAhead asks for leave for the next request, so that the poll can be dated when it
// has it.
func (w *passage) askAhead(ctx context.Context, hop freshet.Hop) {
	w.early = &answer{url: hop.URL, err: w.leave(ctx, hop)}
}

// ask asks the brain and waits for its answer.
func (w *passage) ask(ctx context.Context, hop sched.Request) error {
	answer := make(chan error, 1)
	hop.Answer = func(err error) { answer <- err }
	w.daemon.inbox.post(hop)
	select {
	case err := <-answer:
		return err
	case <-w.stop:
		return errStopping
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// route returns where the requests went, for the outcome of the poll. If a host
// asked to be left alone it is named even if it is the source's own: the source
// may move, and the wish must stay with the host.
func (w *passage) route(o freshet.Outcome) freshet.Route {
	own := freshet.HostOf(w.poll.Source.URL)
	if o.NotBefore.IsZero() && !slices.ContainsFunc(w.hosts, func(h string) bool { return h != own }) {
		return ""
	}
	return freshet.Route(strings.Join(w.hosts, " "))
}
