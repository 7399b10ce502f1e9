package cyclic

import (
	"math"
	"slices"
)

// Messages are distinguished where no more than tellable come in a period, and a
// share of regular of the periods has the usual number of changes. Best takes
// time in proportion to polls, instants and messages, up to bearable.
const (
	tellable = 64
	regular  = 0.5
	bearable = 1 << 22
)

// PlanModeled returns offsets planned by a model of the history, which carries
// over to the future what the history has in common with it, and not its
// accidents.
//
// The messages are distinguished by their order. The period is cut in its longest
// silence. The periods with the usual number of changes show the messages: the
// k-th change of each is the k-th message, and comes between the earliest and
// the latest of them (without the outermost twentieth at each end, where there
// are enough). Changes of other periods count towards the chance of the message
// that they could be, in order; those that could be none are specials, that
// come at any time between the first and the last of them.
//
// The polls are then placed by Strategy. If there are too few for it, they have the fewest
// expected misses, and of plans that miss about as much the least delay. Where
// no number of changes is usual, or too many come to distinguish them, changes are
// taken to come by chance alone, more often at some offsets than at others, and
// the polls have the fewest expected misses.
func PlanModeled(h Timeline, period, polls int) ([]int, error) {
	if err := fits(period, polls); err != nil {
		return nil, err
	}
	cut, spells := spellsOf(h, period)
	if len(spells) == 0 {
		return Spaced(period, polls, 0), nil
	}
	usual, share := usualCount(spells)
	if usual > tellable || share < regular {
		return planByChance(h, period, polls)
	}
	m := tellApart(spells, usual)
	m.Period = float64(period)
	for i := range m.Messages { // offset x is the end of the instant that begins at x-1
		m.Messages[i].From += float64(cut - 1)
		m.Messages[i].To += float64(cut - 1)
	}
	stretches := m.Stretches()
	switch {
	case polls >= len(stretches):
	case len(m.Messages) > tellable || polls*period*len(m.Messages) > bearable:
		return planByChance(h, period, polls)
	default:
		return promptly{m}.best(polls), nil
	}
	shares := m.allot(stretches, polls, func(in Stretch) int { return int(in.To - in.From) })
	var offsets []int
	for i, in := range stretches {
		length := int(in.To - in.From)
		for j := range shares[i] {
			steps := ((j+1)*length + shares[i] - 1) / shares[i]
			offsets = append(offsets, modulo(int(in.From)+steps, period))
		}
	}
	return filled(period, polls, offsets), nil
}

// planByChance returns the offsets with the fewest expected misses if changes
// come by chance alone.
func planByChance(h Timeline, period, polls int) ([]int, error) {
	if err := linkable(period, polls); err != nil {
		return nil, err
	}
	return newIntensity(h, period, polls).best(polls), nil
}

// spellsOf cuts the history into periods, in the longest stretch of offsets at
// which nothing ever changes, and returns the offset after it and the changes of
// each page in each period, in instants from there. The periods before a page's
// first change and after its last are left out.
func spellsOf(h Timeline, period int) (cut int, all [][]int) {
	busy := make([]bool, period)
	any := false
	for offset := range h.changes(period) {
		busy[offset], any = true, true
	}
	if !any {
		return 0, nil
	}
	silence, longest := 0, -1
	for i := range 2 * period {
		if !busy[i%period] {
			silence++
			continue
		}
		if silence > longest {
			longest, cut = silence, i%period
		}
		silence = 0
	}
	for _, page := range h.Pages {
		page = slices.Compact(slices.Sorted(slices.Values(page)))
		last := math.MinInt
		for _, at := range page {
			lap := int(math.Floor(float64(at-1-cut) / float64(period)))
			for last != math.MinInt && last+1 < lap {
				all, last = append(all, nil), last+1
			}
			if lap != last {
				all, last = append(all, nil), lap
			}
			all[len(all)-1] = append(all[len(all)-1], at-1-cut-lap*period)
		}
	}
	return cut, all
}

