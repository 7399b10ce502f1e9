package learn

import (
	"cmp"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/sched/column"
)

// A Config says how a Learner divides time. The zero Config works.
type Config struct {
	Start time.Time     // where a tick begins; zero means 1970
	Tick  time.Duration // zero means a minute

	// Polls is the budget a tick, for as long as too few polls have been seen
	// to tell. Zero means one.
	Polls float64

	// Memory is the time after which what a tally counts is worth half. Zero
	// means 30 days.
	Memory time.Duration
}

// A Learner learns when sources change. Like a policy it is plain state: it
// reads no clock, does no I/O, and gives the same answers to the same calls.
// Make one with New.
//
// What it knows is in layers, each of which sees only those below it: the timeline;
// the population of sources and sites with their rates; snapshots of it; time-of-day
// profiles; background work; recent activity; and the expectations that follow from all
// of them. Above these lie what others say of when sources change: index hints, pushes,
// announcements of the sources themselves, forecast overrides and minutes of the hour.
type Learner struct {
	config Config
	*expectations

	hints     *indexHints
	announced *announcements
	overrides *overrides
	pushes    *pushes
	minutely  *minuteRhythms
	taught    map[freshet.Slot]taught // by slot; missing where nothing was imported

	credit      credit
	reliability Reliability
	upto        freshet.Cursor // the last outcome learned from

	next *Learner // the replacement in progress, which receives edits too; nil if there is none

	foresight foresight // scratch
	looking   look      // scratch
}

// A timeline is the ticks up to the one under way.
type timeline struct {
	clock  clock
	open   int64         // the tick that is under way
	began  bool          // a tick is under way at all
	phases [window]phase // of the last ticks
}

// A population is the sources, and the sites and tags by which they are pooled, with the
// rates at which they change.
type population struct {
	timeline
	grid   grid
	pages  column.Of[freshet.Slot, page]
	minds  column.Of[freshet.Slot, mind]
	counts column.Of[freshet.Slot, count]
	seen   int // how many pages there are that are polled

	sites  []*site
	named  map[string]*site // sites by their names
	tags   map[string]*family
	all    pool
	swept  bool // the priors have been renewed
	groups groups
	both   spread // scratch: what is thought of a page by its group and by what a sitemap says of it

	budget float64           // polls a tick, as configured
	pace   float64           // polls a tick, of late
	usual  float64           // polls a tick, over some days
	world  [memories]float64 // logarithm of how well memories have predicted of late
	scale  tallyScale
	bursts burstWorld // what is thought of all sources
}

// window is how many ticks back a poll says when something changed.
const window = 512

// A page is what forecasts need of a source; it is kept small because a
// decision looks at all of them.
type page struct {
	last  float64 // when it was last seen, in ticks
	upto  float64 // where the site's clock stood then
	mass  float64 // on the page's own clock since then, up to the tick under way
	site  *site   // nil where there is no source
	group *group  // nil if it is in no directory
	rate  float32 // a tick; 0 while nothing has been seen of it
	trust float32 // in the dates that it gives
	kind  pageKind
	claim evidence.ChangeFreq // how often it changes by a sitemap

	tick     uint16 // the low bits of the one up to which mass counts, where it has a profile of its own
	imported int32  // imported update times
}

// A pageKind says how far a source counts.
type pageKind uint8

const (
	paused pageKind = 1 << iota // known, but not to be polled
	unseen                      // never polled
	blank                       // of its rate nothing is known
	lists                       // there to list pages, and not for itself: no page is like it
)

// A site is the sources that were found for one site, or those of one host.
type site struct {
	pool
	name     string
	place    int                            // among the sites
	lists    int                            // sources that are not counted as pages
	kinTrust *kinTrust                      // nil if no page of a group of several was polled
	stamp    uint32                         // changes of what is thought of its groups
	family   *family                        // nil if no source of it ever had tags
	claimed  *[evidence.ChangeFreqs]claimed // its pages by what sitemaps say of them; nil if nothing is said
	profile  *profile
	dirty    bool   // the profile has to be settled
	kept     uint32 // the last snapshot that has it
	was      *siteBrief
	known    int // scratch: pages of which something is known

	tick   int64   // that the site has entered: the one under way or the one before, see background work
	pace   float64 // of the site's clock in that tick
	upto   float64 // where the clock stood when it began
	before float64 // pace in the tick before

	// Activity is kept only where there are several pages.
	*pulse
	now    moment // scratch: what a forecast at some moment needs
	looked uint64 // scratch: the look for which that was worked out
	view   int32  // scratch: where its courses are, if they are still its own
}

// A family is the sites whose sources share all tags.
type family struct {
	pool
	key   string // its tags
	sites int    // it is not saved if there are none
}

// A pulse is the activity of a site.
type pulse struct {
	activity
	pace [span]float32 // of the site's clock in each tick
}

// newPulse returns the activity of a site of which nothing is known: its clock
// has run evenly.
func newPulse() *pulse {
	p := &pulse{}
	p.reset()
	return p
}

