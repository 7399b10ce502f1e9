package lab

import "freshet/internal/learn/outlook"

// An Age is a way of counting how old a stale copy is.
type Age uint8

// The ways of counting.
const (
	AgeFirst Age = iota // from the first change that the copy lacks
	AgeLast             // from the latest change
)

// Measures are choices about what a score measures. The zero Measures will do.
type Measures struct {
	Age Age

	// Divergence, if set, says how different the copy of a page that has seen
	// held changes is from the page itself after current changes.
	Divergence func(page, held, current int) float64
}

// A Scorer follows the polls of a replay and counts what they capture. It sees
// the truth, which no policy does. Make one with NewScorer.
type Scorer struct {
	grid     *Grid
	moments  []float64 // in continuous time, when each change happened, in instants; nil on a grid
	weights  pageWeights
	measures Measures
	score    Score

	next []int // by page: the first change, as a place in grid.at, that no poll came after
	last []int // by page: the instant of the last poll; 0 if none
	seen []int // by page: changes captured

	truth, weighted outlook.Tally // what the daemon estimates of the same, in instants
}

// NewScorer returns a Scorer that has seen no poll.
func NewScorer(g *Grid, k Weights, m Measures) *Scorer {
	s := &Scorer{grid: g, weights: k.onPages(g), measures: m, next: make([]int, len(g.pages)), last: make([]int, len(g.pages)), seen: make([]int, len(g.pages))}
	copy(s.next, g.first)
	s.score = Score{Pages: len(g.pages), Instants: g.Instants, Changes: g.Changes()}
	return s
}

// newContinuousScorer returns a Scorer of polls at any time. Of the changes of a
// page in one instant, which count as one, the first is the one that counts.
func newContinuousScorer(g *Grid, times *History, k Weights, m Measures) *Scorer {
	s := NewScorer(g, k, m)
	s.moments = g.moments(times)
	return s
}

// when returns the moment of a change, in instants.
func (s *Scorer) when(change int) float64 {
	if s.moments != nil {
		return s.moments[change]
	}
	return float64(s.grid.at[change])
}

// Poll counts a poll of a page at the end of an instant, and reports whether
// the page had changed since it was last polled. The polls of one page come in
// order.
func (s *Scorer) Poll(page, instant int) bool { return s.poll(page, float64(instant), instant) }

// poll counts a poll at a moment in an instant.
func (s *Scorer) poll(page int, moment float64, instant int) bool {
	k := s.weights.of(page)
	s.score.Polls++
	s.truth.Polls++
	s.weighted.Polls += k.weight
	s.last[page] = instant
	from, to := s.next[page], s.next[page]
	for end := s.grid.first[page+1]; to < end && s.when(to) <= moment; {
		to++
	}
	if from == to {
		return false
	}
	s.score.Found++
	s.truth.Found++
	s.weighted.Found += k.weight
	s.integrate(page, k.weight, from, to, moment)
	s.capture(page, k, from, to, moment)
	s.next[page] = to
	return true
}

// miss counts a poll that did not see its page.
func (s *Scorer) miss() {
	s.score.Polls++
	s.score.Failed++
}

// index counts a poll of an index, which is of no page.
func (s *Scorer) index(seen bool) {
	s.score.Polls++
	s.score.IndexPolls++
	if !seen {
		s.score.Failed++
	}
}

// capture counts those of the unseen changes from:to that are still there.
func (s *Scorer) capture(page int, k *pageWeight, from, to int, moment float64) {
	for after := range to - from {
		delay := int(moment - s.when(to-1-after))
		if !k.life.Lasts(delay, after) {
			return // those before it are older still
		}
		s.score.Captured++
		s.seen[page]++
		s.score.Utility += k.weight * k.urgency.At(float64(delay))
		for len(s.score.Delays) <= delay {
			s.score.Delays = append(s.score.Delays, 0)
		}
		s.score.Delays[delay]++
	}
}

