package sched

import (
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/units"
)

// Three limits bound what the policy chooses: the gap between two polls of a source, and the
// shares of the budget that a source and a host may take. Sources that belong together are
// bounded together: those of a site take no more of the budget than the site says, and those
// with a tag get what the operator grants them. A requested poll and one that a source's
// MaxGap makes due count, but are not held back.

const (
	// evenShares is how many times an even share of the budget a source or a host
	// may always take. So a share throws no budget away where there are too few
	// others to spend it on.
	evenShares = 3

	// shareBurst is how many requests of a share may come close together, as when
	// a source has just changed.
	shareBurst = 10
)

const (
	owedMost  = 10          // requests that a group can be owed
	groupRest = time.Second // after a group had nothing to poll
)

// A shareTable holds back what the policy chooses, by shares of the budget, gaps and hints.
type shareTable struct {
	limits  *Limits
	alarms  *alarms
	active  int // sources that are polled
	groups  map[string]*group
	sets    map[string]*groups // of groups that sources belong to, by their names
	minima  []*group           // those that are granted a part of the budget
	pressed bool               // a soft max has held back a source at this decision
	spare   bool               // what is left of the budget is being spent, and no soft max binds
}

// Portion returns how much of the budget a part of the sources may take when the
// operator allows a share of it; 1 means all.
func Portion(share float64, part, all int) float64 {
	if share <= 0 || share >= 1 || part <= 0 || all <= 0 {
		return 1
	}
	return min(1, max(share, evenShares*float64(part)/float64(all)))
}

// spacing returns how far apart the requests of a portion of the budget are on
// average; 0 if nothing keeps them apart.
func (t *shareTable) spacing(portion float64) time.Duration {
	if portion >= 1 {
		return 0
	}
	const longest = 366 * units.Day // or a tiny budget would overflow
	return time.Duration(min(float64(longest), float64(time.Second)/(portion*t.limits.Budget.PerSecond())))
}

// sourceSpacing returns how far apart the requests of one source are on average.
func (t *shareTable) sourceSpacing() time.Duration {
	return t.spacing(Portion(t.limits.SourceShare, 1, t.active))
}

// hostSpacing returns how far apart the requests to a host are on average. A host
// that only redirects lead to has no bound of its own: those that they come from do.
func (t *shareTable) hostSpacing(h *host) time.Duration {
	return t.spacing(Portion(t.limits.Hosts.Share, h.sources, t.active))
}

// A meter keeps the requests of a share apart. In any stretch of time it lets
// through at most shareBurst requests more than the stretch has spacings.
type meter struct {
	full stamp // when all that was let through is paid for
}

// count lets so many requests through at now.
func (m *meter) count(now time.Time, requests int, spacing time.Duration) {
	if spacing <= 0 {
		m.full = 0
		return
	}
	m.full = stampOf(later(m.full.time(), now).Add(time.Duration(requests) * spacing))
}

// opens returns when the next request is let through; zero means at any time. That
// is never later than so many spacings after the last time as requests were made
// then: neither a spacing that was longer before nor polls by hand run up a debt.
func (m *meter) opens(last time.Time, requests int, spacing time.Duration) time.Time {
	if spacing <= 0 || m.full == 0 {
		return time.Time{}
	}
	return earlier(m.full.time().Add(-(shareBurst-1)*spacing), last.Add(time.Duration(requests)*spacing))
}

// enlist counts a source among those that share the budget, or no longer.
func (t *shareTable) enlist(e *entry, counts bool) {
	if e.shares != nil {
		e.shares.sources--
		t.active--
		e.shares = nil
	}
	if counts {
		e.shares = e.host
		e.shares.sources++
		t.active++
	}
}

// sourceOpens returns when the share of a source lets a poll of it through.
func (t *shareTable) sourceOpens(e *entry) time.Time {
	return e.meter.opens(e.begun.time(), int(e.requests), t.sourceSpacing())
}

// hostOpens returns when the share of a host lets a request to it through.
func (t *shareTable) hostOpens(h *host) time.Time {
	return h.meter.opens(h.touched, 1, t.hostSpacing(h))
}

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

// setTags takes over the shares of tags from the limits.
func (t *shareTable) setTags() {
	t.minima = t.minima[:0]
	for _, g := range t.groups {
		g.min = 0
	}
	for _, share := range t.limits.Shares {
		g := t.groupNamed("tag " + share.Tag)
		g.min, g.max = share.Min, share.Max
		if g.max <= 0 {
			g.max = 1
		}
		if g.min > 0 {
			t.minima = append(t.minima, g)
		}
	}
}

// siteGroup returns the group of the pages of a site.
func (t *shareTable) siteGroup(id freshet.SourceID) *group { return t.groupNamed("site " + string(id)) }

func (t *shareTable) groupNamed(name string) *group {
	g := t.groups[name]
	if g == nil {
		g = &group{name: name, max: 1}
		t.groups[name] = g
	}
	return g
}

