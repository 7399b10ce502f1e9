package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
)

// A telling is when a source says that it changes next, by one kind of words, and how far
// such words of it are true. Comes is the chance that it changes soon after the moment,
// beside the chance that it has changed anyway. Leaks is the share of the changes that
// come before it. A source that tells the truth is quiet up to the moment; then it is as
// good as known to have changed.
//
// Many such words are not meant so: a max-age says how long a copy may be kept, and a page
// can promise anything. So nothing is believed until it has proved true several times, and a
// few lies end it. Forecasts are then as without it. Only a value that a user has named is
// believed from the beginning.
type telling struct {
	by   freshet.NextKind
	open bool // a moment is told, and no poll has shown yet what came of it

	at    float64 // the moment, in ticks
	every float64 // after how many ticks it comes again; 0 if it does not
	told  float64 // when it was read
	last  float64 // when a poll looked soon after it in vain; 0 if none did

	bears, keeps conviction
	comes, leaks float32
	late         float32 // how many ticks after the moment it changes
	right, times float32 // of moments that polls were held against; what is long past counts for less

	zone *zoneGuess // nil if it names a zone
}

// A sayer is what a source says of when it will change. Few say anything.
type sayer struct {
	tellings []telling // at most one of each kind
	rests    freshet.Rests
	rest     resting
}

// A resting is how far a source is quiet in the hours and days in which it says so.
type resting struct {
	keeps        conviction
	leaks        float32 // share of the changes that come nevertheless
	right, times float32
}

// How words are doubted, as the logarithm of how much likelier it is at first that they say
// nothing, and when they are believed.
const (
	doubtful    = 4
	leakDoubt   = 2
	leastProved = 3 // times that they have been held against polls
	leastComes  = 0.5
	mostLeaks   = 0.5
)

// What is soon after a moment: a part of the time for which it was told ahead, within
// bounds. Until then a poll that finds nothing may have come too early.
const (
	soonPart  = 1.0 / 24
	soonLeast = 3 // ticks
	soonMost  = time.Hour
)

// How long a source is taken to be quiet at most because it says so: as long as this, or
// so many turns. It may have changed its mind.
const (
	quietMost  = 24 * time.Hour
	quietTurns = 16
)

const (
	lateGrip = 0.5
	lateKeep = 0.95 // each time that it was not late, so that sooner is tried again
)

func newTelling(by freshet.NextKind) telling {
	t := telling{by: by}
	if by != freshet.NextByField {
		t.bears.doubt(doubtful, 0)
		t.keeps.doubt(leakDoubt, shares-1)
	}
	t.renew()
	return t
}

// doubt makes all shares less likely at first than one of them.
func (c *conviction) doubt(by float32, but int) {
	for i := range c {
		if i != but {
			c[i] = -by
		}
	}
}

// renew works out the shares anew.
func (t *telling) renew() {
	var none conviction
	t.comes = float32(t.bears.mean(&none, &bearing))
	t.leaks = float32(t.keeps.mean(&none, &leaking))
}

// believed reports whether what is told is gone by.
func (t *telling) believed() bool {
	return t.comes >= leastComes && (t.times >= leastProved || t.by == freshet.NextByField)
}

// soon returns for how many ticks after the moment a change counts as foretold.
func (t *telling) soon(l *Learner) float64 {
	most := soonMost.Seconds() / l.clock.seconds()
	return max(soonLeast, min(most, soonPart*(t.at-t.told)))
}

// due returns when to look for what is told.
func (t *telling) due(l *Learner) float64 {
	if t.last > 0 {
		return t.at + t.soon(l)
	}
	return t.at + float64(t.late)
}

// saysOf returns what a source says of itself; nil if that is nothing.
func (l *Learner) saysOf(slot freshet.Slot) *sayer {
	if int(slot) >= len(l.says) {
		return nil
	}
	return l.says[slot]
}

