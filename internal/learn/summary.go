package learn

import (
	"math"

	"freshet/internal/freshet"
	"freshet/internal/learn/estimate"
	"freshet/internal/learn/outlook"
)

// NineInTen is how many standard deviations either way of its mean hold nine in
// ten of a normal variable: what the bounds of a [freshet.Range] stand for.
const NineInTen = 1.6448536269514722

// Share returns the estimated share of changes that were captured. Without any
// change there was nothing to miss.
func Share(t outlook.Tally) outlook.Range {
	missed := t.Happened - t.Captured
	switch {
	case t.Happened <= 0 || missed <= 0:
		return outlook.Range{Mean: 1, Low: 1, High: 1}
	case t.Captured == 0:
		return outlook.Range{}
	}
	spread := unseenSpread(t, missed)
	of := func(factor float64) float64 { return t.Captured / (t.Captured + missed*factor) }
	middle := -spread * spread / 2
	fewer, more := t.ByBursts()
	most := math.Hypot(math.Exp(middle+NineInTen*spread)-1, more/missed)
	least := math.Hypot(1-math.Exp(middle-NineInTen*spread), fewer/missed)
	r := outlook.Range{
		Mean: of(1),
		Low:  min(of(1), of(1+most)),
		High: max(of(1), of(max(0, 1-least))),
	}
	// Changes are whole, and clocks miss none: there may well have been none.
	if math.Exp(-missed) > 0.05 || NineInTen*t.Uneven > missed {
		r.High = 1
	}
	return r
}

// unseenSpread returns how uncertain it is, on the scale of the logarithm, how many
// changes there were beyond those that are certain: log-normal, so that the number stays
// above zero and has the mean and the variance that the tally gives.
func unseenSpread(t outlook.Tally, missed float64) float64 {
	model := modelError(t) * (1 - min(1, t.Shown/missed))
	alike := t.Alike()
	doubt, uneven := alike*t.Doubt, alike*t.Uneven
	return math.Sqrt(math.Log1p((t.Variance+doubt*doubt+uneven*uneven)/(missed*missed)) + model*model)
}

// Divergence returns the estimated number of changes that copies lacked, on average
// over time. Uncertain are how many changes there were beyond the one that a poll shows,
// and when between two polls they came.
func Divergence(t outlook.Tally) outlook.Range {
	mean := t.Divergence()
	if mean <= 0 || t.Found <= 0 || t.Happened <= 0 {
		return outlook.Range{Mean: mean, Low: mean, High: mean}
	}
	when := 1 / (3 * t.Found) // square of the relative error: times even between two polls
	often := 0.0
	if more := t.Happened - t.Found; more > 0 {
		spread := unseenSpread(t, more)
		often = math.Expm1(spread*spread) * (more / t.Happened) * (more / t.Happened)
	}
	spread := math.Sqrt(math.Log1p(when + often))
	fewer, more := t.ByBursts()
	most := math.Hypot(math.Exp(-spread*spread/2+NineInTen*spread)-1, more/t.Happened)
	return outlook.Range{
		Mean: mean,
		Low:  mean * max(0, 1-fewer/t.Happened) * math.Exp(-spread*spread/2-NineInTen*spread),
		High: mean * (1 + most),
	}
}

// Freshness returns the estimated share of time in which copies were up to date.
func Freshness(t outlook.Tally) outlook.Range {
	// n changes between two polls leave our copy out of date for n/(n+1) of that time on average.
	stale := byMoments(t, 1-t.Freshness(), 2.0/3, func(n float64) float64 { return n / (n + 1) })
	return outlook.Range{Mean: t.Freshness(), Low: max(0, 1-stale.High), High: 1 - stale.Low}
}

// Delay returns the estimated number of seconds between a change and its capture.
func Delay(t outlook.Tally) outlook.Range {
	// The last of n changes comes 1/(n+1) of the time before the poll.
	return byMoments(t, t.MeanDelay().Seconds(), 2.0/3, func(n float64) float64 { return 1 / (n + 1) })
}

// Age returns for how many seconds copies had been out of date, on average over time.
func Age(t outlook.Tally) outlook.Range {
	// Age is the integral of a time that begins with the first of n changes: half of the square of a
	// part that is n/(n+2) on average.
	return byMoments(t, t.MeanAge().Seconds(), 8.0/5, func(n float64) float64 { return n / (n + 2) })
}

