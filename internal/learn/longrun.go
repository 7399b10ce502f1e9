package learn

import (
	"math"
	"time"

	"freshet/internal/freshet"
)

// For its mean rate to be the mean over its rhythm, a source has to have been
// watched for this long, and to have changed this often.
const (
	longEnough  = 24 * time.Hour
	oftenEnough = 3
)

// LongRun returns how often a source changes on average over its rhythm. The
// rate of an outlook is that of its moment, and moves with the time of day. A
// source that has not been watched for long has no other.
//
// A source changes at least as often as was seen. If it changes at random, polls
// miss some of its changes by chance, and it changes more often; if it is
// regular, they miss none. Polls do not tell which it is, and the truth lies
// between the two. The more of the polls found a change, the less they say of
// what they missed, and the nearer to what was seen the mean is put.
func LongRun(o freshet.Outlook) freshet.Range {
	if o.Watched < longEnough.Seconds() || o.Happened < oftenEnough || !(o.Rate.Mean > 0) {
		return o.Rate
	}
	random := o.Happened / o.Watched
	unbend := random / o.Rate.Mean
	r := freshet.Range{Mean: random, Low: o.Rate.Low * unbend, High: o.Rate.High * unbend}
	if seen := o.Captured / o.Watched; seen > 0 && seen < random {
		found := min(1, o.Captured/o.Polls)
		r.Mean, r.Low = math.Pow(seen, found)*math.Pow(random, 1-found), min(r.Low, seen)
	}
	return r
}

// ToldApart returns how often changes come that can be told apart, where those of
// one tick count as one, as they do in a Tally.
func ToldApart(rate freshet.Range, tick time.Duration) freshet.Range {
	if tick <= 0 {
		return rate
	}
	of := func(x float64) float64 { return -math.Expm1(-x*tick.Seconds()) / tick.Seconds() }
	return freshet.Range{Mean: of(rate.Mean), Low: of(rate.Low), High: of(rate.High)}
}
