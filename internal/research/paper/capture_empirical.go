package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/cyclic"
)

// A captureProgramme is the dynamic programme that the paper prints, with its
// first term set right: no poll lies before the first of those between T(i) and
// T(i+k). Offsets are modulo s.
type captureProgramme struct {
	s      int
	misses [][][]int // by polls between, by i, by k
	first  [][][]int // the first of the polls between, in steps from i
	steps  int       // how many sums were compared
}

// captureLinks returns how many changes are missed between polls at i and i+k
// and none between, by i and k, over a history bent into a circle.
func captureLinks(h cyclic.Timeline, s int) [][]int {
	links := make([][]int, s)
	for i := range links {
		links[i] = make([]int, s+1)
		for _, page := range h.Pages {
			seen := make([]int, h.Circle/s) // by period that begins after i
			byStep := make([][]int, s+1)
			for _, at := range page {
				from := (at - 1 - i - 1 + h.Circle) % h.Circle // instants after the first that i does not see
				byStep[from%s+1] = append(byStep[from%s+1], from/s)
			}
			for k := 1; k <= s; k++ {
				links[i][k] += links[i][k-1]
				for _, d := range byStep[k] {
					if seen[d]++; seen[d] > 1 {
						links[i][k]++
					}
				}
			}
		}
	}
	return links
}

// newCaptureProgramme runs the programme for up to so many polls between.
func newCaptureProgramme(h cyclic.Timeline, s, between int) *captureProgramme {
	p := &captureProgramme{s: s, misses: [][][]int{captureLinks(h, s)}, first: [][][]int{nil}}
	for l := 1; l <= between; l++ {
		misses, first := make([][]int, s), make([][]int, s)
		for i := range s {
			misses[i], first[i] = make([]int, s+1), make([]int, s+1)
			for k := range s + 1 {
				misses[i][k] = math.MaxInt
				for j := 1; j < k; j++ {
					rest := p.misses[l-1][(i+j)%s][k-j]
					if l > k-1 || rest == math.MaxInt {
						continue
					}
					p.steps++
					if sum := p.misses[0][i][j] + rest; sum < misses[i][k] {
						misses[i][k], first[i][k] = sum, j
					}
				}
			}
		}
		p.misses, p.first = append(p.misses, misses), append(p.first, first)
	}
	return p
}

// polls returns the offsets of i, i+k and the l polls between them.
func (p *captureProgramme) polls(i, k, l int) []int {
	polls := []int{i, (i + k) % p.s}
	for ; l > 0; l-- {
		j := p.first[l][i][k]
		i, k = (i+j)%p.s, k-j
		polls = append(polls, i)
	}
	slices.Sort(polls)
	return slices.Compact(polls)
}

// printed returns the polls by the rule that the paper prints: the least misses
// between the first poll and the last, wherever they are.
func (p *captureProgramme) printed(polls int) []int {
	least, from, length := math.MaxInt, 0, 0
	for i, row := range p.misses[polls-2] {
		for k := polls - 1; k < p.s; k++ {
			if row[k] < least {
				least, from, length = row[k], i, k
			}
		}
	}
	return p.polls(from, length, polls-2)
}

// closed returns the polls by the rule that closes the circle: the last poll is
// the first of the next period.
func (p *captureProgramme) closed(polls int) []int {
	from := 0
	for i, row := range p.misses[polls-1] {
		if row[p.s] < p.misses[polls-1][from][p.s] {
			from = i
		}
	}
	return p.polls(from, p.s, polls-1)
}

// captureExhaust returns the least misses of all sets of three polls.
func captureExhaust(links [][]int, s int) int {
	least := math.MaxInt
	for a := range s {
		for b := a + 1; b < s; b++ {
			for c := b + 1; c < s; c++ {
				least = min(least, links[a][b-a]+links[b][c-b]+links[c][a+s-c])
			}
		}
	}
	return least
}

// captureProgrammed is what the ways of running the programme gave.
type captureProgrammed struct {
	table       Table
	lines       []plot.Line
	same, cases int     // how often Freshet's plan misses as many as the programme with the circle closed
	worst       float64 // recall that the printed rule loses at the most
	three       int     // misses of Freshet's three polls
}