// join puts a source into the groups that it belongs to.
func (t *shareTable) join(e *entry) {
	var in groups
	switch {
	case e.source.Site != nil:
		g := t.siteGroup(e.source.ID)
		g.max, g.soft = e.source.Site.Portion(), e.source.Site.Share == 0
		in = append(in, g)
	case e.source.Of != "":
		in = append(in, t.siteGroup(e.source.Of))
	}
	for _, tag := range e.source.Tags {
		for _, share := range t.limits.Shares {
			if share.Tag == tag {
				in = append(in, t.groupNamed("tag "+tag))
			}
		}
	}
	e.groups = t.setOf(in)
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
func (t *shareTable) setOf(in groups) *groups {
	if len(in) == 0 {
		return nil
	}
	names := make([]string, len(in))
	for i, g := range in {
		names[i] = g.name
	}
	key := strings.Join(names, "\x00")
	set := t.sets[key]
	if set == nil {
		set = &in
		t.sets[key] = set
	}
	return set
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

// charge counts so many requests of a source that are let through at now.
func (t *shareTable) charge(now time.Time, e *entry, requests int) {
	for _, g := range e.groups.all() {
		g.meter.count(now, requests, t.spacing(g.max))
		g.touched = later(g.touched, now)
		g.owed = max(-owedMost, g.owed-float64(requests))
		if at := t.groupOpens(g); at.After(now) {
			t.alarms.set(at)
		}
	}
}

// groupOpens returns when the share of a group lets a request through.
func (t *shareTable) groupOpens(g *group) time.Time {
	return g.meter.opens(g.touched, 1, t.spacing(g.max))
}

// groupsOpen reports whether all groups of a source have something left of their
// shares at now.
func (t *shareTable) groupsOpen(now time.Time, e *entry) bool {
	for _, g := range e.groups.all() {
		if !t.groupOpens(g).After(now) || g.soft && t.spare {
			continue
		}
		t.pressed = t.pressed || g.soft
		return false
	}
	return true
}

// allow reports whether a source may be polled at now because the policy wants it
// or, which goes by no hint, because a suspect capture wants a second look.
func (t *shareTable) allow(now time.Time, e *entry, cause freshet.Cause) bool {
	if gap := e.gap(t.limits); gap > 0 && e.begun != 0 && e.begun.time().Add(gap).After(now) {
		return false
	}
	if cause == freshet.ByPolicy && t.hintUntil(e).After(now) || t.sourceOpens(e).After(now) || t.hostOpens(e.first()).After(now) {
		return false
	}
	for _, h := range e.beyond() {
		if t.hostOpens(h).After(now) {
			return false
		}
	}
	return t.groupsOpen(now, e)
}

// A hint is what a server says about how long a source stays as it is. The policy
// does not have the source polled before that, up to the longest that the limits
// allow. A hint holds back nothing else: a requested poll and one that
// a MaxGap or a doubt makes due are made. A source with a MinGap goes by that, and one that was
// seen to change before the time that a hint named goes by no hint any more.

// hintUntil returns until when a hint keeps the policy from polling a source; zero if
// none does.
func (t *shareTable) hintUntil(e *entry) time.Time {
	if t.limits.Hints <= 0 || e.belied || e.source.MinGap > 0 || e.fresh == 0 || e.seen == 0 {
		return time.Time{}
	}
	return earlier(e.fresh.time(), e.seen.time().Add(t.limits.Hints))
}

// holds returns what of this holds a source back, past or not. None outlasts
// the source's MaxGap.
func (t *shareTable) holds(e *entry) (holds []Hold) {
	add := func(kind HoldKind, until time.Time) {
		if until.IsZero() {
			return
		}
		if due := e.runsOut(); !due.IsZero() {
			until = earlier(until, due)
		}
		holds = append(holds, Hold{Kind: kind, Until: until})
	}
	if e.asked || e.timing != nil {
		return nil
	}
	if e.source.MinGap == 0 && t.limits.SourceGap > 0 && e.begun != 0 {
		add(HoldSourceGap, e.begun.time().Add(t.limits.SourceGap))
	}
	add(HoldHint, t.hintUntil(e))
	add(HoldSourceShare, t.sourceOpens(e))
	for _, h := range e.way() {
		add(HoldHostShare, t.hostOpens(h))
	}
	for _, g := range e.groups.all() {
		add(HoldGroupShare, t.groupOpens(g))
	}
	return holds
}

// setAlarms sets an alarm for when the gap, the hint and the share of a source have
// passed.
func (t *shareTable) setAlarms(now time.Time, e *entry) {
	at := later(t.sourceOpens(e), t.hintUntil(e))
	if gap := e.gap(t.limits); gap > 0 && e.begun != 0 {
		at = later(at, e.begun.time().Add(gap))
		if opens := later(t.sourceOpens(e), e.begun.time().Add(gap)); e.again != 0 && opens.After(now) {
			t.alarms.set(opens)
		}
	}
	if at.After(now) {
		t.alarms.set(at)
	}
}
