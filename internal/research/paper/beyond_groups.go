package paper

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/plot"
	"freshet/internal/sched/policy"
)

// A regrouping is greedy sampling by groups that it learns: pages that were
// found changed about as often belong together, wherever they are. A page of
// which little is known is taken for what its site is in general. Groups are
// formed again at every cycle.
type regrouping struct {
	freshet.Policy
	sources []freshet.Source // by slot
	rates   []learnedRate    // by slot
	sites   map[string]*learnedRate
	slots   map[freshet.SourceID]freshet.Slot
	cycle   time.Time
}

// A learnedRate is how many polls found a change, per cycle that they waited.
type learnedRate struct {
	changed, cycles float64
	last            time.Time
}

// learnedGroups is how many bands of rates there are.
const learnedGroups = 12

func newRegrouping(make func(group func(freshet.Source) string) freshet.Policy) *regrouping {
	r := &regrouping{sites: map[string]*learnedRate{}, slots: map[freshet.SourceID]freshet.Slot{}}
	r.Policy = make(r.group)
	return r
}

// group returns the band of a page's rate, drawn towards that of its site as if
// that had been seen for one cycle.
func (r *regrouping) group(s freshet.Source) string {
	general := .5
	if site, ok := r.sites[policy.SiteOf(s)]; ok {
		general = (site.changed + .5) / (site.cycles + 1)
	}
	own := r.rates[r.slots[s.ID]]
	rate := (own.changed + general) / (own.cycles + 1)
	return fmt.Sprintf("band%02d", min(learnedGroups-1, int(rate*learnedGroups)))
}

// Put implements [freshet.Policy].
func (r *regrouping) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	for len(r.sources) <= int(slot) {
		r.sources, r.rates = append(r.sources, freshet.Source{}), append(r.rates, learnedRate{})
	}
	r.sources[slot], r.slots[s.ID] = s, slot
	r.rates[slot].last = now
	r.Policy.Put(now, slot, s, since)
}

// Choose implements [freshet.Policy].
func (r *regrouping) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	if now.After(r.cycle) {
		r.cycle = now
		for slot, s := range r.sources {
			r.Policy.Put(now, freshet.Slot(slot), s, r.rates[slot].last)
		}
	}
	return r.Policy.Choose(now, n, take)
}

// Observe implements [freshet.Policy].
func (r *regrouping) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	name := policy.SiteOf(r.sources[slot])
	site, ok := r.sites[name]
	if !ok {
		site = &learnedRate{}
		r.sites[name] = site
	}
	waited := now.Sub(r.rates[slot].last).Hours() / webCycle.Hours()
	for _, l := range []*learnedRate{&r.rates[slot], site} {
		l.cycles += waited
		l.last = now
		if o.Result == freshet.Changed {
			l.changed++
		}
	}
	r.Policy.Observe(now, slot, o)
}

// kindLabel returns the kind of content of a page, as its name has it.
func kindLabel(s freshet.Source) string {
	_, kind, _ := strings.Cut(string(s.ID), "-")
	return kind
}

// groupings are the ways of grouping pages for their samples.
var groupings = []string{"site", "directory", "kind of content", "learned group"}

// groupedSampling returns greedy sampling by one of the groupings.
func groupedSampling(grouping string, c policy.SamplingConfig) freshet.Policy {
	switch grouping {
	case "directory":
		c.Group = policy.DirectoryOf
	case "kind of content":
		c.Group = kindLabel
	case "learned group":
		return newRegrouping(func(group func(freshet.Source) string) freshet.Policy {
			c.Group = group
			return policy.NewSampling(c)
		})
	}
	return policy.NewSampling(c)
}

// groupsFigure answers whether one should sample by something else than sites.
func groupsFigure(ctx context.Context, s Options, q question, _ policyMaker) (Figure, error) {
	return groupsWith(ctx, s, q, groupedSampling)
}

