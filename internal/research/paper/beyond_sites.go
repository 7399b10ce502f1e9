package paper

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/lab/plot"
	"freshet/internal/research/generate"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
)

// A siteWorld is sites of pages that are downloaded in cycles. There is a copy of
// every page when it begins.
type siteWorld struct {
	name   string
	grid   *lab.Grid
	steps  int // into how many instants a cycle is divided
	cycles int
}

// At once means that a cycle is one moment: all its downloads come after all its
// changes, as in the experiments of the paper. By the hour, the pages go on changing
// while they are downloaded, evenly over the cycle, as by a daemon.
const (
	atOnce    = 1
	byTheHour = 24
)

// newSiteWorld cuts a history into cycles.
func newSiteWorld(name string, h *lab.History, p lab.Period, cycle time.Duration, steps int) (siteWorld, error) {
	p.Instant = cycle / time.Duration(steps)
	g, err := h.Quantise(p)
	if err != nil {
		return siteWorld{}, fmt.Errorf("cutting %s into cycles: %w", name, err)
	}
	return siteWorld{name, g, steps, g.Instants / steps}, nil
}

// madeUpSites makes up sites of one of the kinds of [generate.Kinds]. Generated
// histories leave pages out that never change; here they are there.
func madeUpSites(s Options, kind string, steps int) (siteWorld, error) {
	sites, pages, cycles := sized(s, 50, 30), sized(s, 100, 50), sized(s, 15, 10)
	const cycle = units.Day
	h, err := generate.New(generate.Spec{Kind: kind, Seed: s.Seed, Start: beyondStart, Sites: sites, Pages: pages, Cycle: cycle, Length: time.Duration(cycles) * cycle})
	if err != nil {
		return siteWorld{}, err
	}
	var all []freshet.SourceID
	for site := range sites {
		for page := range pages {
			all = append(all, freshet.SourceID(fmt.Sprintf("site%02d/%02d", site, page)))
		}
	}
	h = lab.NewHistory(h.All(), all...)
	return newSiteWorld(kind, h, lab.Period{Start: beyondStart, End: beyondStart.Add(time.Duration(cycles) * cycle)}, cycle, steps)
}