// byMoments returns the range of a figure that follows from when changes came between two polls. A
// single change comes at any moment: variance is that of the relative error of one poll by chance,
// doubled because polls are unevenly apart. And how many changes came is uncertain: part is what n of
// them leave of the time, and those that come together leave as much as one.
func byMoments(t outlook.Tally, mean, variance float64, part func(n float64) float64) outlook.Range {
	if mean <= 0 || t.Found <= 0 || t.Captured <= 0 {
		return outlook.Range{Mean: mean, Low: mean, High: mean}
	}
	share := Share(t)
	n := max(1, t.Happened/t.Found)
	most := n * share.Mean / max(share.Low, 1e-3)
	one, many := math.Log(part(1)/part(n)), math.Log(part(most)/part(n))
	chance := NineInTen * math.Sqrt(math.Log1p(variance/t.Found))
	return outlook.Range{
		Mean: mean,
		Low:  mean * math.Exp(-math.Hypot(min(one, many), chance)),
		High: mean * math.Exp(math.Hypot(max(one, many), chance)),
	}
}

// modelError returns how far off, on the scale of the logarithm, the number of
// missed changes may be because sources do not change at random: regular ones
// hide fewer changes between two polls, and those that change in bursts hide
// more. Where nearly every poll finds a change, only the model says how many
// there were. The two numbers are fitted to recorded sources.
func modelError(t outlook.Tally) float64 {
	found := 0.0
	if t.Polls > 0 {
		found = min(1, t.Captured/t.Polls)
	}
	return 0.4*t.Alike() + 1.5*found*found*found*found
}

// A Reliability says how far chances have come true: of the polls that were said
// to find a change with a chance in each tenth, how many did.
type Reliability [10]struct {
	Polls  float64 // made
	Chance float64 // summed over them
	Found  float64 // a change
}

// add counts a poll.
func (r *Reliability) add(chance float64, found bool) {
	bin := &r[max(0, min(len(r)-1, int(chance*float64(len(r)))))]
	bin.Polls++
	bin.Chance += chance
	if found {
		bin.Found++
	}
}

// A ReliabilityBin is the polls that were said to have about the same chance of
// finding a change.
type ReliabilityBin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Polls float64 `json:"polls"`
	Said  float64 `json:"said"`  // mean chance
	Found float64 `json:"found"` // share of the polls that found a change
}

// Bins returns what became of the polls, by tenths of the chance that was said.
// Tenths without a poll are left out.
func (r *Reliability) Bins() []ReliabilityBin {
	bins := []ReliabilityBin{}
	for i, bin := range r {
		if bin.Polls == 0 {
			continue
		}
		bins = append(bins, ReliabilityBin{
			From: float64(i) / float64(len(r)), To: float64(i+1) / float64(len(r)),
			Polls: bin.Polls, Said: bin.Chance / bin.Polls, Found: bin.Found / bin.Polls,
		})
	}
	return bins
}

// Gap returns the mean distance between what was said and what was found, over
// all polls: 0 is perfect.
func (r *Reliability) Gap() float64 {
	gap, polls := 0.0, 0.0
	for _, bin := range r {
		if d := bin.Found - bin.Chance; d > 0 {
			gap += d
		} else {
			gap -= d
		}
		polls += bin.Polls
	}
	if polls == 0 {
		return 0
	}
	return gap / polls
}

// Reliability returns how far chances have come true so far.
func (l *Learner) Reliability() Reliability { return l.reliability }

// Standings tells how often sources change from how things stand with them in
// the store, for where no learner has followed their polls. A source of which
// little is known is taken to be much like the others.
//
// The zero Standings is ready for use.
type Standings struct{ sights []sight }

// Add takes in how things stand with one more source.
func (s *Standings) Add(w freshet.SourceWithStatus) { s.sights = append(s.sights, sightOf(w)) }

// Rates returns how often each source changes, in changes a second, in the order
// in which they were added.
func (s *Standings) Rates() []outlook.Rate {
	typical := typicalRate(s.sights)
	rates := make([]outlook.Rate, len(s.sights))
	for i, one := range s.sights {
		rates[i] = outlook.Rate{Range: one.rate(typical), Known: one.known()}
	}
	return rates
}

// A sight is what polls of a source have seen of it, in the large: how many
// there were after the first, how many seconds apart on average, and how many of
// them found a change.
type sight struct{ polls, gap, changed float64 }

func sightOf(w freshet.SourceWithStatus) sight {
	st := w.Status
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

// known says what can be said of the rate.
func (s sight) known() outlook.Knowledge {
	const few = 3
	switch {
	case s.changed < few:
		return outlook.Unknown
	case s.changed == s.polls:
		return outlook.AtLeast
	}
	return outlook.Estimated
}

// rate returns how often the source changes, from what was seen of it and from
// what is typical, each weighted by how well it is known.
func (s sight) rate(typical float64) outlook.Range {
	middle, sd := typical, alike
	if s.polls > 0 {
		own, ownSD := s.logRate()
		a, b := 1/(ownSD*ownSD), 1/(sd*sd)
		middle, sd = (a*own+b*middle)/(a+b), 1/math.Sqrt(a+b)
	}
	return outlook.Range{
		Mean: math.Exp(middle + sd*sd/2), Low: math.Exp(middle - NineInTen*sd), High: math.Exp(middle + NineInTen*sd),
	}
}
