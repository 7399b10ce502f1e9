package paper

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"freshet/internal/lab/plot"
	"freshet/internal/sched/policy"
)

// twoSites is figure 1, with the example and the theorem before it.
func (u samplingRules) twoSites(_ context.Context, s Options) (Figure, error) {
	w := twoSiteWorld{pages: 100, downloads: 100, changed: [2]int{70, 20}}
	round := float64(w.changed[0]+w.changed[1]) / float64(2*w.pages)
	var greedy, proportional []float64
	lines := []plot.Line{{Name: "greedy"}, {Name: "proportional"}, {Name: "round-robin", Colour: plot.Black, Dashed: true,
		Points: [][2]float64{{0, round}, {50, round}}}}
	best := 0
	for n := 0; n <= w.downloads/2; n++ {
		greedy = append(greedy, w.expected(n, u.greedy))
		proportional = append(proportional, w.expected(n, u.proportional))
		lines[0].Points = append(lines[0].Points, [2]float64{float64(n), greedy[n]})
		lines[1].Points = append(lines[1].Points, [2]float64{float64(n), proportional[n]})
		if greedy[n] > greedy[best] {
			best = n
		}
	}
	chart := plot.Chart{Title: "Expected ChangeRatio by sample size", Lines: lines,
		X: plot.Linear("samples of each site", 0, 50), Y: plot.Linear("expected ChangeRatio", 0, .7)}
	table := Table{Head: []string{"samples", "greedy", "proportional"}}
	for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 7, 10, 20, 50} {
		table.Rows = append(table.Rows, []string{fmt.Sprint(n), fmt.Sprintf("%.4f", greedy[n]), fmt.Sprintf("%.4f", proportional[n])})
	}
	const where = "figure 1"
	least, widest := math.Inf(1), 0.0
	for n := range greedy {
		least = min(least, greedy[n]-proportional[n])
		if n <= 2 {
			widest = max(widest, math.Abs(greedy[n]-proportional[n]))
		}
	}
	claims := append(u.exampleTwo(s),
		samplingVerdict(where, "greedy and proportional do as round-robin does when nothing or everything is a sample", "0.45 at 0 and at 50 samples",
			near(greedy[0], .45, 1e-9) && near(greedy[50], .45, 1e-9) && near(proportional[0], .45, 1e-9) && near(proportional[50], .45, 1e-9), "",
			"greedy %s; proportional %s", figuresOf([]float64{greedy[0], greedy[50]}), figuresOf([]float64{proportional[0], proportional[50]})),
		samplingVerdict(where, "greedy and proportional are alike when samples are few (2 or fewer)", "little difference", widest < .03, "",
			"at most %.3f apart, against %.3f at 10 samples", widest, greedy[10]-proportional[10]),
		samplingVerdict(where, "greedy does best with about 5 samples of each site", "about 5",
			best >= 4 && best <= 7 && greedy[5] > .99*greedy[best], "",
			"%d (%.4f; with 5 it is %.4f)", best, greedy[best], greedy[5]),
		samplingVerdict(where, "greedy is never expected to do worse than proportional", "at any sample size", least > -1e-9, "",
			"greedy less proportional is %.4f at the least", least))
	return Figure{Title: "Two sites, and how many pages to sample",
		About: fmt.Sprintf("Two sites of 100 pages of which 70 and 20 have changed; 100 downloads. Exact expectations over all outcomes of the samples; nothing is drawn but the instances of theorem 1 (seed %d).", s.Seed),
		SVGs:  []string{chart.SVG()}, Tables: []Table{table}, Claims: claims}, nil
}

// exampleTwo is example 2 and theorem 1 of section 3.2.
func (u samplingRules) exampleTwo(s Options) []Claim {
	sites := []policy.Site{{Size: 100, Sampled: 10, Changed: 7}, {Size: 100, Sampled: 10, Changed: 2}}
	greedy := policy.ExpectedChanges(sites, u.greedy(sites, 80)) / 100
	proportional := policy.ExpectedChanges(sites, u.proportional(sites, 80)) / 100
	shares := policy.Whole(u.proportional(sites, 80))
	optimal, instances := 0, 200
	chance := rand.New(rand.NewPCG(s.Seed, 5))
	for range instances {
		if u.greedyIsBest(chance) {
			optimal++
		}
	}
	return []Claim{
		samplingVerdict("example 2", "proportional downloads 62 and 18 more pages and greedy 80 of the first site", "0.56 and 0.65",
			near(proportional, .56, .005) && near(greedy, .65, .005) && shares[0] == 62 && shares[1] == 18, "",
			"%d and %d pages; %.4f and %.4f", shares[0], shares[1], proportional, greedy),
		samplingVerdict("theorem 1", "no way of using the samples is expected to find more than greedy", "always",
			optimal == instances, "",
			"in %d of %d drawn instances, each against every way to share the downloads out", optimal, instances),
	}
}

