package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
)

// thursday is where the week begins that bins count: on the first day of 1970.
const thursday = 3

// Rhythm returns what was learnt of when a source changes: how far the profiles of its
// site and of its own bend what is expected, and what was seen.
func (l *Learner) Rhythm(now time.Time, slot freshet.Slot) (r freshet.Rhythm) {
	if int(slot) >= l.pages.Len() || l.pages.At(slot).site == nil {
		return r
	}
	o := l.Outlook(now, slot)
	r.Rate, r.Happened, r.Watched = LongRun(o), o.Happened, o.Watched
	r.Foretold, r.Resting = o.Foretold, o.Resting
	if !(o.Watched > 0) {
		r.Rate = o.Rate
	}
	if r.Taught = int(l.pages.At(slot).taught); r.Taught > 0 && o.Watched < longEnough.Seconds() { // which says more than the rate of this hour
		r.Rate = l.rates(slot, 1/l.clock.seconds())
	}
	own := l.ownOf(slot) // which Outlook has brought up to date
	r.Own = own.is()
	cycle := func(c int) (bins []freshet.RhythmBin) {
		sum := 0.0
		for i := range l.clock.shape[c] {
			b := l.rhythmBin(l.pages.At(slot).site.profile, own, c, first[c]+i)
			sum += b.Factor
			bins = append(bins, b)
		}
		for i := range bins {
			bins[i].Factor *= float64(len(bins)) / sum
		}
		return bins
	}
	r.Hours, r.Minutes = cycle(byHour), cycle(byMinute)
	if days := cycle(byWeekday); len(days) == 7 {
		r.Weekdays = append(days[7-thursday:], days[:7-thursday]...)
	}
	return r
}

// rhythmBin returns one bin of a cycle. What was seen is that of the source, if it has a
// profile of its own in the cycle, and else that of its site.
func (l *Learner) rhythmBin(of *profile, own own, cycle, bin int) freshet.RhythmBin {
	log := (1 + l.fix.weight[profileOfSite]) * math.Log(float64(of.factor[bin]))
	seen, due := of.seen[bin], of.due[bin]
	if own.is() && l.ownShape[cycle] > 0 {
		var factor float32
		factor, seen, due = own.bin(bin)
		log += (1 + l.fix.weight[profileOfPage]) * math.Log(float64(factor))
	}
	return freshet.RhythmBin{
		Factor: math.Exp(min(mostCorrected, max(-mostCorrected, log))),
		Seen:   float64(seen), Due: float64(due),
	}
}
