package paper

import (
	"context"
	"fmt"
	"math"

	"freshet/internal/lab/plot"
)

// histogram is figure 5.
func (u samplingRules) histogram(_ context.Context, s Options) (Figure, error) {
	z := sizeOf(s)
	set := z.set(s)
	counts := make([]int, 10)
	fluctuation := 0.0
	for site := range set.sites() {
		counts[min(9, int(set.rho(site)*10))]++
		fluctuation += siteFluctuation(set, site) / float64(set.sites())
	}
	chart := plot.Chart{Title: "Sites by their share of changed pages", X: plot.Linear("share of pages that change in a cycle (ρ)", 0, 1)}
	most := 0
	for i, n := range counts {
		chart.Columns = append(chart.Columns, plot.Column{From: float64(i) / 10, To: float64(i+1) / 10, Height: float64(n)})
		most = max(most, n)
	}
	chart.Y = plot.Linear("sites", 0, float64(most)*1.05)
	low, high := float64(counts[0])/float64(z.sites), float64(counts[9])/float64(z.sites)
	middle := float64(z.sites-counts[0]-counts[9]) / 8 / float64(z.sites)
	changes := set.perCycle()
	const where = "figure 5"
	return Figure{Title: "How sites differ",
		About: z.about(s) + " The shape is that of the published histogram, so the first three claims say that the generator keeps to it, and no more.",
		SVGs:  []string{chart.SVG()},
		Claims: []Claim{
			samplingVerdict(where, "many sites hardly change: ρ between 0 and 0.1", "more than 35 % of the sites", low > .35, "", "%.1f %%", 100*low),
			samplingVerdict(where, "quite a few change nearly always: ρ between 0.9 and 1", "about 18 % of the sites", near(high, .18, .025), "", "%.1f %%", 100*high),
			samplingVerdict(where, "the distribution is V-shaped", "both ends above the middle", low > middle && high > middle, "",
				"%.1f %% and %.1f %% at the ends, %.1f %% in each tenth between, on the average", 100*low, 100*high, 100*middle),
			samplingVerdict("section 4.1", "ρ of a site does not fluctuate much between cycles", "no meaningful fluctuation", fluctuation < .03, "",
				"standard deviation %.4f, mean over sites", fluctuation),
			samplingVerdict("section 4.4", "about 100,000 of the 353,000 pages change in a cycle", fmt.Sprintf("%d at this size", 100_000/z.scale),
				near(changes*float64(z.scale)/100_000, 1, .1), "", "%.0f", changes),
		}}, nil
}

// siteFluctuation returns the standard deviation of a site's share of changed
// pages between cycles.
func siteFluctuation(s *siteSet, site int) float64 {
	var shares []float64
	for _, changed := range s.cycles {
		one := siteSet{from: s.from, cycles: []pageBits{changed}}
		shares = append(shares, one.rho(site))
	}
	return crawlDeviation(shares)
}

// A contest is what each of the five policies came to on a set, by cycle.
type contest struct {
	names  []string
	ratios [][]float64
}

// compete runs the five policies on a set.
func (u samplingRules) compete(ctx context.Context, set *siteSet, downloads, samples, cycles int, seed uint64) (contest, error) {
	var t contest
	for _, p := range u.five(samples) {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		c := newCrawl(set, downloads, seed)
		t.names = append(t.names, p.name)
		t.ratios = append(t.ratios, c.run(cycles, p.start(c), nil))
	}
	return t, nil
}

// over returns the mean of each policy over the cycles from and before to.
func (t contest) over(from, to int) []float64 {
	means := make([]float64, len(t.ratios))
	for i, r := range t.ratios {
		means[i] = crawlMean(r[min(from, len(r)):min(to, len(r))])
	}
	return means
}

// bars draws the means of the policies.
func (t contest) bars(title string, means []float64) string {
	b := plot.Bars{Title: title, Caption: "ChangeRatio (changed pages among those downloaded)"}
	for i, name := range t.names {
		b.Bars = append(b.Bars, plot.Bar{Name: name, Value: means[i]})
	}
	return b.SVG()
}

// row is a line of a table with what the policies came to.
func (t contest) row(name string, means []float64) []string {
	row := []string{name}
	for _, m := range means {
		row = append(row, fmt.Sprintf("%.3f", m))
	}
	return row
}

