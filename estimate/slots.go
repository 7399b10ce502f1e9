package estimate

import "math"

// A SlotLook is one look at a source whose rate depends on the time of a period,
// cut into slots: how long each slot lay between this look and the one before,
// and whether the source had changed.
type SlotLook struct {
	Exposure []float64 // by slot
	Changed  bool
}

// SlotRates returns the likeliest rate of change in each slot, given looks that
// tell only whether something changed in between. Prior, if above 0, is what is
// known beforehand: so many changes, and as much exposure, in every slot.
//
// A look that found a change tells neither how many nor when. Given rates, the
// changes expected in it are spread over its slots; given those, the rates follow.
// The two steps are repeated until nothing moves (expectation maximisation): one
// pass over the looks alone would freeze the first guess.
func SlotRates(looks []SlotLook, slots int, prior float64) []float64 {
	exposure, changes := make([]float64, slots), make([]float64, slots)
	total, changed := 0.0, 0.0
	for _, l := range looks {
		for s, e := range l.Exposure {
			exposure[s] += e
			total += e
		}
		if l.Changed {
			changed++
		}
	}
	rates := make([]float64, slots)
	for s := range rates {
		rates[s] = (changed + 0.5) / (total + 0.5)
	}
	const steps, still = 100_000, 1e-12
	for range steps {
		clear(changes)
		for _, l := range looks {
			if l.Changed {
				spread(changes, l.Exposure, rates)
			}
		}
		moved := 0.0
		for s := range rates {
			r := 0.0
			if e := exposure[s] + prior; e > 0 {
				r = (changes[s] + prior) / e
			}
			moved = max(moved, math.Abs(r-rates[s]))
			rates[s] = r
		}
		if moved < still {
			break
		}
	}
	return rates
}

// spread adds the changes that are expected in each slot of a look that found
// at least one.
func spread(changes, exposure, rates []float64) {
	sum := 0.0
	for s, e := range exposure {
		sum += rates[s] * e
	}
	if sum == 0 {
		return
	}
	some := -math.Expm1(-sum)
	for s, e := range exposure {
		changes[s] += rates[s] * e / some
	}
}
