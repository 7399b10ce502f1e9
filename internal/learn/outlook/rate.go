package outlook

import (
	"math"
	"time"
)

// A Knowledge says what is known of a rate.
type Knowledge uint8

// What can be known of a rate.
const (
	Unknown   Knowledge = iota // too few changes were seen
	AtLeast                    // every poll finds a change: only a lower bound is known
	AtMost                     // hardly a change was seen in a long time: only an upper bound is known
	Estimated                  // an estimate with its range
)

// String returns the word of the API.
func (k Knowledge) String() string {
	return [...]string{"unknown", "at_least", "at_most", "estimated"}[k]
}

// A Rate is how often a source changes on average over its rhythm, in changes a second. It
// is what all of the program says when it says how often a source changes. Changes within
// one tick count as one, as in a Tally.
type Rate struct {
	Range // what forecasts go by, whatever is known; Mean is never outside of Low and High
	Known Knowledge
}

// Evidence is what the rate of a source is worked out from.
type Evidence struct {
	Thought   Range   // changes at random a second over all hours, by what is learned from polls and from others of its kind
	Unbounded bool    // what polls saw fits the fastest rates as well as any
	Taught    float64 // changes that were imported
	Told      float64 // seconds over which
	Tick      time.Duration
	Tally
}

const (
	fewChanges  = 2.5              // that were seen tell a rate; what is long past counts for less, so that three may count for this
	manyChanges = 20               // tell it however soon they come
	someTime    = 10 * time.Minute // fewer changes within less may all be of one burst
	fewTaught   = 2                // beyond the first
	longWatched = 7 * 24 * time.Hour
	fewPolls    = 8
	fewInARow   = 5 // polls in a row that all found a change

	// partOfRhythm is how far off a mean over all hours may be, on the scale of the logarithm,
	// that a few of them tell.
	partOfRhythm = 0.4

	// Of the range of what is thought, these parts of either side, as logarithms, leave nine in ten on
	// made-up webs: it has room for a rate that may change at any time, and a mean over the past has none.
	downwards, upwards = 0.35, 0.5

	// For its mean rate to be the mean over its rhythm, a source has to have been watched for
	// this long.
	wholeRhythm = 24 * time.Hour
)

// RateOf returns how often a source changes.
//
// A source changes at least as often as was seen. If it changes at random, polls miss some of
// its changes by chance, and it changes more often; if it is regular, they miss none. Polls do
// not tell which it is, and the truth lies between the two. The more of the polls found a
// change, the less they say of what they missed, and the nearer to what was seen the mean is
// put.
func RateOf(e Evidence) Rate {
	r := Rate{Range: apart(e.Thought, e.Tick), Known: e.known()}
	if !(r.Mean > 0) {
		return Rate{}
	}
	fewer, more := e.ByBursts()
	seen := e.Captured / e.Watched
	switch {
	case e.Taught >= fewTaught && e.Told > 0:
		n := e.Taught + e.Happened
		r.Mean = n / (e.Told + e.Watched)
		off := math.Exp(nineInTen / math.Sqrt(n))
		r.Low, r.High = r.Mean/off, r.Mean*off
	case e.Happened >= fewChanges || r.Known == AtLeast && seen > 0:
		random := e.Happened / e.Watched
		r.Range = Range{Mean: random, Low: random * math.Pow(r.Low/r.Mean, downwards), High: random * math.Pow(r.High/r.Mean, upwards)}
		if seen > 0 && seen < random {
			found := min(1, e.Captured/e.Polls)
			r.Mean, r.Low = math.Pow(seen, found)*math.Pow(random, 1-found), min(r.Low, seen)
		}
		r.Low = r.Mean - min(r.Mean, math.Hypot(r.Mean-r.Low, fewer/e.Watched))
		if e.Found > 0 { // so many were seen, give or take chance, and that they come in bursts
			r.Low = max(r.Low, seen*math.Exp(-nineInTen*math.Sqrt(max(1, (e.Happened+more)/e.Found)/e.Found)))
		}
		if r.Known == AtLeast {
			r.Low = seen
		}
		r.Low = min(r.Low, r.Mean)
	}
	if e.Watched < wholeRhythm.Seconds() && e.Taught < fewTaught && r.Known != AtLeast {
		r.widen(partOfRhythm * (1 - e.Watched/wholeRhythm.Seconds()))
	}
	r.widen(0)
	if e.Watched > 0 {
		r.High = r.Mean + math.Hypot(r.High-r.Mean, more/e.Watched)
	}
	return r
}

// At returns how often a source changes around a moment, when it does pace times as often as on
// average, and what polls saw of late makes such rates likely. The more of the polls found a change,
// the less they say of a moment, and the nearer it is put to the long run; and they tell no more
// changes apart than there are polls.
func (r Rate) At(pace float64, likely Range, t Tally) Range {
	found, most := 1.0, r.High
	if t.Polls > 0 && t.Watched > 0 {
		found, most = min(1, t.Found/t.Polls), max(r.High, t.Polls/t.Watched)
	}
	of := func(long, moment float64) float64 {
		return pace * math.Pow(long, found) * math.Pow(min(most, moment), 1-found)
	}
	return Range{Mean: of(r.Mean, likely.Mean), Low: of(r.Low, likely.Low), High: of(r.High, likely.High)}
}

// nineInTen is how many standard deviations either way of its mean hold nine in ten of a normal
// variable.
const nineInTen = 1.6448536269514722

// known says what can be said of the rate.
func (e *Evidence) known() Knowledge {
	switch {
	case e.Unbounded && e.Found >= fewInARow:
		return AtLeast
	case e.Taught < fewTaught && (e.Unbounded && e.Watched < longWatched.Seconds() || e.Found < manyChanges && e.Watched < someTime.Seconds()):
		return Unknown // what was seen may be one burst
	case e.Found >= fewChanges, e.Taught >= fewTaught, e.Found >= 0.5 && e.Watched >= longWatched.Seconds():
		return Estimated
	case e.Watched >= wholeRhythm.Seconds() && e.Polls >= fewPolls:
		return AtMost
	}
	return Unknown
}

// widen adds a standard deviation on the scale of the logarithm to a range, and keeps its mean
// inside.
func (r *Range) widen(sd float64) {
	if r.Low > 0 {
		r.Low = r.Mean * math.Exp(-math.Hypot(max(0, math.Log(r.Mean/r.Low)), nineInTen*sd))
	}
	r.High = r.Mean * math.Exp(math.Hypot(max(0, math.Log(r.High/r.Mean)), nineInTen*sd))
}

// apart returns how often distinguishable changes come: those of one tick count as one.
func apart(rate Range, tick time.Duration) Range {
	if tick <= 0 {
		return rate
	}
	of := func(x float64) float64 { return -math.Expm1(-x*tick.Seconds()) / tick.Seconds() }
	return Range{Mean: of(rate.Mean), Low: of(rate.Low), High: of(rate.High)}
}
