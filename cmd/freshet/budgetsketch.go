package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"freshet/client"
	"freshet/internal/lab/plot"
)

// The measures of a curve in a terminal, in characters. There is a column for
// each point of the curve, and the middle one is the present budget.
const (
	sketchWidth  = 61
	sketchHeight = 13
)

// sketch draws the share captured against the budget, with its band of doubt.
func sketch(w io.Writer, paint palette, a client.Budget) {
	for row := range sketchHeight {
		share := 1 - float64(row)/(sketchHeight-1)
		half := 0.5 / (sketchHeight - 1)
		label := ""
		if row%3 == 0 {
			label = fmt.Sprintf("%3.0f%%", 100*share)
		}
		fmt.Fprintf(w, "%s %s\n", paint.dim(fmt.Sprintf("%5s ┤", label)), strings.TrimRight(sketchRow(paint, a, share, half), " "))
	}
	axis := []rune(strings.Repeat("─", sketchWidth))
	axis[sketchWidth/2] = '┴'
	fmt.Fprintf(w, "%s\n", paint.dim("      └─"+string(axis)))
	first, now, last := asBudget(a.Curve[0].PollsPerDay), "now: "+asBudget(a.Now.PollsPerDay), asBudget(a.Curve[len(a.Curve)-1].PollsPerDay)
	left := max(1, sketchWidth/2-len(first)-len(now)/2)
	right := max(1, sketchWidth-len(first)-left-len(now)-len(last))
	fmt.Fprintf(w, "        %s%s%s%s%s\n", first, strings.Repeat(" ", left), now, strings.Repeat(" ", right), last)
}

// sketchRow returns the row of shares within half a row of one.
func sketchRow(paint palette, a client.Budget, share, half float64) string {
	var row strings.Builder
	for column, p := range a.Curve {
		middle := column == len(a.Curve)/2
		switch on := math.Abs(p.Share.Mean-share) <= half; {
		case on && middle:
			row.WriteString(paint.yellow("◆"))
		case on:
			row.WriteString(paint.cyan("•"))
		case p.Share.Low-half <= share && share <= p.Share.High+half:
			row.WriteString(paint.dim("░"))
		case middle:
			row.WriteString(paint.dim("╎"))
		default:
			row.WriteByte(' ')
		}
	}
	return row.String()
}

// budgetPicture returns the curve as a chart.
func budgetPicture(a client.Budget) plot.Page {
	x := plot.Axis{Caption: "polls a day", Log: true, From: a.Curve[0].PollsPerDay, To: a.Curve[len(a.Curve)-1].PollsPerDay}
	for power := math.Ceil(math.Log10(x.From)); math.Pow(10, power) <= x.To; power++ {
		x.Ticks = append(x.Ticks, plot.Tick{At: math.Pow(10, power), Label: fmt.Sprintf("%.0f", math.Pow(10, power))})
	}
	line := func(name string, dashed bool, of func(client.BudgetPoint) float64) plot.Line {
		l := plot.Line{Name: name, Dashed: dashed}
		for _, p := range a.Curve {
			l.Points = append(l.Points, [2]float64{p.PollsPerDay, of(p)})
		}
		return l
	}
	lines := []plot.Line{
		line("captured", false, func(p client.BudgetPoint) float64 { return p.Share.Mean }),
		line("captured, at most", true, func(p client.BudgetPoint) float64 { return p.Share.High }),
		line("captured, at least", true, func(p client.BudgetPoint) float64 { return p.Share.Low }),
		line("within 1h", false, func(p client.BudgetPoint) float64 { return p.Within[2].Share }),
		line("within 10m", false, func(p client.BudgetPoint) float64 { return p.Within[1].Share }),
		line("up to date", false, func(p client.BudgetPoint) float64 { return p.Freshness }),
		{Name: "now, " + a.Budget, Colour: plot.Black, Dashed: true, Points: [][2]float64{{a.Now.PollsPerDay, 0}, {a.Now.PollsPerDay, 1}}},
	}
	chart := plot.Chart{Title: "What a budget brings", X: x, Y: plot.Linear("share", 0, 1), Lines: lines}
	return plot.Page{Title: chart.Title, Charts: []interface{ SVG() string }{chart}}
}
