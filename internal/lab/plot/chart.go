package plot

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
	columnColour = "#0072b2"
)

// Black is for what stands beside the data: a limit, the truth.
const Black = "#222"

// chartColours can be distinguished by most people, also by those who are red-green
// colour-blind (after Okabe and Ito). When they run out, lines are dashed.
var chartColours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c6d31"}

// An Axis is one side of a chart.
type Axis struct {
	Caption  string
	From, To float64
	Ticks    []Tick
	Log      bool // equal factors are equally far apart
}

// A Tick is a mark on an axis.
type Tick struct {
	At    float64
	Label string
}

// share returns how far along the axis a value lies.
func (a Axis) share(v float64) float64 {
	from, to := a.From, a.To
	if a.Log {
		from, to, v = math.Log(from), math.Log(to), math.Log(v)
	}
	if to <= from {
		return 0
	}
	return (v - from) / (to - from)
}

// Linear returns an axis with ticks at round numbers.
func Linear(caption string, from, to float64) Axis {
	if !(to > from) {
		to = from + 1
	}
	a := Axis{Caption: caption, From: from, To: to}
	step := roundStep((to - from) / 6)
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	for i := int(math.Ceil(from/step - 1e-9)); float64(i)*step <= to+step*1e-9; i++ {
		at := float64(i) * step
		a.Ticks = append(a.Ticks, Tick{at, fmt.Sprintf("%.*f", digits, at)})
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

// A Chart is lines or columns over two axes.
type Chart struct {
	Title   string
	X, Y    Axis
	Lines   []Line
	Columns []Column
}

// A Line is a curve with a name.
type Line struct {
	Name   string
	Colour string // "" takes the next
	Dashed bool
	Points [][2]float64
}

// A Column stands on the x axis.
type Column struct{ From, To, Height float64 }

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

// SVG draws the chart.
func (c Chart) SVG() string {
	var d drawing
	right := float64(chartWidth - chartMargin)
	if len(c.Lines) > 1 {
		right -= legendWidth
	}
	height := max(chartHeight, chartTop+legendLine*(len(c.Lines)+1))
	bottom := float64(height - chartBottom)
	at := func(x, y float64) (float64, float64) {
		return chartLeft + c.X.share(x)*(right-chartLeft), bottom - c.Y.share(y)*(bottom-chartTop)
	}
	c.frame(&d, right, bottom)
	for _, b := range c.Columns {
		x0, y0 := at(b.From, 0)
		x1, y1 := at(b.To, b.Height)
		d.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, x0, y1, max(0.5, x1-x0-1), y0-y1, columnColour)
	}
	for i, l := range c.Lines {
		style := l.style(i)
		var path strings.Builder
		for _, p := range l.Points {
			x, y := at(p[0], p[1])
			fmt.Fprintf(&path, "%.1f,%.1f ", x, y)
			if len(l.Points) <= 24 {
				d.add(`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x, y, l.ink(i))
			}
		}
		d.add(`<polyline points="%s" fill="none" %s/>`, strings.TrimSpace(path.String()), style)
		if len(c.Lines) > 1 {
			y := float64(chartTop + 8 + i*legendLine)
			d.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`, right+16, y, right+40, y, style)
			d.text(right+46, y+4, "start", chartText, shortened(l.Name, 24))
		}
	}
	return d.finish(c.Title, height)
}

// frame draws the axes.
func (c Chart) frame(d *drawing, right, bottom float64) {
	for _, t := range c.Y.Ticks {
		y := bottom - c.Y.share(t.At)*(bottom-chartTop)
		d.add(`<line x1="%d" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, chartLeft, y, right, y, chartGrid)
		d.text(chartLeft-8, y+4, "end", chartFaint, t.Label)
	}
	for _, t := range c.X.Ticks {
		x := chartLeft + c.X.share(t.At)*(right-chartLeft)
		d.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, x, bottom, x, bottom+5, chartFaint)
		d.text(x, bottom+19, "middle", chartFaint, t.Label)
	}
	d.add(`<line x1="%d" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, chartLeft, bottom, right, bottom, chartFaint)
	d.text((chartLeft+right)/2, bottom+40, "middle", chartText, c.X.Caption)
	d.add(`<text transform="translate(16 %.1f) rotate(-90)" text-anchor="middle" fill="%s">%s</text>`, (chartTop+bottom)/2, chartText, html.EscapeString(c.Y.Caption))
}

// ink returns the colour of the line in a place.
func (l Line) ink(place int) string {
	if l.Colour != "" {
		return l.Colour
	}
	return chartColours[place%len(chartColours)]
}

// style returns how the line in a place is stroked.
func (l Line) style(place int) string {
	dash := ""
	if l.Dashed || place >= len(chartColours) && l.Colour == "" {
		dash = ` stroke-dasharray="6 4"`
	}
	return fmt.Sprintf(`stroke="%s" stroke-width="2"%s`, l.ink(place), dash)
}

// shortened cuts the middle out of a name that has no room.
func shortened(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	half := (most - 1) / 2
	return string(r[:half]) + "…" + string(r[len(r)-(most-1-half):])
}

// Height returns how tall a drawing is, in pixels.
func Height(svg string) (height int) {
	var width int
	_, box, _ := strings.Cut(svg, `viewBox="0 0 `)
	if _, err := fmt.Sscanf(box, "%d %d", &width, &height); err != nil {
		return chartHeight
	}
	return height
}

// Width is how wide every drawing is, in pixels.
const Width = chartWidth

// Brief writes a number with as many digits as people want to see.
func Brief(x float64) string {
	switch {
	case x == float64(int64(x)):
		return fmt.Sprintf("%d", int64(x))
	case x >= 1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.3g", x)
}
