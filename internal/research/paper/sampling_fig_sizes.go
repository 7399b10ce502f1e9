package paper

import (
	"context"
	"fmt"
	"math"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/policy"
)

// logAxis returns a logarithmic axis with the given ticks, from the first to
// the last.
func logAxis(caption string, ticks []int) plot.Axis {
	a := plot.Axis{Caption: caption + " (logarithmic)", From: float64(ticks[0]), To: float64(ticks[len(ticks)-1]), Log: true}
	for _, t := range ticks {
		a.Ticks = append(a.Ticks, plot.Tick{At: float64(t), Label: fmt.Sprint(t)})
	}
	return a
}

// A sweep is what crawlers came to at each of some settings.
type sweep struct {
	at     []int
	trials [][]trial // by crawler and setting
}

// line returns a crawler's means as a line.
func (w sweep) line(name string, crawler int) plot.Line {
	l := plot.Line{Name: name}
	for i, t := range w.trials[crawler] {
		l.Points = append(l.Points, [2]float64{float64(w.at[i]), t.mean})
	}
	return l
}

// axis returns one for the means that begins a little below the least, where
// they differ too little to be told apart from 0 on.
func (w sweep) axis() plot.Axis {
	low, high := 1.0, 0.0
	for _, trials := range w.trials {
		for _, t := range trials {
			low, high = min(low, t.mean), max(high, t.mean)
		}
	}
	return plot.Linear("ChangeRatio (not from 0)", math.Floor(low*20-.5)/20, math.Ceil(high*20+.5)/20)
}

// mean returns what a crawler came to at a setting.
func (w sweep) mean(crawler, setting int) float64 {
	for i, at := range w.at {
		if at == setting {
			return w.trials[crawler][i].mean
		}
	}
	return 0
}

// best returns the setting at which a crawler did best.
func (w sweep) best(crawler int) int {
	best := 0
	for i, t := range w.trials[crawler] {
		if t.mean > w.trials[crawler][best].mean {
			best = i
		}
	}
	return w.at[best]
}