// integrate adds the time for which the copy of a page lacked the changes in
// grid.at[from:to], up to an instant.
func (s *Scorer) integrate(page int, weight float64, from, to int, until float64) {
	stale := until - s.when(from)
	age := stale * stale / 2
	if s.measures.Age == AgeLast {
		age = 0
	}
	for c := from; c < to; c++ {
		end := until
		if c+1 < to {
			end = s.when(c + 1)
		}
		lasted := end - s.when(c)
		if s.measures.Age == AgeLast {
			age += lasted * lasted / 2
		}
		if s.measures.Divergence != nil {
			begin := s.grid.first[page]
			s.truth.Behind += lasted * s.measures.Divergence(page, from-begin, c+1-begin)
		}
	}
	s.truth.Stale += stale
	s.truth.Age += age
	s.weighted.Stale += weight * stale
	s.weighted.Age += weight * age
}

// Score closes the books at the end of the grid. No poll may follow.
func (s *Scorer) Score() Score {
	total, weights := 0.0, 0.0
	var fairness outlook.Fairness
	for page := range s.grid.pages {
		k := s.weights.of(page)
		begin, end := s.grid.first[page], s.grid.first[page+1]
		weights += k.weight
		total += k.weight * float64(end-begin)
		s.score.Settled += s.next[page] - begin
		s.score.ByPage = append(s.score.ByPage, PageScore{Captured: s.seen[page], Settled: s.next[page] - begin})
		if begin < end {
			fairness.Add(1, s.last[page] > 0)
		}
		if s.next[page] < end {
			s.integrate(page, k.weight, s.next[page], end, float64(s.grid.Instants))
			s.next[page] = end
		}
	}
	r := s.score
	if len(r.Delays) > 0 {
		r.ZeroDelay = r.Delays[0]
	}
	delays := 0.0
	for t, n := range r.Delays {
		delays += float64(t) * float64(n)
	}
	time, second := float64(s.grid.Instants), s.grid.Instant.Seconds()
	r.Recall = Ratio(float64(r.Captured), float64(r.Changes), 1)
	r.UtilityNormalized = Ratio(r.Utility, total, 1)
	s.truth.Watched, s.weighted.Watched = time*float64(r.Pages), time*weights
	r.ChangeRatio, r.WeightedChangeRatio = s.truth.ChangeRatio(), s.weighted.ChangeRatio()
	r.Freshness, r.WeightedFreshness = s.truth.Freshness(), s.weighted.Freshness()
	r.AgeSeconds = second * Ratio(s.truth.Age, s.truth.Watched, 0)
	r.WeightedAge = second * Ratio(s.weighted.Age, s.weighted.Watched, 0)
	r.Divergence = s.truth.Divergence()
	r.Fairness = fairness.Share().Mean
	r.MeanDelay = Ratio(delays, float64(r.Captured), 0)
	r.DelayP50, r.DelayP90, r.DelayP99 = r.DelayQuantile(.5), r.DelayQuantile(.9), r.DelayQuantile(.99)
	return r
}

// A State is how the copies of all pages stand at one moment.
type State struct {
	Freshness, WeightedFreshness float64
	Age, WeightedAge             float64 // in instants
}

// State returns how things stand at the end of an instant, after the polls so
// far. The instant is not before any of them.
func (s *Scorer) State(instant int) State {
	var st State
	weights := 0.0
	for page := range s.grid.pages {
		w := s.weights.of(page).weight
		weights += w
		age, stale := s.age(page, instant)
		if !stale {
			st.Freshness++
			st.WeightedFreshness += w
		}
		st.Age += age
		st.WeightedAge += w * age
	}
	n := float64(len(s.grid.pages))
	return State{
		Freshness: Ratio(st.Freshness, n, 1), WeightedFreshness: Ratio(st.WeightedFreshness, weights, 1),
		Age: Ratio(st.Age, n, 0), WeightedAge: Ratio(st.WeightedAge, weights, 0),
	}
}

// age returns how old the copy of a page is at an instant, if it is stale.
func (s *Scorer) age(page, instant int) (age float64, stale bool) {
	c, end := s.next[page], s.grid.first[page+1]
	if c == end || s.when(c) > float64(instant) {
		return 0, false
	}
	if s.measures.Age == AgeLast {
		for c+1 < end && s.when(c+1) <= float64(instant) {
			c++
		}
	}
	return float64(instant) - s.when(c), true
}