// comparison is figure 6.
func (u samplingRules) comparison(ctx context.Context, s Options) (Figure, error) {
	z := sizeOf(s)
	set := z.set(s)
	t, err := u.compete(ctx, set, z.downloads, paperSamples, paperCycles, s.Seed)
	if err != nil {
		return Figure{}, err
	}
	uneven := vShapedSet(unevenSizes(z.sites, z.pages, s.Seed), s.Seed)
	other, err := u.compete(ctx, uneven, uneven.pages()*z.downloads/z.pages, paperSamples, paperCycles, s.Seed)
	if err != nil {
		return Figure{}, err
	}
	means, spread := t.over(0, paperCycles), other.over(0, paperCycles)
	f := Figure{Title: "The policies compared",
		About: z.about(s) + fmt.Sprintf(" Five cycles; %d samples, k = %d, α = %g. Beside it sites of uneven sizes (log-normal, standard deviation 1), as the published sizes are not known.",
			paperSamples, paperStep, paperAlpha),
		SVGs:   []string{t.bars("ChangeRatio over five cycles, V-shaped set", means)},
		Tables: []Table{{Head: append([]string{"set"}, t.names...), Rows: [][]string{t.row("sites of one size", means), t.row("sites of uneven sizes", spread)}}},
		Claims: comparisonClaims(t, means, spread, z)}
	return u.recorded(ctx, s, f)
}

func comparisonClaims(t contest, means, uneven []float64, z crawlSize) []Claim {
	const where = "figure 6"
	greedy, adaptive, often := means[ofGreedy], means[ofAdaptive], means[ofFrequency]
	cover := float64(z.pages) / float64(z.downloads)
	same := true
	for i := range int(cover) {
		same = same && t.ratios[ofFrequency][i] == t.ratios[ofRoundRobin][i]
	}
	fourth := int(cover)
	apart := math.Abs(means[ofProportional] - often)
	return []Claim{
		samplingVerdict(where, "greedy is almost twice as good as frequency", "almost twice", greedy > 1.6*often && greedy < 2.4*often, "", "%.3f against %.3f: × %.2f", greedy, often, greedy/often),
		samplingVerdict(where, "adaptive is almost twice as good as frequency", "almost twice", adaptive > 1.6*often && adaptive < 2.4*often, "", "%.3f against %.3f: × %.2f", adaptive, often, adaptive/often),
		samplingVerdict(where, "greedy and adaptive are far better than round-robin", "surprisingly well", min(greedy, adaptive) > 1.5*means[ofRoundRobin], "", "%.3f and %.3f against %.3f", greedy, adaptive, means[ofRoundRobin]),
		samplingVerdict(where, "greedy and adaptive reach a ChangeRatio around 0.75", "0.75", near(greedy, .75, .04) && near(adaptive, .75, .04), "", "%.3f and %.3f", greedy, adaptive),
		samplingVerdict(where, "an oracle that downloads changed pages only would gain less than 25 %", "less than 0.25 of the downloads", 1-max(greedy, adaptive) < .25, "", "%.3f", 1-max(greedy, adaptive)),
		samplingVerdict(where, "greedy and adaptive differ marginally", "marginal", near(greedy, adaptive, .04), "", "%.3f apart", math.Abs(greedy-adaptive)),
		samplingVerdict(where, "proportional does about as well as frequency", "similar", apart < .06,
			fmt.Sprintf("how much proportional wastes depends on the sizes of sites, which were not published: with uneven ones it is %.3f, and frequency %.3f", uneven[ofProportional], uneven[ofFrequency]),
			"%.3f against %.3f", means[ofProportional], often),
		samplingVerdict(where, "greedy is better than proportional", "greedy far above proportional", greedy > means[ofProportional]+.05 && uneven[ofGreedy] > uneven[ofProportional]+.05, "",
			"%.3f against %.3f; with uneven sites %.3f against %.3f", greedy, means[ofProportional], uneven[ofGreedy], uneven[ofProportional]),
		samplingVerdict("section 4.2", "frequency does as round-robin until it has visited every page, in the fourth cycle", "3½ cycles", same && near(cover, 3.53, .1), "",
			"%.2f cycles; until then the same in every cycle: %v", cover, same),
		samplingVerdict("section 4.2", "from the second half of the fourth cycle on frequency is better", "some improvement",
			t.ratios[ofFrequency][fourth] > t.ratios[ofRoundRobin][fourth], "", "in the fourth cycle %.3f against %.3f", t.ratios[ofFrequency][fourth], t.ratios[ofRoundRobin][fourth]),
	}
}
