package policy

import (
	"time"

	"freshet/internal/freshet"
)

// Sources are ranked in parts: where there are many, one after the other within the time
// between two rankings, so that no choice waits until all have been looked at. What each
// is worth is then worked out at another moment, and as often as if all were looked at
// at once. Sources that fit in one part are ranked at once, and so are all where the
// policy is asked only at the beginning of that time: it has no other moment.

// partSize is how many sources are ranked at a time. To look at one takes about half a
// microsecond.
const partSize = 1 << 14

// A part is what is known of some sources, neighbours by slot, from when they were last
// looked at.
type part struct {
	reached int64     // the instant for which they are ranked; -1 if they are to be ranked soon
	due     time.Time // when they are ranked anew before their turn, because one says that it changes; zero if none does

	// Sums over them that say how they compare to all.
	changes, ticks    float64 // expected, and in which time
	needs             float64 // polls a second for service levels
	ages, aged        float64 // weighted ages of copies by turns, and of how many
	aimWorth, aimedAt [aims]float64
}

// mostStale is how many parts are ranked out of turn at one choice, because of edits.
const mostStale = 2

// A lap is the ranking of all parts, each in its turn.
type lap struct {
	next    int       // the part whose turn it is
	most    int       // polls that could be chosen when it was last asked
	whole   bool      // all were ranked at once
	asked   time.Time // when the last choice in it was
	gathers bool      // what is being ranked is in its turn, and its tidings are gathered
}

// soonest is the part of the time between two rankings after which there can be another one
// because a source says that it changes.
const soonest = 0.25

// renew ranks what is to be ranked before n polls are chosen at now.
func (a *Auto) renew(now time.Time, n int) {
	at := a.grid.At(now)
	alone := len(a.parts) == 1
	early := alone && (a.parts[0].reached < 0 || a.parts[0].expired(now))
	first, seldom := a.reached < 0, a.lap.asked.Before(a.lapTime(lateInLap))
	fresh := at != a.reached || early
	if a.lot.next(now.UnixNano(), fresh, n, len(a.worth)) {
		if !fresh || first || seldom || alone || a.lot.size > 0 {
			a.reached, a.lap = at, lap{next: len(a.parts), whole: true}
			a.margin.close()
			a.rankParts(now, n, 0, len(a.parts), true)
		}
	}
	if !alone {
		a.renewSome(now, at, n)
	}
	a.lap.asked = now
}

// renewSome ranks the parts whose turn it is, and some that cannot wait.
func (a *Auto) renewSome(now time.Time, at int64, n int) {
	if at != a.reached {
		if a.lap.next < len(a.parts) { // which the last lap has left
			a.rankParts(now, n, a.lap.next, len(a.parts), true)
		}
		a.reached, a.lap = at, lap{}
		a.margin.close()
	}
	a.lap.most = n
	for a.renewNext(now) {
	}
	stale := 0
	for i := range a.parts {
		if p := &a.parts[i]; (p.reached < 0 || p.expired(now)) && stale < mostStale {
			a.rankParts(now, n, i, i+1, false)
			stale++
		}
	}
}

// renewNext ranks the part whose turn it is, and reports whether there is one. Outcomes
// do that, too: there are more of them than choices.
func (a *Auto) renewNext(now time.Time) bool {
	if a.reached < 0 || a.lap.next >= len(a.parts) || now.Before(a.turn(a.lap.next)) {
		return false
	}
	a.rankParts(now, a.lap.most, a.lap.next, a.lap.next+1, true)
	a.lap.next++
	return true
}

// turn returns when the turn of a part comes in this lap.
func (a *Auto) turn(part int) time.Time { return a.lapTime(float64(part) / float64(len(a.parts))) }

// lateInLap is after which share of a lap there has to be a choice, for parts to be
// ranked in turn.
const lateInLap = 0.75

// lapTime returns when such a share of this lap has passed.
func (a *Auto) lapTime(share float64) time.Time {
	began := a.grid.Time(a.reached).Add(-a.grid.Length / 2)
	return began.Add(time.Duration(float64(a.grid.Length) * share))
}

// expired reports whether a source of the part says that it has changed by now.
func (p *part) expired(now time.Time) bool { return !p.due.IsZero() && !now.Before(p.due) }

// rankParts works out what polls of the sources of some parts are worth, and ranks them:
// in their turn, or because they cannot wait for it.
func (a *Auto) rankParts(now time.Time, n, from, to int, inTurn bool) {
	a.lap.gathers = inTurn
	for i := from; i < to; i++ {
		a.parts[i].reached = a.reached
		a.look(now, i)
	}
	a.value(now, from, to)
	for i := from; i < to; i++ {
		a.rank.Rank(i, a.worth, a.lot.most(n))
	}
}

// look works out when the next source of a part says that it changes.
func (a *Auto) look(now time.Time, i int) {
	p := &a.parts[i]
	from, to := a.rank.Bounds(i, len(a.worth))
	if p.due = a.learner.NextDue(now, freshet.Slot(from), freshet.Slot(to)); p.due.IsZero() {
		return
	}
	if least := now.Add(time.Duration(soonest * float64(a.grid.Length))); p.due.Before(least) {
		p.due = least
	}
}

// next returns when sources are ranked anew.
func (a *Auto) next(now time.Time) time.Time {
	next := a.grid.Time(a.reached + 1)
	if !a.lap.whole && len(a.parts) > 1 {
		next = a.turn(a.lap.next)
	}
	for i := range a.parts {
		p := &a.parts[i]
		if p.reached < 0 { // at once, which is at the next instant
			return now
		}
		if !p.due.IsZero() && p.due.Before(next) {
			next = p.due
		}
	}
	return next
}

// stale has the part of a source ranked anew at the next choice.
func (a *Auto) stale(slot freshet.Slot) {
	for a.rank.Of(slot) >= len(a.parts) {
		a.parts = append(a.parts, part{reached: -1})
	}
	a.parts[a.rank.Of(slot)].reached = -1
}