// table returns the means, and where asked the deviations.
func (w sweep) table(setting string, deviations bool, names ...string) Table {
	t := Table{Head: append([]string{setting}, names...)}
	for i, at := range w.at {
		row := []string{fmt.Sprint(at)}
		for crawler := range w.trials {
			cell := fmt.Sprintf("%.3f", w.trials[crawler][i].mean)
			if deviations {
				cell += fmt.Sprintf(" ± %.3f", w.trials[crawler][i].deviation)
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// sampleCounts is figure 7.
func (u samplingRules) sampleCounts(ctx context.Context, s Options) (Figure, error) {
	z := sizeOf(s)
	set := z.set(s)
	w := sweep{at: []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 400}, trials: make([][]trial, 2)}
	for _, n := range w.at {
		for i, share := range []func([]policy.Site, float64) []float64{u.greedy, u.proportional} {
			t, err := z.try(ctx, set, z.downloads, s.Seed, twoStage(share, n))
			if err != nil {
				return Figure{}, err
			}
			w.trials[i] = append(w.trials[i], t)
		}
	}
	chart := plot.Chart{Title: "ChangeRatio by sample size", Lines: []plot.Line{w.line("greedy", 0), w.line("proportional", 1)},
		X: logAxis("samples of each site", []int{1, 2, 5, 10, 20, 50, 100, 200, 400}), Y: plot.Linear("ChangeRatio", 0, .8)}
	return Figure{Title: "How many pages to sample",
		About: z.about(s) + fmt.Sprintf(" Five cycles, mean of %d runs; after ± the standard deviation between the cycles of a run.", z.runs),
		SVGs:  []string{chart.SVG()}, Tables: []Table{w.table("samples", true, "greedy", "proportional")}, Claims: sampleCountClaims(w)}, nil
}

func sampleCountClaims(w sweep) []Claim {
	const where, greedy, proportional = "figure 7", 0, 1
	best := w.best(greedy)
	top := w.mean(greedy, best)
	rule := w.mean(greedy, 20)
	least := 1.0
	for i, at := range w.at {
		if at < 400 { // where there is nothing left to share out
			least = min(least, w.trials[greedy][i].mean-w.trials[proportional][i].mean)
		}
	}
	loss := func(crawler int) float64 { return w.mean(crawler, w.best(crawler)) - w.mean(crawler, 1) }
	one, other := w.trials[greedy][0], w.trials[proportional][0]
	return []Claim{
		samplingVerdict(where, "with too few samples greedy does badly", "poor performance", loss(greedy) > .05, "", "%.3f with 1 sample, %.3f with %d", w.mean(greedy, 1), top, best),
		samplingVerdict(where, "that is more noticeable for greedy than for proportional", "particularly noticeable for greedy", loss(greedy) > loss(proportional), "",
			"1 sample costs greedy %.3f and proportional %.3f", loss(greedy), loss(proportional)),
		samplingVerdict(where, "with too many samples it does badly too", "performance degrades", w.mean(greedy, 400) < top-.1 && w.mean(proportional, 400) < w.mean(proportional, 10), "",
			"with 400 samples greedy %.3f and proportional %.3f", w.mean(greedy, 400), w.mean(proportional, 400)),
		samplingVerdict(where, "greedy does best with 10 to 50 samples", "10 to 50", best >= 10 && best <= 50, "", "%d (10: %.3f, 20: %.3f, 50: %.3f)", best, w.mean(greedy, 10), rule, w.mean(greedy, 50)),
		samplingVerdict(where, "√(Nr) = 20 lies in the range of the best", "in the range", rule > .985*top, "", "%.3f with 20, %.3f with %d", rule, top, best),
		samplingVerdict(where, "for all sample sizes greedy is better than proportional on the average", "all", least > 0,
			"with very few samples many sites look alike to greedy, and it takes whole sites of them by chance", "greedy less proportional is %.3f at the least", least),
		samplingVerdict("section 4.3", "greedy varies more between cycles than proportional", "0.027 against 0.023 with 1 sample", one.deviation > other.deviation,
			"the difference is so small that chance decides it, with five cycles as the paper had", "%.3f against %.3f", one.deviation, other.deviation),
		samplingVerdict("section 4.3", "but the variation is negligible", "about 0.02 against 0.75", w.trials[greedy][5].deviation < .03, "", "%.3f against %.3f with 10 samples", w.trials[greedy][5].deviation, w.trials[greedy][5].mean),
	}
}

// resources is figures 8 and 9.
func (u samplingRules) resources(ctx context.Context, s Options) (Figure, error) {
	z := sizeOf(s)
	set := z.set(s)
	published := []int{3000, 5000, 7000, 10_000, 15_000, 20_000, 30_000, 50_000, 70_000, 100_000, 150_000, 200_000, 250_000, 300_000, 353_000}
	crawlers := []func(*crawl) crawler{clairvoyant, twoStage(u.greedy, paperSamples), roundRobin, inSubsets(u.greedy, paperSamples, paperHigh)}
	w := sweep{at: published, trials: make([][]trial, len(crawlers))}
	for _, downloads := range published {
		for i, start := range crawlers {
			t, err := z.try(ctx, set, downloads/z.scale, s.Seed, start)
			if err != nil {
				return Figure{}, err
			}
			w.trials[i] = append(w.trials[i], t)
		}
	}
	const few = 6 // of the settings, up to 20,000
	low := sweep{at: w.at[:few], trials: [][]trial{w.trials[ofGreedyResource][:few], w.trials[ofSubsets][:few]}}
	caption := "downloads a cycle"
	if z.scale > 1 {
		caption = fmt.Sprintf("downloads a cycle × %d", z.scale)
	}
	all := plot.Chart{Title: "ChangeRatio by downloads a cycle (figure 8)", X: logAxis(caption, []int{3000, 10_000, 30_000, 100_000, 353_000}), Y: plot.Linear("ChangeRatio", 0, 1),
		Lines: []plot.Line{w.line("oracle", ofOracle), w.line("greedy", ofGreedyResource), w.line("round-robin", ofRoundResource)}}
	small := plot.Chart{Title: "Few downloads: subsets of the sites (figure 9)", X: logAxis(caption, []int{3000, 5000, 7000, 10_000, 15_000, 20_000}), Y: plot.Linear("ChangeRatio", 0, 1),
		Lines: []plot.Line{low.line("greedy", 0), low.line("greedy in subsets", 1)}}
	return Figure{Title: "Few and many downloads, and subsets",
		About: z.about(s) + fmt.Sprintf(" Five cycles, mean of %d runs, %d samples. Downloads as published; at a smaller size divided like the sites. A subset has so many pages that a cycle can download %g of them.", z.runs, paperSamples, paperHigh),
		SVGs:  []string{all.SVG(), small.SVG()}, Tables: []Table{w.table("downloads", false, "oracle", "greedy", "round-robin", "greedy in subsets")},
		Claims: resourceClaims(w, float64(z.sites*paperSamples*z.scale)/5000)}, nil
}

// The places of the crawlers of figures 8 and 9.
const (
	ofOracle = iota
	ofGreedyResource
	ofRoundResource
	ofSubsets
)

// resourceClaims judges the sweep. Sampled is the part of 5,000 downloads that
// samples of all sites take.
func resourceClaims(w sweep, sampled float64) []Claim {
	oracle := func(r int) float64 { return w.mean(ofOracle, r) }
	greedy := func(r int) float64 { return w.mean(ofGreedyResource, r) }
	round := func(r int) float64 { return w.mean(ofRoundResource, r) }
	subset := func(r int) float64 { return w.mean(ofSubsets, r) }
	better := 0
	for _, r := range w.at {
		if greedy(r) > 1.2*round(r) {
			better++
		}
	}
	sizes := make([]int, 1000)
	for i := range sizes {
		sizes[i] = 100
	}
	group := policy.Subset(sizes, 0, 1000)
	left := 500 - float64(10*group) // downloads after the samples
	peak := greedy(w.best(ofGreedyResource))
	return []Claim{
		samplingVerdict("figure 8", "the oracle goes below 1 beyond 100,000 downloads, as no more pages change", "R > 100,000", oracle(70_000) > .999 && oracle(150_000) < .9, "",
			"%.3f at 70,000, %.3f at 100,000, %.3f at 150,000", oracle(70_000), oracle(100_000), oracle(150_000)),
		samplingVerdict("figure 8", "for most resource sizes greedy is much better than round-robin", "most", better > len(w.at)/2, "", "by more than a fifth at %d of %d", better, len(w.at)),
		samplingVerdict("figure 8", "with very many downloads all policies are alike", "similar", near(greedy(353_000), round(353_000), .005) && near(greedy(353_000), oracle(353_000), .005), "",
			"all pages downloaded: oracle %.3f, greedy %.3f, round-robin %.3f", oracle(353_000), greedy(353_000), round(353_000)),
		samplingVerdict("figure 8", "with too few downloads greedy degrades, beginning below 20,000", "R < 20,000", greedy(3000) < greedy(20_000)-.1 && greedy(5000) < greedy(20_000) && greedy(20_000) > .93*peak, "",
			"%.3f at 3,000, %.3f at 5,000, %.3f at 10,000, %.3f at 20,000, %.3f at best", greedy(3000), greedy(5000), greedy(10_000), greedy(20_000), peak),
		samplingVerdict("figure 4", "the lead of sampling over round-robin is small at both ends and large between", "ratio near 1 at r = 0 and r = 1",
			near(greedy(353_000)/round(353_000), 1, .01) && greedy(3000)/round(3000) < greedy(20_000)/round(20_000), "",
			"× %.2f, %.2f, %.2f, %.2f at 3,000, 20,000, 100,000, 353,000", greedy(3000)/round(3000), greedy(20_000)/round(20_000), greedy(100_000)/round(100_000), greedy(353_000)/round(353_000)),
		samplingVerdict("figure 9", "subsets are better when downloads are few", "below 20,000", subset(3000) > greedy(3000)+.05 && subset(5000) > greedy(5000)+.05 && subset(10_000) > greedy(10_000),
			"where sites are few a subset is a handful of them, and may have none of the best",
			"%.3f → %.3f at 3,000; %.3f → %.3f at 5,000; %.3f → %.3f at 10,000", greedy(3000), subset(3000), greedy(5000), subset(5000), greedy(10_000), subset(10_000)),
		samplingVerdict("figure 9", "with 5,000 downloads subsets raise ChangeRatio from 0.73 to 0.89", "0.73 → 0.89", near(greedy(5000), .73, .05) && near(subset(5000), .89, .05),
			fmt.Sprintf("the step is there, from a lower level: samples of all sites are %.0f %% of the downloads and, like round-robin's, %.2f of them have changed, so greedy could not pass %.2f if all its other downloads had",
				100*sampled, round(5000), sampled*round(5000)+1-sampled),
			"%.3f → %.3f", greedy(5000), subset(5000)),
		samplingVerdict("section 4.4", "with 10,000 downloads a subset has about 60,000 pages", "about 60,000", near(policy.SubsetPages(10_000, paperHigh), 60_000, 6000), "", "%.0f", policy.SubsetPages(10_000, paperHigh)),
		samplingVerdict("example 3", "1,000 sites of 100 pages in groups of 10: 10 samples of each leave 400 of 500 downloads, and it takes 100 cycles to see all", "10 sites, 400, 100 cycles",
			group == 10 && left == 400 && len(sizes)/group == 100, "", "%d sites, %.0f, %d cycles", group, left, len(sizes)/group),
	}
}
