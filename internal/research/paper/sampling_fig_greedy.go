package paper

import (
	"context"
	"fmt"
	"math/rand/v2"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/policy"
)

// adaptiveSettings is figures 11 and 12.
func (u samplingRules) adaptiveSettings(ctx context.Context, s Options) (Figure, error) {
	z := sizeOf(s)
	set := z.set(s)
	steps := sweep{at: []int{1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100}, trials: make([][]trial, 1)}
	for _, k := range steps.at {
		t, err := z.try(ctx, set, z.downloads, s.Seed, u.adaptive(k, paperAlpha))
		if err != nil {
			return Figure{}, err
		}
		steps.trials[0] = append(steps.trials[0], t)
	}
	confidence, err := u.confidences(ctx, s, z, set)
	if err != nil {
		return Figure{}, err
	}
	eleven := plot.Chart{Title: "Adaptive by samples at a time (figure 11)", X: logAxis("samples of each site at a time (k)", []int{1, 2, 5, 10, 20, 50, 100}),
		Y: steps.axis(), Lines: []plot.Line{steps.line("adaptive", 0)}}
	twelve := plot.Chart{Title: "Adaptive by confidence (figure 12)", X: plot.Linear("confidence (α), %", 50, 100), Y: confidence.axis()}
	names := []string{"k = 1", "k = 5", "k = 10", "k = 1, bare threshold"}
	for i, name := range names {
		twelve.Lines = append(twelve.Lines, confidence.line(name, i))
	}
	return Figure{Title: "The settings of adaptive sampling",
		About: z.about(s) + fmt.Sprintf(" Five cycles, mean of %d runs. The paper does not say which confidence interval it takes; this is Wilson's for a finite population. "+
			"Nor does it say what the threshold is that sites are told from: here it is the estimate at which the downloads run out, and estimates are (x + 1)/(n + 2) for x changes in n samples. "+
			"The bare threshold is x/n. After one sample that is 0 or 1 for every site, and sites are told from it at any confidence.", z.runs),
		SVGs: []string{eleven.SVG(), twelve.SVG()}, Tables: []Table{steps.table("k", true, "α = 0.9"), confidence.table("α, %", false, names...)},
		Claims: append(stepClaims(steps), u.confidenceClaims(confidence)...)}, nil
}

// The places of the crawlers of figure 12.
const (
	ofOne = iota
	ofFive
	ofTen
	ofBareOne
)

// confidences runs adaptive sampling at each confidence, in percent.
func (u samplingRules) confidences(ctx context.Context, s Options, z crawlSize, set *siteSet) (sweep, error) {
	w := sweep{at: []int{50, 60, 70, 75, 80, 85, 90, 95, 99}, trials: make([][]trial, 4)}
	for _, percent := range w.at {
		alpha := float64(percent) / 100
		for i, start := range []func(*crawl) crawler{u.adaptive(1, alpha), u.adaptive(5, alpha), u.adaptive(10, alpha), u.adaptiveAt(policy.Threshold, 1, alpha)} {
			t, err := z.try(ctx, set, z.downloads, s.Seed, start)
			if err != nil {
				return w, err
			}
			w.trials[i] = append(w.trials[i], t)
		}
	}
	return w, nil
}

func stepClaims(w sweep) []Claim {
	const where = "figure 11"
	best := w.best(0)
	top, one, ten := w.mean(0, best), w.mean(0, 1), w.mean(0, 10)
	return []Claim{
		samplingVerdict(where, "performance falls as k grows", "decreases", ten > w.mean(0, 50) && w.mean(0, 50) > w.mean(0, 100), "",
			"%.3f, %.3f, %.3f for k = 10, 50, 100", ten, w.mean(0, 50), w.mean(0, 100)),
		samplingVerdict(where, "the smaller k, the better", "the smallest is the best, or as good (taken as within 0.01)", top-one < .01, "",
			"%.3f with k = 1; the best is %.3f, with k = %d", one, top, best),
		samplingVerdict(where, "the loss is small up to k = 10", "relatively small", top-ten < .02, "", "%.3f with k = 10, %.3f at best", ten, top),
	}
}

func (u samplingRules) confidenceClaims(w sweep) []Claim {
	const where = "figure 12"
	widest, best := 0.0, 0.0
	for i := range w.trials {
		best = max(best, w.mean(i, w.best(i)))
	}
	for _, i := range []int{ofFive, ofTen} {
		low := 1.0
		for _, t := range w.trials[i] {
			low = min(low, t.mean)
		}
		widest = max(widest, w.mean(i, w.best(i))-low)
	}
	worse := func(one, from, to int) (gap float64) {
		n := 0
		for i, percent := range w.at {
			if percent >= from && percent <= to {
				gap += (w.trials[ofFive][i].mean+w.trials[ofTen][i].mean)/2 - w.trials[one][i].mean
				n++
			}
		}
		return gap / float64(n)
	}
	small, large := worse(ofOne, 50, 75), worse(ofOne, 95, 99)
	aggressive := samplingVerdict(where, "with k = 1 adaptive is worse when α is small (0.75 or less), and not otherwise", "worse than k = 5 and 10", small > .02 && large < small/2, "",
		"%.3f worse up to 0.75 and %.3f from 0.95 on; with the bare threshold %.3f and %.3f", small, large, worse(ofBareOne, 50, 75), worse(ofBareOne, 95, 99))
	// decides is after how many samples, all changed, a site is above a half.
	decides := func(alpha float64) int {
		n := 1
		for n < 1400 && u.interval(n, n, 1400, alpha).Low <= .5 {
			n++
		}
		return n
	}
	return []Claim{
		samplingVerdict(where, "the confidence does not matter for k = 5 and 10", "no meaningful difference", widest < .05, "", "at most %.3f between the values of α", widest),
		aggressive,
		samplingVerdict(where, "because then a site is picked after only 2 samples", "2 samples", decides(.75) == 2 && decides(.9) > 2, "",
			"after %d changed samples at 0.75, after %d at 0.9, after %d at 0.99", decides(.75), decides(.9), decides(.99)),
		samplingVerdict("section 4.6", "k = 10 and α about 0.9 are good", "good parameters", w.mean(ofTen, 90) > .97*best, "",
			"%.3f; the best of all tried is %.3f", w.mean(ofTen, 90), best),
	}
}

