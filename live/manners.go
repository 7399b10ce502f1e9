package live

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"freshet"
	"freshet/hand"
	"freshet/robots"
	"freshet/sched"
)

// heedRobots reads the robots.txt of the host that a poll goes to, tells the brain of
// the delay that it asks for, and waits until the poll may go on to its page. It
// returns how many requests that took.
func (d *Daemon) heedRobots(ctx context.Context, order hand.Order, way *passage) int {
	host := freshet.HostOf(order.URL())
	if host != way.poll.FirstHost() { // the source moves; its next poll knows where to
		return 0
	}
	room := d.openRoom()
	defer room.close()
	order.Room = room.hold
	origin, ok := robots.Origin(order.URL())
	if !ok {
		return 0 // there is nobody to ask
	}
	m, err := d.hand.Robots(ctx, order, origin)
	if ctx.Err() != nil {
		return m.Requests
	}
	if err != nil {
		d.cfg.Log.Debug("robots.txt was not read", "host", host, "err", err)
	}
	if m.RetryAfter > 0 && len(way.hosts) > 0 {
		d.stayAway(way.hosts[len(way.hosts)-1], m.RetryAfter)
	}
	heard := robots.Standing{}.Hear(d.dates.Now(), d.Agent(), m.Answer)
	delay, _ := heard.Rules.CrawlDelay()
	if delay > 0 {
		d.cfg.Log.Info("robots.txt asks for a pause between requests", "host", host, "crawl_delay", delay, "longest_kept", d.inForce().Hosts.CrawlDelay)
	}
	d.inbox.post(sched.Event{Manners: &sched.Manners{Host: host, Delay: delay, Unread: heard.Read.IsZero()}})
	way.unsent = m.Requests < len(way.hosts) // as when there was no connection
	way.askAhead(ctx, freshet.Hop{URL: order.URL()})
	return m.Requests
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

// keepManners keeps what is known of robots.txt files, if it is news.
func (b *brain) keepManners(ctx context.Context, known []sched.Manners) {
	if slices.Equal(known, b.manners) || len(known) == 0 {
		return
	}
	var list []keptManners
	for _, m := range known {
		list = append(list, keptManners{Host: m.Host, Delay: m.Delay, Read: b.dates.Date(m.Read)})
	}
	memory, err := json.Marshal(list)
	if err == nil {
		err = b.store.SaveBeliefs(ctx, []freshet.Belief{{Estimator: robotsBelief, Memory: sealed(memory)}})
	}
	if err != nil {
		if ctx.Err() == nil {
			b.log.Error("cannot save what robots.txt files say", "err", err)
		}
		return
	}
	b.manners = known
}

// recallManners tells the scheduler what was kept of robots.txt files. What cannot be
// read is read anew from the hosts.
func (b *brain) recallManners(ctx context.Context, r *recall) error {
	for belief, err := range b.store.Beliefs(ctx, robotsBelief) {
		if err != nil {
			return err
		}
		var list []keptManners
		memory, err := unsealed(belief.Memory)
		if err == nil {
			err = json.Unmarshal(memory, &list)
		}
		if err != nil {
			b.log.Warn("cannot read what robots.txt files said", "err", err)
			continue
		}
		for _, m := range list {
			b.sched.Manners(r.now, sched.Manners{Host: m.Host, Delay: m.Delay, Read: m.Read.Add(r.shift(m.Read))})
		}
	}
	b.manners = b.sched.AllManners()
	return nil
}
