package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/learn/outlook"
)

// An announcement is the next change that a source announces in one way, and how reliable
// such announcements have been. Comes is the probability that the source changes soon after
// the announced time, beside that of an unrelated change. Leaks is the share of the changes
// that come before it. A reliable source is quiet up to the announced time, and then as good
// as known to have changed.
//
// Many announcements are not meant as such: a max-age says how long a copy may be kept, and
// a page can announce anything. So none counts until it has come true several times, and a
// few failures end that. Only a value that a user has named counts from the beginning.
type announcement struct {
	by   evidence.NextKind
	open bool // a change is announced, and no poll has shown yet whether it came

	at    float64 // the announced time, in ticks
	every float64 // ticks until the next one; 0 if it does not recur
	told  float64 // when it was read
	last  float64 // when a poll soon after it found no change; 0 if none did

	bears, keeps conviction
	comes, leaks float32
	late         float32 // ticks from the announced time to the change
	right, times float32 // announcements that came true, and all that polls could check; old ones count for less

	zone *zoneGuess // nil if it names a zone
}

// An announcer is a source with announcements. Most sources have none.
type announcer struct {
	list  []announcement // at most one of each kind
	rests evidence.QuietHours
	rest  resting
}

// announcements are those of all sources.
type announcements struct {
	*expectations
	overrides *overrides
	of        []*announcer // by slot; nil where a source announces nothing
}

// A resting says how reliably a source is quiet in its announced quiet hours and days.
type resting struct {
	keeps        conviction
	leaks        float32 // share of the changes that come in them nevertheless
	right, times float32
}

// The prior against announcements, as the logarithm of how much likelier it is at first that
// they mean nothing, and what they have to show before they count.
const (
	doubtful    = 4
	leakDoubt   = 2
	leastProved = 3 // announcements that polls could check
	leastComes  = 0.5
	mostLeaks   = 0.5
)

// What is soon after the announced time: a part of the notice given, within bounds. Until
// then a poll that finds nothing may have come too early.
const (
	soonPart  = 1.0 / 24
	soonLeast = 3 // ticks
	soonMost  = time.Hour
)

// How long a source is taken to be quiet at most because of an announcement: so long, or so
// many full passes. It may have been withdrawn.
const (
	quietMost   = 24 * time.Hour
	quietPasses = 16
)

const (
	lateGrip = 0.5
	lateKeep = 0.95 // each time that it was not late, so that sooner is tried again
)

func newAnnouncement(by evidence.NextKind) announcement {
	t := announcement{by: by}
	if by != evidence.NextByField {
		t.bears.doubt(doubtful, 0)
		t.keeps.doubt(leakDoubt, shares-1)
	}
	t.renew()
	return t
}

// doubt gives all shares but one a lower prior.
func (c *conviction) doubt(by float32, but int) {
	for i := range c {
		if i != but {
			c[i] = -by
		}
	}
}

// renew works out the shares again.
func (t *announcement) renew() {
	var none conviction
	t.comes = float32(t.bears.mean(&none, &bearing))
	t.leaks = float32(t.keeps.mean(&none, &leaking))
}

// believed reports whether the announcement counts.
func (t *announcement) believed() bool {
	return t.comes >= leastComes && (t.times >= leastProved || t.by == evidence.NextByField)
}

// soon returns for how many ticks after the moment a change counts as announced.
func (t *announcement) soon(l *timeline) float64 {
	most := soonMost.Seconds() / l.clock.seconds()
	return max(soonLeast, min(most, soonPart*(t.at-t.told)))
}

// due returns when to look for the announced change.
func (t *announcement) due(l *timeline) float64 {
	if t.last > 0 {
		return t.at + t.soon(l)
	}
	return t.at + float64(t.late)
}

// get returns the announcements of a source; nil if there are none.
func (l *announcements) get(slot freshet.Slot) *announcer {
	if int(slot) >= len(l.of) {
		return nil
	}
	return l.of[slot]
}

// best returns the most reliable announcement that counts; nil if there is none.
func (s *announcer) best() (best *announcement) {
	worth := float32(0)
	for i := range s.list {
		t := &s.list[i]
		if w := t.comes * (1 - t.leaks); t.open && t.believed() && (best == nil || w > worth) {
			best, worth = t, w
		}
	}
	return best
}

