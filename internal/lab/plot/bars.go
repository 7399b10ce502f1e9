package plot

import "fmt"

// Bars are named values side by side, and a mark to hold them against.
type Bars struct {
	Title, Caption string
	Bars           []Bar
	Mark           float64 // 0 means none
	MarkName       string
}

// A Bar is one named value.
type Bar struct {
	Name  string
	Value float64
}

// SVG draws the bars, which go from left to right.
func (c Bars) SVG() string {
	var d drawing
	most := c.Mark
	for _, b := range c.Bars {
		most = max(most, b.Value)
	}
	x := Linear(c.Caption, 0, most*1.02)
	left, right := float64(barLabels), float64(chartWidth-chartMargin-40)
	bottom := float64(chartTop + 14 + barHeight*len(c.Bars))
	at := func(v float64) float64 { return left + x.share(v)*(right-left) }
	for _, t := range x.Ticks {
		d.add(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%.1f" stroke="%s"/>`, at(t.At), chartTop, at(t.At), bottom, chartGrid)
		d.text(at(t.At), bottom+18, "middle", chartFaint, t.Label)
	}
	for i, b := range c.Bars {
		y := float64(chartTop + 12 + i*barHeight)
		d.text(left-8, y+13, "end", chartText, shortened(b.Name, 30))
		d.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>`, left, y, at(b.Value)-left, barHeight-5, columnColour)
		figure := fmt.Sprintf("%.3f", b.Value)
		if end := at(b.Value); end-left > barFigure {
			d.text(end-5, y+13, "end", "#fff", figure)
		} else {
			d.text(end+5, y+13, "start", chartText, figure)
		}
	}
	if c.Mark > 0 {
		d.add(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="2" stroke-dasharray="6 4"/>`, at(c.Mark), chartTop, at(c.Mark), bottom, Black)
		d.text(at(c.Mark), chartTop-4, "middle", chartText, fmt.Sprintf("%s %.3f", c.MarkName, c.Mark))
	}
	d.text((left+right)/2, bottom+38, "middle", chartText, c.Caption)
	return d.finish(c.Title, int(bottom)+chartBottom)
}
