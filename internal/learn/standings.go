package learn

import (
	"math"

	"freshet/internal/freshet"
	"freshet/internal/learn/estimate"
)

// Standings tells how often sources change from how things stand with them in
// the store, for where no learner has followed their polls. A source of which
// little is known is taken to be much like the others.
//
// The zero Standings is ready for use.
type Standings struct{ sights []sight }

// Add takes in how things stand with one more source.
func (s *Standings) Add(w freshet.Watched) { s.sights = append(s.sights, sightOf(w)) }

// Rates returns how often each source changes, in changes a second, in the order
// in which they were added.
func (s *Standings) Rates() []freshet.Range {
	typical := typicalRate(s.sights)
	rates := make([]freshet.Range, len(s.sights))
	for i, one := range s.sights {
		rates[i] = one.rate(typical)
	}
	return rates
}

// A sight is what polls of a source have seen of it, in the large: how many
// there were after the first, how many seconds apart on average, and how many of
// them found a change.
type sight struct{ polls, gap, changed float64 }

func sightOf(w freshet.Watched) sight {
	st := w.Standing
	span := st.Seen.Sub(w.Created).Seconds()
	if st.Polls < 2 || span <= 0 {
		return sight{}
	}
	n := float64(st.Polls - 1)
	return sight{polls: n, gap: span / n, changed: min(n, float64(st.Changes))}
}

// logRate returns the logarithm of the rate of changes that a sight speaks for,
// and its standard deviation. Half a poll that found a change is added, so that
// no rate is 0.
func (s sight) logRate() (middle, sd float64) {
	rate := estimate.RegularLooks(s.changed+0.5, s.polls+0.5, s.gap).Rate()
	expected := rate * s.gap // between two polls
	return math.Log(rate), math.Sqrt(math.Expm1(expected)/(s.polls+1)) / expected
}

// alike is how alike sources are taken to be, as a standard deviation of the
// logarithms of their rates: nine times in ten within a factor of seven.
const alike = 1.2

// typicalRate returns the logarithm of the rate that is typical of the sources
// that were seen. Without any, once a day is as good a guess as there is.
func typicalRate(sights []sight) float64 {
	weight, sum := 0.0, 0.0
	for _, s := range sights {
		if s.polls == 0 {
			continue
		}
		middle, sd := s.logRate()
		w := 1 / (sd*sd + alike*alike)
		weight += w
		sum += w * middle
	}
	if weight == 0 {
		return -math.Log(24 * 3600)
	}
	return sum / weight
}

// rate returns how often the source changes, from what was seen of it and from
// what is typical, each weighted by how well it is known.
func (s sight) rate(typical float64) freshet.Range {
	middle, sd := typical, alike
	if s.polls > 0 {
		own, ownSD := s.logRate()
		a, b := 1/(ownSD*ownSD), 1/(sd*sd)
		middle, sd = (a*own+b*middle)/(a+b), 1/math.Sqrt(a+b)
	}
	return freshet.Range{
		Mean: math.Exp(middle + sd*sd/2), Low: math.Exp(middle - NineInTen*sd), High: math.Exp(middle + NineInTen*sd),
	}
}
