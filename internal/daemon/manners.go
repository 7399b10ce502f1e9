package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
)

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

// keepManners keeps what is known of robots.txt files, if there is news.
func (b *brain) keepManners(ctx context.Context, inLoop func(func()) error) {
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

// recallManners tells the scheduler what was kept of robots.txt files. What cannot be
// read is read anew from the hosts.
func (b *brain) recallManners(ctx context.Context, r *recall) error {
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
		if err := b.rules.recall(belief.Memory, r); err != nil {
			b.log.Warn("cannot read what robots.txt files allow; they are read anew", "err", err)
		}
	}
	return nil
}
