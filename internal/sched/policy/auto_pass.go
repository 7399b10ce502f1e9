package policy

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/ranking"
)

// passes say which sources are ranked when. Sources are ranked in parts: where there are
// many, one part after the other within the time between two rankings, so that no choice
// waits for a look at all of them. The worth of each is then worked out at another moment,
// and as often as if all were looked at together. Sources that fit in one part are ranked
// together, and so are all where the policy is asked only at the beginning of a step.
type passes struct {
	steps   ranking.Instants // at which sources are ranked again
	reached int64            // the step for which they are ranked, or are being ranked; -1 if they never were
	parts   []part
	full    fullPass
}

// restart has all sources ranked again, from now on at steps of another length.
func (p *passes) restart(length time.Duration) {
	p.steps = ranking.NewInstants(p.steps.Start, length)
	p.reached, p.full = -1, fullPass{}
	for i := range p.parts {
		p.parts[i].reached, p.parts[i].due = -1, time.Time{}
	}
}

// partSize is how many sources are ranked at a time. To look at one takes about half a
// microsecond.
const partSize = 1 << 14

// A part is what is known of some sources, neighbours by slot, from when they were last
// looked at.
type part struct {
	reached int64     // the step for which they are ranked; -1 if they are to be ranked soon
	due     time.Time // when they are ranked again before their turn, because one says that it changes; zero if none does

	// Sums over them that say how they compare to all.
	changes, ticks float64 // expected, and in which time
	needs          float64 // polls a second for service levels
	ages, aged     float64 // weighted ages of copies by turns, and of how many
	byObjective    [allObjectives]struct{ worth, count float64 }
}

// mostStale is how many parts are ranked out of turn at one choice, because of edits.
const mostStale = 2

// A fullPass is the ranking of all parts, each in its turn.
type fullPass struct {
	next    int       // the part whose turn it is
	most    int       // polls that could be chosen when it was last asked
	whole   bool      // all were ranked at once
	asked   time.Time // when the last choice in it was
	gathers bool      // what is being ranked is in its turn, and what it says of indexes is gathered
}

// soonest is the part of the time between two rankings after which there can be another one
// because a source says that it changes.
const soonest = 0.25

// renew ranks what is to be ranked before n polls are chosen at now.
func (a *Auto) renew(now time.Time, n int) {
	p := &a.passes
	at := p.steps.At(now)
	alone := len(p.parts) == 1
	early := alone && (p.parts[0].reached < 0 || p.parts[0].expired(now))
	first, rare := p.reached < 0, p.full.asked.Before(p.at(lateInPass))
	fresh := at != p.reached || early
	if a.batch.next(now.UnixNano(), fresh, n, len(a.worth)) {
		if !fresh || first || rare || alone || a.batch.size > 0 {
			p.reached, p.full = at, fullPass{next: len(p.parts), whole: true}
			a.prices.close()
			a.rankParts(now, n, 0, len(p.parts), true)
		}
	}
	if !alone {
		a.renewSome(now, at, n)
	}
	p.full.asked = now
}

// renewSome ranks the parts whose turn it is, and some that cannot wait.
func (a *Auto) renewSome(now time.Time, at int64, n int) {
	p := &a.passes
	if at != p.reached {
		if p.full.next < len(p.parts) { // which the last pass has left
			a.rankParts(now, n, p.full.next, len(p.parts), true)
		}
		p.reached, p.full = at, fullPass{}
		a.prices.close()
	}
	p.full.most = n
	for a.renewNext(now) {
	}
	stale := 0
	for i := range p.parts {
		if part := &p.parts[i]; (part.reached < 0 || part.expired(now)) && stale < mostStale {
			a.rankParts(now, n, i, i+1, false)
			stale++
		}
	}
}

// renewNext ranks the part whose turn it is, and reports whether there is one. Outcomes
// do that, too: there are more of them than choices.
func (a *Auto) renewNext(now time.Time) bool {
	p := &a.passes
	if p.reached < 0 || p.full.next >= len(p.parts) || now.Before(p.due(p.full.next)) {
		return false
	}
	a.rankParts(now, p.full.most, p.full.next, p.full.next+1, true)
	p.full.next++
	return true
}

// due returns when the turn of a part comes in this pass.
func (p *passes) due(part int) time.Time { return p.at(float64(part) / float64(len(p.parts))) }

// lateInPass is after which share of a pass there has to be a choice, for parts to be
// ranked in turn.
const lateInPass = 0.75

