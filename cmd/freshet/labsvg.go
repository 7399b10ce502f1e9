package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The measures of a chart, in pixels.
const (
	chartWidth   = 760
	chartHeight  = 380
	chartLeft    = 64
	chartTop     = 44
	chartBottom  = 52
	legendWidth  = 190
	legendLine   = 20
	barHeight    = 22
	barLabels    = 210
	barFigure    = 48
	chartMargin  = 20
	chartText    = "#222"
	chartGrid    = "#e3e3e3"
	chartFaint   = "#666"
	limitColour  = "#222"
	columnColour = "#0072b2"
)

// chartColours can be told apart by most eyes, also by those that see no red or
// no green (after Okabe and Ito). When they run out, lines are dashed.
var chartColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c6d31"}

// An axis is one side of a chart.
type axis struct {
	caption  string
	from, to float64
	ticks    []tick
	log      bool
}

// A tick is a mark on an axis.
type tick struct {
	at    float64
	label string
}

// share returns how far along the axis a value lies.
func (a axis) share(v float64) float64 {
	from, to := a.from, a.to
	if a.log {
		from, to, v = math.Log(from), math.Log(to), math.Log(v)
	}
	if to <= from {
		return 0
	}
	return (v - from) / (to - from)
}

// linear returns an axis with ticks at round numbers.
func linear(caption string, from, to float64) axis {
	if !(to > from) {
		to = from + 1
	}
	a := axis{caption: caption, from: from, to: to}
	step := roundStep((to - from) / 6)
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	for i := int(math.Ceil(from/step - 1e-9)); float64(i)*step <= to+step*1e-9; i++ {
		at := float64(i) * step
		a.ticks = append(a.ticks, tick{at, fmt.Sprintf("%.*f", digits, at)})
	}
	return a
}

// roundStep returns the least of 1, 2, 5, 10 ... that is not below the least.
func roundStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, digit := range []float64{1, 2, 5} {
		if digit*power >= least*(1-1e-9) {
			return digit * power
		}
	}
	return 10 * power
}

// A chart is lines or columns over two axes.
type chart struct {
	title   string
	x, y    axis
	lines   []chartLine
	columns []column
}

// A chartLine is a curve with a name.
type chartLine struct {
	name   string
	colour string // "" takes the next
	dashed bool
	points [][2]float64
}

// A column stands on the x axis.
type column struct{ from, to, height float64 }

// A drawing gathers the elements of an SVG.
type drawing struct{ strings.Builder }

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// text writes at a place; anchor is start, middle or end.
func (d *drawing) text(x, y float64, anchor, colour, s string) {
	d.add(`<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`, x, y, anchor, colour, html.EscapeString(s))
}

