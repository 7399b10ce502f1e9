package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"freshet"
	"freshet/plot"
)

// trialColumns are the columns of the CSV, named as in the JSON.
var trialColumns = []struct {
	name string
	of   func(trial) string
}{
	{"trace", func(r trial) string { return r.Trace }},
	{"policy", func(r trial) string { return r.Policy }},
	{"budget", func(r trial) string { return number(r.Budget) }},
	{"life", func(r trial) string { return r.Life }},
	{"urgency", func(r trial) string { return r.Urgency }},
	{"estimate", func(r trial) string { return r.Estimate }},
	{"evidence", func(r trial) string { return r.Evidence }},
	{"seed", func(r trial) string { return strconv.FormatUint(r.Seed, 10) }},
	{"start", func(r trial) string { return r.Start }},
	{"end", func(r trial) string { return r.End }},
	{"instant_seconds", func(r trial) string { return number(r.Instant) }},
	{"pages", func(r trial) string { return strconv.Itoa(r.Pages) }},
	{"instants", func(r trial) string { return strconv.Itoa(r.Instants) }},
	{"changes", func(r trial) string { return strconv.Itoa(r.Changes) }},
	{"captured", func(r trial) string { return strconv.Itoa(r.Captured) }},
	{"zero_delay", func(r trial) string { return strconv.Itoa(r.ZeroDelay) }},
	{"polls", func(r trial) string { return strconv.Itoa(r.Polls) }},
	{"found", func(r trial) string { return strconv.Itoa(r.Found) }},
	{"recall", func(r trial) string { return number(r.Recall) }},
	{"utility", func(r trial) string { return number(r.Utility) }},
	{"utility_normalized", func(r trial) string { return number(r.UtilityNormalized) }},
	{"change_ratio", func(r trial) string { return number(r.ChangeRatio) }},
	{"weighted_change_ratio", func(r trial) string { return number(r.WeightedChangeRatio) }},
	{"freshness", func(r trial) string { return number(r.Freshness) }},
	{"weighted_freshness", func(r trial) string { return number(r.WeightedFreshness) }},
	{"age_seconds", func(r trial) string { return number(r.AgeSeconds) }},
	{"weighted_age_seconds", func(r trial) string { return number(r.WeightedAge) }},
	{"fairness", func(r trial) string { return number(r.Fairness) }},
	{"mean_delay_instants", func(r trial) string { return number(r.MeanDelay) }},
	{"delay_p50_instants", func(r trial) string { return strconv.Itoa(r.DelayP50) }},
	{"delay_p90_instants", func(r trial) string { return strconv.Itoa(r.DelayP90) }},
	{"delay_p99_instants", func(r trial) string { return strconv.Itoa(r.DelayP99) }},
	{"limit", ofLimit(func(l *trialLimit) string { return number(l.Limit) })},
	{"limit_normalized", ofLimit(func(l *trialLimit) string { return number(l.LimitNormalized) })},
	{"limit_exact", ofLimit(func(l *trialLimit) string { return strconv.FormatBool(l.LimitExact) })},
	{"utility_of_limit", ofLimit(func(l *trialLimit) string { return number(l.OfLimit) })},
}

// ofLimit leaves a column empty where no limit was asked for.
func ofLimit(of func(*trialLimit) string) func(trial) string {
	return func(r trial) string {
		if r.trialLimit == nil {
			return ""
		}
		return of(r.trialLimit)
	}
}

// writeTrials writes trials as CSV.
func writeTrials(w io.Writer, trials []trial) error {
	out := csv.NewWriter(w)
	var head []string
	for _, c := range trialColumns {
		head = append(head, c.name)
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, r := range trials {
		row := make([]string, len(trialColumns))
		for i, c := range trialColumns {
			row[i] = c.of(r)
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// draw draws one chart a trace: bars for one budget, lines over several.
func (c *labCompare) draw(contests []*contest) picture {
	first := contests[0].trials[0][0]
	p := picture{
		title: "Policies compared",
		about: fmt.Sprintf("Life %s, urgency %s, instants of %s, estimate %s, seed %d. Utility is normalised by the weight of all changes; with uniform urgency it is the share of changes captured.",
			first.Life, first.Urgency, freshet.FormatDuration(contests[0].grid.Instant), c.estimate, c.seed),
		head: comparedHead, words: 3,
	}
	for _, k := range contests {
		p.rows = append(p.rows, k.rows()...)
		if k.recorded != nil {
			p.about += " " + k.recorded.caveat()
		}
		if len(c.budgets.list) == 1 {
			p.charts = append(p.charts, k.bars())
		} else {
			p.charts = append(p.charts, k.curves())
		}
	}
	return p
}

// caption says what a contest was about.
func (k *contest) caption() string {
	return fmt.Sprintf("%s: %s, %d changes", k.name(), counted(len(k.grid.Pages()), "page"), k.grid.Changes())
}

// bars draws a contest with one budget.
func (k *contest) bars() plot.Bars {
	row := k.trials[0]
	c := plot.Bars{Title: fmt.Sprintf("%s, %s", k.caption(), anInstant(row[0].Budget)), Caption: "utility, normalised"}
	for _, r := range row {
		c.Bars = append(c.Bars, plot.Bar{Name: r.Policy, Value: r.UtilityNormalized})
	}
	if k.limits != nil {
		c.Mark, c.MarkName = share(k.limits[0].Value, k.weight), "limit"
	}
	return c
}

// curves draws a contest over several budgets.
func (k *contest) curves() plot.Chart {
	low, high, top := k.trials[0][0].Budget, k.trials[0][0].Budget, 0.0
	for _, row := range k.trials {
		low, high = min(low, row[0].Budget), max(high, row[0].Budget)
	}
	lines := make([]plot.Line, len(k.trials[0]))
	limit := plot.Line{Name: "limit", Colour: plot.Black, Dashed: true}
	for b, row := range k.trials {
		for i, r := range row {
			lines[i].Name = r.Policy
			lines[i].Points = append(lines[i].Points, [2]float64{r.Budget, r.UtilityNormalized})
			top = max(top, r.UtilityNormalized)
		}
		if k.limits != nil {
			v := share(k.limits[b].Value, k.weight)
			limit.Points = append(limit.Points, [2]float64{row[0].Budget, v})
			top = max(top, v)
		}
	}
	if k.limits != nil {
		lines = append(lines, limit)
	}
	for i := range lines {
		sortPoints(lines[i].Points)
	}
	return plot.Chart{Title: k.caption(), X: budgetAxis(low, high, k.trials), Y: plot.Linear("utility, normalised", 0, top), Lines: lines}
}

// sortPoints puts the points of a line in order of x.
func sortPoints(points [][2]float64) {
	slices.SortFunc(points, func(a, b [2]float64) int { return cmp.Compare(a[0], b[0]) })
}

// budgetAxis returns an axis of budgets: where the highest is many times the
// lowest, equal factors are equally far apart.
func budgetAxis(low, high float64, rows [][]trial) plot.Axis {
	const caption = "budget, polls an instant"
	if high <= 12*low {
		return plot.Linear(caption, 0, high)
	}
	a := plot.Axis{Caption: caption, From: low, To: high, Log: true}
	for _, row := range rows {
		a.Ticks = append(a.Ticks, plot.Tick{At: row[0].Budget, Label: number(row[0].Budget)})
	}
	return a
}
