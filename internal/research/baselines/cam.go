package baselines

import (
	"cmp"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/ranking"
)

// CAM allocates polls for a whole epoch ahead: of all pairs of a source and an
// instant it takes those where a change is likeliest, times the source's weight
// and per its cost, as many as there are polls in the epoch, and polls each at
// its instant (Pandey, Ramamritham and Chakrabarti, "Monitoring the dynamic web
// to respond to continuous queries", 2003). Where more pairs fall on an instant
// than it has polls, the least are dropped, or wait for the next instants if
// that is allowed.
//
// It is the measure that WIC was held to. The published paper leaves open how
// allocated pairs become a schedule; this is a reconstruction.
//
// Make one with NewCAM.
type CAM struct {
	conf CAMConfig
	grid ranking.Instants

	ids    []freshet.SourceID // by slot
	factor []float64          // by slot: weight over price; 0 if not to be polled
	met    []int64            // by slot: the instant at which it was last due

	epoch   int64     // the one that is planned, from 1; 0 before the first
	plan    []visit   // of the epoch, by instant, not yet due
	due     []visit   // of the present instant, the most worth first
	reached int64     // the present instant
	chance  []float64 // scratch
}

// A CAMConfig says how CAM plans. The zero CAMConfig works.
type CAMConfig struct {
	Start     time.Time         // of the first instant; zero means when the first source is put
	Instant   time.Duration     // how long an instant is; zero means a minute
	Epoch     int               // how many instants are planned at once; zero means 1440
	Polls     float64           // an instant; zero means as many as the first choice of each epoch may take
	Slip      int               // how many instants a pair may wait when its own is full
	Estimator freshet.Estimator // nil means that all sources are equally likely to change, always
}

// A visit is a source at an instant.
type visit struct {
	worth float64
	slot  freshet.Slot
	at    int32 // the instant, counted from the start of the epoch
}

// NewCAM returns a CAM.
func NewCAM(c CAMConfig) *CAM {
	c.Epoch = cmp.Or(c.Epoch, 1440)
	return &CAM{conf: c, grid: ranking.NewInstants(c.Start, c.Instant)}
}

// Put implements [freshet.Policy]. A new source is taken into account from the
// next epoch on.
func (c *CAM) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	c.grid.Begin(now)
	if c.conf.Estimator != nil {
		c.conf.Estimator.Put(now, slot, s, since)
	}
	c.ids, c.factor, c.met = ranking.Grown(c.ids, slot), ranking.Grown(c.factor, slot), ranking.Grown(c.met, slot)
	if c.ids[slot] != s.ID {
		c.drop(slot)
	}
	c.ids[slot], c.factor[slot] = s.ID, s.Importance()/s.Price()
	if s.Apart() {
		c.factor[slot] = 0
	}
}

// Remove implements [freshet.Policy].
func (c *CAM) Remove(slot freshet.Slot) {
	if c.conf.Estimator != nil {
		c.conf.Estimator.Remove(slot)
	}
	c.ids[slot], c.factor[slot] = "", 0
	c.drop(slot)
}

// drop takes a slot out of the plan.
func (c *CAM) drop(slot freshet.Slot) {
	its := func(v visit) bool { return v.slot == slot }
	c.plan = slices.DeleteFunc(c.plan, its)
	c.due = slices.DeleteFunc(c.due, its)
}

// Observe implements [freshet.Policy]. CAM learns through its estimator only.
func (c *CAM) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	if c.conf.Estimator != nil {
		c.conf.Estimator.Observe(now, slot, o)
	}
}

// Choose implements [freshet.Policy].
func (c *CAM) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	c.grid.Begin(now)
	if at := c.grid.At(now); at > c.reached {
		c.advance(at, n)
	}
	taken := 0
	kept := c.due[:0]
	for _, v := range c.due {
		if c.factor[v.slot] == 0 {
			continue
		}
		if taken < n && take(v.slot, v.worth) {
			taken++
			continue
		}
		kept = append(kept, v)
	}
	c.due = kept
	return c.grid.Time(c.reached + 1)
}

// advance moves on to an instant, and makes a plan if a new epoch has begun.
func (c *CAM) advance(at int64, n int) {
	c.reached = at
	epoch := (at-1)/int64(c.conf.Epoch) + 1
	if epoch != c.epoch {
		c.epoch, c.due = epoch, c.due[:0]
		c.allocate(n)
	}
	within := int32(at - (epoch-1)*int64(c.conf.Epoch))
	upto := 0
	for upto < len(c.plan) && c.plan[upto].at <= within {
		upto++
	}
	c.due = append(c.due, c.plan[:upto]...)
	c.plan = c.plan[upto:]
	late := func(v visit) bool { return int(within-v.at) > c.conf.Slip }
	c.due = slices.DeleteFunc(c.due, late)
	slices.SortFunc(c.due, c.compare)
	c.due = slices.DeleteFunc(c.due, func(v visit) bool { // one poll serves all visits
		again := c.met[v.slot] == at
		c.met[v.slot] = at
		return again
	})
}

// compare orders visits by worth, then by ID, then by instant. Were it by
// instant first, the early part of an epoch would take all polls wherever many
// pairs are worth the same.
func (c *CAM) compare(a, b visit) int {
	if a.worth != b.worth {
		return cmp.Compare(b.worth, a.worth)
	}
	return cmp.Or(cmp.Compare(c.ids[a.slot], c.ids[b.slot]), cmp.Compare(a.at, b.at))
}

// allocate plans the epoch.
func (c *CAM) allocate(n int) {
	polls := cmp.Or(c.conf.Polls, float64(n)) * float64(c.conf.Epoch)
	want := max(1, int(polls+1e-9))
	if len(c.chance) < len(c.ids) {
		c.chance = slices.Repeat([]float64{evenChance}, len(c.ids))
	}
	first := (c.epoch - 1) * int64(c.conf.Epoch)
	// The best are kept in a list of up to twice as many as are wanted, which
	// is sorted and cut back when it is full.
	var floor visit
	best := make([]visit, 0, 2*want)
	cut := func() {
		slices.SortFunc(best, c.compare)
		if len(best) >= want {
			best = best[:want]
			floor = best[want-1]
		}
	}
	for at := range c.conf.Epoch {
		if c.conf.Estimator != nil {
			from := c.grid.Time(first + int64(at))
			c.conf.Estimator.Chances(c.chance, from, from.Add(c.grid.Length))
		}
		for slot, factor := range c.factor {
			v := visit{factor * c.chance[slot], freshet.Slot(slot), int32(at + 1)}
			if v.worth > floor.worth || v.worth == floor.worth && v.worth > 0 && c.compare(v, floor) < 0 {
				if best = append(best, v); len(best) == cap(best) {
					cut()
				}
			}
		}
	}
	cut()
	slices.SortStableFunc(best, func(a, b visit) int { return cmp.Compare(a.at, b.at) })
	c.plan = best
}
