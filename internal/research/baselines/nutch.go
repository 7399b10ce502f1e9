package baselines

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/sched/ranking"
)

// NewNutch returns a policy that comes back as Apache Nutch does with its
// adaptive fetch schedule as it is shipped: the interval shrinks by a fifth
// when the page has changed and grows by two fifths when it has not, between a
// minute and a year, from thirty days. It leans towards the time of change: an
// interval shorter than the time since then becomes that time, and the next
// poll comes sooner by three tenths of it.
func NewNutch(c policy.RevisitConfig) *policy.Revisit {
	const day = 24 * time.Hour
	c, _ = c.Scaled(30*day, time.Minute, 365*day)
	return policy.NewRevisit(&nutch{cfg: c})
}

// The rates that Nutch is shipped with.
const (
	nutchShrink = 0.2
	nutchGrow   = 0.4
	nutchSync   = 0.3
)

type nutch struct {
	cfg   policy.RevisitConfig
	pages []nutchPage // by slot
}

type nutchPage struct {
	interval time.Duration
	modified int64 // when the page last changed, as far as is known; 0 if not at all
}

// Forget implements [policy.RevisitRule].
func (n *nutch) Forget(slot freshet.Slot) {
	n.pages = ranking.Grown(n.pages, slot)
	n.pages[slot] = nutchPage{interval: n.cfg.Initial}
}

// Initial implements [policy.RevisitRule].
func (n *nutch) Initial(freshet.Slot) time.Duration { return n.cfg.Initial }

// Next implements [policy.RevisitRule].
func (n *nutch) Next(slot freshet.Slot, o freshet.Outcome) time.Time {
	page := &n.pages[slot]
	interval := float64(page.interval)
	switch o.Result {
	case freshet.Changed:
		interval *= 1 - nutchShrink
		page.modified = published(o).UnixNano()
	case freshet.Unchanged:
		interval *= 1 + nutchGrow
	default:
		page.modified = published(o).UnixNano()
	}
	var delta float64
	if page.modified != 0 {
		delta = float64(o.Began.UnixNano() - page.modified)
		interval = max(interval, delta)
	}
	page.interval = n.cfg.Clamp(interval)
	return o.Began.Add(page.interval - time.Duration(nutchSync*min(delta, float64(page.interval))))
}
