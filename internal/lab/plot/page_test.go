package plot_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/lab/plot"
)

// TestPagesHoldWhateverNamesSay: names come from traces, which anybody may
// have written.
func TestPagesHoldWhateverNamesSay(t *testing.T) {
	const evil = `<script>alert("x")</script>&]]>`
	p := plot.Page{Title: evil, About: evil, Head: []string{evil}, Rows: [][]string{{evil}}}
	p.Charts = append(p.Charts,
		plot.Chart{Title: evil, X: plot.Linear(evil, 0, 1), Y: plot.Linear(evil, 0, 0), Lines: []plot.Line{{Name: evil, Points: [][2]float64{{0, 0}, {1, 1}}}, {Name: evil}}},
		plot.Bars{Title: evil, Caption: evil, Bars: []plot.Bar{{Name: evil}, {Name: evil, Value: 1}}, Mark: 1, MarkName: evil})
	if err := wellFormed(p.SVG()); err != nil {
		t.Errorf("the picture is not XML: %v", err)
	}
	if page := p.HTML(); strings.Contains(page, "<script") {
		t.Error("the page runs what a name says")
	}
}

func TestTimeTicksFollowTheCalendar(t *testing.T) {
	start := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		length time.Duration
		want   []string
	}{
		{5 * time.Hour, []string{"01-01 00:00", "01-01 01:00", "01-01 02:00", "01-01 03:00", "01-01 04:00", "01-01 05:00"}},
		{365 * 24 * time.Hour, []string{"2021-01-01", "2021-04-01", "2021-07-01", "2021-10-01", "2022-01-01"}},
	} {
		a := plot.Times(start, time.Minute, int(c.length/time.Minute))
		var got []string
		for _, k := range a.Ticks {
			got = append(got, k.Label)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("ticks over %v (-want +got):\n%s", c.length, diff)
		}
	}
}
