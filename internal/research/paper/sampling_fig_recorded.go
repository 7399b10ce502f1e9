package paper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"time"

	"freshet/internal/sched/policy"
)

// recordedSites are traces of pages on sites, with how long a cycle should be
// for about as many pages to change in it as in the data of the paper.
var recordedSites = []struct {
	name  string
	cycle time.Duration
	said  string
}{
	{"ota-contrib", 30 * 24 * time.Hour, "a month"},
	{"telegram-web", 7 * 24 * time.Hour, "a week"},
	{"news-de-a", 24 * time.Hour, "a day"},
}

// recorded adds to figure 6 how the policies do on recorded sites, where there
// are any at hand.
func (u samplingRules) recorded(ctx context.Context, s Options, f Figure) (Figure, error) {
	if s.Traces == "" {
		return f, nil
	}
	sets := Table{Head: []string{"recorded", "sites", "pages", "cycle", "cycles", "downloads a cycle", "samples of a site", "pages that change in a cycle"}}
	scores := Table{Head: []string{"recorded, cycles"}}
	for _, r := range recordedSites {
		set, err := recordedSet(s.Traces, r.name, r.cycle)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return f, err
		}
		const ratio = 100_000 / 353_000.0
		downloads := max(1, int(math.Round(min(ratio*float64(set.pages()), set.perCycle()))))
		samples := max(1, int(math.Round(policy.SampleSize(float64(downloads)/float64(set.sites()), 1))))
		cycles := len(set.cycles)
		t, err := u.compete(ctx, set, downloads, samples, cycles, s.Seed)
		if err != nil {
			return f, err
		}
		c := newCrawl(set, downloads, s.Seed)
		t.names = append(t.names, "oracle")
		t.ratios = append(t.ratios, c.run(cycles, clairvoyant(c), nil))
		scores.Head = append(scores.Head[:1], t.names...)
		first, all := t.over(0, paperCycles), t.over(0, cycles)
		sets.Rows = append(sets.Rows, []string{r.name, fmt.Sprint(set.sites()), fmt.Sprint(set.pages()), r.said, fmt.Sprint(cycles), fmt.Sprint(downloads), fmt.Sprint(samples), fmt.Sprintf("%.0f", set.perCycle())})
		scores.Rows = append(scores.Rows, t.row(r.name+", first 5", first), t.row(fmt.Sprintf("%s, all %d", r.name, cycles), all))
		f.SVGs = append(f.SVGs, t.bars(fmt.Sprintf("ChangeRatio over %d cycles of %s, recorded: %s", cycles, r.said, r.name), all))
		f.Claims = append(f.Claims, recordedClaims(r.name, t, set, samples*set.sites(), downloads)...)
	}
	if len(sets.Rows) > 0 {
		f.Tables = append(f.Tables, sets, scores)
		f.About += " The recorded sites are real data that are not the paper's; as many pages are downloaded in a cycle as change in one, 28 % at the most, after √(Nr) samples of each site. Pages that never changed are not in a trace, which leaves less to gain by avoiding them."
	}
	return f, nil
}

// recordedClaims holds the main claims against recorded sites.
func recordedClaims(name string, t contest, set *siteSet, samples, downloads int) []Claim {
	where := "figure 6, recorded " + name
	first, all := t.over(0, paperCycles), t.over(0, len(set.cycles))
	why := fmt.Sprintf("only %.0f %% of the differences between pages lie between sites, which is all that samples can find", 100*set.likeness())
	switch {
	case samples >= downloads:
		why = fmt.Sprintf("one sample of each of the %d sites costs more than all %d downloads: sites of two pages are too small to sample", set.sites(), downloads)
	case all[ofRoundRobin] > .8:
		why = fmt.Sprintf("round-robin finds nearly all downloads changed already, and sites differ little: only %.0f %% of the differences between pages lie between them", 100*set.likeness())
	}
	overtakes := overtaking(t.ratios[ofFrequency], t.ratios[ofGreedy], 10)
	said := "never"
	if overtakes > 0 {
		said = fmt.Sprintf("from cycle %d on", overtakes)
	}
	claims := []Claim{
		samplingVerdict(where, "greedy is better than round-robin", "far better", all[ofGreedy] > 1.1*all[ofRoundRobin], why, "%.3f against %.3f", all[ofGreedy], all[ofRoundRobin]),
		samplingVerdict(where, "greedy is better than frequency at first", "almost twice as good in five cycles", first[ofGreedy] > 1.1*first[ofFrequency], why, "%.3f against %.3f", first[ofGreedy], first[ofFrequency]),
		samplingVerdict(where, "greedy is better than proportional", "better", all[ofGreedy] > all[ofProportional], why, "%.3f against %.3f", all[ofGreedy], all[ofProportional]),
		samplingVerdict(where, "in the long run frequency is better than greedy", "from about cycle 100 on, in the paper's data", overtakes > 0,
			fmt.Sprintf("how often pages changed in the first half of the cycles says little of the second: their correlation is %.2f", set.steadiness()), "%s", said),
	}
	for i := range claims {
		claims[i].Kind = Recorded
	}
	return claims
}

// rates returns in which share of the cycles from and before to each page
// changes.
func (s *siteSet) rates(from, to int) []float64 {
	rates := make([]float64, s.pages())
	for _, changed := range s.cycles[from:to] {
		for page := range rates {
			if changed.has(page) {
				rates[page] += 1 / float64(to-from)
			}
		}
	}
	return rates
}

// likeness returns the share of the variance of pages' rates that lies between
// sites.
func (s *siteSet) likeness() float64 {
	rates := s.rates(0, len(s.cycles))
	mean, between, all := crawlMean(rates), 0.0, 0.0
	for site := range s.sites() {
		own := rates[s.from[site]:s.from[site+1]]
		between += float64(len(own)) * (crawlMean(own) - mean) * (crawlMean(own) - mean)
	}
	for _, r := range rates {
		all += (r - mean) * (r - mean)
	}
	return between / max(all, math.SmallestNonzeroFloat64)
}

// steadiness returns how far the rates of pages in the first half of the cycles
// go with those in the second, as a correlation.
func (s *siteSet) steadiness() float64 {
	half := len(s.cycles) / 2
	before, after := s.rates(0, half), s.rates(half, len(s.cycles))
	a, b, sum := crawlMean(before), crawlMean(after), 0.0
	for page := range before {
		sum += (before[page] - a) * (after[page] - b)
	}
	spread := crawlDeviation(before) * crawlDeviation(after) * float64(max(1, len(before)-1))
	return sum / max(spread, math.SmallestNonzeroFloat64)
}

// overtaking returns the first cycle, from 1, from which on a mean over so many
// cycles of one is above that of the other, to the end; 0 if there is none.
func overtaking(one, other []float64, window int) int {
	first := 0
	for end := window; end <= len(one); end++ {
		switch above := crawlMean(one[end-window:end]) > crawlMean(other[end-window:end]); {
		case !above:
			first = 0
		case first == 0:
			first = end - window/2
		}
	}
	return first
}
