package forecast

import (
	"math"

	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

// A guess is one of the rates that a source may have.
type guess struct{ rate, chance float64 }

// Nodes and weights of Gauss and Hermite for a standard normal variable: five
// points that have its first nine moments.
var (
	hermite       = [...]float64{-2.8569700138728056, -1.3556261799742659, 0, 1.3556261799742659, 2.8569700138728056}
	hermiteChance = [...]float64{0.011257411327720691, 0.22207592200561266, 8.0 / 15, 0.22207592200561266, 0.011257411327720691}
)

// spread returns how wide a rate's distribution is on the scale of logarithms,
// taken to be log-normal between its bounds. What cannot be a range has none.
func spread(r outlook.Range) float64 {
	if !(r.Low > 0) || !(r.High > r.Low) {
		if r.High > r.Mean && r.Mean > 0 {
			return min(mostSpread, math.Log(r.High/r.Mean)/learn.NineInTen)
		}
		return 0
	}
	return min(mostSpread, math.Log(r.High/r.Low)/(2*learn.NineInTen))
}

// mostSpread bounds how little is thought to be known: nine times in ten a
// factor of a hundred either way. Five points would not carry more.
const mostSpread = 2.8

// A doubt is the rates that a source may have: one if its rate is as good as
// known, none if it does not change, and otherwise five.
type doubt struct {
	guesses [len(hermite)]guess
	n       int
}

// all returns the guesses.
func (d *doubt) all() []guess { return d.guesses[:d.n] }

// doubtOf returns guesses with a mean and a spread.
func doubtOf(mean, spread float64) (d doubt) {
	switch {
	case !(mean > 0) || math.IsInf(mean, 0):
		return d
	case spread < 0.02:
		d.guesses[0], d.n = guess{mean, 1}, 1
		return d
	}
	sum := 0.0
	for i, z := range hermite {
		d.guesses[i] = guess{math.Exp(spread * z), hermiteChance[i]}
		sum += d.guesses[i].rate * hermiteChance[i]
	}
	d.n = len(hermite)
	for i := range d.guesses {
		d.guesses[i].rate *= mean / sum
	}
	return d
}
