package paper

import (
	"fmt"
	"slices"
	"strings"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/cyclic"
)

// captureHour is the period of every strategy of the paper, in minutes.
const captureHour = 60

// captureMeans are the ways of planning that the paper's experiments compare.
type captureMeans struct {
	// plan places polls by a history.
	plan func(h cyclic.Timeline, period, polls int, m cyclic.Method) ([]int, error)

	// model places polls by the messages that come; nil if there are too few.
	model func(m cyclic.Model, polls int) []float64
}

// captureExperiments are those of this paper.
func captureExperiments() []Experiment {
	return captureMeans{cyclic.Plan, cyclic.Model.Strategy}.experiments()
}

func (c captureMeans) experiments() []Experiment {
	return []Experiment{
		{Paper: Capture, Where: "table 1", Cost: 1, Fixed: true, Run: c.table1},
		{Paper: Capture, Where: "section 3.1", Cost: 1, Run: c.moments},
		{Paper: Capture, Where: "section 3.1.1", Cost: 1, Run: c.empirical},
		{Paper: Capture, Where: "figure 2", Cost: 1, Fixed: true, Run: c.figure2},
		{Paper: Capture, Where: "figure 3", Cost: 1, Fixed: true, Run: c.figure3},
		{Paper: Capture, Where: "figure 4", Cost: 1, Run: captureFigure4},
		{Paper: Capture, Where: "figure 5", Cost: 7, Run: c.figure5},
		{Paper: Capture, Where: "section 3.1.3", Cost: 1, Fixed: true, Run: c.burst},
	}
}

// captureHistory returns a page that changed at these minutes of the clock, as
// in 65 for 1:05.
func captureHistory(minutes ...int) cyclic.Timeline {
	page := make([]int, len(minutes))
	for i, m := range minutes {
		page[i] = m + 1
	}
	return cyclic.Timeline{Pages: [][]int{page}}
}

// captureLater returns the history in which polls see a change only from the
// minute after it.
func captureLater(h cyclic.Timeline) cyclic.Timeline {
	later := cyclic.Timeline{Circle: h.Circle}
	for _, page := range h.Pages {
		page = slices.Clone(page)
		for i := range page {
			page[i]++
		}
		later.Pages = append(later.Pages, page)
	}
	return later
}

// captureMinutes writes times of an hour as the paper does: ":05, :15".
func captureMinutes(offsets []int) string {
	words := make([]string, len(offsets))
	for i, b := range offsets {
		words[i] = fmt.Sprintf(":%02d", b)
	}
	return strings.Join(words, ", ")
}

// captureCounts returns an axis with a tick at every number.
func captureCounts(caption string, from, to int) plot.Axis {
	a := plot.Linear(caption, float64(from), float64(to))
	a.Ticks = nil
	for n := from; n <= to; n++ {
		a.Ticks = append(a.Ticks, plot.Tick{At: float64(n), Label: fmt.Sprint(n)})
	}
	return a
}

// captureTimes writes times that need not be whole minutes.
func captureTimes(times []float64) string {
	words := make([]string, len(times))
	for i, t := range times {
		words[i] = strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", t), "0"), ".")
	}
	return strings.Join(words, ", ")
}
