package daemon

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/worker"
)

// A requestGate permits the requests of one poll. Every request has a permit of the
// leader and is recorded before it is sent: the budget and the politeness hold for
// redirects too, and across a crash.
type requestGate struct {
	daemon *Daemon
	poll   freshet.Poll
	stop   <-chan struct{}  // closed when the leader answers no more
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
func (w *requestGate) leave(ctx context.Context, hop freshet.Hop) error {
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
func (w *requestGate) leaveWhole(ctx context.Context, hop freshet.Hop) error {
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
		if err := w.daemon.recorder.hop(ctx, w.poll, w.now(), host); err != nil {
			return err
		}
	}
	// The host may have asked another poll to stay away while this one was put on record.
	if w.daemon.hostBackoffs.away(host, w.daemon.dates.Now()) {
		if err := w.ask(ctx, sched.Request{Source: w.poll.Source.ID, Host: host, Unsent: true, Robots: w.robots}); err != nil {
			return err
		}
	}
	w.hosts, w.unsent = append(w.hosts, host), false
	return nil
}

// leavePart returns when a request for a part of the page may leave. Many may ask at
// once. It says nothing of the way of the poll, which is that of the page itself.
func (w *requestGate) leavePart(ctx context.Context, host string) error {
	if err := w.ask(ctx, sched.Request{Source: w.poll.Source.ID, Host: host, Part: true}); err != nil {
		return err
	}
	return w.daemon.recorder.hop(ctx, w.poll, w.now(), host)
}

// An answer is what a request was told before it was to leave.
type answer struct {
	url string
	err error
}

// askAhead asks for leave for the next request, so that the poll can be dated when it
// has it.
func (w *requestGate) askAhead(ctx context.Context, hop freshet.Hop) {
	w.early = &answer{url: hop.URL, err: w.leave(ctx, hop)}
}

// ask asks the leader and waits for its answer.
func (w *requestGate) ask(ctx context.Context, hop sched.Request) error {
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
func (w *requestGate) route(o freshet.Outcome) freshet.Route {
	own := freshet.HostOf(w.poll.Source.URL)
	if o.NotBefore.IsZero() && !slices.ContainsFunc(w.hosts, func(h string) bool { return h != own }) {
		return ""
	}
	return freshet.Route(strings.Join(w.hosts, " "))
}

// What a poll does that is on record when this process is not sure any more that it decides, because the
// record took longer than the lease lasts.
const (
	unsureFor  = 3 * time.Minute // how long it waits at most; it counts as under way, see longestPoll
	unsureLook = 50 * time.Millisecond
)

// errUnsure is what a request gets that may not leave.
var errUnsure = &freshet.FetchError{
	Class: freshet.FailLocalUnsure, Err: errors.New("the request was not sent: this node is not sure any more that it decides"),
}

// sure returns when this process is sure that it decides, or why the poll is to wait no longer. Another one
// may decide meanwhile, and may poll: this one then stops.
func (w *requestGate) sure(ctx context.Context) error {
	right := w.daemon.cfg.Right
	if right == nil || right() > 0 {
		return nil
	}
	look := time.NewTicker(unsureLook)
	defer look.Stop()
	for right() <= 0 {
		if time.Now().After(w.patience) {
			return errUnsure
		}
		select {
		case <-look.C:
		case <-w.stop:
			w.givenUp.Store(true)
			return errUnsure
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// look has a hand look at the source. It returns what it found, and when the look began. An order of which
// nothing was sent, because this process was not sure any more that it decides, is given once more when it
// is: the source has done nothing wrong, and the request has leave and is on record.
func (w *requestGate) look(ctx context.Context) (found worker.Finding, began time.Time) {
	d, order := w.daemon, &w.order
	err := w.sure(ctx)
	order.At = w.now()
	if err == nil && w.robotsFirst(ctx) {
		order.At = w.now()
	}
	for err == nil {
		w.granted = 0
		if found = d.hand.Look(ctx, *order); !w.unsentOf(found) {
			return found, order.At
		}
		w.early = &answer{url: order.URL()}
		err = w.sure(ctx)
		order.At = w.now()
	}
	return order.Fail(err), order.At
}

// unsentOf reports whether of a look not even the first request was sent, because it was not sure that this
// process decides.
func (w *requestGate) unsentOf(found worker.Finding) bool {
	return found.Failure.Is(freshet.FailLocalUnsure) && found.Requests == 0 && w.granted == 1
}

// hostBackoffs are the hosts that asked to be left alone, and until when. The leader knows
// them too, and caps them; this is for a request that has its leave and has not left
// yet, and only has it ask again.
type hostBackoffs struct {
	mu    sync.Mutex
	until map[string]time.Time // steady
}

// note keeps a host's wish.
func (w *hostBackoffs) note(host string, now, until time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.until, func(_ string, t time.Time) bool { return !t.After(now) })
	if w.until == nil {
		w.until = map[string]time.Time{}
	}
	if until.After(w.until[host]) {
		w.until[host] = until
	}
}

// away reports whether a host is to be left alone at now.
func (w *hostBackoffs) away(host string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until[host].After(now)
}

// backOffHost leaves a host alone as it asked, from now on: before the outcome is on
// record, and whether or not it ever is.
func (d *Daemon) backOffHost(host string, length time.Duration) {
	now := d.dates.Now()
	d.inbox.post(sched.HostBackoff{Host: host, For: length})
	d.hostBackoffs.note(host, now, now.Add(length))
}
