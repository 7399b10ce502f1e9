package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/sched"
)

// A Grouping says by what numbers are added up.
type Grouping string

// The groupings.
const (
	ByNothing Grouping = ""
	ByTag     Grouping = "tag" // a source counts for each of its tags
	ByHost    Grouping = "host"
	BySource  Grouping = "source"
	BySite    Grouping = "site" // only pages of sites count
)

// A NumbersQuery selects numbers.
type NumbersQuery struct {
	By   Grouping
	Tag  string           // only sources with this tag; "" means all
	Host string           // only sources of this host; "" means all
	Site freshet.SourceID // only pages of this site; "" means all sources
}

// Numbers are an estimate, from polls alone, of how well sources are captured.
type Numbers struct {
	At     time.Time
	All    Group
	Hosts  outlook.Range // fairness, a host counting as much as any other, of those of which a source has changed
	Groups []Group       // by what was asked for; those that missed most come first

	Price      float64 // of a poll, as in an Outlook; zero if not known
	Used, Most int     // requests of the present stretch of the budget that are spent, and those there are

	Reliability learn.Reliability // of all polls, whatever was asked for
}

// A Group is what a number of sources add up to.
type Group struct {
	Name    string  // tag, host or id of the source
	Sources int     // those that are paused not counted
	Unseen  int     // of those, that have never been seen
	Early   int     // of those, that were seen less than twice
	Waiting float64 // changes expected to have happened since each was last seen

	Fairness outlook.Fairness // over the sources

	Fresh  float64 // sources whose copies are expected to be up to date now, of those that have been seen
	Spread float64 // variance of that, by chance
	outlook.Tally
	Weighted outlook.Tally // polls and those that found a change, by the weights of their sources
}

// Missed returns how many changes are thought to have come and gone unseen.
func (g Group) Missed() float64 { return max(0, g.Happened-g.Captured) }

// add counts a source.
func (g *Group) add(c *counted, expected float64) {
	tally := c.tally
	g.Tally = g.Tally.Add(tally)
	g.Weighted = g.Weighted.Add(outlook.Tally{Polls: tally.Polls, Found: tally.Found}.Scale(c.weight))
	if c.paused {
		return
	}
	if tally.Polls == 0 {
		g.Early++
	}
	g.Fairness.Add(c.changed, tally.Polls > 0)
	switch {
	case math.IsInf(expected, 1):
		g.Unseen++
	default:
		g.Waiting += expected
		same := math.Exp(-expected)
		g.Fresh += same
		g.Spread += same * (1 - same)
	}
	g.Sources++
}

// ErrNoNumbers means that nobody learns from polls, so that nothing can be said
// of what they miss.
var ErrNoNumbers = errors.New("there are no numbers, because this policy does not learn from polls")

// numbers says how well sources are captured.
type numbers struct {
	loop     *loop
	learner  *learn.Learner // may be nil
	outlooks func() (outlooker, bool)
	renew    chan struct{} // the last overall numbers are stale

	mu    sync.Mutex
	last  Numbers   // of all sources
	since time.Time // when they were counted
}

// For overallFor the last overall numbers count as fresh. Up to overallKept they are
// returned while Run renews them, so that occasional callers do not wait for the loop.
const (
	overallFor  = 10 * time.Second
	overallKept = time.Minute
)

// Overall returns the numbers of all sources together, at most a minute old, and at most some
// seconds if it is called often.
func (c *numbers) Overall(ctx context.Context) (Numbers, error) {
	if !c.loop.running.Load() {
		return Numbers{}, notRunning()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch age := time.Since(c.since); {
	case age > overallKept:
		n, err := c.Numbers(ctx, NumbersQuery{})
		if err != nil {
			return n, err
		}
		c.last, c.since = n, time.Now()
	case age > overallFor:
		signal(c.renew)
	}
	return c.last, nil
}

// Run renews the overall numbers when a caller found them stale, until ctx is done.
func (c *numbers) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.renew:
		}
		n, err := c.Numbers(ctx, NumbersQuery{})
		if err != nil {
			continue // a caller gets the error
		}
		c.mu.Lock()
		c.last, c.since = n, time.Now()
		c.mu.Unlock()
	}
}

// Numbers returns how well sources are captured.
func (c *numbers) Numbers(ctx context.Context, q NumbersQuery) (Numbers, error) {
	switch {
	case !c.loop.running.Load():
		return Numbers{}, notRunning()
	case c.learner == nil:
		return Numbers{}, freshet.WithHint(ErrNoNumbers, "run the daemon with the policy auto")
	}
	n, expected, err := c.glance(ctx)
	if err != nil {
		return n, err
	}
	groups := grouping{query: q, all: &n.All, byName: map[string]*Group{}, hosts: map[string]*outlook.Fairness{}}
	for from := 0; from < len(expected); from += countAtOnce {
		part := make([]counted, 0, min(countAtOnce, len(expected)-from))
		err := c.loop.call(ctx, func(now time.Time, s *sched.Scheduler) { part = c.count(now, s, part, from, expected) })
		if err != nil {
			return Numbers{}, fmt.Errorf("look at the sources: %w", err)
		}
		for _, c := range part {
			groups.add(&c, expected[c.slot])
		}
	}
	n.Groups, n.Hosts = groups.list(), groups.overHosts()
	return n, nil
}

