package paper

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/cyclic"
)

// moments is when sources change: what the paper observed of ATIS.
func (c captureMeans) moments(_ context.Context, s Options) (Figure, error) {
	sets, err := captureSets(s)
	if err != nil {
		return Figure{}, err
	}
	f := Figure{
		Title: "Section 3.1: update time distributions",
		About: fmt.Sprintf("When in the hour sources change: made-up airports (3 min, 20%% specials), recorded ones where they are at hand, and a made-up page that changes once a week (seed %d).", s.Seed),
	}
	for i, set := range sets {
		if i != captureTypical && !set.real {
			continue
		}
		chart := plot.Chart{Title: set.name + ": when in the hour changes come", X: plot.Linear("minute of the hour", 0, captureHour)}
		shares := captureShares(set.past...)
		most := 0.0
		for m, share := range shares {
			most = max(most, share)
			chart.Columns = append(chart.Columns, plot.Column{From: float64(m), To: float64(m + 1), Height: share})
		}
		chart.Y = plot.Linear("share of the changes", 0, most*1.05)
		f.SVGs = append(f.SVGs, chart.SVG())
		f.Claims = append(f.Claims, set.moments()...)
	}
	weekly, err := c.weekly(rand.New(rand.NewPCG(s.Seed, 7)))
	f.Claims = append(f.Claims, weekly)
	return f, err
}

// weekly is the paper's page of new films, which changes once a week, mostly on
// the Thursday.
func (c captureMeans) weekly(r *rand.Rand) (Claim, error) {
	const day, week, weeks, thursday = 24, 7 * 24, 104, 3 // hours; weeks begin on Monday
	var page []int
	for w := range weeks {
		on := thursday
		if r.Float64() < 0.05 {
			on++
		}
		page = append(page, w*week+on*day+9+r.IntN(10)+1)
	}
	h := captureOf(page)
	polls, err := c.plan(h, week, 1, cyclic.Optimal)
	if err != nil {
		return Claim{}, err
	}
	evening, planned := h.Count(week, []int{thursday*day + 19}), h.Count(week, polls)
	return Claim{Paper: Capture, Where: "section 3.1", Claim: "for a page that changes once a week, mostly on Thursday, one poll a week will do, on Thursday", Expected: "nearly all captured",
		Measured: fmt.Sprintf("change recall %.3f with a poll on Thursday at 19:00, %.1f hours late in the mean; as planned from the history, on day %d of the week at %d:00, %.3f, %.1f hours late",
			evening.Recall(), evening.MeanDelay(), polls[0]/day+1, polls[0]%day, planned.Recall(), planned.MeanDelay()),
		Holds: evening.Recall() >= 0.9 && planned.Recall() >= evening.Recall(),
		Why:   fmt.Sprintf("made up: %d weeks, changes between 9:00 and 19:00, one in twenty on Friday. The planner saves those, too, and pays with delay.", weeks)}, nil
}

// moments holds a set against what the paper observed.
func (s captureSet) moments() []Claim {
	near, alike, spread, rate := 0.0, 0.0, 0.0, 0.0
	n, hours := float64(len(s.past)), s.recorded()
	for i, page := range s.past {
		past, future := captureShares(page), captureShares(s.future[i])
		near += captureBusiest(past, 10) / n
		alike += captureCorrelation(past, future) / n
		mean, variance := captureHourly(page, hours)
		rate += mean / n
		spread += variance / mean / n
	}
	why, kind := "hours in which nothing at all was recorded are left out; reports that the recording lost are not.", Recorded
	if !s.real {
		kind, why = OfPaper, "this set is made that way, and cannot show that sources are."
	}
	claim := func(words, expected, measured string, holds bool) Claim {
		return Claim{Paper: Capture, Kind: kind, Where: "section 3.1", Claim: s.name + ": " + words, Expected: expected, Measured: measured, Holds: holds, Why: why}
	}
	return []Claim{
		claim("messages are published at the rate of 1-2 an hour", "1 to 2", fmt.Sprintf("%.2f an hour in the mean", rate), math.Round(rate) >= 1 && math.Round(rate) <= 2),
		claim("most of the updates occur around a few minutes of the hour", "more than half within ten of its minutes",
			fmt.Sprintf("%.2f within the ten busiest minutes of each source; by chance alone it would be %.2f", near, 10.0/captureHour), near > 0.5),
		claim("the distribution is consistent over time", "the same later", fmt.Sprintf("correlation %.3f of minutes before and after the split, in the mean over sources", alike), alike > 0.9),
		claim("updates are distinctly different from a Poisson process", "variance of the changes in an hour unlike their mean",
			fmt.Sprintf("variance %.2f of the mean, in the mean over sources; Poisson has 1", spread), spread < 0.5),
	}
}

// captureShares returns the share of the changes in each minute of the hour.
func captureShares(pages ...[]int) []float64 {
	shares, n := make([]float64, captureHour), 0
	for _, page := range pages {
		for _, at := range page {
			shares[(at-1)%captureHour]++
			n++
		}
	}
	for m := range shares {
		shares[m] /= float64(max(1, n))
	}
	return shares
}

// captureBusiest returns the largest sum of so many shares.
func captureBusiest(shares []float64, minutes int) (sum float64) {
	sorted := slices.Sorted(slices.Values(shares))
	for _, share := range sorted[len(sorted)-minutes:] {
		sum += share
	}
	return sum
}

// captureCorrelation returns how alike two lists of shares are, from -1 to 1.
func captureCorrelation(a, b []float64) float64 {
	mean := 1 / float64(len(a))
	ab, aa, bb := 0.0, 0.0, 0.0
	for i := range a {
		x, y := a[i]-mean, b[i]-mean
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// captureHourly returns the mean and the variance of a source's changes in the
// given hours.
func captureHourly(page []int, hours []int) (mean, variance float64) {
	counts := map[int]int{}
	for _, at := range page {
		counts[(at-1)/captureHour]++
	}
	sum, squares := 0, 0
	for _, h := range hours {
		sum, squares = sum+counts[h], squares+counts[h]*counts[h]
	}
	n := float64(len(hours))
	mean = float64(sum) / n
	return mean, float64(squares)/n - mean*mean
}

// recorded returns the hours of the past in which any source changed: the others
// may be gaps in a recording.
func (s captureSet) recorded() []int {
	hours := map[int]bool{}
	for _, page := range s.past {
		for _, at := range page {
			hours[(at-1)/captureHour] = true
		}
	}
	return slices.Sorted(maps.Keys(hours))
}