// reset forgets the activity.
func (p *pulse) reset() {
	p.activity = activity{}
	for i := range p.pace {
		p.pace[i] = 1
	}
}

func (c *Config) setDefaults() {
	c.Tick = cmp.Or(c.Tick, time.Minute)
	c.Polls = cmp.Or(c.Polls, 1)
	c.Memory = cmp.Or(c.Memory, 30*24*time.Hour)
}

// New returns a Learner that knows nothing.
func New(c Config) *Learner {
	c.setDefaults()
	x := &expectations{fix: newCorrection()}
	x.bursts = newBurstWorld()
	x.clock = newClock(c.Start, c.Tick)
	x.grid = newGrid(x.clock)
	x.groups.of, x.groups.matrix = map[uint64]*group{}, newKinMatrix(&x.grid)
	x.named, x.tags, x.common = map[string]*site{}, map[string]*family{}, newProfile()
	x.budget, x.pace, x.usual, x.slice = c.Polls, c.Polls, c.Polls, aSlice
	x.scale.half = c.Memory.Seconds() / c.Tick.Seconds()
	l := &Learner{
		config: c, expectations: x, credit: newCredit(),
		hints: &indexHints{expectations: x}, overrides: &overrides{expectations: x, of: map[freshet.Slot]*override{}},
		pushes: &pushes{expectations: x, of: map[freshet.Slot]*trust{}}, minutely: &minuteRhythms{expectations: x}, taught: map[freshet.Slot]taught{},
	}
	l.announced = &announcements{expectations: x, overrides: l.overrides}
	l.hints.kinds[evidence.HubIndex] = newHubs()
	return l
}

// Forget makes the Learner as new: it knows nothing, and no source.
func (l *Learner) Forget() { *l = *New(l.config) }

// Tick returns how long a tick is.
func (l *Learner) Tick() time.Duration { return l.config.Tick }

// IsSetAs reports whether the learner is set as a configuration says, apart from where ticks
// begin.
func (l *Learner) IsSetAs(c Config) bool {
	c.setDefaults()
	c.Start = l.config.Start
	return c == l.config
}

// growTo makes at least so many slots.
func (l *Learner) growTo(slots int) {
	for l.pages.Len() < slots {
		l.pages.Add(page{})
		l.minds.Add(mind{})
		l.counts.Add(count{})
		l.minutely.of, l.announced.of = append(l.minutely.of, nil), append(l.announced.of, nil)
	}
}

// Put adds a source, or applies an edit to one. Since is when it was last
// seen, zero if never.
func (l *Learner) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	if l.next != nil {
		l.next.Put(now, slot, s, time.Time{})
	}
	l.growTo(int(slot) + 1)
	l.keep(slot)
	l.enter(slot)
	p := l.pages.At(slot)
	if p.site == nil {
		*l.minds.At(slot), *l.counts.At(slot), l.minutely.of[slot], l.announced.of[slot] = mind{}, count{}, nil, nil
		l.dropOwn(slot)
		delete(l.pushes.of, slot)
		delete(l.overrides.of, slot)
		delete(l.taught, slot)
		*p = page{kind: unseen | blank, trust: firstTrust, last: l.clock.at(now)}
		if !since.IsZero() {
			p.kind = blank
			p.last = min(p.last, l.clock.at(since)) // a clock may have been wrong, but nothing is seen ahead of its time
		}
		l.all.pages++
		l.seen++
	}
	l.counts.At(slot).life = s.Life
	l.pause(p, s.Paused)
	var was contribution
	l.contribute(slot, &was)
	l.move(p, s, s.Index)
	l.recontribute(slot, &was)
	l.joinGroup(slot, s)
	l.hints.setKey(slot, s.URL)
	l.foresee(slot)
	l.followSources()
}

// followSources has the prior follow the number of sources for as long as the first sweep
// has not ended.
func (l *population) followSources() {
	if !l.swept {
		l.all.prior = l.basePrior()
		l.groups.made++
	}
}

// basePrior returns what is thought of a source before any poll: that it changes once in two
// full passes.
func (l *population) basePrior() spread { return newPrior(&l.grid, 2*float64(l.all.pages)/l.budget) }

// pause says whether a source is to be polled.
func (l *population) pause(p *page, yes bool) {
	counts := p.kind&(paused|lists) == 0
	if p.kind &^= paused; yes {
		p.kind |= paused
	}
	l.seen += turned(counts, p.kind&(paused|lists) == 0)
}

// turned returns by how much a count grows if something counted or not, and now does or
// not.
func turned(was, is bool) int {
	switch {
	case is && !was:
		return 1
	case was && !is:
		return -1
	}
	return 0
}

// move puts a source among those of its site, if it is not there already. It is there
// to list pages or to be one.
func (l *background) move(p *page, s freshet.Source, listing bool) {
	to := l.siteOf(s)
	if p.site == to && listing == (p.kind&lists != 0) {
		return
	}
	l.enterSite(to)
	l.keepSite(to)
	l.leave(p, to)
	counts, paged := p.kind&(paused|lists) == 0, p.kind&lists == 0
	if p.kind &^= lists; listing {
		p.kind |= lists
	}
	l.seen += turned(counts, p.kind&(paused|lists) == 0)
	l.all.pages += turned(paged, !listing)
	p.site = to
	to.stamp++
	if listing {
		to.lists++
	} else if to.pages++; to.pages == 2 {
		to.pulse = newPulse()
	}
	p.upto = to.clock(p.last, l.open)
}