// greediness is figures 13 and 14, and theorem 3.
func (u samplingRules) greediness(ctx context.Context, s Options) (Figure, error) {
	z := sizeOf(s)
	set := z.set(s)
	c := newCrawl(set, z.downloads, s.Seed)
	fairness := plot.Line{Name: "fairness"}
	c.run(paperCycles, twoStage(u.greedy, paperSamples)(c), func() {
		fairness.Points = append(fairness.Points, [2]float64{float64(c.cycle), c.fairness()})
	})
	visits := visitsByChanges(c)
	refreshes := plot.Line{Name: "visits"}
	table := Table{Head: []string{"changes in five cycles", "visits, on the average"}}
	for n, v := range visits {
		refreshes.Points = append(refreshes.Points, [2]float64{float64(n), v})
		table.Rows = append(table.Rows, []string{fmt.Sprint(n), fmt.Sprintf("%.3f", v)})
	}
	cycles, err := u.untilAllSeen(ctx, s.Seed)
	if err != nil {
		return Figure{}, err
	}
	thirteen := plot.Chart{Title: "Changed pages that were visited (figure 13)", X: plot.Linear("cycle", 0, paperCycles), Y: plot.Linear("fairness", 0, 1), Lines: []plot.Line{fairness}}
	fourteen := plot.Chart{Title: "Visits by changes (figure 14)", X: plot.Linear("changes in five cycles", 0, paperCycles), Y: plot.Linear("visits in five cycles", 0, visits[len(visits)-1]*1.1), Lines: []plot.Line{refreshes}}
	return Figure{Title: "How greedy greedy is", About: z.about(s) + fmt.Sprintf(" Five cycles, %d samples.", paperSamples),
		SVGs: []string{thirteen.SVG(), fourteen.SVG()}, Tables: []Table{table}, Claims: greedinessClaims(fairness.Points, visits, cycles)}, nil
}

// visitsByChanges returns how often pages that changed in so many of the cycles
// were visited, on the average.
func visitsByChanges(c *crawl) []float64 {
	pages, visits := make([]float64, len(c.cycles)+1), make([]float64, len(c.cycles)+1)
	for page := range c.pages() {
		n := 0
		for _, changed := range c.cycles {
			if changed.has(page) {
				n++
			}
		}
		pages[n]++
		visits[n] += float64(c.visits[page])
	}
	for n := range visits {
		visits[n] /= max(1, pages[n])
	}
	return visits
}

// mostCycles is for how long theorem 3 is waited for.
const mostCycles = 400

// untilAllSeen returns in how many cycles greedy has downloaded every page of a
// set in which each changes in one of twenty cycles; 0 if not soon.
func (u samplingRules) untilAllSeen(ctx context.Context, seed uint64) (int, error) {
	chance := rand.New(rand.NewPCG(seed, 6))
	set := drawSites(evenSizes(40, 2000), 20, chance, func(int) float64 { return 0 })
	for page := range set.pages() {
		set.cycles[chance.IntN(len(set.cycles))].set(page)
	}
	c := newCrawl(set, set.pages()/10, seed)
	spend := twoStage(u.greedy, 2)(c)
	for c.cycle < mostCycles {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		c.run(1, spend, nil)
		if c.seen.count() == set.pages() {
			return c.cycle, nil
		}
	}
	return 0, nil
}

func greedinessClaims(fairness [][2]float64, visits []float64, cycles int) []Claim {
	var fair []float64
	steady, rising := true, true
	for i, p := range fairness {
		fair = append(fair, p[1])
		steady = steady && (i == 0 || p[1] > fairness[i-1][1])
	}
	for n := 1; n < len(visits); n++ {
		rising = rising && visits[n] > visits[n-1]
	}
	last := fair[len(fair)-1]
	said := fmt.Sprintf("not all in %d cycles", mostCycles)
	if cycles > 0 {
		said = fmt.Sprintf("all 2,000 pages of 40 sites within %d cycles, though each changes in one of twenty only", cycles)
	}
	return []Claim{
		samplingVerdict("figure 13", "fairness rises steadily", "steadily", steady,
			"more pages have changed in the meantime, too, and with few sites a new one among them can outweigh those that were visited", "%s", figuresOf(fair)),
		samplingVerdict("figure 13", "after five cycles greedy has visited almost 80 % of the pages that changed", "almost 0.8", near(last, .8, .05), "", "%.3f", last),
		samplingVerdict("figure 14", "greedy visits pages more often that change more often", "the more changes, the more visits", rising, "", "%s for 0 to 5 changes", figuresOf(visits)),
		samplingVerdict("theorem 3", "when every page changes at some time, every page is downloaded in the end", "every page", cycles > 0, "", "%s", said),
	}
}