// apply adjusts what is expected of a source at x to its announcements, and reports whether
// there are any that count.
func (l *announcements) apply(slot freshet.Slot, x float64, h *Hint) (says bool) {
	s := l.get(slot)
	if s == nil || l.overrides.hold(slot, x) {
		return false
	}
	last := l.pages.At(slot).last
	if s.rest.believed() {
		if part := l.restPart(slot, s.rests, last, x); part > 0 {
			awake := 1 - (1-float64(s.rest.leaks))*part
			h.Expected *= awake
			h.Ticks *= awake
			says = true
		}
	}
	t := s.best()
	if t == nil {
		return says
	}
	if last < t.at && x-last <= l.longestQuiet() {
		before := l.before(slot, t.at, x, h.Expected)
		ticks := h.Ticks * min(1, (t.at-last)/(x-last))
		h.Expected -= (1 - float64(t.leaks)) * before
		h.Ticks -= (1 - float64(t.leaks)) * ticks
		says = true
	}
	if x >= t.due(&l.timeline) {
		h.Pending = 1 - (1-h.Pending)*(1-float64(t.comes))
		h.Changes, h.Age = max(1, h.Changes), max(0, x-t.at)
		says = true
	}
	return says
}

// longestQuiet returns for how many ticks a source is taken to be quiet at most.
func (l *announcements) longestQuiet() float64 {
	return max(quietMost.Seconds()/l.clock.seconds(), quietPasses*l.FullPass())
}

// before returns how many of the changes expected of a source until x come before a moment.
func (l *expectations) before(slot freshet.Slot, at, x, whole float64) float64 {
	if x <= at {
		return whole
	}
	return max(0, whole-l.since(slot, at, x, whole))
}

// check learns from a poll how reliable the announcements of its source are, where whole
// changes were expected. It reports whether the poll looked for an announced change, and the
// share of whole that was still to be expected given the announcements.
func (l *announcements) check(slot freshet.Slot, whole float64, o *freshet.Outcome, see *sighting) (told bool, open float64) {
	s := l.get(slot)
	if s == nil {
		return false, 1
	}
	open = 1
	if s.rests != 0 {
		open = l.checkRests(slot, s, whole, see)
	}
	t := s.best()
	var moment float64
	if t != nil {
		switch moment = t.at + float64(t.late); {
		case see.at >= t.due(&l.timeline):
			told = true
		case see.at < t.at && see.at-l.pages.At(slot).last <= l.longestQuiet():
			open *= float64(t.leaks)
		}
	}
	dates := told && see.changed && see.dated.n == 0 && t.leaks <= mostLeaks && moment > l.pages.At(slot).last
	for i := range s.list {
		t := &s.list[i]
		if t.open {
			l.checkOne(slot, t, whole, o, see)
		}
		t.seeZone(&l.timeline, l.pages.At(slot).last, see.at, whole, see.changed)
	}
	switch {
	case dates:
		l.dateByPush(slot, moment, see)
	case open < 1 && see.changed && see.dated.n == 0:
		see.quiet += (1 - open) * see.exposure
		see.exposure *= open
	}
	return told, open
}

// checkOne holds what was told against a poll.
func (l *announcements) checkOne(slot freshet.Slot, t *announcement, whole float64, o *freshet.Outcome, see *sighting) {
	x, last := see.at, l.pages.At(slot).last
	if x < t.at {
		t.leak(whole, see.changed)
		t.renew()
		return
	}
	soon := t.soon(&l.timeline)
	before := 0.0
	if last < t.at {
		before = l.before(slot, t.at, x, whole)
	}
	changed := l.clock.at(o.Modified)
	switch dated := see.dated.n > 0 && !o.Modified.IsZero() && changed > last && changed <= x; {
	case !see.changed && x < t.at+soon:
		t.last = x
		return
	case dated && changed < t.at-1:
		t.leak(before, true)
		t.close(x)
	case dated && changed > t.at+soon:
		t.leak(before, false)
		t.bear(0, false)
		t.close(x)
	case dated:
		t.leak(before, false)
		t.bear(-math.Expm1(-whole*min(1, (soon+1)/(x-last))), true)
		t.late = max(0, t.late+lateGrip*float32(changed-t.at-float64(t.late)))
		t.close(x)
	default:
		t.bear(-math.Expm1(-(whole - (1-float64(t.leaks))*before)), see.changed)
		if see.changed {
			t.lateBy(x)
		}
		t.close(x)
	}
	t.renew()
}

// lateBy takes in that a change was found at x that was told.
func (t *announcement) lateBy(x float64) {
	if t.last == 0 {
		t.late *= lateKeep
		return
	}
	came := (t.last+x)/2 - t.at // some time between the two looks
	t.late += lateGrip * float32(came-float64(t.late))
	t.late = max(t.late, float32(t.last-t.at))
}

