package generate

import (
	"math"
	"math/rand/v2"
	"time"
)

// What was fitted to 343 recorded auctions of one thing, which lasted three, five or
// seven days and had 5,916 bids. The recording says when bids came after the opening
// of each auction, and not at what time of the day.
const (
	bidSpread = .9  // standard deviation of the logarithm of bids an auction
	bidsLate  = .15 // share of the bids that come in the last hour
	bidWave   = .62 // how far the bids of an hour of the day rise and fall around their mean

	// The bids that come late are as many between one minute and two before the end as
	// between half an hour and an hour, down to half a minute.
	bidLatest, bidLate = 30 * time.Second, time.Hour
)

// bidden pages are auctions that differ in how many bids they get as recorded ones do,
// and that people open and bid on at the same hours of the day: offsets of bids from
// the opening, modulo a day, have a wave of .19 in the recording, which is what two
// waves of .62 around one hour come to. About as many end within the period as after
// it.
func bidden(g Spec, r *rand.Rand, _ float64, yield func(time.Duration)) {
	turn := float64(min(day, g.Length)) // less than a day stands for one
	awake := func(at time.Duration) bool {
		const peak = 20.0 / 24
		wave := 1 + bidWave*math.Cos(2*math.Pi*(float64(at)/turn-peak))
		return r.Float64()*(1+bidWave) < wave
	}
	end := span(2*r.Float64(), g.Length)
	for !awake(end) { // as it opened whole days before, which somebody was awake for
		end = span(2*r.Float64(), g.Length)
	}
	arrivals(r, g.PerDay*lognormal(r, 1, bidSpread), day, func(time.Duration) {
		if r.Float64() < bidsLate {
			yield(end - span(math.Exp(r.Float64()*math.Log(float64(bidLate)/float64(bidLatest))), bidLatest))
			return
		}
		at := span(r.Float64(), end)
		for !awake(at) {
			at = span(r.Float64(), end)
		}
		yield(at)
	})
}
