package cyclic

import (
	"cmp"
	"math"
	"slices"
)

// A Message is something that a page publishes at most once a period, at a time
// spread evenly over (From, To]. Times are instants from the beginning of the
// period; To may lie in the next.
type Message struct {
	From, To float64
	Chance   float64 // of coming at all in a period
}

// within returns the chance that the message comes in (a, b], in the period it
// is given for.
func (m Message) within(a, b float64) float64 {
	return m.Chance * max(0, min(b, m.To)-max(a, m.From)) / (m.To - m.From)
}

// A Model is a page by the messages that it publishes, each independently of
// the others, period after period.
type Model struct {
	Period   float64
	Messages []Message
}

// A Stretch is a stretch of the period over which the same messages may come:
// a single-update interval if there is one, a multiple-update one if more.
type Stretch struct {
	From, To float64
	Messages []int // by number
}

// Stretches cuts the period where messages begin and end, and returns the
// stretches in which any may come. The last may reach into the next period.
func (m Model) Stretches() []Stretch {
	var cuts []float64
	for _, msg := range m.Messages {
		cuts = append(cuts, m.phase(msg.From), m.phase(msg.To))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var all []Stretch
	for i, from := range cuts {
		to := cuts[0] + m.Period
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
		in := Stretch{From: from, To: to}
		for k, msg := range m.Messages {
			mid := (from + to) / 2
			for lap := -1.0; lap <= 1; lap++ {
				if at := mid + lap*m.Period; msg.From < at && at < msg.To {
					in.Messages = append(in.Messages, k)
				}
			}
		}
		if len(in.Messages) > 0 {
			all = append(all, in)
		}
	}
	return all
}

// phase returns the time within the period.
func (m Model) phase(t float64) float64 {
	t = math.Mod(t, m.Period)
	if t < 0 {
		t += m.Period
	}
	return t
}

// expected returns how many changes in (a, b] are expected to be missed if the
// next poll after a is at b: all that come, but for one if any comes.
func (m Model) expected(a, b float64) float64 {
	sum, none := 0.0, 1.0
	for _, msg := range m.Messages {
		for lap := math.Floor((a-msg.To)/m.Period) + 1; msg.From+lap*m.Period < b; lap++ {
			p := msg.within(a-lap*m.Period, b-lap*m.Period)
			sum += p
			none *= 1 - p
		}
	}
	return sum - (1 - none)
}

// delay returns how many instants the changes in (a, b] are expected to wait for a poll at
// b, added up.
func (m Model) delay(a, b float64) float64 {
	sum := 0.0
	for _, msg := range m.Messages {
		for lap := math.Floor((a-msg.To)/m.Period) + 1; msg.From+lap*m.Period < b; lap++ {
			from, to := max(a, msg.From+lap*m.Period), min(b, msg.To+lap*m.Period)
			sum += msg.Chance * max(0, to-from) / (msg.To - msg.From) * (b - (from+to)/2)
		}
	}
	return sum
}

// Misses returns how many changes a period are expected to be missed by polls
// at these times of every period.
func (m Model) Misses(polls []float64) float64 {
	polls = slices.Sorted(slices.Values(polls))
	misses := 0.0
	for i, b := range polls {
		a := polls[len(polls)-1] - m.Period
		if i > 0 {
			a = polls[i-1]
		}
		misses += m.expected(a, b)
	}
	return misses
}

// misses returns how many changes of an interval are expected to be missed with
// k polls at equal distances, the last at its end. It falls with k, ever less.
func (m Model) misses(in Stretch, k int) float64 {
	n := float64(k)
	sum, none := 0.0, 1.0
	for _, i := range in.Messages {
		msg := m.Messages[i]
		p := msg.Chance * (in.To - in.From) / (msg.To - msg.From) / n
		sum += p
		none *= 1 - p
	}
	return n * (sum - (1 - none))
}

// Strategy returns the times of so many polls by Ashish, Kulkarni and Wang: one
// at the end of each interval, and the others where two or more messages may
// come, at equal distances within each interval. Fewer polls than stretches are
// given as none; Best has an answer for them.
func (m Model) Strategy(polls int) []float64 {
	stretches := m.Stretches()
	if polls < len(stretches) {
		return nil
	}
	shares := m.allot(stretches, polls, func(Stretch) int { return math.MaxInt })
	var times []float64
	for i, in := range stretches {
		for j := range shares[i] {
			times = append(times, in.From+(in.To-in.From)*float64(j+1)/float64(shares[i]))
		}
	}
	return times
}

// allot shares the polls out over the stretches: one each, and each further one
// to where it saves most, as long as it saves anything and there is room.
func (m Model) allot(stretches []Stretch, polls int, room func(Stretch) int) []int {
	return shareOut(len(stretches), polls, func(i, k int) float64 {
		if in := stretches[i]; len(in.Messages) > 1 && k <= room(in) {
			return m.misses(in, k-1) - m.misses(in, k)
		}
		return 0
	})
}

// shareOut gives one to each of n, and the rest of a total one by one to where the
// k-th saves most; of equals to the first. Where what the k-th saves falls with
// k nothing saves more in all. What saves nothing is kept.
func shareOut(n, total int, saves func(i, k int) float64) []int {
	shares, next := make([]int, n), make([]float64, n)
	for i := range shares {
		shares[i], next[i] = 1, saves(i, 2)
	}
	for range total - n {
		best := 0
		for i, gain := range next {
			if gain > next[best] {
				best = i
			}
		}
		if next[best] <= 0 {
			break
		}
		shares[best]++
		next[best] = saves(best, shares[best]+1)
	}
	return shares
}

// ConditionI returns how polls are best shared out over multiple-update
// intervals if polls could be divided: in proportion to the square roots of the
// chances of a miss with one poll each, for then further polls save as much in
// each.
func ConditionI(misses []float64, polls float64) []float64 {
	sum := 0.0
	for _, m := range misses {
		sum += math.Sqrt(m)
	}
	shares := make([]float64, len(misses))
	for i, m := range misses {
		shares[i] = polls * math.Sqrt(m) / sum
	}
	return shares
}

// Apportion shares whole polls out over stretches with these chances of a miss
// with one poll each, of which the k-th part is left with k polls. Each gets at
// least one. It is the apportionment of Huntington and Hill by the square roots
// of the chances, and leaves the least sum.
func Apportion(misses []float64, polls int) []int {
	return shareOut(len(misses), polls, func(i, k int) float64 {
		return misses[i] / float64((k-1)*k)
	})
}

// Best returns the offsets, in whole instants, of so many polls with the fewest
// expected misses of all.
func (m Model) Best(polls int) []int {
	return cheapestOffsets(m, int(m.Period), polls)
}

// cheapestOffsets returns the offsets of so many polls that cost the least.
func cheapestOffsets[L linkCost[float64]](cost L, size, polls int) []int {
	places, _ := cheapest[float64](cost, size, polls, size-1)
	for i := range places {
		places[i] %= size
	}
	slices.SortFunc(places, cmp.Compare[int])
	return places
}

// between implements linkCost.
func (m Model) between(a, b int) float64 { return m.expected(float64(a), float64(b)) }
