package daemon

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/worker"
)

// leavePage is leave for requests that may be for the page of a source. If the source
// obeys robots.txt files, each page that a poll asks for has to be allowed by that of its
// origin, also where redirects lead.
func (w *passage) leavePage(ctx context.Context, hop freshet.Hop) error {
	ahead := w.early != nil && w.early.url == hop.URL // it has been looked at
	if w.obeys && !ahead && !hop.Part && !hop.Aside {
		if err := w.heed(ctx, hop.URL); err != nil {
			return err
		}
	}
	return w.leave(ctx, hop)
}

// heed returns why a page is not to be asked for, or nil if it may be. It reads the
// robots.txt of the origin if need be.
func (w *passage) heed(ctx context.Context, url string) error {
	d := w.daemon
	if _, unknown := d.MayPoll(url); unknown {
		origin, _ := robots.Origin(url)
		if err := w.readRobots(ctx, origin); err != nil {
			return err
		}
	}
	return d.rules.refusal(d.dates.Now(), url, d.Agent())
}

// robotsFirst reads the robots.txt of the origin that a poll goes to first if that has to
// be known, and reports whether it did. The poll may then go on to its page, or has been
// told why not.
func (w *passage) robotsFirst(ctx context.Context) bool {
	if !w.obeys && !w.poll.Robots {
		return false
	}
	d, url := w.daemon, w.order.URL()
	origin, ok := robots.Origin(url)
	if !ok {
		return false // there is nobody to ask
	}
	_, unknown := d.MayPoll(url)
	unknown = unknown && w.obeys
	// A source that moves is asked elsewhere than the brain thinks; its next poll knows
	// where to.
	frequent := w.poll.Robots && freshet.HostOf(url) == w.poll.FirstHost()
	if !unknown && !frequent {
		return false
	}
	err := w.readRobots(ctx, origin)
	if w.obeys && err == nil {
		err = d.rules.refusal(d.dates.Now(), url, d.Agent())
	}
	switch {
	case w.retry > 0: // the poll ends, so that what the server asked for is on record
		w.early = &answer{url: url, err: &freshet.FetchError{
			Class: freshet.FailRetryAfter, Err: fmt.Errorf("the server asked, for its robots.txt, to be left alone for %v", w.retry),
		}}
	case w.obeys && err != nil:
		w.early = &answer{url: url, err: err}
	case ctx.Err() == nil:
		w.askAhead(ctx, freshet.Hop{URL: url})
	}
	return true
}

// readRobots reads the robots.txt of an origin and tells the brain of the delay that it
// asks for. It returns why nobody was asked; a file that cannot be read is no error.
func (w *passage) readRobots(ctx context.Context, origin string) error {
	d := w.daemon
	room := d.openRoom()
	defer room.close()
	order, before := w.order, len(w.hosts)
	order.Room, order.Leave = room.hold, w.leave
	m, err := d.hand.Robots(ctx, order, origin)
	w.robots += m.Requests
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.unsent = m.Requests < len(w.hosts)-before // as when there was no connection
	if m.RetryAfter > 0 && len(w.hosts) > before {
		d.stayAway(w.hosts[len(w.hosts)-1], m.RetryAfter)
		w.retry = m.RetryAfter
	}
	if err != nil {
		d.cfg.Log.Debug("robots.txt was not read", "origin", origin, "err", err)
		d.inbox.post(sched.RobotsRead{Host: freshet.HostOf(origin), Unread: true})
		return err
	}
	w.takeIn(origin, m.Answer)
	return nil
}

// takeIn takes in what a robots.txt says: its rules if the source obeys them, and for the
// brain its delay.
func (w *passage) takeIn(origin string, a robots.Answer) {
	d := w.daemon
	var heard robots.Standing
	if w.obeys {
		heard = d.rules.hear(d.dates.Now(), origin, d.Agent(), a)
	} else {
		heard = heard.Hear(d.dates.Now(), d.Agent(), a)
	}
	manners := sched.RobotsRead{Host: freshet.HostOf(origin), Unread: !heard.Down.IsZero()}
	if !manners.Unread {
		manners.Delay, _ = heard.Rules.CrawlDelay()
	}
	if manners.Delay > 0 {
		d.cfg.Log.Info("robots.txt asks for a pause between requests", "origin", origin, "crawl_delay", manners.Delay, "longest_kept", d.inForce().Hosts.CrawlDelay)
	}
	d.inbox.post(manners)
}

// overhear takes a poll of a robots.txt, which can be a source like any other, for a read
// of it, if it says what the file is now.
func (w *passage) overhear(found *worker.Finding) {
	if !w.obeys {
		return
	}
	url := w.order.URL()
	origin, ok := robots.Origin(url)
	switch {
	case !ok || url != robots.URL(origin):
	case found.Capture != nil:
		w.takeIn(origin, robots.Answer{Status: found.Status, Body: found.Capture.Raw.Body, FreshFor: found.FreshFor})
	case found.Failure.Is(freshet.FailHTTP), found.Failure.Is(freshet.FailGone):
		w.takeIn(origin, robots.Answer{Status: found.Status})
	}
}

// MayPoll says whether a page may be polled by the robots.txt of its origin, for who
// obeys it. Unknown means that the file has not been read, or not of late: a poll of a
// page of the origin that obeys reads it. To ask takes about a microsecond, so that it
// can be asked for every page that is found.
func (d *Daemon) MayPoll(url string) (v robots.Verdict, unknown bool) {
	return d.rules.ask(d.dates.Now(), url)
}

// Agent returns the name that a robots.txt may know us by.
func (d *Daemon) Agent() string {
	name, _, _ := strings.Cut(cmp.Or(d.cfg.Agent, "freshet"), "/")
	name, _, _ = strings.Cut(name, " ")
	return name
}
