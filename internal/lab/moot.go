package lab

import (
	"cmp"
	"context"
	"iter"
	"math"
	"time"

	"freshet/internal/cluster/shards"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A moot is where brains meet, at every instant.
type moot struct {
	grid    *Grid
	options *Options
	fixed   bool
	brains  []*brain
	shares  *shares
	dealer  dealer
	instant int
	last    int // instant of the last exchange
	every   int // instants between two exchanges, at least
	wait    int // instants until what one has given up can be spent by another
	moves   int
	met     int
}

// A brain is one of several.
type brain struct {
	world   *world
	sched   *sched.Scheduler
	policy  freshet.Policy
	options Options
	hosts   int
	pages   int
	before  float64
	polls   int
	claim   shards.Claim
	may     float64       // polls an instant
	told    bool          // it knows
	news    *sched.Limits // that it is told when all have met; nil if nothing has changed

	next func() (struct{}, bool)
	stop func()
	err  error
}

// settles is how many polls of each page there are between two exchanges, on average. A
// brain that has more to spend polls the same pages as before, only sooner, and what a poll
// of them is worth has fallen when all have had their turn. Whoever asks for the price
// before that moves too much. There are so many instants between them in any case, because
// the price of one is chance.
const (
	settles = 1
	fewest  = 24
)

// newMoot divides the pages of a grid between brains.
func newMoot(g *Grid, n Shards, o *Options) (*moot, error) {
	m := &moot{grid: g, options: o, fixed: n.Fixed, dealer: dealer{owed: make([]float64, n.Count)}}
	shardOf, sources := make([]int, len(g.pages)), make([]int, n.Count)
	hosts := make([]map[string]bool, n.Count)
	for page := range g.pages {
		key := o.hostKey(g, page)
		i := shards.Of(key, n.Count)
		if hosts[i] == nil {
			hosts[i] = map[string]bool{}
		}
		hosts[i][key] = true
		shardOf[page] = i
		sources[i]++
	}
	m.shares = newShares(o.Budget, sources, o.Continuous)
	m.wait = 1 + int(math.Ceil(float64(o.Latency)/float64(g.Instant)))
	m.every = m.wait + max(fewest, int(math.Ceil(settles*float64(len(g.pages))/o.Budget)))
	var scorer *Scorer
	for i := range n.Count {
		b := &brain{options: *o, hosts: len(hosts[i]), pages: sources[i], before: m.shares.held[i]}
		b.options.alien = func(page int) bool { return shardOf[page] != i }
		b.options.Edits, b.options.Progress = o.editsOf(g, b.options.alien), nil
		var err error
		if b.policy, err = n.Start(i, max(1, b.pages), max(b.before, o.Budget/float64(len(g.pages)+1))); err != nil {
			return nil, err
		}
		b.world = newWorld(g, &b.options)
		if scorer == nil {
			scorer = b.world.scorer
		}
		b.world.scorer = scorer
		if hears(b.policy) && o.Evidence.Kind == Index {
			b.world.addIndexes()
		}
		b.world.meets = g.Time(b.world.instant + 1)
		m.brains = append(m.brains, b)
	}
	m.instant = max(1, m.brains[0].world.instant)
	m.give()
	for _, b := range m.brains {
		b.sched = b.world.scheduler(b.policy, *b.news)
		b.news = nil
	}
	return m, nil
}

// wake lets a brain poll until the others have to be heard.
func (b *brain) wake(ctx context.Context) {
	b.next, b.stop = iter.Pull(func(yield func(struct{}) bool) {
		b.world.meet = func() sched.Event {
			if !yield(struct{}{}) {
				b.world.end = time.Time{} // the others have failed
			}
			news := b.news
			b.news = nil
			if news == nil {
				return nil
			}
			return sched.LimitsSet{Limits: *news}
		}
		b.err = sched.Run(ctx, b.sched, b.world)
	})
}

// sit hears all brains at the end of an instant, and tells each what it may spend.
func (m *moot) sit() {
	m.instant++
	if m.options.Progress != nil {
		m.options.Progress(m.instant)
	}
	for _, b := range m.brains {
		b.hear()
	}
	switch {
	case m.fixed:
	case m.shares.settle(m.instant, m.wait):
		m.begin()
	case m.shares.way == 0 && m.instant >= m.last+m.every:
		m.exchange()
	}
	m.give()
}

// hear takes in what a brain says of its part of the budget.
func (b *brain) hear() {
	made := int(b.world.cursor)
	b.claim.Made += float64(made - b.polls)
	b.polls = made
	if p, ok := b.policy.(interface{ Price() float64 }); ok {
		b.claim.Hear(p.Price(), 1)
	}
}

// begin begins to count anew what is spent.
func (m *moot) begin() {
	m.last = m.instant
	for _, b := range m.brains {
		b.claim = shards.Claim{}
	}
}

// exchange moves a part of the budget if prices differ.
func (m *moot) exchange() {
	claims := make([]shards.Claim, len(m.brains))
	for i, b := range m.brains {
		claims[i] = b.claim
	}
	if m.shares.exchange(m.instant, claims) {
		m.met = cmp.Or(m.met, m.instant)
	}
	if m.shares.way > 0 {
		m.moves++
	}
	m.begin()
}

// give gives each brain its part of the next stretch.
func (m *moot) give() {
	var dealt []int
	if !m.options.Continuous {
		dealt = m.dealer.deal(m.shares.held)
	}
	for i, b := range m.brains {
		may := m.shares.held[i]
		if dealt != nil {
			may = float64(dealt[i])
		}
		b.claim.Given += may * m.usable()
		if !b.told || b.may != may {
			l := m.limits(may)
			b.news, b.may, b.told = &l, may, true
		}
	}
}

// usable returns what share of its part a brain can spend: a request counts from its
// beginning until a stretch after its end.
func (m *moot) usable() float64 {
	return float64(m.grid.Instant) / float64(m.grid.Instant+m.options.Latency)
}

// limits returns what binds a brain that may make so many polls an instant.
func (m *moot) limits(polls float64) sched.Limits {
	l := m.options.limits(m.grid, m.options.Budget)
	if l.Workers > 0 {
		l.Workers = max(1, l.Workers/len(m.brains))
	}
	if polls == 0 {
		l.Workers = -1 // not one
		return l
	}
	l.Budget = sched.Budget{Polls: polls, Per: m.grid.Instant}
	if !m.options.Continuous {
		l.Budget.Instant = m.grid.Instant
	}
	scale := m.options.Budget / polls // what is a share of the whole budget is a larger one of a part
	l.SourceShare, l.Hosts.Share = min(1, scale*l.SourceShare), min(1, scale*l.Hosts.Share)
	return l
}

// figures says how the brains fared.
func (m *moot) figures() ShardFigures {
	f := ShardFigures{Moves: m.moves, Met: m.met}
	for i, b := range m.brains {
		b.hear()
		f.Shards = append(f.Shards, ShardFigure{Hosts: b.hosts, Pages: b.pages, Polls: b.polls, Before: b.before, After: m.shares.held[i], Price: b.claim.Price})
	}
	return f
}