// siteOf returns the site of a source, which may be new.
func (l *background) siteOf(s freshet.Source) *site {
	name := siteName(s)
	at := l.named[name]
	if at == nil {
		at = &site{name: name, place: len(l.sites), profile: newProfile(), tick: l.open, pace: 1, upto: float64(l.open), kept: l.shots}
		l.named[name] = at
		l.sites = append(l.sites, at)
	}
	if at.family == nil && len(s.Tags) > 0 {
		l.keepSite(at)
		at.join(l.familyNamed(strings.Join(s.Tags, "\x00")))
	}
	return at
}

// siteName returns what the sources of one site have in common: the site that they were
// found for or, where the user named them one by one, their host. A site can have several
// hosts, and a host several sites.
func siteName(s freshet.Source) string {
	const site = "site " // no host has a space
	switch {
	case s.Of != "":
		return site + string(s.Of)
	case s.Site != nil:
		return site + string(s.ID)
	}
	return s.Host()
}

// familyNamed returns the family of some tags, which may be new.
func (l *population) familyNamed(key string) *family {
	f := l.tags[key]
	if f == nil {
		f = &family{key: key}
		l.tags[key] = f
	}
	return f
}

// join makes a site one of a family, or of none.
func (s *site) join(f *family) {
	if s.family != nil {
		s.family.sites--
	}
	if s.family = f; f != nil {
		f.sites++
	}
	s.stamp++
}

// leave takes a source from its site, for another or for none. A site that has no more
// is forgotten.
func (l *background) leave(p *page, to *site) {
	from := p.site
	if from == nil {
		return
	}
	p.site = nil
	from.stamp++
	if p.kind&lists != 0 {
		from.lists--
	} else {
		from.pages--
	}
	if from.pages+from.lists > 0 || from == to {
		return
	}
	delete(l.named, from.name)
	from.join(nil)
	last := l.sites[len(l.sites)-1]
	l.enterSite(last) // it would be passed over
	l.keepSite(last)
	l.sites[from.place], last.place = last, from.place
	l.sites = l.sites[:len(l.sites)-1]
}

// Remove forgets a source. What it taught about others stays.
func (l *Learner) Remove(slot freshet.Slot) {
	if l.next != nil {
		l.next.Remove(slot)
	}
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return
	}
	l.keepLeaving(slot)
	p := l.pages.At(slot)
	l.pause(p, true)
	l.leaveGroup(slot)
	l.leave(p, nil)
	l.hints.unmatch(slot)
	l.hints.keyOf[slot] = 0
	l.hints.removeIndex(slot)
	l.all.pages += turned(p.kind&lists == 0, false)
	l.dropOwn(slot)
	l.minutely.of[slot], l.announced.of[slot] = nil, nil
	delete(l.pushes.of, slot)
	delete(l.overrides.of, slot)
	delete(l.taught, slot)
	l.foresee(slot)
	l.followSources()
}

// fair returns the share of a poll that each source gets in a tick if all get
// the same.
func (l *population) fair() float64 { return l.pace / float64(max(1, l.seen)) }

// turns returns the full passes by which memories forget in so many ticks. Where polls come in
// spells, as in active hours, a pass takes as long as it does on average.
func (l *population) turns(ticks float64) float64 {
	return ticks * min(l.pace, l.usual) / float64(max(1, l.seen))
}

// priorOf returns what is thought of the rate of a source of which nothing is known. It is good
// until priorOf is called again.
func (l *population) priorOf(p *page) *spread {
	c, k := p.claims(), l.inGroup(p.group)
	switch {
	case c != nil && k != nil:
		l.both.combine(&c.prior, &k.prior, l.priorAt(p.site))
		return &l.both
	case c != nil:
		return &c.prior
	case k != nil:
		return &k.prior
	}
	return l.priorAt(p.site)
}

// priorAt returns what is thought of the rate of an unknown source of a site.
func (l *population) priorAt(s *site) *spread {
	switch {
	case s.pages > 1 && s.prior[0] > 0:
		return &s.prior
	case s.family != nil && s.family.prior[0] > 0:
		return &s.family.prior
	}
	return &l.all.prior
}

// know returns the rate of a source, in changes a tick. Until something has been
// seen of it, it is that of its like.
func (l *population) know(slot freshet.Slot) float64 {
	if p := l.pages.At(slot); p.rate > 0 && (p.kind&blank == 0 || p.group == nil) {
		return float64(p.rate)
	}
	return l.priorOf(l.pages.At(slot)).mean(&l.grid)
}

// revisit returns how long it takes, in seconds, to poll every source once.
func (l *population) revisit() float64 { return l.clock.seconds() / l.fair() }
