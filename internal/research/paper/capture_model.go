package paper

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/cyclic"
)

// captureModel returns messages A, B, C that come once an hour, each evenly
// over its minutes.
func captureModel(spans ...[2]float64) cyclic.Model {
	m := cyclic.Model{Period: captureHour}
	for _, s := range spans {
		m.Messages = append(m.Messages, cyclic.Message{From: s[0], To: s[1], Chance: 1})
	}
	return m
}

// captureDensities draws when the messages of a model come.
func captureDensities(title string, m cyclic.Model) string {
	c := plot.Chart{Title: title, X: plot.Linear("minute of the hour", 0, captureHour)}
	most := 0.0
	for i, msg := range m.Messages {
		d := msg.Chance / (msg.To - msg.From)
		most = max(most, d)
		c.Lines = append(c.Lines, plot.Line{Name: "message " + string(rune('A'+i)), Points: [][2]float64{{msg.From, 0}, {msg.From, d}, {msg.To, d}, {msg.To, 0}}})
	}
	c.Y = plot.Linear("probability density, per minute", 0, most*1.1)
	return c.SVG()
}

// figure2 has messages that never come together.
func (c captureMeans) figure2(_ context.Context, s Options) (Figure, error) {
	m := captureModel([2]float64{5, 15}, [2]float64{25, 35}, [2]float64{40, 50})
	polls := c.model(m, 3)
	misses := m.Misses(polls)
	return Figure{
		Title: "Figure 2: messages that do not overlap",
		About: fmt.Sprintf("A comes between 5 and 15 past, as printed; B until 35 and C until 50 (where they begin is lost: 25 and 40 here). Nothing is drawn by chance (seed %d).", s.Seed),
		SVGs:  []string{captureDensities("Figure 2: update probability distributions", m)},
		Claims: []Claim{
			{Paper: Capture, Where: "figure 2", Claim: "one poll at the end of each single-update interval", Expected: "polls at 15, 35, 50",
				Measured: captureTimes(polls), Holds: slices.Equal(polls, []float64{15, 35, 50})},
			{Paper: Capture, Where: "figure 2", Claim: "three polls an hour capture all the updates A, B and C", Expected: "no misses",
				Measured: fmt.Sprintf("%.3f misses an hour expected", misses), Holds: misses < 1e-9},
		},
	}, nil
}

// figure3 has messages that may come together.
func (c captureMeans) figure3(_ context.Context, s Options) (Figure, error) {
	m := captureModel([2]float64{5, 20}, [2]float64{10, 35}, [2]float64{30, 40})
	strategy := plot.Line{Name: "strategy of the paper"}
	best := plot.Line{Name: "fewest misses of all", Colour: plot.Black, Dashed: true}
	table := Table{Head: []string{"polls an hour", "strategy: polls at", "expected misses", "recall", "fewest misses: polls at", "expected misses", "recall"}}
	worst := 0.0
	for n := 1; n <= 12; n++ {
		exact := m.Best(n)
		least := m.Misses(captureFloats(exact))
		best.Points = append(best.Points, [2]float64{float64(n), least})
		row := []string{fmt.Sprint(n), "fewer than intervals", "", ""}
		if polls := c.model(m, n); polls != nil {
			misses := m.Misses(polls)
			strategy.Points = append(strategy.Points, [2]float64{float64(n), misses})
			row = []string{fmt.Sprint(n), captureTimes(polls), fmt.Sprintf("%.3f", misses), fmt.Sprintf("%.3f", 1-misses/3)}
			worst = max(worst, (misses-least)/3)
		}
		table.Rows = append(table.Rows, append(row, captureMinutes(exact), fmt.Sprintf("%.3f", least), fmt.Sprintf("%.3f", 1-least/3)))
	}
	chart := plot.Chart{
		Title: "Figure 3: misses by the polls in an hour",
		X:     captureCounts("polls an hour", 1, 12), Y: plot.Linear("expected misses an hour (of 3 updates)", 0, 2.2),
		Lines: []plot.Line{strategy, best},
	}
	return Figure{
		Title:  "Figure 3: messages that overlap",
		About:  fmt.Sprintf("A comes between 5 and 20 past, B between 10 and 35, C between 30 and 40, each once an hour and evenly. The strategy of the paper may poll at fractions of a minute; the fewest misses of all are over whole minutes, by an exact search. Nothing is drawn by chance (seed %d).", s.Seed),
		SVGs:   []string{captureDensities("Figure 3: update probability distributions", m), chart.SVG()},
		Tables: []Table{table},
		Claims: c.figure3Claims(m, worst),
	}, nil
}