// close ends what was told, and goes on to the next moment if there is one.
func (t *announcement) close(x float64) {
	t.last = 0
	if t.open = t.every > 0; t.open {
		t.told = x
		t.at += t.every * (math.Floor((x-t.at)/t.every) + 1)
	}
}

// bear takes in whether a change came soon after the moment, if there was such a chance of
// one anyway.
func (t *announcement) bear(chance float64, came bool) {
	var fit [shares]float64
	for i, share := range bearing {
		right := share + (1-share)*chance
		if !came {
			right = 1 - right
		}
		fit[i] = math.Log(bounded(right))
	}
	t.bears.admit(&fit, trustKeeps, 1, surest)
	if t.right, t.times = tallyKeeps*t.right, tallyKeeps*t.times+1; came {
		t.right++
	}
}

// leak takes in whether a change came before the moment, where so many were expected.
func (t *announcement) leak(expected float64, found bool) {
	if expected > 0 {
		t.keeps.leak(expected, 0, found)
	}
}

// leak takes in whether there was a change, where so many were expected in a quiet time
// and so many beside it.
func (c *conviction) leak(quiet, awake float64, found bool) {
	var fit [shares]float64
	for i, share := range leaking {
		fit[i] = -share * quiet
		if found {
			fit[i] = math.Log(bounded(-math.Expm1(-share*quiet - awake)))
		}
	}
	c.admit(&fit, math.Pow(trustKeeps, -math.Expm1(-quiet)), 1, surest)
}

// read takes in what a source says of when it will change.
func (l *announcements) read(slot freshet.Slot, x float64, o *freshet.Outcome) {
	until := o.FreshUntil()
	if l.of[slot] == nil && until.IsZero() && (o.Foretold == nil || len(o.Foretold.Next) == 0 && o.Foretold.Rests == 0) {
		return
	}
	if l.of[slot] == nil {
		l.of[slot] = &announcer{}
	}
	s := l.of[slot]
	l.readOne(s, x, evidence.Next{By: evidence.NextByServer, At: until})
	f := o.Foretold
	if f == nil {
		if !o.Result.Captured() {
			return
		}
		f = &evidence.Announcement{}
	}
	for by := evidence.NextByFeed; by < evidence.NextKinds; by++ {
		next := evidence.Next{By: by}
		for _, n := range f.Next {
			if n.By == by {
				next = n
			}
		}
		l.readOne(s, x, next)
	}
	if s.rests != f.Rests {
		s.rests, s.rest = f.Rests, newResting()
	}
}

// readOne takes in what is said by one kind of words at x. A moment that has passed says
// nothing, unless there is one after it.
func (l *announcements) readOne(s *announcer, x float64, n evidence.Next) {
	var t *announcement
	for i := range s.list {
		if s.list[i].by == n.By {
			t = &s.list[i]
		}
	}
	if n.At.IsZero() {
		if t != nil {
			t.inZone(&l.timeline, n, 0, x)
			t.open = false
		}
		return
	}
	at, every := l.clock.at(n.At), float64(n.Every)/float64(l.clock.length)
	if t == nil {
		s.list = append(s.list, newAnnouncement(n.By))
		t = &s.list[len(s.list)-1]
	}
	at = t.inZone(&l.timeline, n, at, x)
	if every > 0 && at <= x {
		at += every * (math.Floor((x-at)/every) + 1)
	}
	if t.open && t.at == at { // as before
		return
	}
	if t.open && t.last > 0 && at > x { // it put off what it had told
		t.bear(0, false)
		t.renew()
	}
	t.open, t.at, t.every, t.told, t.last = at > x, at, every, x, 0
}

// summary returns the next announced change of a source: the most reliable one or, if none
// counts, the soonest.
func (l *announcements) summary(slot freshet.Slot) (f outlook.Announced) {
	s := l.get(slot)
	if s == nil {
		return f
	}
	t := s.best()
	if t == nil {
		for i := range s.list {
			if one := &s.list[i]; one.open && one.by != evidence.NextByServer && (t == nil || one.at < t.at) {
				t = one
			}
		}
	}
	if t == nil {
		return f
	}
	return outlook.Announced{
		At: l.clock.time(t.at).Round(time.Second), By: t.by, Every: time.Duration(t.every * float64(l.clock.length)).Round(time.Second),
		Right: float64(t.right), Times: float64(t.times), Believed: t.believed(),
	}
}