// finish returns the whole SVG.
func (d *drawing) finish(title string, height int) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="system-ui, sans-serif" font-size="12">
<title>%s</title>
<rect width="100%%" height="100%%" fill="#fff"/>
<text x="%d" y="24" font-size="15" font-weight="600" fill="%s">%s</text>
%s</svg>
`, chartWidth, height, chartWidth, height, html.EscapeString(title), chartMargin, chartText, html.EscapeString(title), d.String())
}

// svg draws the chart.
func (c chart) svg() string {
	var d drawing
	right := float64(chartWidth - chartMargin)
	if len(c.lines) > 1 {
		right -= legendWidth
	}
	height := max(chartHeight, chartTop+legendLine*(len(c.lines)+1))
	bottom := float64(height - chartBottom)
	at := func(x, y float64) (float64, float64) {
		return chartLeft + c.x.share(x)*(right-chartLeft), bottom - c.y.share(y)*(bottom-chartTop)
	}
	c.frame(&d, right, bottom)
	for _, b := range c.columns {
		x0, y0 := at(b.from, 0)
		x1, y1 := at(b.to, b.height)
		d.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x0, y1, max(0.5, x1-x0-1), y0-y1, columnColour)
	}
	for i, l := range c.lines {
		style := l.style(i)
		var path strings.Builder
		for _, p := range l.points {
			x, y := at(p[0], p[1])
			fmt.Fprintf(&path, "%.1f,%.1f ", x, y)
			if len(l.points) <= 24 {
				d.add(`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x, y, l.ink(i))
			}
		}
		d.add(`<polyline points="%s" fill="none" %s/>`, strings.TrimSpace(path.String()), style)
		if len(c.lines) > 1 {
			y := float64(chartTop + 8 + i*legendLine)
			d.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`, right+16, y, right+40, y, style)
			d.text(right+46, y+4, "start", chartText, shorten(l.name, 24))
		}
	}
	return d.finish(c.title, height)
}

// frame draws the axes.
func (c chart) frame(d *drawing, right, bottom float64) {
	for _, t := range c.y.ticks {
		y := bottom - c.y.share(t.at)*(bottom-chartTop)
		d.add(`<line x1="%d" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, chartLeft, y, right, y, chartGrid)
		d.text(chartLeft-8, y+4, "end", chartFaint, t.label)
	}
	for _, t := range c.x.ticks {
		x := chartLeft + c.x.share(t.at)*(right-chartLeft)
		d.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, x, bottom, x, bottom+5, chartFaint)
		d.text(x, bottom+19, "middle", chartFaint, t.label)
	}
	d.add(`<line x1="%d" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, chartLeft, bottom, right, bottom, chartFaint)
	d.text((chartLeft+right)/2, bottom+40, "middle", chartText, c.x.caption)
	d.add(`<text transform="translate(16 %.1f) rotate(-90)" text-anchor="middle" fill="%s">%s</text>`, (chartTop+bottom)/2, chartText, html.EscapeString(c.y.caption))
}

// ink returns the colour of the line in a place.
func (l chartLine) ink(place int) string {
	if l.colour != "" {
		return l.colour
	}
	return chartColours[place%len(chartColours)]
}

// style returns how the line in a place is stroked.
func (l chartLine) style(place int) string {
	dash := ""
	if l.dashed || place >= len(chartColours) && l.colour == "" {
		dash = ` stroke-dasharray="6 4"`
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="2"%s`, l.ink(place), dash)
}

// A barChart is named values side by side, and a mark to hold them against.
type barChart struct {
	title, caption string
	bars           []namedValue
	mark           float64 // 0 means none
	markName       string
}

// A namedValue is one bar.
type namedValue struct {
	name  string
	value float64
}

// svg draws the bars, which go from left to right.
func (c barChart) svg() string {
	var d drawing
	most := c.mark
	for _, b := range c.bars {
		most = max(most, b.value)
	}
	x := linear(c.caption, 0, most*1.02)
	left, right := float64(barLabels), float64(chartWidth-chartMargin-40)
	bottom := float64(chartTop + 14 + barHeight*len(c.bars))
	at := func(v float64) float64 { return left + x.share(v)*(right-left) }
	for _, t := range x.ticks {
		d.add(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%.1f" stroke="%s"/>`, at(t.at), chartTop, at(t.at), bottom, chartGrid)
		d.text(at(t.at), bottom+18, "middle", chartFaint, t.label)
	}
	for i, b := range c.bars {
		y := float64(chartTop + 12 + i*barHeight)
		d.text(left-8, y+13, "end", chartText, shorten(b.name, 30))
		d.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"/>`, left, y, at(b.value)-left, barHeight-5, columnColour)
		figure := fmt.Sprintf("%.3f", b.value)
		if end := at(b.value); end-left > barFigure {
			d.text(end-5, y+13, "end", "#fff", figure)
		} else {
			d.text(end+5, y+13, "start", chartText, figure)
		}
	}
	if c.mark > 0 {
		d.add(`<line x1="%.1f" y1="%d" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="2" stroke-dasharray="6 4"/>`, at(c.mark), chartTop, at(c.mark), bottom, limitColour)
		d.text(at(c.mark), chartTop-4, "middle", chartText, fmt.Sprintf("%s %.3f", c.markName, c.mark))
	}
	d.text((left+right)/2, bottom+38, "middle", chartText, c.caption)
	return d.finish(c.title, int(bottom)+chartBottom)
}
