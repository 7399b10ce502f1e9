package sched

import (
	"math"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// Sources that belong together can be bounded together: those of a site take no more
// of the budget than the site says, and those with a tag get what the operator grants
// them. Like the shares of sources and hosts, that binds what the policy chooses: what
// somebody asks for counts, but is not held back.

// A Share is what all sources with a tag get of the budget together.
type Share struct {
	Tag string
	Min float64 // that they get before all others, if there is something to poll; 0 means none
	Max float64 // that they get at most; 0 and 1 mean no bound
}

// A group is some sources that share a part of the budget.
type group struct {
	name    string // for people
	max     float64
	soft    bool // the max binds only while others want the budget: nobody said it
	min     float64
	touched time.Time // when a request of it was last let through
	meter   meter     // of its max

	owed   float64   // requests of its min that it has not had
	filled time.Time // up to when that is reckoned
	rests  time.Time // it had nothing to poll, and is not asked before that
}

const (
	owedMost  = 10          // requests that a group can be owed
	groupRest = time.Second // after a group had nothing to poll
)

// siteGroup returns the group of the pages of a site.
func (s *Scheduler) siteGroup(id freshet.SourceID) *group { return s.groupNamed("site " + string(id)) }

func (s *Scheduler) groupNamed(name string) *group {
	g := s.groups[name]
	if g == nil {
		g = &group{name: name, max: 1}
		s.groups[name] = g
	}
	return g
}

// join puts a source into the groups that it belongs to.
func (s *Scheduler) join(e *entry) {
	var in groups
	switch {
	case e.source.Site != nil:
		g := s.siteGroup(e.source.ID)
		g.max, g.soft = e.source.Site.Portion(), e.source.Site.Share == 0
		in = append(in, g)
	case e.source.Of != "":
		in = append(in, s.siteGroup(e.source.Of))
	}
	for _, tag := range e.source.Tags {
		for _, share := range s.limits.Shares {
			if share.Tag == tag {
				in = append(in, s.groupNamed("tag "+tag))
			}
		}
	}
	e.groups = s.setOf(in)
}

// Groups are those that a source belongs to. Sources that belong to the same share them.
type groups []*group

// all returns the groups; none if there are none.
func (g *groups) all() groups {
	if g == nil {
		return nil
	}
	return *g
}

// setOf returns groups as they are kept; nil for none.
func (s *Scheduler) setOf(in groups) *groups {
	if len(in) == 0 {
		return nil
	}
	names := make([]string, len(in))
	for i, g := range in {
		names[i] = g.name
	}
	key := strings.Join(names, "\x00")
	set := s.sets[key]
	if set == nil {
		set = &in
		s.sets[key] = set
	}
	return set
}

// shareOut takes over the shares of tags, and puts all sources into their groups again.
func (s *Scheduler) shareOut() {
	s.minima = s.minima[:0]
	for _, g := range s.groups {
		g.min = 0
	}
	for _, share := range s.limits.Shares {
		g := s.groupNamed("tag " + share.Tag)
		g.min, g.max = share.Min, share.Max
		if g.max <= 0 {
			g.max = 1
		}
		if g.min > 0 {
			s.minima = append(s.minima, g)
		}
	}
	for _, e := range s.entries.All {
		if e.used {
			s.join(e)
		}
	}
}

// charge counts so many requests of a source that are let through at now.
func (s *Scheduler) charge(now time.Time, e *entry, requests int) {
	for _, g := range e.groups.all() {
		g.meter.count(now, requests, s.spacing(g.max))
		g.touched = later(g.touched, now)
		g.owed = max(-owedMost, g.owed-float64(requests))
		if at := s.groupOpens(g); at.After(now) {
			s.alarms.set(at)
		}
	}
}

// groupOpens returns when the share of a group lets a request through.
func (s *Scheduler) groupOpens(g *group) time.Time {
	return g.meter.opens(g.touched, 1, s.spacing(g.max))
}

// groupsOpen reports whether all groups of a source have something left of their
// shares at now.
func (s *Scheduler) groupsOpen(now time.Time, e *entry) bool {
	for _, g := range e.groups.all() {
		if !s.groupOpens(g).After(now) || g.soft && s.spare {
			continue
		}
		s.pressed = s.pressed || g.soft
		return false
	}
	return true
}

// chooseSpare polls for the groups whose max is soft with what the others have left of
// the budget.
func (s *Scheduler) chooseSpare(now time.Time) {
	if !s.pressed || s.budget() <= 0 {
		return
	}
	s.spare = true
	s.askPolicy(now)
	s.spare = false
}

// chooseOwed polls for the groups that have had less of the budget than they are
// granted, before all others.
func (s *Scheduler) chooseOwed(now time.Time) {
	for _, g := range s.minima {
		if !g.filled.IsZero() && now.After(g.filled) {
			g.owed = min(owedMost, g.owed+g.min*s.limits.Budget.PerSecond()*now.Sub(g.filled).Seconds())
		}
		g.filled = now
		n := min(int(math.Floor(g.owed)), s.budget())
		if n <= 0 || g.rests.After(now) {
			continue
		}
		taken := 0
		s.policy.Choose(now, n, func(slot freshet.Slot, worth float64) bool {
			if taken >= n || !s.entries.At(slot).belongs(g) || s.budget() <= 0 || !s.take(now, slot, worth, freshet.ByPolicy) {
				return false
			}
			taken++
			return true
		})
		if taken == 0 {
			g.rests = now.Add(groupRest)
		}
	}
}

// belongs reports whether a source is of a group.
func (e *entry) belongs(g *group) bool {
	for _, other := range e.groups.all() {
		if other == g {
			return true
		}
	}
	return false
}
