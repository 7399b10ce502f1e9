package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/worker"
)

// leavePage is leave for requests that may be for the page of a source. If the source
// obeys robots.txt files, each page that a poll asks for has to be allowed by that of its
// origin, also where redirects lead.
func (w *requestGate) leavePage(ctx context.Context, hop freshet.Hop) error {
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
func (w *requestGate) heed(ctx context.Context, url string) error {
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
func (w *requestGate) robotsFirst(ctx context.Context) bool {
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
	// A source that moves is asked elsewhere than the leader thinks; its next poll knows
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

// readRobots reads the robots.txt of an origin and tells the leader of the delay that it
// asks for. It returns why nobody was asked; a file that cannot be read is no error.
func (w *requestGate) readRobots(ctx context.Context, origin string) error {
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
		d.backOffHost(w.hosts[len(w.hosts)-1], m.RetryAfter)
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
// leader its delay.
func (w *requestGate) takeIn(origin string, a robots.Answer) {
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
func (w *requestGate) overhear(found *worker.Finding) {
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

// robotsBelief is the estimator under which it is kept what robots.txt files said, so
// that they are not read anew at every start.
const robotsBelief = "robots"

// A keptManners is what is kept of the robots.txt of a host.
type keptManners struct {
	Host  string        `json:"host"`
	Delay time.Duration `json:"delay,omitempty"`
	Read  time.Time     `json:"read"`
}

// manners are what the scheduler has told of robots.txt files so far.
type manners struct {
	hosts map[string]sched.RobotsRead
	news  bool // there are some that are not kept yet
}

// mannersAtOnce is of how many hosts it is taken down within the loop at a time what is known of them.
const mannersAtOnce = 500

// take takes down what was told since. Within the loop it does so for a few hosts at a time: nothing begins meanwhile.
func (m *manners) take(s *sched.Scheduler, inLoop func(func()) error) error {
	for {
		var told []sched.RobotsRead
		if err := inLoop(func() { told = s.TakeRobots(mannersAtOnce) }); err != nil {
			return err
		}
		for _, t := range told {
			m.hosts[t.Host], m.news = t, true
		}
		if len(told) < mannersAtOnce {
			return nil
		}
	}
}

// list returns what is to be kept, in the order of hosts.
func (m *manners) list(dates *dates) []keptManners {
	list := make([]keptManners, 0, len(m.hosts))
	for _, t := range m.hosts {
		list = append(list, keptManners{Host: t.Host, Delay: t.Delay, Read: dates.Date(t.Read)})
	}
	slices.SortFunc(list, func(a, b keptManners) int { return cmp.Compare(a.Host, b.Host) })
	return list
}

// saveRobots keeps what is known of robots.txt files, if there is news.
func (b *leader) saveRobots(ctx context.Context, inLoop func(func()) error) {
	if err := b.rules.keep(ctx, b.store, b.dates); err != nil && ctx.Err() == nil {
		b.log.Error("cannot save what robots.txt files allow", "err", err)
	}
	if b.manners.take(b.sched, inLoop) != nil || !b.manners.news {
		return
	}
	memory, err := json.Marshal(b.manners.list(b.dates))
	if err == nil {
		err = b.store.SaveBeliefs(ctx, []freshet.Belief{{Estimator: robotsBelief, Memory: withChecksum(memory)}})
	}
	if err != nil {
		if ctx.Err() == nil {
			b.log.Error("cannot save what robots.txt files say", "err", err)
		}
		return
	}
	b.manners.news = false
}

// restoreRobots tells the scheduler what was kept of robots.txt files. What cannot be
// read is read anew from the hosts.
func (b *leader) restoreRobots(ctx context.Context, r *clockRecovery) error {
	for belief, err := range b.store.Beliefs(ctx, robotsBelief) {
		if err != nil {
			return err
		}
		var list []keptManners
		memory, err := verified(belief.Memory)
		if err == nil {
			err = json.Unmarshal(memory, &list)
		}
		if err != nil {
			b.log.Warn("cannot read what robots.txt files said", "err", err)
			continue
		}
		for _, m := range list {
			b.sched.Apply(r.now, sched.RobotsRead{Host: m.Host, Delay: m.Delay, Read: m.Read.Add(r.shift(m.Read))})
		}
	}
	b.manners = manners{hosts: map[string]sched.RobotsRead{}}
	if err := b.manners.take(b.sched, func(f func()) error { f(); return nil }); err != nil {
		return err
	}
	b.manners.news = false // that is where they come from
	for belief, err := range b.store.Beliefs(ctx, rulesBelief) {
		if err != nil {
			return err
		}
		if err := b.rules.restore(belief.Memory, r); err != nil {
			b.log.Warn("cannot read what robots.txt files allow; they are read anew", "err", err)
		}
	}
	return nil
}

// A ruleBook is what robots.txt files say, by origin: scheme, host and port. It knows
// those that somebody obeys.
type ruleBook struct {
	mu      sync.Mutex
	origins map[string]robots.Standing
	news    bool // since it was last kept
}

func newRuleBook() *ruleBook { return &ruleBook{origins: map[string]robots.Standing{}} }

// ask says whether a page may be asked for at now by the robots.txt of its origin.
// Unknown means that the file has to be read first. What is not on the Web may be asked
// for, as nobody has rules for it, and so may the file itself.
func (b *ruleBook) ask(now time.Time, url string) (v robots.Verdict, unknown bool) {
	origin, ok := robots.Origin(url)
	if !ok || url == robots.URL(origin) {
		return robots.Verdict{Allowed: true}, false
	}
	b.mu.Lock()
	known := b.origins[origin]
	b.mu.Unlock()
	return known.Verdict(now, url), known.Due(now)
}

// hear takes in how a read of the robots.txt of an origin ended.
func (b *ruleBook) hear(now time.Time, origin, agent string, a robots.Answer) robots.Standing {
	b.mu.Lock()
	known := b.origins[origin]
	b.mu.Unlock()
	heard := known.Hear(now, agent, a)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.origins[origin], b.news = heard, true
	return heard
}

// refusal returns why a page is not asked for, or nil if it may be.
func (b *ruleBook) refusal(now time.Time, url, agent string) error {
	v, _ := b.ask(now, url)
	origin, _ := robots.Origin(url)
	switch {
	case v.Allowed:
		return nil
	case v.Unreachable:
		return &freshet.FetchError{
			Class: freshet.FailRobotsUnreachable, Hint: robotsHint,
			Err: fmt.Errorf("%s cannot be read, and until then nothing may be polled there", robots.URL(origin)),
		}
	}
	return &freshet.FetchError{
		Class: freshet.FailRobotsDisallow, Hint: robotsHint,
		Err: fmt.Errorf("%s disallows the page for %s: line %d says %q", robots.URL(origin), agent, v.Rule.Line, v.Rule),
	}
}

const robotsHint = "robots: ignore of the source polls it all the same"

// What is kept of robots.txt files.
const (
	rulesBelief = "robots.rules"      // the estimator under which it is
	mostRules   = 5000                // of a file; one with more is read anew after a restart
	rulesAtOnce = 500                 // files that are taken down while polls wait
	keptCopies  = 30 * 24 * time.Hour // after a file had to be read again
)

// keep keeps what robots.txt files say, if there is news.
func (b *ruleBook) keep(ctx context.Context, store freshet.BeliefStore, dates *dates) error {
	b.mu.Lock()
	news, now := b.news, dates.Now()
	b.news = false
	kept := make(map[string]robots.Standing, len(b.origins))
	seen := 0
	for origin, s := range b.origins {
		if seen++; seen%rulesAtOnce == 0 { // what is heard meanwhile is news for the next time
			b.mu.Unlock()
			b.mu.Lock()
		}
		if now.Sub(s.Until) > keptCopies {
			delete(b.origins, origin)
		} else if s.Rules.Len() <= mostRules {
			kept[origin] = s.Shifted(dates.Date(now).Sub(now))
		}
	}
	b.mu.Unlock()
	if !news {
		return nil
	}
	memory, err := json.Marshal(kept)
	if err == nil {
		err = store.SaveBeliefs(ctx, []freshet.Belief{{Estimator: rulesBelief, Memory: withChecksum(memory)}})
	}
	if err != nil {
		b.mu.Lock()
		b.news = true
		b.mu.Unlock()
	}
	return err
}

// restore takes up what was kept. A time that cannot be is not gone by: the file is read
// anew.
func (b *ruleBook) restore(memory []byte, r *clockRecovery) error {
	memory, err := verified(memory)
	kept := map[string]robots.Standing{}
	if err == nil {
		err = json.Unmarshal(memory, &kept)
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for origin, s := range kept {
		when := s.Read
		if when.IsZero() {
			when = s.Down
		}
		if s = s.Shifted(r.shift(when)); s.Until.Sub(r.now) > freshet.Day {
			s.Until = r.now
		}
		b.origins[origin] = s
	}
	return nil
}