func (c captureMeans) figure3Claims(m cyclic.Model, worst float64) []Claim {
	var intervals []string
	for _, in := range m.Stretches() {
		if len(in.Messages) > 1 {
			intervals = append(intervals, fmt.Sprintf("%g to %g", in.From, in.To))
		}
	}
	several := strings.Join(intervals, " and ")
	five, ten := c.model(m, 5), c.model(m, 10)
	count := func(polls []float64, from, to float64) (n int) {
		for _, p := range polls {
			if from < p && p <= to+1e-9 {
				n++
			}
		}
		return n
	}
	first, second := count(ten, 10, 20), count(ten, 30, 35)
	fewest, shares := math.Inf(1), ""
	for k := range 6 { // k of the five further polls to the first interval
		left := m.Misses(captureShared(1+k, 6-k))
		if left < fewest-1e-12 {
			fewest, shares = left, fmt.Sprintf("%d and %d", k, 5-k)
		}
	}
	fiveMisses, tenMisses, exact := m.Misses(five), m.Misses(ten), m.Misses(captureFloats(m.Best(5)))
	return []Claim{
		{Paper: Capture, Where: "figure 3", Claim: "two multiple-update intervals", Expected: "10 to 20 and 30 to 35", Measured: several, Holds: several == "10 to 20 and 30 to 35"},
		{Paper: Capture, Where: "figure 3", Claim: "five polls, one at the end of each interval", Expected: "10, 20, 30, 35, 40", Measured: captureTimes(five),
			Holds: slices.Equal(five, []float64{10, 20, 30, 35, 40}),
			Why:   `the text has "only A may occur between t=5 and t=20", which by the figure must read 5 and 10.`},
		{Paper: Capture, Where: "figure 3", Claim: "with five polls an update may be missed", Expected: "more than none",
			Measured: fmt.Sprintf("%.3f misses an hour expected", fiveMisses), Holds: fiveMisses > 0},
		{Paper: Capture, Where: "figure 3", Claim: "of five further polls, condition I finds the shares with the fewest misses", Expected: "the best of 0 and 5, 1 and 4, 2 and 3, ...",
			Measured: fmt.Sprintf("%d and %d, which leave %.3f misses; of all shares %s leave the fewest, %.3f", first-1, second-1, tenMisses, shares, fewest),
			Holds:    math.Abs(tenMisses-fewest) < 1e-9 && shares == fmt.Sprintf("%d and %d", first-1, second-1)},
		{Paper: Capture, Where: "section 3.1.2", Claim: "the algorithm is almost as good as the optimal strategy", Expected: "near optimal",
			Measured: fmt.Sprintf("at most %.3f of recall below the optimum, with 5 polls or more", worst), Holds: worst <= 0.05,
			Why: fmt.Sprintf("with the five polls it prescribes it has %.3f misses where %.3f will do, a third more, because an end of every interval is polled first; for fewer polls than intervals the paper gives no rule, and Freshet searches the model exactly.", fiveMisses, exact)},
	}
}

// captureShared returns polls at the ends of figure 3's intervals, with so many
// in each of those where two messages may come.
func captureShared(first, second int) []float64 {
	polls := []float64{10, 30, 40}
	for j := 1; j <= first; j++ {
		polls = append(polls, 10+10*float64(j)/float64(first))
	}
	for j := 1; j <= second; j++ {
		polls = append(polls, 30+5*float64(j)/float64(second))
	}
	return polls
}

func captureFloats(xs []int) []float64 {
	fs := make([]float64, len(xs))
	for i, x := range xs {
		fs[i] = float64(x)
	}
	return fs
}