// DueOf returns when to poll a source for its announced change, the probability that it has
// come by then, and the share of changes that come before; zero if no announcement counts,
// or a forecast override does.
func (l *Learner) DueOf(slot freshet.Slot) (at time.Time, chance, leaks float64) {
	if s := l.announced.get(slot); s != nil {
		if t := s.best(); t != nil && !l.overrides.hold(slot, t.due(&l.timeline)) {
			return l.clock.time(t.due(&l.timeline)), float64(t.comes), float64(t.leaks)
		}
	}
	return at, 0, 1
}

// NextDue returns when the first announced change after now of the sources in [from, to) is
// due; zero if there is none.
func (l *Learner) NextDue(now time.Time, from, to freshet.Slot) time.Time {
	x, first := l.moment(now), math.Inf(1)
	for slot := from; slot < min(to, freshet.Slot(len(l.announced.of))); slot++ {
		s := l.announced.of[slot]
		if s == nil || l.pages.At(slot).kind&(paused|lists) != 0 {
			continue
		}
		if t := s.best(); t != nil {
			if due := t.due(&l.timeline); due > x && due < first && !l.overrides.hold(slot, due) {
				first = due
			}
		}
	}
	if math.IsInf(first, 1) {
		return time.Time{}
	}
	return l.clock.time(first)
}

// newResting returns the prior: that a source does not keep to its quiet hours.
func newResting() (r resting) {
	r.keeps.doubt(leakDoubt, shares-1)
	r.renew()
	return r
}

func (r *resting) renew() {
	var none conviction
	r.leaks = float32(r.keeps.mean(&none, &leaking))
}

// believed reports whether quiet hours count.
func (r *resting) believed() bool { return r.times >= leastProved && r.leaks <= mostLeaks }

// checkRests learns from a poll how far a source is quiet when it says so, where so many
// changes were expected. It returns which share of them was still to be expected.
func (l *announcements) checkRests(slot freshet.Slot, s *announcer, whole float64, see *sighting) (open float64) {
	part := l.restPart(slot, s.rests, l.pages.At(slot).last, see.at)
	if !(part > 0) {
		return 1
	}
	r := &s.rest
	open = 1
	if r.believed() {
		open = 1 - (1-float64(r.leaks))*part
	}
	quiet := whole * part
	r.keeps.leak(quiet, whole-quiet, see.changed)
	const tells = 0.1 // how likely a change has to be for a poll to count
	if -math.Expm1(-quiet) > tells && (!see.changed || part > 1-tells) {
		if r.right, r.times = tallyKeeps*r.right, tallyKeeps*r.times+1; !see.changed {
			r.right++
		}
	}
	r.renew()
	return open
}

// thursdayFirst is the day of the week on which 1970 began.
const thursdayFirst = int(time.Thursday)

// restHours is how many hours are gone through one by one: a week.
const restHours = 7 * 24

// restPart returns the share of what is expected of a source between two moments that falls
// into rests, by the profile of its site.
func (l *announcements) restPart(slot freshet.Slot, rests evidence.QuietHours, from, to float64) float64 {
	const hour = 3600
	begin, end := l.second(from), l.second(to)
	if end <= begin {
		return 0
	}
	p := l.pages.At(slot).site.profile
	quiet, all := 0.0, 0.0
	at := math.Floor(begin/hour) * hour
	if end-begin > restHours*hour { // a whole week is like any other
		begin = at
		end = at + restHours*hour
	}
	for ; at < end; at += hour {
		n := int64(at) / hour
		inDay, day := int(n%24), int(n/24%7)
		width := min(end, at+hour) - max(begin, at)
		if l.clock.shape[byHour] == 24 {
			width *= float64(p.factor[inDay]) * float64(p.factor[first[byWeekday]+day])
		}
		if all += width; rests&(rests.Hour(inDay)|rests.Day(time.Weekday((day+thursdayFirst)%7))) != 0 {
			quiet += width
		}
	}
	if !(all > 0) {
		return 0
	}
	return quiet / all
}

// second returns a moment in seconds since 1970, and not before.
func (l *timeline) second(x float64) float64 { return max(0, l.clock.minute(x)*60) }

// restSummary returns when a source says that it does not change.
func (l *announcements) restSummary(slot freshet.Slot) (r outlook.QuietHours) {
	if s := l.get(slot); s != nil && s.rests != 0 {
		r = outlook.QuietHours{Rests: s.rests, Right: float64(s.rest.right), Times: float64(s.rest.times), Believed: s.rest.believed()}
	}
	return r
}