// best returns what is told that is believed most; nil if nothing is.
func (s *sayer) best() (best *telling) {
	worth := float32(0)
	for i := range s.tellings {
		t := &s.tellings[i]
		if w := t.comes * (1 - t.leaks); t.open && t.believed() && (best == nil || w > worth) {
			best, worth = t, w
		}
	}
	return best
}

// foresay bends what is expected of a source at x by what it says of itself. It reports
// whether that is anything.
func (l *Learner) foresay(slot freshet.Slot, x float64, h *Hint) (says bool) {
	s := l.saysOf(slot)
	if s == nil || l.overruled(slot, x) {
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
	if last < t.at && x-last <= l.quietest() {
		before := l.before(slot, t.at, x, h.Expected)
		ticks := h.Ticks * min(1, (t.at-last)/(x-last))
		h.Expected -= (1 - float64(t.leaks)) * before
		h.Ticks -= (1 - float64(t.leaks)) * ticks
		says = true
	}
	if x >= t.due(l) {
		h.Pending = 1 - (1-h.Pending)*(1-float64(t.comes))
		h.Changes, h.Age = max(1, h.Changes), max(0, x-t.at)
		says = true
	}
	return says
}

// quietest returns for how many ticks a source is taken to be quiet at most.
func (l *Learner) quietest() float64 {
	return max(quietMost.Seconds()/l.clock.seconds(), quietTurns*l.Turn())
}

// before returns how many of the changes expected of a source until x come before a moment.
func (l *Learner) before(slot freshet.Slot, at, x, whole float64) float64 {
	if x <= at {
		return whole
	}
	return max(0, whole-l.since(slot, at, x, whole))
}

// holdSaid learns from a poll at x how far what its source said of itself was true, where
// so many changes were expected. It reports whether the poll looked for what was told, and
// which share of what was expected was still to be expected after what the source said.
func (l *Learner) holdSaid(slot freshet.Slot, whole float64, o *freshet.Outcome, see *sighting) (told bool, open float64) {
	s := l.saysOf(slot)
	if s == nil {
		return false, 1
	}
	open = 1
	if s.rests != 0 {
		open = l.holdRest(slot, s, whole, see)
	}
	t := s.best()
	var moment float64
	if t != nil {
		switch moment = t.at + float64(t.late); {
		case see.at >= t.due(l):
			told = true
		case see.at < t.at && see.at-l.pages.At(slot).last <= l.quietest():
			open *= float64(t.leaks)
		}
	}
	dates := told && see.changed && see.dated.n == 0 && t.leaks <= mostLeaks && moment > l.pages.At(slot).last
	for i := range s.tellings {
		t := &s.tellings[i]
		if t.open {
			l.holdTelling(slot, t, whole, o, see)
		}
		t.seeZone(l, l.pages.At(slot).last, see.at, whole, see.changed)
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

// holdTelling holds what was told against a poll.
func (l *Learner) holdTelling(slot freshet.Slot, t *telling, whole float64, o *freshet.Outcome, see *sighting) {
	x, last := see.at, l.pages.At(slot).last
	if x < t.at {
		t.leak(whole, see.changed)
		t.renew()
		return
	}
	soon := t.soon(l)
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
func (t *telling) lateBy(x float64) {
	if t.last == 0 {
		t.late *= lateKeep
		return
	}
	came := (t.last+x)/2 - t.at // some time between the two looks
	t.late += lateGrip * float32(came-float64(t.late))
	t.late = max(t.late, float32(t.last-t.at))
}

// close ends what was told, and goes on to the next moment if there is one.
func (t *telling) close(x float64) {
	t.last = 0
	if t.open = t.every > 0; t.open {
		t.told = x
		t.at += t.every * (math.Floor((x-t.at)/t.every) + 1)
	}
}

// bear takes in whether a change came soon after the moment, if there was such a chance of
// one anyway.
func (t *telling) bear(chance float64, came bool) {
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
func (t *telling) leak(expected float64, found bool) {
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

// hearSaid takes in what a source says of when it will change.
func (l *Learner) hearSaid(slot freshet.Slot, x float64, o *freshet.Outcome) {
	until := o.FreshUntil()
	if l.says[slot] == nil && until.IsZero() && (o.Foretold == nil || len(o.Foretold.Next) == 0 && o.Foretold.Rests == 0) {
		return
	}
	if l.says[slot] == nil {
		l.says[slot] = &sayer{}
	}
	s := l.says[slot]
	l.tell(s, x, freshet.NextWord{By: freshet.NextByServer, At: until})
	f := o.Foretold
	if f == nil {
		if !o.Result.Captured() {
			return
		}
		f = &freshet.Foretelling{}
	}
	for by := freshet.NextByFeed; by < freshet.NextKinds; by++ {
		next := freshet.NextWord{By: by}
		for _, n := range f.Next {
			if n.By == by {
				next = n
			}
		}
		l.tell(s, x, next)
	}
	if s.rests != f.Rests {
		s.rests, s.rest = f.Rests, newResting()
	}
}

// tell takes in what is said by one kind of words at x. A moment that has passed says
// nothing, unless there is one after it.
func (l *Learner) tell(s *sayer, x float64, n freshet.NextWord) {
	var t *telling
	for i := range s.tellings {
		if s.tellings[i].by == n.By {
			t = &s.tellings[i]
		}
	}
	if n.At.IsZero() {
		if t != nil {
			t.inZone(l, n, 0, x)
			t.open = false
		}
		return
	}
	at, every := l.clock.at(n.At), float64(n.Every)/float64(l.clock.length)
	if t == nil {
		s.tellings = append(s.tellings, newTelling(n.By))
		t = &s.tellings[len(s.tellings)-1]
	}
	at = t.inZone(l, n, at, x)
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

// foretoldOf returns when a source changes next by its own word: that which is believed
// most or else, of what is said, the soonest.
func (l *Learner) foretoldOf(slot freshet.Slot) (f freshet.Foretold) {
	s := l.saysOf(slot)
	if s == nil {
		return f
	}
	t := s.best()
	if t == nil {
		for i := range s.tellings {
			if one := &s.tellings[i]; one.open && one.by != freshet.NextByServer && (t == nil || one.at < t.at) {
				t = one
			}
		}
	}
	if t == nil {
		return f
	}
	return freshet.Foretold{
		At: l.clock.time(t.at).Round(time.Second), By: t.by, Every: time.Duration(t.every * float64(l.clock.length)).Round(time.Second),
		Right: float64(t.right), Times: float64(t.times), Believed: t.believed(),
	}
}

// DueOf returns when a source is to be looked at because it says that it changes, how
// likely it then has, and which share of its changes comes before; zero if it does not say
// so, is not believed, or chances that somebody gave hold then.
func (l *Learner) DueOf(slot freshet.Slot) (at time.Time, chance, leaks float64) {
	if s := l.saysOf(slot); s != nil {
		if t := s.best(); t != nil && !l.overruled(slot, t.due(l)) {
			return l.clock.time(t.due(l)), float64(t.comes), float64(t.leaks)
		}
	}
	return at, 0, 1
}

// NextDue returns the first moment after now at which a source of some slots is to be
// looked at because it says that it changes, and is believed; zero if there is none.
func (l *Learner) NextDue(now time.Time, from, to freshet.Slot) time.Time {
	x, first := l.moment(now), math.Inf(1)
	for slot := from; slot < min(to, freshet.Slot(len(l.says))); slot++ {
		s := l.says[slot]
		if s == nil || l.pages.At(slot).kind&(paused|lists) != 0 {
			continue
		}
		if t := s.best(); t != nil {
			if due := t.due(l); due > x && due < first && !l.overruled(slot, due) {
				first = due
			}
		}
	}
	if math.IsInf(first, 1) {
		return time.Time{}
	}
	return l.clock.time(first)
}
