package live

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"freshet"
	"freshet/sched"
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

// keepManners keeps what is known of robots.txt files, if it is news.
func (b *brain) keepManners(ctx context.Context, known []sched.Manners) {
	if err := b.rules.keep(ctx, b.store, b.dates); err != nil && ctx.Err() == nil {
		b.log.Error("cannot save what robots.txt files allow", "err", err)
	}
	sortManners(known)
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

// sortManners puts manners in the order of their hosts.
func sortManners(all []sched.Manners) {
	slices.SortFunc(all, func(a, b sched.Manners) int { return cmp.Compare(a.Host, b.Host) })
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
	sortManners(b.manners)
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
