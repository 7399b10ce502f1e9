package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"freshet"
	"freshet/learn"
	"freshet/sched"
)

// A Grouping says by what numbers are added up.
type Grouping string

// The groupings.
const (
	ByNothing Grouping = ""
	ByTag     Grouping = "tag" // a source counts for each of its tags
	ByHost    Grouping = "host"
	BySource  Grouping = "source"
)

// A NumbersQuery selects numbers.
type NumbersQuery struct {
	By   Grouping
	Tag  string // only sources with this tag; "" means all
	Host string // only sources of this host; "" means all
}

// Numbers say how well sources are captured, as far as that can be told from
// polls alone.
type Numbers struct {
	At     time.Time
	All    Group
	Groups []Group // by what was asked for; those that missed most come first

	Price      float64 // of a poll, as in an Outlook; zero if not known
	Used, Most int     // requests of the present stretch of the budget that are spent, and those there are

	Reliability learn.Reliability // of all polls, whatever was asked for
}

// A Group is what a number of sources add up to.
type Group struct {
	Name    string  // tag, host or id of the source
	Sources int     // those that are paused not counted
	Unseen  int     // of those, that have never been seen
	Waiting float64 // changes expected to have happened since each was last seen
	freshet.Tally
}

// Missed returns how many changes are thought to have come and gone unseen.
func (g Group) Missed() float64 { return max(0, g.Happened-g.Captured) }

// add counts a source.
func (g *Group) add(tally freshet.Tally, expected float64, paused bool) {
	g.Tally = g.Tally.Add(tally)
	switch {
	case paused:
		return
	case math.IsInf(expected, 1):
		g.Unseen++
	default:
		g.Waiting += expected
	}
	g.Sources++
}

// ErrNoNumbers means that nobody learns from polls, so that nothing can be said
// of what they miss.
var ErrNoNumbers = errors.New("there are no numbers, because nothing is learnt from polls")

// overall keeps what was last said of all sources.
type overall struct {
	mu   sync.Mutex
	last Numbers
}

// overallFor is how long that is good enough for those who ask often.
const overallFor = 10 * time.Second

// Overall returns the numbers of all sources together, not older than a few
// seconds. It is meant for those who ask again and again.
func (d *Daemon) Overall(ctx context.Context) (Numbers, error) {
	d.overall.mu.Lock()
	defer d.overall.mu.Unlock()
	if !d.running.Load() || time.Since(d.overall.last.At) > overallFor {
		n, err := d.Numbers(ctx, NumbersQuery{})
		if err != nil {
			return n, err
		}
		d.overall.last = n
	}
	return d.overall.last, nil
}

// Numbers returns how well sources are captured.
func (d *Daemon) Numbers(ctx context.Context, q NumbersQuery) (Numbers, error) {
	switch {
	case !d.running.Load():
		return Numbers{}, notRunning()
	case d.cfg.Learner == nil:
		return Numbers{}, freshet.WithHint(ErrNoNumbers, "run the daemon with the policy auto")
	}
	var n Numbers
	var counts []counted
	err := d.inLoop(ctx, func(now time.Time, s *sched.Scheduler) { n, counts = d.count(now, s, q) })
	if err != nil {
		return Numbers{}, fmt.Errorf("look at the sources: %w", err)
	}
	n.sum(q, counts)
	return n, nil
}

// A counted is what the numbers of a source come from, copied while the loop
// waits. All that takes longer is done after that.
type counted struct {
	id       freshet.SourceID
	url      string
	tags     []string
	paused   bool
	expected float64
	tally    freshet.Tally
}

// count runs within the loop. Without groups and filters it adds up at once.
func (d *Daemon) count(now time.Time, s *sched.Scheduler, q NumbersQuery) (n Numbers, counts []counted) {
	n.At, n.Reliability = now, d.cfg.Learner.Reliability()
	n.Used, n.Most = s.Spent(now)
	expected := make([]float64, s.Slots())
	d.cfg.Learner.Expected(now, expected, make([]float64, len(expected)))
	if q != (NumbersQuery{}) {
		counts = make([]counted, 0, len(expected))
	}
	for slot, source := range s.All() {
		tally := d.cfg.Learner.Tally(slot)
		if counts == nil {
			n.All.add(tally, expected[slot], source.Paused)
			continue
		}
		counts = append(counts, counted{
			id: source.ID, url: source.URL, tags: source.Tags, paused: source.Paused, expected: expected[slot], tally: tally,
		})
	}
	for slot := range s.All() {
		if policy, ok := d.cfg.Policy.(outlooker); ok {
			n.Price = policy.Outlook(now, slot).Price // which is the same for all
		}
		break
	}
	return n, counts
}

// sum adds up what was counted.
func (n *Numbers) sum(q NumbersQuery, counts []counted) {
	groups := map[string]*Group{}
	for _, c := range counts {
		host := ""
		if q.Host != "" || q.By == ByHost {
			host = freshet.Source{URL: c.url}.Host()
		}
		if q.Tag != "" && !slices.Contains(c.tags, q.Tag) || q.Host != "" && host != q.Host {
			continue
		}
		n.All.add(c.tally, c.expected, c.paused)
		var names []string
		switch q.By {
		case ByTag:
			if names = c.tags; len(names) == 0 {
				names = []string{""}
			}
		case ByHost:
			names = []string{host}
		case BySource:
			names = []string{string(c.id)}
		}
		for _, name := range names {
			if groups[name] == nil {
				groups[name] = &Group{Name: name}
			}
			groups[name].add(c.tally, c.expected, c.paused)
		}
	}
	for _, g := range groups {
		n.Groups = append(n.Groups, *g)
	}
	slices.SortFunc(n.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Missed(), a.Missed()), cmp.Compare(a.Name, b.Name))
	})
}