// compare runs the programme as printed and set right beside Freshet's planner.
func (c captureMeans) compare(p *captureProgramme, h cyclic.Timeline, most int) (captureProgrammed, error) {
	g := captureProgrammed{
		table: Table{Head: []string{"polls an hour", "as printed: polls at", "change recall", "circle closed: polls at", "change recall", "Freshet: polls at", "change recall"}},
		lines: []plot.Line{{Name: "as printed"}, {Name: "circle closed"}, {Name: "Freshet, optimal", Dashed: true}},
	}
	for n := 2; n <= most; n++ {
		planned, err := c.plan(h, captureHour, n, cyclic.Optimal)
		if err != nil {
			return g, err
		}
		row := []string{fmt.Sprint(n)}
		var tallies [3]cyclic.Score
		for i, polls := range [][]int{p.printed(n), p.closed(n), planned} {
			tallies[i] = h.Count(captureHour, polls)
			g.lines[i].Points = append(g.lines[i].Points, [2]float64{float64(n), tallies[i].Recall()})
			row = append(row, captureMinutes(polls), fmt.Sprintf("%.3f", tallies[i].Recall()))
		}
		g.table.Rows = append(g.table.Rows, row)
		g.cases++
		if tallies[1].Misses == tallies[2].Misses {
			g.same++
		}
		g.worst = max(g.worst, tallies[1].Recall()-tallies[0].Recall())
		if n == 3 {
			g.three = tallies[2].Misses
		}
	}
	return g, nil
}

// empirical is the programme of section 3.1.1 as printed, set right, and as
// Freshet plans.
func (c captureMeans) empirical(_ context.Context, s Options) (Figure, error) {
	const most = 8
	_, days, _ := captureSize(s)
	page := captureSettings[captureTypical].changes(rand.New(rand.NewPCG(s.Seed, 11)), 24*days)
	h := cyclic.Timeline{Pages: [][]int{page}, Circle: days * 24 * captureHour}
	p := newCaptureProgramme(h, captureHour, most-1)
	g, err := c.compare(p, h, most)
	if err != nil {
		return Figure{}, err
	}
	least := captureExhaust(p.misses[0], captureHour)
	chart := plot.Chart{Title: "Section 3.1.1: the programme as printed and set right", X: captureCounts("polls an hour", 2, most),
		Y: plot.Linear("change recall on the history", 0, 1.02), Lines: g.lines}
	bound := captureHour * captureHour * captureHour * most
	return Figure{
		Title: "Section 3.1.1: the empirical approach",
		About: fmt.Sprintf("One made-up airport (3 min, 20%% specials), %d days of history bent into a circle, 60 minutes of the hour to poll at (seed %d). The first term of the recursion is printed as if it had a poll between, or in another text as many as the whole; here it has none.", days, s.Seed),
		SVGs:  []string{chart.SVG()}, Tables: []Table{g.table},
		Claims: []Claim{
			{Paper: Capture, Where: "section 3.1.1", Claim: "the set with the least NumMisses(Ti, k, N-2) over all i and k is the best polling strategy", Expected: "no strategy captures more",
				Measured: fmt.Sprintf("up to %.3f of recall below the best", g.worst), Holds: g.worst <= 0,
				Why: "misses outside the first and the last poll are not counted, so the least are found in a stretch in which nothing happens. The circle must be closed: the last link leads to the first poll of the next hour."},
			{Paper: Capture, Where: "section 3.1.1", Claim: "all combinations of polling times are considered, and the best is found", Expected: "the fewest misses of all",
				Measured: fmt.Sprintf("with the circle closed, as many misses as Freshet's plan in %d of %d cases; of all %d sets of three polls the best misses %d, and the plan %d", g.same, g.cases, 60*59*58/6, least, g.three),
				Holds:    g.same == g.cases && least == g.three},
			{Paper: Capture, Where: "section 3.1.1", Claim: "the algorithm takes at most s³N computations", Expected: fmt.Sprintf("at most %d for s = 60, N = %d", bound, most),
				Measured: fmt.Sprintf("%d sums compared", p.steps), Holds: p.steps <= bound,
				Why: "far fewer will do, because the misses are such that the best place of a poll only moves on as others do; Freshet's planner uses that."},
		},
	}, nil
}