func groupsWith(ctx context.Context, s Options, q question, sampling func(string, policy.SamplingConfig) freshet.Policy) (Figure, error) {
	w := webOfSites{Sites: sized(s, 60, 20), Directories: 8, Pages: sized(s, 50, 25), Cycles: sized(s, 30, 16), Likeness: 5, Seed: s.Seed}
	downloads := w.pages() / 4
	f := Figure{
		Title: "Sampling by directory, by content and by learned group",
		About: fmt.Sprintf("Cho and Ntoulas ask in section 6 whether one should sample by directory, or by groups of like contents. %d sites of %d directories of %d pages; a page is of one of %d kinds of content. What decides how often pages change is their site, their directory or their kind, in three webs. A quarter of the pages is downloaded in each of %d cycles, by greedy sampling with square-root samples of each group. Learned groups are %d bands of how often pages were found changed so far. Seed %d.",
			w.Sites, w.Directories, w.Pages, webKinds, w.Cycles, learnedGroups, s.Seed),
	}
	table := Table{Head: append([]string{"rates follow"}, groupings...)}
	ratios := map[string]map[string]float64{}
	for _, by := range []string{"site", "directory", "kind"} {
		w.By = by
		g, err := w.grid()
		if err != nil {
			return Figure{}, err
		}
		chart := plot.Chart{Title: "ChangeRatio by cycle, where rates follow the " + by, X: plot.Linear("cycle", 0, float64(w.Cycles)), Y: plot.Linear("ChangeRatio (mean of 3 cycles)", 0, 1)}
		ratios[by] = map[string]float64{}
		row := []string{by}
		for _, grouping := range groupings {
			c, err := crawlWeb(ctx, g, sampling(grouping, policy.SamplingConfig{Start: g.Start, Instant: g.Instant, Downloads: downloads, Seed: s.Seed}), downloads)
			if err != nil {
				return Figure{}, err
			}
			ratios[by][grouping] = c.ratio(0, c.last())
			row = append(row, fmt.Sprintf("%.3f", ratios[by][grouping]))
			chart.Lines = append(chart.Lines, plot.Line{Name: "by " + grouping, Points: c.curve(1)})
		}
		table.Rows = append(table.Rows, row)
		f.SVGs = append(f.SVGs, chart.SVG())
	}
	f.Tables = []Table{table}
	bySite, byDirectory, byKind := ratios["site"], ratios["directory"], ratios["kind"]
	f.Claims = []Claim{
		q.finding("Is it better to sample by directory?", "yes, where directories of a site differ", byDirectory["directory"] > byDirectory["site"], "where rates follow the directory: by directory %.3f, by site %.3f", byDirectory["directory"], byDirectory["site"]),
		q.finding("What does it cost where directories do not differ?", "something, as the same is sampled several times; less than it brings where they do differ",
			bySite["directory"] < bySite["site"] && bySite["site"]-bySite["directory"] < byDirectory["directory"]-byDirectory["site"], "where rates follow the site: by directory %.3f, by site %.3f", bySite["directory"], bySite["site"]),
		q.finding("Is it better to sample by kind of content?", "yes, where it decides, for then there are few groups; no, where it does not",
			byKind["kind of content"] > byKind["site"] && bySite["kind of content"] < bySite["site"],
			"where rates follow the kind: by kind %.3f, by site %.3f; where they follow the site: by kind %.3f, by site %.3f", byKind["kind of content"], byKind["site"], bySite["kind of content"], bySite["site"]),
		q.finding("And by groups that are learned?", "at least as good as by site, whatever it is that decides", learnedLeast(ratios, "site") > .99,
			"%.3f, %.3f and %.3f where site, directory and kind decide; at the least %s of sampling by site, and %s of the best of the given groupings",
			bySite["learned group"], byDirectory["learned group"], byKind["learned group"], percent(learnedLeast(ratios, "site")), percent(learnedLeast(ratios, groupings[:3]...))),
	}
	return f, nil
}

// learnedLeast returns the least that learned groups reach of the best of some
// others.
func learnedLeast(ratios map[string]map[string]float64, others ...string) float64 {
	least := math.Inf(1)
	for _, of := range ratios {
		best := 0.0
		for _, name := range others {
			best = max(best, of[name])
		}
		least = min(least, of["learned group"]/best)
	}
	return least
}