// at returns when such a share of this pass has passed.
func (p *passes) at(share float64) time.Time {
	began := p.steps.Time(p.reached).Add(-p.steps.Length / 2)
	return began.Add(time.Duration(float64(p.steps.Length) * share))
}

// expired reports whether a source of the part says that it has changed by now.
func (p *part) expired(now time.Time) bool { return !p.due.IsZero() && !now.Before(p.due) }

// rankParts works out what polls of the sources of some parts are worth, and ranks them:
// in their turn, or because they cannot wait for it.
func (a *Auto) rankParts(now time.Time, n, from, to int, inTurn bool) {
	a.passes.full.gathers = inTurn
	for i := from; i < to; i++ {
		a.passes.parts[i].reached = a.passes.reached
		a.look(now, i)
	}
	a.value(now, from, to)
	for i := from; i < to; i++ {
		a.rank.Rank(i, a.worth, a.batch.most(n))
	}
}

// look works out when the next source of a part says that it changes.
func (a *Auto) look(now time.Time, i int) {
	p := &a.passes.parts[i]
	from, to := a.rank.Bounds(i, len(a.worth))
	if p.due = a.learner.NextDue(now, freshet.Slot(from), freshet.Slot(to)); p.due.IsZero() {
		return
	}
	if least := now.Add(time.Duration(soonest * float64(a.passes.steps.Length))); p.due.Before(least) {
		p.due = least
	}
}

// next returns when sources are ranked again.
func (p *passes) next(now time.Time) time.Time {
	next := p.steps.Time(p.reached + 1)
	if !p.full.whole && len(p.parts) > 1 {
		next = p.due(p.full.next)
	}
	for i := range p.parts {
		part := &p.parts[i]
		if part.reached < 0 { // at once, which is at the next step
			return now
		}
		if !part.due.IsZero() && part.due.Before(next) {
			next = part.due
		}
	}
	return next
}

// expire has a part ranked again at the next choice.
func (p *passes) expire(i int) {
	for i >= len(p.parts) {
		p.parts = append(p.parts, part{reached: -1})
	}
	p.parts[i].reached = -1
}

// A batch is how many polls are chosen before what they find is waited for. Where the
// budget of one moment suffices for a good part of all sources, as in a crawl that
// downloads all its pages of a week in one go, the first few polls of a site tell
// what the others are worth. To choose all at once would be to choose blindly.
type batch struct {
	size  int   // polls, at most; 0 if there is no bound
	taken int   // of them, begun
	under int   // polls of it that are under way
	at    int64 // when it was chosen
	late  bool  // outcomes come at another moment, as in a daemon: they are not waited for
}

// Where at least so many polls, and such a part of all sources, can be polled at
// once, they are in so many batches.
const (
	leastPolls = 16
	perPoll    = 16 // sources of which one can be polled
	batches    = 32
)

// next reports whether sources are to be ranked again: at a new step, or when a
// batch is used up and what it found is known.
func (b *batch) next(at int64, newStep bool, n, sources int) bool {
	b.pass(at)
	switch {
	case newStep:
		*b = batch{at: at, late: b.late}
		if n >= max(leastPolls, sources/perPoll) && !b.late {
			b.size = (n + batches - 1) / batches
		}
		return true
	case b.size > 0 && b.taken >= b.size && b.under == 0:
		b.taken = 0
		return true
	}
	return false
}

// most returns how many of n polls can be begun now.
func (b *batch) most(n int) int {
	if b.size == 0 {
		return n
	}
	return max(0, min(n, b.size-b.taken))
}

// take notes that a poll has begun, and land that one has ended.
func (b *batch) take() { b.taken, b.under = b.taken+1, b.under+1 }
func (b *batch) land(at int64) {
	b.pass(at)
	b.under = max(0, b.under-1)
}

// pass notes what time it is. If it goes by while polls are under way, there is no
// use in batches.
func (b *batch) pass(at int64) {
	if b.size > 0 && b.under > 0 && at != b.at {
		b.late, b.size = true, 0
	}
}

// novelty is by how much more at most a poll is worth in a batch that is one of the
// first at its site. By how much is drawn for each source: so the first batches are a
// sample of all sites of which nothing is known, and not the whole of one of them.
const novelty = 0.5

// shuffled returns a number from 0 to 1 for a slot, always the same, and in no order.
func shuffled(slot int) float64 {
	h := (uint64(slot) + 1) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	return float64((h^h>>27)>>11) / (1 << 53)
}
