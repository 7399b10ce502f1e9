package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
)

// newResting returns what is thought of the rests of a source at first: that it does not
// keep to them.
func newResting() (r resting) {
	r.keeps.doubt(leakDoubt, shares-1)
	r.renew()
	return r
}

func (r *resting) renew() {
	var none conviction
	r.leaks = float32(r.keeps.mean(&none, &leaking))
}

// believed reports whether rests are gone by.
func (r *resting) believed() bool { return r.times >= leastProved && r.leaks <= mostLeaks }

// holdRest learns from a poll how far a source is quiet when it says so, where so many
// changes were expected. It returns which share of them was still to be expected.
func (l *Learner) holdRest(slot freshet.Slot, s *sayer, whole float64, see *sighting) (open float64) {
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
func (l *Learner) restPart(slot freshet.Slot, rests freshet.Rests, from, to float64) float64 {
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
func (l *Learner) second(x float64) float64 { return max(0, l.clock.minute(x)*60) }

// restingOf returns when a source says that it does not change.
func (l *Learner) restingOf(slot freshet.Slot) (r freshet.Resting) {
	if s := l.saysOf(slot); s != nil && s.rests != 0 {
		r = freshet.Resting{Rests: s.rests, Right: float64(s.rest.right), Times: float64(s.rest.times), Believed: s.rest.believed()}
	}
	return r
}
