package plot_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/lab/plot"
)

// wellFormed reads a drawing to its end as XML.
func wellFormed(svg string) error {
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Names come from anywhere, and are shown as text and nothing else.
func TestNamesAreText(t *testing.T) {
	const evil = `<script>alert("x")</script>&]]>`
	for _, svg := range []string{
		plot.Chart{
			Title: evil, X: plot.Linear(evil, 0, 1), Y: plot.Linear(evil, 0, 0),
			Lines:   []plot.Line{{Name: evil, Points: [][2]float64{{0, 0}, {1, 1}}}, {Name: evil}},
			Columns: []plot.Column{{From: 0, To: 1, Height: 0.5}},
		}.SVG(),
		plot.Bars{Title: evil, Caption: evil, Bars: []plot.Bar{{Name: evil}, {Name: evil, Value: 1}}, Mark: 1, MarkName: evil}.SVG(),
	} {
		if err := wellFormed(svg); err != nil {
			t.Errorf("the drawing is not XML: %v", err)
		}
		if strings.Contains(svg, "<script") {
			t.Error("the drawing runs what a name says")
		}
		if plot.Height(svg) < 100 {
			t.Errorf("the drawing is said to be %d pixels tall", plot.Height(svg))
		}
	}
}

func TestTicksAreRoundAndWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		to := math.Pow(10, rapid.Float64Range(-6, 9).Draw(t, "power"))
		a := plot.Linear("", 0, to)
		if n := len(a.Ticks); n < 3 || n > 8 {
			t.Fatalf("an axis to %g has %d ticks", to, n)
		}
		labels := map[string]bool{}
		for _, k := range a.Ticks {
			if k.At < 0 || k.At > to*(1+1e-6) || labels[k.Label] || strings.HasPrefix(k.Label, "-") {
				t.Fatalf("an axis to %g has the ticks %v", to, a.Ticks)
			}
			labels[k.Label] = true
		}
	})
}
