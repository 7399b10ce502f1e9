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

// Numbers say how well sources are captured, as far as that can be told from
// polls alone.
type Numbers struct {
	At     time.Time
	All    Group
	Hosts  freshet.Range // fairness, a host counting as much as any other, of those of which a source has changed
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

	Fairness freshet.Fairness // over the sources

	Fresh  float64 // sources whose copies are expected to be up to date now, of those that have been seen
	Spread float64 // variance of that, by chance
	freshet.Tally
	Weighted freshet.Tally // polls and those that found a change, by the weights of their sources
}

// Missed returns how many changes are thought to have come and gone unseen.
func (g Group) Missed() float64 { return max(0, g.Happened-g.Captured) }

// add counts a source.
func (g *Group) add(c *counted, expected float64) {
	tally := c.tally
	g.Tally = g.Tally.Add(tally)
	g.Weighted = g.Weighted.Add(freshet.Tally{Polls: tally.Polls, Found: tally.Found}.Scale(c.weight))
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

// overall keeps what was last said of all sources.
type overall struct {
	mu    sync.Mutex
	last  Numbers
	since time.Time // when it was said
}

// overallFor is how long that is good enough for those who ask often. Up to overallKept it is
// told while it is renewed, so that nobody waits for the loop who looks now and then.
const (
	overallFor  = 10 * time.Second
	overallKept = time.Minute
)

// Overall returns the numbers of all sources together, not older than a minute, and not older
// than some seconds if somebody asks again and again. It is meant for those who do.
func (d *Daemon) Overall(ctx context.Context) (Numbers, error) {
	if !d.running.Load() {
		return Numbers{}, notRunning()
	}
	d.overall.mu.Lock()
	defer d.overall.mu.Unlock()
	switch age := time.Since(d.overall.since); {
	case age > overallKept:
		n, err := d.Numbers(ctx, NumbersQuery{})
		if err != nil {
			return n, err
		}
		d.overall.last, d.overall.since = n, time.Now()
	case age > overallFor:
		select {
		case d.renew <- struct{}{}:
		default: // it is asked for already
		}
	}
	return d.overall.last, nil
}

// keepOverall renews what is said of all sources when somebody looked at it.
func (d *Daemon) keepOverall(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.renew:
		}
		n, err := d.Numbers(ctx, NumbersQuery{})
		if err != nil {
			continue // whoever waits for it is told
		}
		d.overall.mu.Lock()
		d.overall.last, d.overall.since = n, time.Now()
		d.overall.mu.Unlock()
	}
}

// Numbers returns how well sources are captured.
func (d *Daemon) Numbers(ctx context.Context, q NumbersQuery) (Numbers, error) {
	switch {
	case !d.running.Load():
		return Numbers{}, notRunning()
	case d.cfg.Learner == nil:
		return Numbers{}, freshet.WithHint(ErrNoNumbers, "run the daemon with the policy auto")
	}
	n, expected, err := d.glance(ctx)
	if err != nil {
		return n, err
	}
	groups := grouping{query: q, all: &n.All, byName: map[string]*Group{}, hosts: map[string]*freshet.Fairness{}}
	for from := 0; from < len(expected); from += countAtOnce {
		part := make([]counted, 0, min(countAtOnce, len(expected)-from))
		err := d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) { part = d.count(now, s, part, from, expected) })
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
func (d *Daemon) glance(ctx context.Context) (n Numbers, expected []float64, err error) {
	err = d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) {
		n.At, n.Reliability = d.dates.Date(now), d.cfg.Learner.Reliability()
		n.Used, n.Most = s.Spent(now)
		expected = make([]float64, s.Slots())
		d.cfg.Learner.Expected(now, expected, make([]float64, len(expected)))
		if from, ok := d.leader.outlooks(); ok && len(expected) > 0 {
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
	tally   freshet.Tally
}

// count copies as many sources as part has room for. It runs within the loop.
func (d *Daemon) count(now time.Time, s *sched.Scheduler, part []counted, from int, expected []float64) []counted {
	for slot := freshet.Slot(from); int(slot) < from+cap(part); slot++ {
		if source, ok := s.Source(slot); ok {
			part = append(part, counted{
				slot: slot, id: source.ID, host: s.HostName(slot), tags: source.Tags, of: pageOf(source), weight: source.Importance(), paused: source.Paused,
				changed: d.cfg.Learner.Changed(now, slot, expected[slot]), tally: d.cfg.Learner.Tally(slot),
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
	hosts  map[string]*freshet.Fairness
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
		f = &freshet.Fairness{}
		g.hosts[c.host] = f
	}
	f.Add(c.changed, c.tally.Polls > 0)
}

// overHosts returns the mean fairness of hosts, in a fixed order so that it is the same
// to the bit.
func (g *grouping) overHosts() freshet.Range {
	list := make([]freshet.Fairness, 0, len(g.hosts))
	for _, name := range slices.Sorted(maps.Keys(g.hosts)) {
		list = append(list, *g.hosts[name])
	}
	return freshet.FairnessOver(list)
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
