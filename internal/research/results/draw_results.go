package results

import (
	"fmt"
	"slices"

	"freshet/internal/lab"
	"freshet/internal/lab/plot"
)

// Draw draws what the policies had of the limit in the mean, by
// budget; of a quick comparison, at the reference budgets.
func (r *Results) Draw() plot.Page {
	p := plot.Page{Title: "Mean share of the limit"}
	if len(r.Shares) == 0 {
		bars := plot.Bars{Title: fmt.Sprintf("Mean over %s, at their reference budgets", lab.Counted(len(r.Reference), "trace")), Caption: "share of the limit"}
		for _, c := range append(r.Contenders[:len(r.Contenders):len(r.Contenders)], slices.Concat(r.Informed, r.Daemon)...) {
			bars.Bars = append(bars.Bars, plot.Bar{Name: c.Name, Value: MeanOfLimit(r.Reference, c.Name)})
		}
		p.Charts = append(p.Charts, bars)
		return p
	}
	for _, part := range []struct {
		title string
		list  []Result
	}{{"Overwritten, and late is as good as early", r.Shares}, {"Kept, and worth a tenth less every instant", r.Decayed}} {
		chart := plot.Chart{
			Title: fmt.Sprintf("%s: mean over %s", part.title, lab.Counted(len(r.Reference), "trace")),
			X:     plot.Axis{Caption: "share of all changes that the limit captures", From: Shares[0], To: Shares[len(Shares)-1]},
			Y:     plot.Linear("share of the limit", 0, 1),
		}
		for _, share := range Shares {
			chart.X.Ticks = append(chart.X.Ticks, plot.Tick{At: share, Label: fmt.Sprintf("%.0f%%", 100*share)})
		}
		for _, c := range r.Contenders {
			line := plot.Line{Name: c.Name}
			for _, share := range Shares {
				line.Points = append(line.Points, [2]float64{share, MeanOfLimit(AtShare(part.list, share), c.Name)})
			}
			chart.Lines = append(chart.Lines, line)
		}
		p.Charts = append(p.Charts, chart)
	}
	return p
}
