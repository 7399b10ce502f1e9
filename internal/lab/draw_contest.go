package lab

import (
	"cmp"
	"fmt"
	"slices"

	"freshet/internal/lab/plot"
	"freshet/internal/units"
)

// DrawContests draws one chart a contest: bars for one budget, lines over
// several.
func DrawContests(contests []*Contest) plot.Page {
	first := contests[0].Trials[0][0]
	p := plot.Page{
		Title: "Policies compared",
		About: fmt.Sprintf("Life %s, urgency %s, instants of %s, estimate %s, seed %d. Utility is normalised by the weight of all changes; with uniform urgency it is the share of changes captured.",
			first.Life, first.Urgency, units.FormatDuration(contests[0].Grid.Instant), first.Estimate, first.Seed),
		Head: ComparedHead, Words: 3,
	}
	for _, k := range contests {
		p.Rows = append(p.Rows, k.Rows()...)
		if len(k.Trials) == 1 {
			p.Charts = append(p.Charts, k.bars())
		} else {
			p.Charts = append(p.Charts, k.curves())
		}
	}
	return p
}

// caption says what a contest was about.
func (k *Contest) caption() string {
	return fmt.Sprintf("%s: %s, %d changes", k.Name(), Counted(len(k.Grid.Pages()), "page"), k.Grid.Changes())
}

// Counted writes a number of things.
func Counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// bars draws a contest with one budget.
func (k *Contest) bars() plot.Bars {
	row := k.Trials[0]
	c := plot.Bars{Title: fmt.Sprintf("%s, %s", k.caption(), row[0].Rate()), Caption: "utility, normalised"}
	for _, r := range row {
		c.Bars = append(c.Bars, plot.Bar{Name: r.Policy, Value: r.UtilityNormalized})
	}
	if k.Limits != nil {
		c.Mark, c.MarkName = k.share(0), "limit"
	}
	return c
}

// curves draws a contest over several budgets.
func (k *Contest) curves() plot.Chart {
	low, high, top := k.Trials[0][0].Budget, k.Trials[0][0].Budget, 0.0
	for _, row := range k.Trials {
		low, high = min(low, row[0].Budget), max(high, row[0].Budget)
	}
	lines := make([]plot.Line, len(k.Trials[0]))
	limit := plot.Line{Name: "limit", Colour: plot.Black, Dashed: true}
	for b, row := range k.Trials {
		for i, r := range row {
			lines[i].Name = r.Policy
			lines[i].Points = append(lines[i].Points, [2]float64{r.Budget, r.UtilityNormalized})
			top = max(top, r.UtilityNormalized)
		}
		if k.Limits != nil {
			v := k.share(b)
			limit.Points = append(limit.Points, [2]float64{row[0].Budget, v})
			top = max(top, v)
		}
	}
	if k.Limits != nil {
		lines = append(lines, limit)
	}
	for i := range lines {
		sortPoints(lines[i].Points)
	}
	return plot.Chart{Title: k.caption(), X: budgetAxis(low, high, k.Trials), Y: plot.Linear("utility, normalised", 0, top), Lines: lines}
}

// sortPoints puts the points of a line in order of x.
func sortPoints(points [][2]float64) {
	slices.SortFunc(points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
}

// budgetAxis returns an axis of budgets: where the highest is many times the
// lowest, equal factors are equally far apart.
func budgetAxis(low, high float64, rows [][]Trial) plot.Axis {
	const caption = "budget, polls an instant"
	if high <= 12*low {
		return plot.Linear(caption, 0, high)
	}
	a := plot.Axis{Caption: caption, From: low, To: high, Log: true}
	for _, row := range rows {
		a.Ticks = append(a.Ticks, plot.Tick{At: row[0].Budget, Label: FormatNumber(row[0].Budget)})
	}
	return a
}
