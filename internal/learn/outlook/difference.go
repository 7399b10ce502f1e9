package outlook

import "math"

// A Difference says how far apart two values are: what a copy holds, and what the page has.
type Difference func(held, current float64) float64

// Absolute is the difference of two values, without its sign.
func Absolute(held, current float64) float64 { return math.Abs(held - current) }

// Relative is their difference as a part of the larger of them, signs left aside; 0 where both are 0.
func Relative(held, current float64) float64 {
	largest := max(math.Abs(held), math.Abs(current))
	if largest == 0 {
		return 0
	}
	return math.Abs(held/largest - current/largest)
}
