package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"freshet/internal/daemon/membudget"
	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/sched"
	"freshet/internal/worker"
)

// requestGates are what the request gates of all polls share.
type requestGates struct {
	loop     *loop
	recorder *recorder
	rules    *ruleBook
	limits   *limits
	worker   worker.Looker
	memory   *membudget.Budget    // nil means without bound
	lease    func() time.Duration // for how long this process surely leads; nil means for ever
	log      *slog.Logger
	backoffs hostBackoffs
}

// A requestGate permits the requests of one poll. Every request has a permit of the
// leader and is recorded before it is sent: the budget and the politeness hold for
// redirects too, and across a crash.
type requestGate struct {
	*requestGates
	poll   freshet.Poll
	visit  *sched.Visit     // instead of a poll of a source
	stop   <-chan struct{}  // closed when the loop answers no more
	now    func() time.Time // as the dates of the poll
	hosts  []string         // that requests have gone to, in order
	unsent bool             // the request that was last permitted was not sent
	early  *answer          // to the next request, which was asked for ahead
	obeys  bool             // pages are asked for only if robots.txt files allow it
	task   worker.Task      // of the poll
	robots int              // requests that were made for robots.txt files
	retry  time.Duration    // that the answer to one of them asked to wait

	patience time.Time   // until when it waits for the lease
	granted  int         // requests of the present look that were permitted, but for parts
	givenUp  atomic.Bool // the daemon stops before it has the lease
}

// errStopping is what a poll gets that wants to go on while the daemon stops.
var errStopping = &freshet.FetchError{Class: failure.DeferredHost, Err: errors.New("the redirect was not followed because the daemon is stopping")}

// permit returns when a request may be sent, as Leave of [freshet.Request] wants it.
func (g *requestGate) permit(ctx context.Context, hop freshet.Hop) error {
	if hop.Part {
		if err := g.permitPart(ctx, freshet.HostOf(hop.URL)); err != nil {
			return err
		}
		return g.awaitLease(ctx)
	}
	err := g.permitRequest(ctx, hop)
	if err == nil {
		err = g.awaitLease(ctx) // recording it may have taken long
	}
	if err == nil {
		g.granted++
	}
	return err
}

// permitRequest returns when a request for a page of its own may be sent.
func (g *requestGate) permitRequest(ctx context.Context, hop freshet.Hop) error {
	if early := g.early; early != nil {
		g.early = nil
		if early.url == hop.URL {
			return early.err
		}
	}
	host := freshet.HostOf(hop.URL)
	first := len(g.hosts) == 0
	if g.visit != nil || !first || host != g.poll.FirstHost() { // the decision to poll permits the first
		if err := g.askLoop(ctx, sched.Request{Source: g.poll.Source.ID, Host: host, Wait: hop.Wait, Unsent: first || g.unsent, Robots: g.robots}); err != nil {
			return err
		}
		if err := g.recorder.hop(ctx, g.poll, g.now(), host); err != nil {
			return err
		}
	}
	// The host may have asked another poll to stay away while this one was recorded.
	if g.backoffs.has(host, g.loop.dates.Now()) {
		if err := g.askLoop(ctx, sched.Request{Source: g.poll.Source.ID, Host: host, Unsent: true, Robots: g.robots}); err != nil {
			return err
		}
	}
	g.hosts, g.unsent = append(g.hosts, host), false
	return nil
}

// permitPart returns when a request for a part of the page may be sent. Many may ask at
// once. Parts do not count among the hosts that the poll visited.
func (g *requestGate) permitPart(ctx context.Context, host string) error {
	if err := g.askLoop(ctx, sched.Request{Source: g.poll.Source.ID, Host: host, Part: true}); err != nil {
		return err
	}
	return g.recorder.hop(ctx, g.poll, g.now(), host)
}

// An answer is a permit, or its refusal, that was asked for before the request.
type answer struct {
	url string
	err error
}

// askEarly asks for the permit of the next request, so that the poll is dated by when it
// has it.
func (g *requestGate) askEarly(ctx context.Context, hop freshet.Hop) {
	g.early = &answer{url: hop.URL, err: g.permit(ctx, hop)}
}

