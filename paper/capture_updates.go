package paper

import (
	"context"
	"fmt"
	"math"
	"slices"

	"freshet/plot"
)

// captureMoments is when sources change: what the paper observed of ATIS.
func captureMoments(_ context.Context, s Setting) (Figure, error) {
	sets, err := captureSets(s)
	if err != nil {
		return Figure{}, err
	}
	f := Figure{
		Title: "Section 3.1: update time distributions",
		About: fmt.Sprintf("When in the hour sources change: made-up airports (3 min, 20%% specials), and recorded ones where they are at hand (seed %d).", s.Seed),
	}
	for i, set := range sets {
		if i != 1 && !set.real {
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
	return f, nil
}

// moments holds a set against what the paper observed.
func (s captureSet) moments() []Claim {
	near, alike, spread, rate := 0.0, 0.0, 0.0, 0.0
	n := float64(len(s.past))
	for i, page := range s.past {
		past, future := captureShares(page), captureShares(s.future[i])
		near += captureBusiest(past, 10) / n
		alike += captureCorrelation(past, future) / n
		mean, variance := captureHourly(page)
		rate += mean / n
		spread += variance / mean / n
	}
	why := ""
	if !s.real {
		why = "this set is made that way, and cannot show that sources are."
	}
	claim := func(words, expected, measured string, holds bool) Claim {
		return Claim{Paper: Capture, Where: "section 3.1", Claim: s.name + ": " + words, Expected: expected, Measured: measured, Holds: holds, Why: why}
	}
	return []Claim{
		claim("messages are published at the rate of 1-2 an hour", "1 to 2", fmt.Sprintf("%.2f an hour in the mean", rate), math.Round(rate) >= 1 && math.Round(rate) <= 2),
		claim("most of the updates occur around a few minutes of the hour", "more than half within ten of its minutes",
			fmt.Sprintf("%.2f within the ten busiest minutes of each source; by chance alone it would be %.2f", near, 10.0/captureHour), near > 0.5),
		claim("the distribution is consistent over time", "the same later", fmt.Sprintf("correlation %.3f of minutes before and after the split, in the mean over sources", alike), alike > 0.9),
		claim("updates are distinctly different from a Poisson process", "variance of the changes in an hour unlike their mean",
			fmt.Sprintf("variance %.2f of the mean, over hours with any change; Poisson has %.2f at that rate", spread, capturePoisson(rate)), spread < 0.5*capturePoisson(rate)),
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

// captureHourly returns the mean and the variance of the changes in the hours
// that have any: those without may be gaps in a recording.
func captureHourly(page []int) (mean, variance float64) {
	counts := map[int]int{}
	for _, at := range page {
		counts[(at-1)/captureHour]++
	}
	sum, squares := 0, 0
	for _, n := range counts {
		sum, squares = sum+n, squares+n*n
	}
	hours := float64(max(1, len(counts)))
	mean = float64(sum) / hours
	return mean, float64(squares)/hours - mean*mean
}

// capturePoisson returns the variance over the mean of Poisson counts that are
// not zero, given their mean.
func capturePoisson(mean float64) float64 {
	rate := mean // the mean of all counts, found from that of those above zero
	for range 50 {
		rate = mean * -math.Expm1(-rate)
	}
	return 1 + rate - mean
}
