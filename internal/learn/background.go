package learn

import (
	"math"

	"freshet/internal/freshet"
)

// pendingWork is what a new tick asks of all sources. They are done some at a time, as
// outcomes come, so that none waits until all sources have been gone through. What a
// site or a source is asked for comes before anything that needs it, and is done for all
// before the next tick: so it makes no difference when it is. The sweep does make one,
// where it does not end with the outcome by which its tick begins.
type pendingWork struct {
	site   int  // the next site that has to enter the tick under way
	page   int  // the next source whose own clock has to run through the tick before
	owed   int  // sources that the sweep has to go through yet
	ending bool // a sweep ends: sites get new priors
	prior  int  // the next of them
}

// background is the work that a new tick asks for, and how far it has come.
type background struct {
	profiles
	todo  pendingWork
	sweep int     // the next slot whose posterior goes into the priors
	slice slice   // that is done with an outcome
	polls float64 // in the tick under way
}

// A slice is how much is done at once.
type slice struct{ sites, pages, sweep, priors int }

// These take some milliseconds each.
var (
	aSlice    = slice{sites: 1 << 13, pages: 1 << 16, sweep: 1 << 12, priors: 1 << 15}
	wholePass = slice{math.MaxInt, math.MaxInt, math.MaxInt, math.MaxInt}
)

// Sites and sources that enter a tick during a snapshot are kept for it, which takes longer.
const (
	sitesKept = 1 << 10
	pagesKept = 1 << 13
)

// sliceNow returns how much is done with an outcome.
func (l *background) sliceNow() slice {
	most := l.slice
	if l.shot != nil {
		most.sites, most.pages = min(most.sites, sitesKept), min(most.pages, pagesKept)
	}
	return most
}

// enterSite lets a site enter the tick under way, if it has not. It is no more than one
// tick behind.
func (l *background) enterSite(s *site) {
	if s.tick == l.open {
		return
	}
	if l.newTick() {
		l.keepSiteFor(s, s.dirty || s.pulse != nil)
	}
	s.before = s.pace
	s.upto += s.pace
	l.arrive(s)
}

// arrive lets a site begin with the tick under way.
func (l *background) arrive(s *site) {
	if s.dirty {
		s.profile.settle(&l.clock.shape, l.common, profileGrip)
		s.dirty = false
	}
	s.pace = s.profile.at(&l.clock.shape, l.phaseOf(l.open))
	if s.pulse != nil {
		s.open(l.open)
		s.pulse.pace[place(l.open)] = float32(s.pace)
	}
	s.tick = l.open
}

// enter lets a source enter the tick under way, with its site, if it has not.
func (l *background) enter(slot freshet.Slot) {
	p := l.pages.At(slot)
	if p.site == nil {
		return
	}
	l.enterSite(p.site)
	own := l.ownOf(slot)
	if !own.is() || p.tick == uint16(l.open) {
		return
	}
	if l.newTick() {
		l.keepBrief(slot)
	}
	begin := float64(l.open - 1)
	p.mass += (1 - max(0, p.last-begin)) * p.site.before * own.at(&l.ownShape, l.phaseOf(l.open-1))
	p.tick = uint16(l.open)
}

// catchUp lets some sites and sources enter the tick under way.
func (l *background) catchUp(most slice) {
	do := &l.todo
	for ; do.site < len(l.sites) && most.sites > 0; do.site, most.sites = do.site+1, most.sites-1 {
		l.enterSite(l.sites[do.site])
	}
	for ; do.page < l.pages.Len() && most.pages > 0; do.page, most.pages = do.page+1, most.pages-1 {
		if slot := freshet.Slot(do.page); l.hours.At(slot) != nil {
			l.enter(slot)
		}
	}
}

// arriveAll lets all begin with the tick under way.
func (l *background) arriveAll() {
	for _, s := range l.sites {
		l.arrive(s)
	}
	l.allEntered()
}

// here notes that all are in the tick under way.
func (l *background) allEntered() {
	for _, s := range l.sites {
		s.tick = l.open
	}
	for _, p := range l.pages.All {
		p.tick = uint16(l.open)
	}
	l.todo.site, l.todo.page = len(l.sites), l.pages.Len()
}

// doChores does some of what is left to do.
func (l *background) work(most slice) {
	l.catchUp(most)
	l.renewPriors(most)
}

// oweSweep says how many sources go into the priors in this tick, so that no tick has to
// look at all.
func (l *background) startSweep() {
	n := max(int(math.Ceil(sweeps*l.pace)), l.pages.Len()/64+1)
	l.todo.owed = min(n, (l.pages.Len()+2)/3)
}

// renewPriors lets what is thought of some sources go into the priors.
func (l *background) renewPriors(most slice) {
	for n := most.sweep; n > 0 && l.todo.owed > 0; n, l.todo.owed = n-1, l.todo.owed-1 {
		if l.sweep == l.pages.Len() {
			l.endSweep()
		}
		if l.todo.ending && !l.renewSites(most.priors) {
			return
		}
		slot := freshet.Slot(l.sweep)
		l.sweep++
		p := l.pages.At(slot)
		if p.site == nil || p.kind&unseen != 0 {
			continue
		}
		l.keepBrief(freshet.Slot(slot))
		l.keepSiteFor(p.site, p.claim != 0)
		m := l.minds.At(slot)
		prior := l.priorOf(p)
		m.recall(&l.grid, prior)
		p.rate = float32(m.mean(&l.world))
		if p.kind&lists != 0 {
			continue
		}
		q := m.of[long].weigh(prior)
		for i, w := range q {
			p.site.sum[i] += w
			l.all.sum[i] += w
			if f := p.site.family; f != nil {
				f.sum[i] += w
			}
		}
		l.sweepClaim(p, &q)
	}
}

// endSweep makes new priors of what the sweep has gathered; sites get theirs in the background.
func (l *background) endSweep() {
	l.sweep, l.swept = 0, true
	l.reshape()
	l.all.learnAlone()
	l.groups.made++
	l.groups.trust = l.groups.found
	for _, f := range l.tags {
		f.learn(&l.all.prior)
	}
	l.todo.ending, l.todo.prior = true, 0
}

// renewSites makes new priors of some sites, and reports whether those were the last.
func (l *background) renewSites(n int) bool {
	do := &l.todo
	for ; do.prior < len(l.sites); do.prior, n = do.prior+1, n-1 {
		if n == 0 {
			return false
		}
		s := l.sites[do.prior]
		l.keepSiteFor(s, s.claimed != nil)
		parent := &l.all.prior
		if s.family != nil && s.family.prior[0] > 0 { // of one that has come since the sweep ended nothing is known
			parent = &s.family.prior
		}
		if s.pages > 1 {
			s.learn(parent)
			s.stamp++
		} else {
			s.sum = spread{}
		}
		s.learnClaims(l.priorAt(s))
	}
	do.ending = false
	return true
}
