package policy

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/cyclic"
	"freshet/internal/sched/ranking"
)

// CyclicConfig is how a Cyclic policy counts and plans. The zero value works.
type CyclicConfig struct {
	Start   time.Time     // from when instants and periods count; zero means midnight UTC
	Instant time.Duration // zero means a minute

	// Periods are those that a source may follow; each source gets the one
	// that fits it best. None means an hour, a day and a week. Each is a whole
	// number of instants.
	Periods []time.Duration

	// Polls is how many polls to plan for an instant, over all sources. Zero
	// means as many as were granted lately.
	Polls float64

	Explore float64       // share of the polls that is not planned; zero means a tenth
	Memory  int           // changes remembered of a source; zero means 48
	Method  cyclic.Method // how to plan; none means cyclic.Optimal
}

func (c CyclicConfig) withDefaults() CyclicConfig {
	if c.Start.IsZero() {
		c.Start = time.Unix(0, 0) // the same after a restart
	}
	c.Instant = cmp.Or(c.Instant, time.Minute)
	if len(c.Periods) == 0 {
		c.Periods = []time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}
	}
	c.Explore = cmp.Or(c.Explore, 0.1)
	c.Memory = cmp.Or(c.Memory, 48)
	c.Method = cmp.Or(c.Method, cyclic.Optimal)
	return c
}

// Cyclic polls each source at the same offsets of every period, after Ashish,
// Kulkarni and Wang. Every shortest period it plans again from the changes that
// its polls have found.
//
// Sources that keep to a period are planned from what they did; those that keep
// to none get polls at equal distances by how often they change. How many polls
// each gets is settled by giving them one by one to where the next one saves
// most misses for its price. That is exact, because for each source further
// polls save ever less.
//
// A part of the polls is left out of the plan and goes round all sources in an
// order that is shuffled for each round, because a source that is only ever
// looked at when it is expected to change cannot tell that it changes at other
// times. So does what the plan does not need; and at first, when nothing is
// known, so do all polls.
type Cyclic struct {
	config  CyclicConfig
	clock   ranking.Instants
	periods []int // in instants, the shortest first

	pages []cyclicPage  // by slot
	due   ranking.Queue // in instants
	shut  []freshet.Slot

	round  []freshet.Slot // those before next have had their turn
	next   int
	rounds uint64

	now     int64 // the instant of the last choice
	idle    int64 // the instant in which nothing is left to poll
	since   int64 // when granted began to count
	granted int
	replan  int64 // when to plan next
}

// NewCyclic returns a Cyclic policy.
func NewCyclic(config CyclicConfig) *Cyclic {
	config = config.withDefaults()
	c := &Cyclic{config: config, clock: ranking.NewInstants(config.Start, config.Instant), now: -1, idle: -1}
	for _, p := range config.Periods {
		if n := int(p / config.Instant); n > 0 {
			c.periods = append(c.periods, n)
		}
	}
	if len(c.periods) == 0 {
		c.periods = []int{1}
	}
	slices.Sort(c.periods)
	return c
}

// Put implements [freshet.Policy].
func (c *Cyclic) Put(now time.Time, slot freshet.Slot, s freshet.Source, _ time.Time) {
	c.pages = ranking.Grown(c.pages, slot)
	c.due.Name(slot, s.ID)
	p := &c.pages[slot]
	if p.id != s.ID {
		*p = cyclicPage{id: s.ID, polled: -1}
		c.welcome(slot)
	}
	p.value, p.paused = s.Importance()/s.Price(), s.Apart()
	c.idle = -1
	c.expect(slot, c.clock.At(now))
}

// welcome gives a newcomer the next turn of the round.
func (c *Cyclic) welcome(slot freshet.Slot) {
	if len(c.round) > 2*len(c.pages) { // mostly of sources that are gone
		c.shuffle()
		return
	}
	c.round = append(c.round, slot)
	last := len(c.round) - 1
	c.round[c.next], c.round[last] = slot, c.round[c.next]
}

// Remove implements [freshet.Policy].
func (c *Cyclic) Remove(slot freshet.Slot) {
	c.pages[slot] = cyclicPage{}
	c.due.Drop(slot)
}

// expect notes when a source is due next after an instant.
func (c *Cyclic) expect(slot freshet.Slot, after int64) {
	if p := &c.pages[slot]; p.id == "" || p.paused || len(p.offsets) == 0 {
		c.due.Drop(slot)
	} else {
		c.due.Set(slot, p.next(after))
	}
}