// askLoop asks the loop and waits for its answer.
func (g *requestGate) askLoop(ctx context.Context, hop sched.Request) error {
	answer := make(chan error, 1)
	hop.Visit = g.visit
	hop.Answer = func(err error) { answer <- err }
	g.loop.post(hop)
	select {
	case err := <-answer:
		return err
	case <-g.stop:
		return errStopping
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// route returns the hosts visited, for the outcome of the poll. If a host asked to be left
// alone it is named even if it is the source's own: the source may move, and the back-off
// must stay with the host.
func (g *requestGate) route(o freshet.Outcome) freshet.Route {
	own := freshet.HostOf(g.poll.Source.URL)
	if o.NotBefore.IsZero() && !slices.ContainsFunc(g.hosts, func(h string) bool { return h != own }) {
		return ""
	}
	return freshet.Route(strings.Join(g.hosts, " "))
}

// What a recorded poll does when the lease of this leader has run out meanwhile, because
// recording took longer than the lease lasts.
const (
	leaseWait = 3 * time.Minute // how long it waits at most; it counts as under way, see longestPoll
	leaseLook = 50 * time.Millisecond
)

// errNoLease is what a request gets that may not be sent.
var errNoLease = &freshet.FetchError{
	Class: failure.LocalUnsure, Err: errors.New("the request was not sent: this node no longer holds the lease of the leader"),
}

// awaitLease returns when this process holds the lease of the leader, or why the poll waits
// no longer. Another process may lead meanwhile, and may poll: this one then stops.
func (g *requestGate) awaitLease(ctx context.Context) error {
	right := g.lease
	if right == nil || right() > 0 {
		return nil
	}
	look := time.NewTicker(leaseLook)
	defer look.Stop()
	for right() <= 0 {
		if time.Now().After(g.patience) {
			return errNoLease
		}
		select {
		case <-look.C:
		case <-g.stop:
			g.givenUp.Store(true)
			return errNoLease
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// look has a worker look at the source. It returns the result, and when the look began. A
// task of which nothing was sent, because the lease had run out, is given once more when
// this process holds it again: the source is not at fault, and the request is permitted and
// recorded.
func (g *requestGate) look(ctx context.Context) (found worker.Result, began time.Time) {
	task := &g.task
	err := g.awaitLease(ctx)
	task.At = g.now()
	if err == nil && g.readRobotsFirst(ctx) {
		task.At = g.now()
	}
	for err == nil {
		g.granted = 0
		if found = g.worker.Look(ctx, *task); !g.leftUnsent(found) {
			return found, task.At
		}
		g.early = &answer{url: task.URL()}
		err = g.awaitLease(ctx)
		task.At = g.now()
	}
	return task.Fail(err), task.At
}

// leftUnsent reports whether not even the first request of a look was sent, because the
// lease had run out.
func (g *requestGate) leftUnsent(found worker.Result) bool {
	return found.Failure.Is(failure.LocalUnsure) && found.Requests == 0 && g.granted == 1
}

// permitPage is permit for requests that may be for the page of a source. If the source
// obeys robots.txt files, that of its origin has to allow each page that a poll asks for,
// also where redirects lead.
func (g *requestGate) permitPage(ctx context.Context, hop freshet.Hop) error {
	ahead := g.early != nil && g.early.url == hop.URL // it has been looked at
	if g.obeys && !ahead && !hop.Part && !hop.Aside {
		if err := g.checkRobots(ctx, hop.URL); err != nil {
			return err
		}
	}
	return g.permit(ctx, hop)
}

// checkRobots returns why a page may not be polled, or nil if it may be. It reads the
// robots.txt of the origin if need be.
func (g *requestGate) checkRobots(ctx context.Context, url string) error {
	if _, unknown := g.rules.MayPoll(url); unknown {
		origin, _ := robots.Origin(url)
		if err := g.readRobots(ctx, origin); err != nil {
			return err
		}
	}
	return g.rules.refusal(url)
}

// readRobotsFirst reads the robots.txt of the origin that a poll goes to first if that has to
// be known, and reports whether it did. The poll may then go on to its page, or has been
// told why not.
func (g *requestGate) readRobotsFirst(ctx context.Context) bool {
	if !g.obeys && !g.poll.Robots {
		return false
	}
	url := g.task.URL()
	origin, ok := robots.Origin(url)
	if !ok {
		return false // there is no such file
	}
	_, unknown := g.rules.MayPoll(url)
	unknown = unknown && g.obeys
	// A source that moves is asked elsewhere than the leader thinks; its next poll knows
	// where to.
	frequent := g.poll.Robots && freshet.HostOf(url) == g.poll.FirstHost()
	if !unknown && !frequent {
		return false
	}
	err := g.readRobots(ctx, origin)
	if g.obeys && err == nil {
		err = g.rules.refusal(url)
	}
	switch {
	case g.retry > 0: // the poll ends, so that what the server asked for is recorded
		g.early = &answer{url: url, err: &freshet.FetchError{
			Class: failure.RetryAfter, Err: fmt.Errorf("the server asked, for its robots.txt, to be left alone for %v", g.retry),
		}}
	case g.obeys && err != nil:
		g.early = &answer{url: url, err: err}
	case ctx.Err() == nil:
		g.askEarly(ctx, freshet.Hop{URL: url})
	}
	return true
}

// readRobots reads the robots.txt of an origin and tells the leader of the delay that it
// asks for. It returns why nobody was asked; a file that cannot be read is no error.
func (g *requestGate) readRobots(ctx context.Context, origin string) error {
	room := openRoom(g.memory)
	defer room.close()
	task, before := g.task, len(g.hosts)
	task.Room, task.Permit = room.hold, g.permit
	m, err := g.worker.Robots(ctx, task, origin)
	g.robots += m.Requests
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g.unsent = m.Requests < len(g.hosts)-before // as when there was no connection
	if m.RetryAfter > 0 && len(g.hosts) > before {
		g.backOffHost(g.hosts[len(g.hosts)-1], m.RetryAfter)
		g.retry = m.RetryAfter
	}
	if err != nil {
		g.log.Debug("robots.txt was not read", "origin", origin, "err", err)
		g.loop.post(sched.RobotsRead{Host: freshet.HostOf(origin), Unread: true})
		return err
	}
	g.applyRobots(origin, m.Answer)
	return nil
}

// applyRobots applies what a robots.txt says: its rules if the source obeys them, and its
// crawl delay in the loop.
func (g *requestGate) applyRobots(origin string, a robots.Answer) {
	var heard robots.Standing
	if g.obeys {
		heard = g.rules.observe(origin, a)
	} else {
		heard = heard.Hear(g.loop.dates.Now(), g.rules.Agent(), a)
	}
	manners := sched.RobotsRead{Host: freshet.HostOf(origin), Unread: !heard.Down.IsZero()}
	if !manners.Unread {
		manners.Delay, _ = heard.Rules.CrawlDelay()
	}
	if manners.Delay > 0 {
		g.log.Info("robots.txt asks for a pause between requests", "origin", origin, "crawl_delay", manners.Delay, "longest_kept", g.limits.inForce().Hosts.CrawlDelay)
	}
	g.loop.post(manners)
}

// applyRobotsSource takes a poll of a robots.txt, which can be a source like any other, for
// a read of it, if it says what the file is now.
func (g *requestGate) applyRobotsSource(found *worker.Result) {
	if !g.obeys {
		return
	}
	url := g.task.URL()
	origin, ok := robots.Origin(url)
	switch {
	case !ok || url != robots.URL(origin):
	case found.Capture != nil:
		g.applyRobots(origin, robots.Answer{Status: found.Status, Body: found.Capture.Raw.Body, FreshFor: found.FreshFor})
	case found.Failure.Is(failure.HTTP), found.Failure.Is(failure.Gone):
		g.applyRobots(origin, robots.Answer{Status: found.Status})
	}
}

// hostBackoffs are the hosts that asked to be left alone, and until when. The scheduler knows
// them too, and caps them; these only make a request that is permitted and not yet sent ask
// again.
type hostBackoffs struct {
	mu    sync.Mutex
	until map[string]time.Time // steady
}

// note keeps how long to leave a host alone.
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

// has reports whether a host is to be left alone at now.
func (w *hostBackoffs) has(host string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until[host].After(now)
}

// backOffHost leaves a host alone as it asked, from now on: before the outcome is recorded,
// and whether or not it ever is.
func (g *requestGates) backOffHost(host string, length time.Duration) {
	now := g.loop.dates.Now()
	g.loop.post(sched.HostBackoff{Host: host, For: length})
	g.backoffs.note(host, now, now.Add(length))
}