// countAtOnce is how many sources are looked at in one go. In the meantime the
// loop can do nothing else.
const countAtOnce = 20_000

// glance returns what is known of all sources at once, and by slot how many
// changes of each are expected since it was last seen.
func (c *numbers) glance(ctx context.Context) (n Numbers, expected []float64, err error) {
	err = c.loop.call(ctx, func(now time.Time, s *sched.Scheduler) {
		n.At, n.Reliability = c.loop.dates.Date(now), c.learner.Reliability()
		n.Used, n.Most = s.Spent(now)
		expected = make([]float64, s.Slots())
		c.learner.Expected(now, expected, make([]float64, len(expected)))
		if from, ok := c.outlooks(); ok && len(expected) > 0 {
			n.Price = from.Outlook(now, 0).Price // which is the same for all
		}
	})
	if err != nil {
		return Numbers{}, nil, fmt.Errorf("look at the sources: %w", err)
	}
	return n, expected, nil
}

// A counted is what the numbers of a source come from, copied while the loop
// waits. All that takes longer is done after that.
type counted struct {
	slot   freshet.Slot
	id     freshet.SourceID
	host   string
	tags   []string
	of     freshet.SourceID
	weight float64
	paused bool

	changed float64 // chance that it has, since it was first known
	tally   outlook.Tally
}

// count copies as many sources as part has room for. It runs within the loop.
func (c *numbers) count(now time.Time, s *sched.Scheduler, part []counted, from int, expected []float64) []counted {
	for slot := freshet.Slot(from); int(slot) < from+cap(part); slot++ {
		if source, ok := s.Source(slot); ok {
			part = append(part, counted{
				slot: slot, id: source.ID, host: s.HostName(slot), tags: source.Tags, of: pageOf(source), weight: source.Importance(), paused: source.Paused,
				changed: c.learner.Changed(now, slot, expected[slot]), tally: c.learner.Tally(slot),
			})
		}
	}
	return part
}

// pageOf returns the site that a source is a page of; "" if it is none. What only lists
// pages is none.
func pageOf(s freshet.Source) freshet.SourceID {
	if s.Index {
		return ""
	}
	return s.Of
}

// A grouping adds up what was counted.
type grouping struct {
	query  NumbersQuery
	all    *Group
	byName map[string]*Group
	single []Group // of a source each
	hosts  map[string]*outlook.Fairness
}

// add counts a source, if it was asked for.
func (g *grouping) add(c *counted, expected float64) {
	q := g.query
	if q.Tag != "" && !slices.Contains(c.tags, q.Tag) || q.Host != "" && c.host != q.Host || q.Site != "" && c.of != q.Site || q.By == BySite && c.of == "" {
		return
	}
	g.all.add(c, expected)
	g.atHost(c)
	switch q.By {
	case BySource:
		one := Group{Name: string(c.id)}
		one.add(c, expected)
		g.single = append(g.single, one)
	case BySite:
		g.under(string(c.of)).add(c, expected)
	case ByHost:
		g.under(c.host).add(c, expected)
	case ByTag:
		for _, tag := range c.tags {
			g.under(tag).add(c, expected)
		}
		if len(c.tags) == 0 {
			g.under("").add(c, expected)
		}
	}
}

// atHost counts a source among those of its host.
func (g *grouping) atHost(c *counted) {
	if c.paused {
		return
	}
	f := g.hosts[c.host]
	if f == nil {
		f = &outlook.Fairness{}
		g.hosts[c.host] = f
	}
	f.Add(c.changed, c.tally.Polls > 0)
}

// overHosts returns the mean fairness of hosts, in a fixed order so that it is the same
// to the bit.
func (g *grouping) overHosts() outlook.Range {
	list := make([]outlook.Fairness, 0, len(g.hosts))
	for _, name := range slices.Sorted(maps.Keys(g.hosts)) {
		list = append(list, *g.hosts[name])
	}
	return outlook.FairnessOver(list)
}

// under returns the group of a name, which may be new.
func (g *grouping) under(name string) *Group {
	if g.byName[name] == nil {
		g.byName[name] = &Group{Name: name}
	}
	return g.byName[name]
}

// list returns the groups; those that missed most come first.
func (g *grouping) list() []Group {
	groups := g.single
	for _, one := range g.byName {
		groups = append(groups, *one)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		if by := cmp.Compare(b.Missed(), a.Missed()); by != 0 {
			return by
		}
		return cmp.Compare(a.Name, b.Name)
	})
	return groups
}
