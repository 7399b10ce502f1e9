// Package rootfind finds where a function that falls passes zero: the price at
// which demand meets a budget, the gap at which a poll is worth its price.
package rootfind

import "math"

// Falling narrows the range from lo to hi in which f, which falls, passes 0, given
// its values at both ends, until f is within so much of 0; from and to are then
// one. Where f jumps over 0 they are what is left of the range.
//
// It takes the false position, which needs few steps where f is all but
// straight, as demand is in logarithms. The Illinois rule keeps an end from
// standing still, and where f has no end the range is halved.
func Falling(f func(float64) float64, lo, hi, above, below, within float64) (from, to float64) {
	for last, tries := 0, 0; tries < 200 && hi-lo > 1e-15*(1+math.Abs(lo)); tries++ {
		x := (lo + hi) / 2
		if !math.IsInf(above, 0) && !math.IsInf(below, 0) && tries%8 < 7 {
			x = lo + (hi-lo)*above/(above-below)
		}
		y := f(x)
		switch {
		case math.Abs(y) <= within:
			return x, x
		case y > 0:
			lo, above = x, y
			if last > 0 {
				below /= 2
			}
			last = 1
		default:
			hi, below = x, y
			if last < 0 {
				above /= 2
			}
			last = -1
		}
	}
	return lo, hi
}