// usualCount returns the most common number of changes in a period, silent ones
// aside, and the share of those periods that have it. Of equals it is the
// larger.
func usualCount(spells [][]int) (n int, share float64) {
	counts := map[int]int{}
	loud := 0
	for _, s := range spells {
		if len(s) > 0 {
			counts[len(s)]++
			loud++
		}
	}
	for changes, times := range counts {
		if times > counts[n] || times == counts[n] && changes > n {
			n = changes
		}
	}
	return n, float64(counts[n]) / float64(loud)
}

// tellApart tells the messages of spells apart, n of which come in most.
func tellApart(spells [][]int, n int) Model {
	times := make([][]int, n)
	for _, s := range spells {
		if len(s) == n {
			for k, x := range s {
				times[k] = append(times[k], x)
			}
		}
	}
	from, to, count := make([]int, n), make([]int, n), make([]int, n)
	for k, xs := range times {
		slices.Sort(xs)
		trim := len(xs) / 20
		from[k], to[k] = xs[trim], xs[len(xs)-1-trim]
	}
	var specials []int
	for _, s := range spells {
		k := 0
		for _, x := range s {
			for k < n && to[k] < x {
				k++
			}
			if k < n && from[k] <= x {
				count[k]++
				k++
			} else {
				specials = append(specials, x)
			}
		}
	}
	var m Model
	for k := range n {
		if count[k] > 0 {
			m.add(from[k], to[k], float64(count[k])/float64(len(spells)))
		}
	}
	if len(specials) > 0 {
		rate := float64(len(specials)) / float64(len(spells))
		for ; rate > 0; rate-- {
			m.add(slices.Min(specials), slices.Max(specials), min(1, rate))
		}
	}
	return m
}

// promptly are the expected misses of a model, and a little for the delay: where polls are
// few, plans that miss about as much can show changes soon or most of a period later.
type promptly struct{ Model }

// lateCost is what a delay of a whole period costs, in misses.
const lateCost = 0.01

// between implements linkCost. The delay is that of all changes, as if none were missed:
// then it only grows with b.
func (m promptly) between(a, b int) float64 {
	return m.Model.between(a, b) + lateCost*m.delay(float64(a), float64(b))/m.Period
}

// best returns the offsets, in whole instants, of so many polls that cost the least.
func (m promptly) best(polls int) []int { return cheapestOffsets(m, int(m.Period), polls) }

// add adds a message that comes in the instants from one to another.
func (m *Model) add(from, to int, chance float64) {
	m.Messages = append(m.Messages, Message{From: float64(from), To: float64(to + 1), Chance: chance})
}

// intensity is how many changes are expected from the beginning of a period up
// to each offset, on for a second period and a third.
type intensity []float64

// newIntensity spreads each change of the history over the instants around it,
// a quarter of the mean distance of polls wide.
func newIntensity(h Timeline, period, polls int) intensity {
	width := max(1, period/(4*polls))
	counts := make([]float64, period)
	first, last := math.MaxInt, math.MinInt
	for _, page := range h.Pages {
		for _, at := range page {
			first, last = min(first, at), max(last, at)
		}
	}
	periods := float64(len(h.Pages)) * max(1, float64(last-first+1)/float64(period))
	for offset := range h.changes(period) {
		for i := range width {
			counts[modulo(offset+i-(width-1)/2, period)] += 1 / float64(width) / periods
		}
	}
	sums := make(intensity, 3*period+1)
	for i := range 3 * period {
		sums[i+1] = sums[i] + counts[i%period]
	}
	return sums
}

// between implements linkCost: of a mean of x changes by chance alone, all but
// 1-exp(-x) are missed.
func (s intensity) between(a, b int) float64 {
	x := s[b+1] - s[a+1]
	return x + math.Expm1(-x)
}

// best returns the offsets with the fewest expected misses.
func (s intensity) best(polls int) []int {
	size := len(s) / 3
	places, _ := cheapest[float64](s, size, polls, 0)
	for i := range places {
		places[i] %= size
	}
	slices.Sort(places)
	return places
}
