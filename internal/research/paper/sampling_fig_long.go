package paper

import (
	"context"
	"fmt"

	"freshet/internal/lab/plot"
)

// A longRun is a crawl over many cycles.
type longRun struct {
	ratios []float64
	idle   []float64 // the share of each cycle's downloads that went to pages that never change
	never  int       // how many pages those are
}

// runLong runs a crawler over many cycles.
func runLong(ctx context.Context, set *siteSet, downloads, cycles int, seed uint64, start func(*crawl) crawler) (longRun, error) {
	changing := newPageBits(set.pages())
	for _, changed := range set.cycles {
		for i, w := range changed {
			changing[i] |= w
		}
	}
	l := longRun{never: set.pages() - changing.count()}
	c := newCrawl(set, downloads, seed)
	spend := start(c)
	for range cycles {
		if err := ctx.Err(); err != nil {
			return l, err
		}
		l.ratios = append(l.ratios, c.run(1, spend, nil)...)
		n := 0
		for _, v := range c.shown {
			if !changing.has(int(v.page)) {
				n++
			}
		}
		l.idle = append(l.idle, float64(n)/float64(c.downloads))
	}
	return l, nil
}

// line draws the ratios by cycle.
func (l longRun) line(name string, dashed bool) plot.Line {
	line := plot.Line{Name: name, Dashed: dashed}
	for i, r := range l.ratios {
		line.Points = append(line.Points, [2]float64{float64(i + 1), r})
	}
	return line
}

// interval returns how many cycles lie between two visits to a page that never
// changes, on the average of the cycles from and before to.
func (l longRun) interval(downloads, from, to int) float64 {
	return float64(l.never) / (crawlMean(l.idle[from:to]) * float64(downloads))
}

// crawlCorrelation returns how far two series go together.
func crawlCorrelation(a, b []float64) float64 {
	x, y, sum := crawlMean(a), crawlMean(b), 0.0
	for i := range a {
		sum += (a[i] - x) * (b[i] - y)
	}
	return sum / (crawlDeviation(a) * crawlDeviation(b) * float64(len(a)-1))
}

// paperAllowance is how many changes 95 % confidence allows a page that never
// changed.
const paperAllowance = 3

// longTerm is figure 10.
func (u samplingRules) longTerm(ctx context.Context, s Options) (Figure, error) {
	z, cycles := sizeOf(s), 160
	if s.Quick {
		cycles = 120
	}
	set := z.set(s)
	run := func(start func(*crawl) crawler) (longRun, error) {
		return runLong(ctx, set, z.downloads, cycles, s.Seed, start)
	}
	greedy, err := run(twoStage(u.greedy, paperSamples))
	if err != nil {
		return Figure{}, err
	}
	likely, err := run(frequency(likelyRate))
	if err != nil {
		return Figure{}, err
	}
	var cautious longRun
	table := Table{Head: []string{"changes allowed for", "better than greedy from cycle", "ChangeRatio over the last quarter"}}
	for _, allowance := range []float64{.5, 1, 3, 5, 10} {
		l, err := run(frequency(cautiousRate(allowance)))
		if err != nil {
			return Figure{}, err
		}
		if allowance == paperAllowance {
			cautious = l
		}
		said := fmt.Sprintf("none of %d", cycles)
		if at := overtaking(l.ratios, greedy.ratios, 10); at > 0 {
			said = fmt.Sprint(at)
		}
		table.Rows = append(table.Rows, []string{fmt.Sprint(allowance), said, fmt.Sprintf("%.3f", crawlMean(l.ratios[3*cycles/4:]))})
	}
	chart := plot.Chart{Title: "ChangeRatio by cycle", X: plot.Linear("cycle", 0, float64(cycles)), Y: plot.Linear("ChangeRatio", 0, 1),
		Lines: []plot.Line{cautious.line("frequency, cautious", false), greedy.line("greedy", true), likely.line("frequency, likeliest", false)}}
	return Figure{Title: "Frequency in the long run",
		About: z.about(s) + fmt.Sprintf(" %d cycles; the five cycles of change are repeated. The paper does not say how it estimates frequencies. The cautious estimate takes a page that never changed for one that may have changed three times in the time that it was watched for, "+
			"which is what 95 %% confidence allows; the table has other allowances. The likeliest one is that of Cho and Garcia-Molina, drawn a little towards the general rate.", cycles),
		SVGs: []string{chart.SVG()}, Tables: []Table{table}, Claims: longTermClaims(greedy, cautious, likely, z.downloads)}, nil
}

