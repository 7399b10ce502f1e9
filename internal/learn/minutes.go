package learn

import (
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// A minuteRhythm tells whether a source keeps to certain minutes of the hour: a report that
// comes out at ten to, a job that runs every quarter. A profile tells hours apart, and
// minutes by fives. A minuteRhythm has when the source changed last, by the minute, and says what
// polls at this minute would have found in the last hours, if the source had been seen
// then at the minute at which it last was. So it holds whatever the hours have in common:
// several moments, how far each varies, and that what has come does not come again.
//
// Only sources that date all their changes have one, and only where a source is polled more
// often than the cycle turns. It counts while changes keep to the minutes of those before
// them much more than chance would have it, while it foretells what polls find, and while
// polls are few enough for the minute to matter.
type minuteRhythm struct {
	changes []stamp // the oldest first
	since   uint32  // the minute from which on it is known when there were changes
	seen    uint32  // the minute at which the source was last seen

	first [rhythmHours]uint16 // how many minutes after that of the last poll the source had changed in each of the last hours; the least first
	hours uint8               // of them, that are known
	by    [hour]uint8         // changes in each minute of the hour
	span  float32             // hours in which they were
	every float32             // share of the hours that had a change

	good  bool    // it is what is expected by
	kept  float32 // how much likelier changes have been for those before them than by chance, as a logarithm
	score float32 // how much better than all else it has announced what polls found, as a logarithm
	found float32 // share of the polls of late that found a change
}

// minuteRhythms are the minutes of the hour to which sources keep.
type minuteRhythms struct {
	*expectations
	of []*minuteRhythm // by slot; nil where nothing is known of minutes
}

// A stamp is when a source changed, in minutes since 1970.
type stamp struct {
	at     uint32
	hidden uint16 // minutes before that of which nothing is known
}

const (
	rhythmChanges = 64 // that are remembered
	rhythmHours   = 32 // that are looked back
	leastHours    = 8  // that have to be known
	leastBefore   = 3  // changes that others are held against
	hour          = 60 // minutes

	plainHours = 4    // for which all else that is known counts
	astray     = 2.5  // minutes by which changes of one moment stray
	atRandom   = 0.15 // of the changes keep to no minute
)

// When a minute rhythm counts, and when it does no more.
const (
	rhythmKept = 0.98 // of what was seen, by a poll or change
	mostSure   = 10
	keptGood   = 4
	keptLost   = 0
	scoreLost  = -4
	foundGood  = 0.65
	foundLost  = 0.55
	foundGrip  = 16 // polls
	everyGood  = 0.5
	everyLost  = 0.4
	leastShare = 0.01 // of a chance that is held against what was found
)

// minute returns a moment in minutes since 1970; 0 if it was before that.
func (c clock) minute(x float64) float64 {
	return max(0, float64(c.start)/60e9+x*float64(c.length)/60e9)
}

// check takes in what a poll saw for the minute rhythm of a source. Said is how likely all else
// made it to find a change. It reports whether the minute rhythm was what was expected by, and
// what chance it gave.
func (l *minuteRhythms) check(slot freshet.Slot, see *sighting, said float64) (chance float64, good bool) {
	b := l.of[slot]
	if l.ownShape[byMinute] == 0 || b == nil && see.dated.n == 0 {
		return 0, false
	}
	from, to := l.clock.minute(l.pages.At(slot).last), l.clock.minute(see.at)
	if b == nil {
		b = &minuteRhythm{since: uint32(from)}
		l.of[slot] = b
	}
	good = b.good
	if b.hours >= leastHours {
		chance = b.chance(to-from, said)
		b.judge(chance, said, see.changed)
	}
	b.take(&l.clock, uint32(from), uint32(math.Ceil(to)), see)
	b.lookBack(uint32(to))
	return chance, good
}

// judge holds a minute rhythm against what a poll found.
func (b *minuteRhythm) judge(chance, said float64, changed bool) {
	bound := func(x float64) float64 { return min(1-leastShare, max(leastShare, x)) }
	hit, ratio := float32(0), (1-bound(chance))/(1-bound(said))
	if changed {
		hit, ratio = 1, bound(chance)/bound(said)
	}
	b.found += (hit - b.found) / foundGrip
	b.score = float32(min(mostSure, rhythmKept*float64(b.score)+math.Log(ratio)))
	switch {
	case b.score < scoreLost:
		b.good, b.kept, b.score = false, 0, 0
	case b.kept < keptLost || b.found < foundLost || b.every < everyLost:
		b.good = false
	case b.kept >= keptGood && b.found >= foundGood && b.every >= everyGood:
		b.good = true
	}
}

// take keeps what a poll saw of the minutes from one up to another.
func (b *minuteRhythm) take(c *clock, from, to uint32, see *sighting) {
	last := max(from, to-1)
	switch d := &see.dated; {
	case d.n > 0:
		hidden := !d.all
		for i := d.n - 1; i >= 0; i-- {
			at := min(last, max(from, uint32(c.minute(float64(d.ticks[i])+0.5))))
			s := stamp{at: at}
			if hidden {
				s.hidden, hidden = uint16(min(at-from, math.MaxUint16)), false
			}
			b.weigh(at)
			b.add(s)
		}
	case see.changed: // when, nobody says
		b.add(stamp{at: last, hidden: uint16(min(last-from, math.MaxUint16))})
	}
}

// weigh holds a change against those of the hours before it, and not against those that
// came just before, as in a burst.
func (b *minuteRhythm) weigh(at uint32) {
	sum, n := 0.0, 0.0
	for i := range b.changes {
		since := int64(at) - int64(b.changes[i].at)
		if since < hour*3/4 {
			break
		}
		off := float64(min(since%hour, hour-since%hour))
		sum += math.Exp(-off * off / (2 * astray * astray))
		n++
	}
	if n < leastBefore {
		return
	}
	likely := sum / n * hour / (astray * math.Sqrt(2*math.Pi)) // next to any minute
	b.kept = float32(min(mostSure, rhythmKept*float64(b.kept)+math.Log(atRandom+(1-atRandom)*likely)))
}

// add keeps a change.
func (b *minuteRhythm) add(s stamp) {
	if n := len(b.changes); n > 0 && b.changes[n-1].at > s.at { // a clock that was set back
		*b = minuteRhythm{since: s.at, changes: b.changes[:0]}
	}
	if len(b.changes) == rhythmChanges {
		b.since = b.changes[0].at + 1
		b.changes = slices.Delete(b.changes, 0, 1)
	}
	b.changes = append(b.changes, s)
}

// lookBack works out what polls would have found in the last hours if the source had
// been seen at the minute at which it now has been.
func (b *minuteRhythm) lookBack(seen uint32) {
	b.seen, b.hours = seen, 0
	changed, next := 0, len(b.changes)
	for from := int64(seen) - hour; from >= int64(b.since) && b.hours < rhythmHours; from -= hour {
		for next > 0 && int64(b.changes[next-1].at) >= from {
			next--
		}
		after := int64(math.MaxUint16) // and longer than anybody waits
		if next < len(b.changes) {
			s := b.changes[next]
			if s.hidden > 0 && int64(s.at)-int64(s.hidden) < from+hour {
				continue
			}
			after = min(after, int64(s.at)+1-from)
		}
		if after <= hour {
			changed++
		}
		b.first[b.hours] = uint16(after)
		b.hours++
	}
	slices.Sort(b.first[:b.hours])
	b.every = float32(changed) / max(1, float32(b.hours))
	b.by = [hour]uint8{}
	for _, s := range b.changes {
		b.by[s.at%hour]++
	}
	b.span = max(1, float32(int64(seen)-int64(b.since))/hour)
}

// chance returns the chance that the source has changed so many minutes after it was
// seen, if it is so without the minute rhythm.
func (b *minuteRhythm) chance(minutes, plain float64) float64 {
	const tie = 0.01 // a minute is over when it is
	n := 0
	for n < int(b.hours) && float64(b.first[n]) <= minutes+tie {
		n++
	}
	return (float64(n) + plainHours*plain) / (float64(b.hours) + plainHours)
}

// A Rhythm is what the minutes of the hour say of a source that keeps to them.
type Rhythm struct {
	Chance float64 // that it has changed since it was last seen
	Later  float64 // the most that the chance comes to by waiting a few minutes, less what waiting always brings
	Haste  float64 // how much more than usual a poll is worth for what is about to come: it replaces what is there
}

// How far ahead a minute rhythm looks: a part of the time in which all sources are polled once,
// and never long.
const (
	aheadPart    = 0.25
	leastMinutes = 2
	mostMinutes  = 15
)

// Rhythms yields the sources that keep to certain minutes of the hour, in the order of
// their slots. Expected is what Likely has set for the same moment and
// slots.
func (l *Learner) Rhythms(now time.Time, from freshet.Slot, expected []float64, tell func(slot freshet.Slot, r *Rhythm)) {
	if l.ownShape[byMinute] == 0 {
		return
	}
	x := l.moment(now)
	var r Rhythm
	for i, whole := range expected[:l.count(from, len(expected))] {
		slot := from + freshet.Slot(i)
		p, b := l.pages.At(slot), l.minutely.of[slot]
		if b == nil || !b.good || x <= p.last || p.kind&(unseen|paused|lists) != 0 {
			continue
		}
		b.ahead(l.clock.minute(p.last), l.clock.minute(x), l.minutesAhead(), -math.Expm1(-whole), &r)
		tell(slot, &r)
	}
}

func (l *population) minutesAhead() float64 {
	return math.Round(min(mostMinutes, max(leastMinutes, aheadPart*l.revisit()/60)))
}

// ahead works out how things stand at now with a source that was last seen at last, if it
// has changed with such a chance without the minute rhythm. Both are in minutes.
func (b *minuteRhythm) ahead(last, now, few, plain float64, r *Rhythm) {
	r.Chance, r.Later = b.chance(now-last, plain), 0
	soon := 0.0
	for d := 1.0; d <= few; d++ {
		always := 1 + d/(now-last)
		r.Later = max(r.Later, b.chance(now-last+d, min(1, plain*always))/always)
		soon += float64(b.by[int64(now+d-1)%hour])
	}
	usual := float64(len(b.changes)) * few / hour
	r.Haste = 1 + min(1, soon/float64(b.span)) - min(1, usual/float64(b.span))
}