// Choose implements [freshet.Policy].
func (c *Cyclic) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	at := c.clock.At(now)
	c.turn(at)
	again := c.clock.Time(at + 1)
	if c.idle == at {
		return again
	}
	offer := func(slot freshet.Slot, worth float64) bool {
		if !take(slot, worth) {
			return false
		}
		c.pages[slot].busy, c.pages[slot].polled = true, at
		c.granted++
		return true
	}
	taken := c.chooseDue(at, n, offer)
	shut := len(c.shut)
	if taken < n {
		more, refused := c.chooseRound(at, n-taken, offer)
		taken, shut = taken+more, shut+refused
	}
	if taken < n && shut == 0 {
		c.idle = at
	}
	return again
}

// turn comes to an instant, and plans if it is time to.
func (c *Cyclic) turn(at int64) {
	shortest := int64(c.periods[0])
	if c.now < 0 {
		c.since, c.replan = at, at+shortest
	}
	c.now = max(c.now, at)
	if c.now < c.replan {
		return
	}
	polls := c.config.Polls
	if polls == 0 {
		polls = float64(c.granted) / float64(c.now-c.since)
	}
	c.plan(polls * (1 - c.config.Explore))
	c.since, c.granted, c.replan = c.now, 0, c.now+shortest
}

// chooseDue offers what is due, the longest due first. What may not be polled
// stays due.
func (c *Cyclic) chooseDue(at int64, n int, offer func(freshet.Slot, float64) bool) (taken int) {
	c.shut = c.shut[:0]
	for taken < n {
		slot, due, ok := c.due.First()
		if !ok || due > at {
			break
		}
		switch p := &c.pages[slot]; {
		case p.busy || p.polled == at: // is being looked at anyway
		case offer(slot, 1):
			taken++
		default:
			c.shut = append(c.shut, slot)
			c.due.Drop(slot)
			continue
		}
		c.expect(slot, at)
	}
	for _, slot := range c.shut {
		c.due.Set(slot, at)
	}
	return taken
}

// chooseRound offers the sources of the round that have not had their turn, and
// if they are too few begins another.
func (c *Cyclic) chooseRound(at int64, n int, offer func(freshet.Slot, float64) bool) (taken, refused int) {
	for pass := 0; pass < 2 && taken < n; pass++ {
		if pass == 1 {
			c.shuffle()
		}
		refused = 0
		for i := c.next; i < len(c.round) && taken < n; i++ {
			slot := c.round[i]
			switch p := &c.pages[slot]; {
			case p.id == "" || p.paused || p.busy || p.polled == at:
				continue
			case !offer(slot, c.config.Explore):
				refused++
				continue
			}
			taken++
			c.round[i], c.round[c.next] = c.round[c.next], slot
			c.next++
		}
	}
	return taken, refused
}

// shuffle begins a new round. Rounds differ, so that the distances between the
// polls of a source do, and no rhythm of ours shows as one of the source.
func (c *Cyclic) shuffle() {
	c.round, c.next = c.round[:0], 0
	for slot, p := range c.pages {
		if p.id != "" {
			c.round = append(c.round, freshet.Slot(slot))
		}
	}
	slices.SortFunc(c.round, func(a, b freshet.Slot) int { return cmp.Compare(c.pages[a].id, c.pages[b].id) })
	c.rounds++
	r := rand.New(rand.NewPCG(c.rounds, 0))
	r.Shuffle(len(c.round), func(i, j int) { c.round[i], c.round[j] = c.round[j], c.round[i] })
}

// Observe implements [freshet.Policy].
func (c *Cyclic) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	p := &c.pages[slot]
	if p.id == "" {
		return
	}
	p.busy, p.polled = false, max(p.polled, c.clock.At(now))
	if !o.Result.Seen() || o.Since.IsZero() {
		return
	}
	from, to := c.clock.At(o.Since), c.clock.At(o.Began)
	length := max(1, float64(to-from))
	p.looks.See(length, o.Result == freshet.Changed)
	if o.Result != freshet.Changed {
		return
	}
	if m := o.Modified; m.After(o.Since) && !m.After(o.Began) { // it says itself when it was
		to = c.clock.At(m)
		from = to
	}
	p.remember(changeNote{at: (from + to + 1) / 2, width: to - from}, c.config.Memory)
}