// greedyIsBest draws three small sites with samples and compares greedy with
// every way of sharing the downloads out.
func (u samplingRules) greedyIsBest(chance *rand.Rand) bool {
	sites := make([]policy.Site, 3)
	left := 0
	for i := range sites {
		sites[i] = policy.Site{Size: 4 + chance.IntN(12), Sampled: 4, Changed: chance.IntN(5)}
		left += sites[i].Left()
	}
	downloads := chance.IntN(left + 1)
	best := 0.0
	for a := 0; a <= min(downloads, sites[0].Left()); a++ {
		for b := 0; b <= min(downloads-a, sites[1].Left()); b++ {
			if rest := downloads - a - b; rest <= sites[2].Left() {
				best = max(best, policy.ExpectedChanges(sites, []float64{float64(a), float64(b), float64(rest)}))
			}
		}
	}
	return near(policy.ExpectedChanges(sites, u.greedy(sites, float64(downloads))), best, 1e-9)
}

// The places of the cases that are compared with each other.
const (
	caseUsual   = iota // uniform, as many pages and downloads as in the data
	caseScarce         // fewer downloads
	caseAmple          // more downloads
	caseLarge          // more pages
	caseCrowded        // as ample, with more sites near the threshold
	caseApart          // as ample, with the other sites further from it
)

// sizeCases are those for which the sample size is worked out; some have large
// sites.
func sizeCases(large int) []sizeCase {
	uniform, normal, vee := rhoShapes()
	binned := func(name string, bins ...rhoBin) rhoShape {
		return rhoShape{name, func(u float64) float64 { return quantileOf(bins, u) }}
	}
	return []sizeCase{
		{uniform, 1400, .283}, {uniform, 1400, .1}, {uniform, 1400, .5}, {uniform, large, .283},
		{binned("crowded", rhoBin{.2, 0, .3}, rhoBin{.6, .3, .7}, rhoBin{.2, .7, 1}), 1400, .5},
		{binned("apart", rhoBin{.3, 0, .1}, rhoBin{.4, .3, .7}, rhoBin{.3, .9, 1}), 1400, .5},
		{normal, 1400, .5}, {vee, 1400, .283},
	}
}

// sampleSizes is theorem 2.
func (u samplingRules) sampleSizes(ctx context.Context, s Options) (Figure, error) {
	cases, slices := sizeCases(10_000), 400
	if s.Quick {
		cases, slices = sizeCases(5600), 120
	}
	chart := plot.Chart{Title: "What a sample size brings, of the most that one can", Y: plot.Linear("share of the best ChangeRatio", .9, 1),
		X: plot.Axis{Caption: "samples of each site (logarithmic)", From: 1, To: 400, Log: true}}
	for _, at := range []float64{1, 2, 5, 10, 20, 50, 100, 200, 400} {
		chart.X.Ticks = append(chart.X.Ticks, plot.Tick{At: at, Label: fmt.Sprint(at)})
	}
	table := Table{Head: []string{"sites", "pages", "r", "best", "within 0.1 %", "printed", "corrected", "√(Nr)", "printed brings", "√(Nr) brings"}}
	answers := make([]sizeAnswer, len(cases))
	for i, c := range cases {
		if err := ctx.Err(); err != nil {
			return Figure{}, err
		}
		a := u.answer(c, slices)
		answers[i] = a
		line := plot.Line{Name: fmt.Sprintf("%s, %d, %g", c.shape.name, c.pages, c.ratio)}
		for k := range a.value {
			if at := a.at(float64(k + 1)); at >= .9 && k < 400 {
				line.Points = append(line.Points, [2]float64{float64(k + 1), at})
			}
		}
		chart.Lines = append(chart.Lines, line)
		table.Rows = append(table.Rows, []string{c.shape.name, fmt.Sprint(c.pages), fmt.Sprint(c.ratio), fmt.Sprint(a.exact), fmt.Sprintf("%d to %d", a.from, a.to),
			fmt.Sprintf("%.1f", a.printed), fmt.Sprintf("%.1f", a.corrected), fmt.Sprintf("%.1f", a.rule), fmt.Sprintf("%.4f", a.at(a.printed)), fmt.Sprintf("%.4f", a.at(a.rule))})
	}
	return Figure{Title: "The best sample size",
		About: "The expected ChangeRatio of greedy for very many sites, computed exactly for every sample size, against theorem 2 as printed and as derived anew, and against the rule of thumb. " +
			"Lines are named by how sites are distributed, pages of a site and share of the pages that a cycle can download. " + fmt.Sprintf("Nothing is drawn by chance (seed %d).", s.Seed),
		SVGs: []string{chart.SVG()}, Tables: []Table{table}, Claims: sampleSizeClaims(cases, answers)}, nil
}