func longTermClaims(greedy, cautious, likely longRun, downloads int) []Claim {
	const where = "figure 10"
	n := len(greedy.ratios)
	quarter := func(l longRun, i int) float64 { return crawlMean(l.ratios[i*n/4 : (i+1)*n/4]) }
	rising := []float64{quarter(cautious, 0), quarter(cautious, 1), quarter(cautious, 2), quarter(cautious, 3)}
	slow, fast := overtaking(cautious.ratios, greedy.ratios, 10), overtaking(likely.ratios, greedy.ratios, 10)
	wide, narrow := crawlDeviation(cautious.ratios[n/4:n/2]), crawlDeviation(greedy.ratios[n/4:n/2])
	together := crawlCorrelation(cautious.ratios[4:], cautious.idle[4:])
	early, late := cautious.interval(downloads, 4, n/4), cautious.interval(downloads, 3*n/4, n)
	crossing := samplingVerdict(where, "from around the 100th cycle on frequency is better than greedy", "about cycle 100", slow >= 50 && slow <= 150,
		"the crossing depends on how frequencies are estimated", "cycle %d with the cautious estimate, %d with the likeliest", slow, fast)
	if crossing.Holds {
		crossing.Why = "it holds for a cautious estimate only, and moves with how cautious it is: one that gives pages up sooner is better after a few cycles already"
	}
	return []Claim{
		samplingVerdict(where, "frequency is much worse than greedy at first", "significantly lower", crawlMean(cautious.ratios[:5]) < .7*crawlMean(greedy.ratios[:5]), "",
			"%.3f against %.3f over five cycles", crawlMean(cautious.ratios[:5]), crawlMean(greedy.ratios[:5])),
		samplingVerdict(where, "frequency gets steadily better", "steadily", rising[0] < rising[1] && rising[1] < rising[2] && rising[2] < rising[3], "",
			"%s by quarters of the time", figuresOf(rising)),
		crossing,
		samplingVerdict(where, "in the long run frequency is better than greedy", "better", slow > 0 && fast > 0, "",
			"over the last quarter %.3f (cautious) and %.3f (likeliest) against %.3f", rising[3], quarter(likely, 3), quarter(greedy, 3)),
		samplingVerdict(where, "frequency fluctuates widely, greedy does not", "wide fluctuation", wide > 3*narrow, "", "standard deviation %.3f against %.3f", wide, narrow),
		samplingVerdict(where, "the dips are where pages are downloaded that hardly change", "mainly", together < -.7, "",
			"correlation %.2f between ChangeRatio and downloads of pages that never change", together),
		samplingVerdict(where, "such pages are checked ever less often", "the interval grows steadily", late > 1.5*early, "",
			"every %.1f cycles in the first quarter, every %.1f in the last", early, late),
	}
}

// normalSites is figure 15.
func (u samplingRules) normalSites(ctx context.Context, s Options) (Figure, error) {
	z, cycles := sizeOf(s), 30
	sites := 300 / z.scale
	set := normalSet(sites, 1000, cycles, s.Seed)
	t, err := u.compete(ctx, set, z.downloads, paperSamples, cycles, s.Seed)
	if err != nil {
		return Figure{}, err
	}
	vee, err := u.compete(ctx, z.set(s), z.downloads, paperSamples, paperCycles, s.Seed)
	if err != nil {
		return Figure{}, err
	}
	chart := plot.Chart{Title: "The same in the long run", X: plot.Linear("cycle", 0, float64(cycles)), Y: plot.Linear("ChangeRatio", 0, 1)}
	for _, i := range []int{ofGreedy, ofFrequency, ofRoundRobin} {
		chart.Lines = append(chart.Lines, longRun{ratios: t.ratios[i]}.line(t.names[i], i == ofGreedy))
	}
	means := t.over(0, paperCycles)
	return Figure{Title: "Sites of another distribution",
		About:  fmt.Sprintf("%d sites of 1,000 pages, ρ normal around 0.5 with standard deviation 0.3 (between 0 and 1), pages of a site alike; %d downloads a cycle, %d samples, k = %d, α = %g; seed %d.", sites, z.downloads, paperSamples, paperStep, paperAlpha, s.Seed),
		SVGs:   []string{t.bars("ChangeRatio over five cycles, normal set", means), chart.SVG()},
		Tables: []Table{{Head: append([]string{"cycles"}, t.names...), Rows: [][]string{t.row("1 to 5", means), t.row("11 to 15", t.over(10, 15)), t.row("21 to 30", t.over(20, 30))}}},
		Claims: normalClaims(t, means, vee.over(0, paperCycles))}, nil
}

func normalClaims(t contest, means, vee []float64) []Claim {
	const where = "figure 15"
	round, greedy := means[ofRoundRobin], means[ofGreedy]
	higher := true
	for i := range means {
		higher = higher && means[i] > vee[i]
	}
	after, last := t.over(10, 15), t.over(20, 30)
	return []Claim{
		samplingVerdict(where, "greedy reaches 0.82", "0.82", near(greedy, .82, .03), "", "%.3f", greedy),
		samplingVerdict(where, "adaptive does as well as greedy", "similar", near(means[ofAdaptive], greedy, .03), "", "%.3f", means[ofAdaptive]),
		samplingVerdict(where, "greedy is better than round-robin", "very well", greedy > round+.05, "", "%.3f against %.3f", greedy, round),
		samplingVerdict(where, "proportional and frequency do as round-robin does, or slightly worse", "similar", near(means[ofProportional], round, .03) && near(means[ofFrequency], round, .03), "",
			"proportional %.3f, frequency %.3f, round-robin %.3f", means[ofProportional], means[ofFrequency], round),
		samplingVerdict(where, "all do better than on the V-shaped set, as more pages change", "higher than in figure 6", higher, "", "%s against %s", figuresOf(means), figuresOf(vee)),
		samplingVerdict("section 4.8", "frequency is as good as greedy after 10 cycles", "similar", near(after[ofFrequency], after[ofGreedy], .05), "", "%.3f against %.3f in cycles 11 to 15", after[ofFrequency], after[ofGreedy]),
		samplingVerdict("section 4.8", "in the end frequency is about as good as greedy, and not better", "about the same", near(last[ofFrequency], last[ofGreedy], .03), "", "%.3f against %.3f in cycles 21 to 30", last[ofFrequency], last[ofGreedy]),
		samplingVerdict("section 4.8", "both end at around 0.82", "0.82", near(last[ofFrequency], .82, .03) && near(last[ofGreedy], .82, .03),
			"a page counts as changed if it did since its last download, and all count as just downloaded at the start: so the first cycles are the poorest, and five of them have the mean that the paper gives for the end as well",
			"%.3f and %.3f", last[ofFrequency], last[ofGreedy]),
	}
}