// A zoneGuess finds out in which time zone a source means the times that it names without
// one: that in which changes come when they are told. Each poll is held against what every
// zone would have it find. Zones are whole hours; the few others are not found.
type zoneGuess struct {
	fits    [zones]float32 // logarithm of how well each fits; that of the best is 0
	hours   int            // of the zone that is gone by, ahead of UTC
	raw     float64        // the moment that was told last, if it was meant in UTC; NaN if none is
	told    float64        // when
	dayless bool           // it is a time of day
}

const (
	zones       = 27
	westernmost = -12

	zoneKeeps = 0.97 // of what was seen, by a poll
	zoneTrue  = 0.8  // how often a source is taken to tell the truth
	zoneLeaks = 0.5
	surelyNot = 3 // how much better another zone has to fit to be gone by, as a logarithm
	zoneMost  = 10
)

// moment returns when what was told is meant, if the clock of the source is so many hours
// ahead.
func (z *zoneGuess) moment(hours int, c *clock) float64 {
	hour := time.Hour.Seconds() / c.seconds()
	at := z.raw - float64(hours)*hour
	if z.dayless {
		day := 24 * hour
		at += day * math.Ceil((z.told-at)/day)
	}
	return at
}

// hear takes in a moment that was told at x.
func (z *zoneGuess) hear(raw, x float64, dayless bool) { z.raw, z.told, z.dayless = raw, x, dayless }

// see holds the zones against a poll at x that was made after one at last, where so many
// changes were expected. It reports whether another one is gone by from now on.
func (z *zoneGuess) see(c *clock, last, x, whole float64, changed bool) bool {
	if math.IsNaN(z.raw) || !(x > last) {
		return false
	}
	top := math.Inf(-1)
	for i := range z.fits {
		likely := -math.Expm1(-zoneLeaks * whole)
		if m := z.moment(i+westernmost, c); m > last && m <= x {
			likely = zoneTrue + (1-zoneTrue)*likely
		}
		if !changed {
			likely = 1 - likely
		}
		z.fits[i] = zoneKeeps*z.fits[i] + float32(math.Log(bounded(likely)))
		top = max(top, float64(z.fits[i]))
	}
	best := z.hours
	for i := range z.fits {
		z.fits[i] = max(z.fits[i]-float32(top), -zoneMost)
		if z.fits[i] == 0 {
			best = i + westernmost
		}
	}
	if z.fits[z.hours-westernmost] > -surelyNot {
		return false
	}
	z.hours = best
	return true
}

// zone writes or reads a guess at a zone.
func (c *codec) zone(z **zoneGuess) {
	has := *z != nil
	if c.flag(&has); !has || c.bad {
		return
	}
	if *z == nil {
		*z = &zoneGuess{}
	}
	g := *z
	c.float32s(g.fits[:])
	hours := int64(g.hours)
	c.int(&hours)
	if c.bad = c.bad || hours < westernmost || hours >= westernmost+zones; c.bad {
		return
	}
	g.hours = int(hours)
	told := !math.IsNaN(g.raw)
	if c.flag(&told); !told {
		g.raw = math.NaN()
		return
	}
	c.float(&g.raw)
	c.float(&g.told)
	c.flag(&g.dayless)
}

// inZone returns the announced time of a text that names no zone, in the zone that it seems
// to mean.
// Words that name one, or no moment, end the guess.
func (t *announcement) inZone(l *timeline, n evidence.Next, at, x float64) float64 {
	if n.At.IsZero() {
		if t.zone != nil {
			t.zone.raw = math.NaN()
		}
		return at
	}
	if !n.Zoneless {
		t.zone = nil
		return at
	}
	if t.zone == nil {
		t.zone = &zoneGuess{}
	}
	t.zone.hear(at, x, n.Dayless && n.Every == 0)
	return t.zone.moment(t.zone.hours, &l.clock)
}

// seeZone checks the zone of an announced time against a poll at x. In another zone than before,
// nothing is known of how far the words are true.
func (t *announcement) seeZone(l *timeline, last, x, whole float64, changed bool) {
	if t.zone == nil || !t.zone.see(&l.clock, last, x, whole, changed) {
		return
	}
	zone, every, told := t.zone, t.every, t.told
	*t = newAnnouncement(t.by)
	t.zone, t.every, t.told = zone, every, told
	if t.at = zone.moment(zone.hours, &l.clock); every > 0 {
		t.at += every * max(0, math.Ceil((x-t.at)/every))
	}
	t.open = t.at > x
}
