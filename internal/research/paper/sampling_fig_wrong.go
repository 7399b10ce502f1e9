package paper

import (
	"context"
	"fmt"
	"math"
	"slices"

	"freshet/internal/lab/plot"
)

// chosen returns the chance that a site of which the share rho has changed is
// downloaded, when s samples have to show a larger share than the threshold. Half of
// the sites that show just that are.
func chosen(s int, rho, threshold float64) float64 {
	if rho <= 0 || rho >= 1 {
		return math.Round(rho)
	}
	lgamma := func(x int) float64 { y, _ := math.Lgamma(float64(x + 1)); return y }
	sum := 0.0
	for x := 0; x <= s; x++ {
		chance := math.Exp(lgamma(s) - lgamma(x) - lgamma(s-x) + float64(x)*math.Log(rho) + float64(s-x)*math.Log(1-rho))
		switch share := float64(x) / float64(s); {
		case math.Abs(share-threshold) < 1e-9:
			sum += chance / 2
		case share > threshold:
			sum += chance
		}
	}
	return min(1, sum)
}

// straight is the approximation of that in the proof of theorem 2.
func straight(rho, threshold, delta float64) float64 {
	return max(0, min(1, (rho-threshold)/(2*delta)+.5))
}

// surely returns how far above the threshold a site has to be to be downloaded with a
// chance of 0.95.
func surely(s int, threshold float64) float64 {
	low, high := 0.0, 1-threshold
	for range 50 {
		if mid := (low + high) / 2; chosen(s, threshold+mid, threshold) < .95 {
			low = mid
		} else {
			high = mid
		}
	}
	return high
}

// wrongSites is figure 16 and lemma 1: how often samples lead to the wrong sites.
func wrongSites(_ context.Context, o Options) (Figure, error) {
	const threshold, drawn = .5, 20
	chart := plot.Chart{Title: fmt.Sprintf("Chance that a site is downloaded, threshold %v (figure 16)", threshold),
		X: plot.Linear("share of the site's pages that changed (ρ)", 0, 1), Y: plot.Linear("chance of a download", 0, 1)}
	oracle := plot.Line{Name: "oracle, Po", Dashed: true, Points: [][2]float64{{0, 0}, {threshold, 0}, {threshold, 1}, {1, 1}}}
	linear := plot.Line{Name: fmt.Sprintf("straight line, Pa, s = %d", drawn), Dashed: true}
	chart.Lines = append(chart.Lines, oracle)
	const steps = 200
	sizes := []int{5, drawn, 80, 320}
	var wrong, off []float64
	rising := true
	for _, s := range sizes {
		line := plot.Line{Name: fmt.Sprintf("greedy, Pg, s = %d", s)}
		sum, apart, before := 0.0, 0.0, 0.0
		for i := range steps + 1 {
			rho := float64(i) / steps
			p := chosen(s, rho, threshold)
			rising = rising && p >= before-1e-9
			before = p
			line.Points = append(line.Points, [2]float64{rho, p})
			if rho > threshold {
				sum += (1 - p) / steps
			} else {
				sum += p / steps
			}
			a := straight(rho, threshold, 1/math.Sqrt(float64(s)))
			apart = max(apart, math.Abs(a-p))
			if s == drawn {
				linear.Points = append(linear.Points, [2]float64{rho, a})
			}
		}
		wrong, off = append(wrong, sum), append(off, apart)
		chart.Lines = append(chart.Lines, line)
	}
	chart.Lines = append(chart.Lines, linear)
	table := Table{Head: []string{"samples s", "1/√s", "δ, threshold 0.2", "0.3", "0.5", "0.7", "0.8"}}
	least, most, middle := math.Inf(1), 0.0, math.Inf(1)
	for _, s := range []int{10, 20, 50, 100, 200} {
		row := []string{fmt.Sprint(s), fmt.Sprintf("%.3f", 1/math.Sqrt(float64(s)))}
		for _, t := range []float64{.2, .3, .5, .7, .8} {
			delta := surely(s, t)
			row = append(row, fmt.Sprintf("%.3f", delta))
			of := delta * math.Sqrt(float64(s))
			if least, most = min(least, of), max(most, of); t == threshold {
				middle = min(middle, of)
			}
		}
		table.Rows = append(table.Rows, row)
	}
	falling := true
	for i := 1; i < len(wrong); i++ {
		falling = falling && wrong[i] < wrong[i-1]
	}
	ends := max(chosen(drawn, .1, threshold), 1-chosen(drawn, .9, threshold))
	return Figure{Title: "How often samples lead to the wrong sites",
		About: fmt.Sprintf("The chance that greedy downloads a site, by the share of its pages that have changed, exactly as the binomial distribution of its samples has it; beside it that of an oracle, and the straight line by which the proof of theorem 2 replaces it. The table has the δ above the threshold at which the chance is 0.95. Nothing is drawn by chance (seed %d).", o.Seed),
		SVGs:  []string{chart.SVG()}, Tables: []Table{table},
		Claims: []Claim{
			samplingVerdict("figure 16", "the chance of a download goes to 0 as ρ falls, and to 1 as it rises", "0 and 1", rising && ends < .01, "", "%.4f from them, at ρ = 0.1 and 0.9 with %d samples; it nowhere falls: %v", ends, drawn, rising),
			samplingVerdict("figure 16", "with more samples greedy comes to be like the oracle", "the more samples, the fewer wrong sites", falling, "", "%s of the sites wrongly downloaded or left, if all ρ are equally frequent, for %v samples", figuresOf(wrong), sizes),
			samplingVerdict("lemma 1", "δ can be approximated as 1/√s", "1/√s, by way of 1.65/2√s (taken as within a quarter at a threshold of 0.5, whose deviation the proof takes for all)", middle > .75 && most < 1.25, "", "%.2f/√s and more at 0.5; %.2f/√s to %.2f/√s over all thresholds and sample sizes of the table", middle, least, most),
			samplingVerdict("lemma 1", "so the straight line stands for the chance of a download", "an approximation (taken as within 0.15 everywhere)", slices.Max(off) < .15, "", "at most %s apart for %v samples", figuresOf(off), sizes),
		}}, nil
}