// siteWorlds returns the made-up sites, and the recorded ones that are at hand. Of a
// long recording the first cycles will do.
func siteWorlds(s Options) (worlds []siteWorld, err error) {
	const most = 40 // cycles
	for _, steps := range []int{atOnce, byTheHour} {
		for _, kind := range []string{"vshaped", "normal"} {
			w, err := madeUpSites(s, kind, steps)
			if err != nil {
				return nil, err
			}
			worlds = append(worlds, w)
		}
	}
	for _, r := range recordedSites {
		h, ok, err := recordedHistory(s, r.name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		whole, err := h.Quantise(lab.Period{Instant: r.cycle})
		if err != nil {
			return nil, fmt.Errorf("cutting %s into cycles: %w", r.name, err)
		}
		p := lab.Period{Start: whole.Start, End: whole.Time(min(whole.Instants, most))}
		w, err := newSiteWorld(r.name, h, p, r.cycle, atOnce)
		if err != nil {
			return nil, err
		}
		worlds = append(worlds, w)
	}
	return worlds, nil
}

// sitePolicies are compared on sites. The first of them is the one in question.
var sitePolicies = []string{"auto", "sample-greedy", "sample-proportional", "sample-adaptive", "frequency", "round-robin"}

// sitePortions are the parts of all pages that are downloaded in a cycle.
var sitePortions = []float64{.1, .2, .5}

// A siteScore is how a policy did on sites.
type siteScore struct {
	first     float64 // ChangeRatio of the first cycle
	later     float64 // and of the cycles after the first few
	freshness float64
	age       float64 // in cycles
}

// fewCycles is how many cycles it takes to learn at most.
const fewCycles = 3

// crawl lets a policy download a part of the pages in every cycle.
func (w siteWorld) crawl(ctx context.Context, name string, portion float64, seed uint64, make policyMaker) (siteScore, error) {
	pages := len(w.grid.Pages())
	downloads := max(1, int(portion*float64(pages)))
	budget := float64(downloads) / float64(w.steps)
	cycle := time.Duration(w.steps) * w.grid.Instant
	if strings.HasPrefix(name, "sample-") {
		monday := time.Date(1970, 1, 5, 0, 0, 0, 0, time.UTC) // from which cycles are counted by the clock
		name = fmt.Sprintf("%s:cycle=%s,downloads=%d,offset=%s", name, units.FormatDuration(cycle), downloads, units.FormatDuration(w.grid.Start.Sub(monday)%cycle))
	}
	p, err := make(name, policy.Setting{Start: w.grid.Start, Instant: w.grid.Instant, Polls: budget, Sources: pages, Seed: seed})
	if err != nil {
		return siteScore{}, err
	}
	c := newWebCrawl(w.cycles)
	score, err := lab.Replay(ctx, w.grid, p, lab.Options{Budget: budget, Look: func(_, instant int, changed bool) {
		if at := (instant-1)/w.steps + 1; at <= w.cycles {
			c.count(at, changed)
		}
	}})
	return siteScore{c.ratio(0, 1), c.ratio(fewCycles, w.cycles), score.Freshness, score.AgeSeconds / cycle.Seconds()}, err
}

// said names a setting.
func (w siteWorld) said(portion float64) string {
	how := "at once"
	if w.steps == byTheHour {
		how = "by the hour"
	}
	return fmt.Sprintf("%s, %s, %.0f%%", w.name, how, 100*portion)
}

// A siteContest is how all policies did in one setting.
type siteContest struct {
	said   string
	scores []siteScore // as in sitePolicies
}

// best returns the best of the others, by some score.
func (c siteContest) best(of func(siteScore) float64) (best float64) {
	for _, s := range c.scores[1:] {
		best = max(best, of(s))
	}
	return best
}

// sitesFigure answers whether auto is enough where one can sample sites.
func sitesFigure(ctx context.Context, s Options, q question, make policyMaker) (Figure, error) {
	worlds, err := siteWorlds(s)
	if err != nil {
		return Figure{}, err
	}
	var contests []siteContest
	for _, w := range worlds {
		for _, portion := range sitePortions {
			c := siteContest{said: w.said(portion)}
			for _, name := range sitePolicies {
				score, err := w.crawl(ctx, name, portion, s.Seed, make)
				if err != nil {
					return Figure{}, err
				}
				c.scores = append(c.scores, score)
			}
			contests = append(contests, c)
		}
	}
	measures := []struct {
		name string
		of   func(siteScore) float64
	}{
		{"ChangeRatio of the first cycle", func(s siteScore) float64 { return s.first }},
		{fmt.Sprintf("ChangeRatio from cycle %d on", fewCycles+1), func(s siteScore) float64 { return s.later }},
		{"freshness of the copy", func(s siteScore) float64 { return s.freshness }},
		{"age of the copy, in cycles", func(s siteScore) float64 { return s.age }},
	}
	f := Figure{
		Title: "Sites without sampling: auto against the policies of the paper",
		About: fmt.Sprintf("Made-up sites of the kinds vshaped and normal of freshet-lab gen, %d sites of %d pages with those that never change, %d cycles of a day, and recorded sites where they are at hand (up to 40 cycles). A tenth, a fifth and half of the pages are downloaded in a cycle. "+
			"At once: all downloads of a cycle come after all its changes, as in the paper. By the hour: they are spread over the cycle, and pages go on changing. A copy of every page is there at the start. "+
			"ChangeRatio is the share of a cycle's downloads that found the page different from its last download. Freshness is the share of all pages and of the time in which the copy is as the page is, and age for how long on average it has not been, both over all cycles. Seed %d.",
			sized(s, 50, 30), sized(s, 100, 50), sized(s, 15, 10), s.Seed),
	}
	for _, m := range measures {
		table := Table{Head: append([]string{m.name}, sitePolicies...)}
		for _, c := range contests {
			row := []string{c.said}
			for _, score := range c.scores {
				row = append(row, fmt.Sprintf("%.3f", m.of(score)))
			}
			table.Rows = append(table.Rows, row)
		}
		f.Tables = append(f.Tables, table)
	}
	means := laterMeans(contests)
	bars := plot.Bars{Title: measures[1].name + ", mean of all settings", Caption: "ChangeRatio (downloads that found a change)"}
	for i, name := range sitePolicies {
		bars.Bars = append(bars.Bars, plot.Bar{Name: name, Value: means[i]})
	}
	f.SVGs = []string{bars.SVG()}
	f.Claims = siteClaims(q, contests)
	return f, nil
}

// laterMeans returns the mean ChangeRatio of each policy after a few cycles.
func laterMeans(contests []siteContest) []float64 {
	means := make([]float64, len(sitePolicies))
	for _, c := range contests {
		for i, s := range c.scores {
			means[i] += s.later / float64(len(contests))
		}
	}
	return means
}

func siteClaims(q question, contests []siteContest) []Claim {
	first := func(s siteScore) float64 { return s.first }
	later := func(s siteScore) float64 { return s.later }
	greedy := func(c siteContest) float64 { return c.scores[1].first }
	means := laterMeans(contests)
	return []Claim{
		q.finding("Who finds most changes on sites, over all settings?", "auto", means[0] > slices.Max(means[1:]),
			"from cycle %d on: auto %.3f, the others (%s) %s", fewCycles+1, means[0], strings.Join(sitePolicies[1:], ", "), figuresOf(means[1:])),
		siteFinding(q, "Does auto find as many changes as the best of them, after a few cycles?", "yes, within 0.01, in every setting", contests,
			func(c siteContest) float64 { return later(c.scores[0]) - c.best(later) }).
			because("The limit of 0.01 in every setting is ours. Where most pages of the best sites can be downloaded in every cycle, the best rules find nearly the same."),
		siteFinding(q, "And as many as greedy sampling in the first cycle?", "yes, within 0.01, in every setting", contests,
			func(c siteContest) float64 { return first(c.scores[0]) - greedy(c) }).
			because("By the hour little has changed in the first hours. What auto finds unchanged then it takes for quiet, and greedy spends the later hours, in which more has changed, on few sites."),
	}
}

// siteFinding says in how many settings auto is ahead, or as good as that.
func siteFinding(q question, claim, guess string, contests []siteContest, ahead func(siteContest) float64) Claim {
	const close = .01
	worst, at, good := 0.0, "", 0
	for i, c := range contests {
		x := ahead(c)
		if x >= -close {
			good++
		}
		if i == 0 || x < worst {
			worst, at = x, c.said
		}
	}
	return q.finding(claim, guess, good == len(contests), "in %d of %d settings; at the least %+.3f (%s)", good, len(contests), worst, at)
}