// sampleSizeClaims holds theorem 2 against the exact answers.
func sampleSizeClaims(cases []sizeCase, answers []sizeAnswer) []Claim {
	const where = "theorem 2"
	offPrinted, offCorrected, offRule := 0.0, 0.0, 0.0
	lost, lostPrinted, lostCorrected := 0.0, 0.0, 0.0
	for _, a := range answers {
		off := func(s float64) float64 { return max(s/float64(a.exact), float64(a.exact)/s) }
		offPrinted, offCorrected, offRule = max(offPrinted, off(a.printed)), max(offCorrected, off(a.corrected)), max(offRule, off(a.rule))
		lost, lostPrinted, lostCorrected = max(lost, 1-a.at(a.rule)), max(lostPrinted, 1-a.at(a.printed)), max(lostCorrected, 1-a.at(a.corrected))
	}
	best := func(place int) int { return answers[place].exact }
	grows := float64(best(caseLarge)) / float64(best(caseUsual))
	root := math.Sqrt(float64(cases[caseLarge].pages) / float64(cases[caseUsual].pages))
	data := policy.SampleSize(1400, .28)
	corrected := samplingVerdict(where, "corrected: √(N f(ρt) ρt(1−ρt) / 2(1−r)(ρt − mean below))", "the optimum", offCorrected < 1.3, "",
		"off by a factor of up to %.2f; costs up to %.2f %% of the changes", offCorrected, 100*lostCorrected)
	corrected.Kind = Question
	return []Claim{
		samplingVerdict(where, "the best sample size is about √(N r f(ρt) / 6(ρ̄r − ρ̄)), as printed", "the optimum", offPrinted < 1.3,
			"the proof takes the mean download for the one that a sample displaces, counts samples as lost that would have been downloaded anyhow, and has a sign and a factor wrong on the way",
			"off by a factor of up to %.2f; costs up to %.2f %% of the changes", offPrinted, 100*lostPrinted),
		corrected,
		samplingVerdict(where, "it grows with the square root of the pages of a site", fmt.Sprintf("× %.2f for × %.2f pages", root, root*root),
			near(grows/root, 1, .2), "", "× %.2f", grows),
		samplingVerdict(where, "it grows with the share of the pages that can be downloaded", "the larger r, the larger s",
			best(caseScarce) < best(caseUsual) && best(caseUsual) < best(caseAmple), "",
			"%d, %d, %d for r = 0.1, 0.283, 0.5", best(caseScarce), best(caseUsual), best(caseAmple)),
		samplingVerdict(where, "more samples are needed where more sites are near the threshold", "the larger f(ρt), the larger s",
			best(caseCrowded) > best(caseAmple), "", "%d with a density of 1.5 there, %d with 1", best(caseCrowded), best(caseAmple)),
		samplingVerdict(where, "fewer samples are needed where the top sites are far above the average", "the larger ρ̄r − ρ̄, the smaller s",
			best(caseApart) < best(caseAmple), "", "%d with %.2f between them, %d with %.2f", best(caseApart), cases[caseApart].lead(), best(caseAmple), cases[caseAmple].lead()),
		samplingVerdict(where, "where the distribution is not known, √(Nr) is in the range of the optimum, different only by a constant factor", "roughly the same range",
			offRule < 2.5 && lost < .01, "", "off by a factor of up to %.2f; costs at most %.2f %% of the changes", offRule, 100*lost),
		samplingVerdict("section 4.3", "for 1,400 pages a site and r = 0.28 the rule gives about 20", "20", near(data, 20, .5), "", "%.1f", data),
	}
}
