package paper

import (
	"context"
	"fmt"
	"strings"
	"time"

	"freshet/internal/lab"
	"freshet/internal/lab/plot"
	"freshet/internal/learn/estimate"
	"freshet/internal/research/generate"
	"freshet/internal/sched/policy"
)

// A workload is a history with budgets to poll it under.
type workload struct {
	name    string
	grid    *lab.Grid
	budgets []float64 // polls an instant
	shares  []float64 // the same, as parts of the changes an instant
}

func newWorkload(name string, g *lab.Grid, shares ...float64) workload {
	w := workload{name: name, grid: g, shares: shares}
	for _, x := range shares {
		w.budgets = append(w.budgets, x*float64(g.Changes())/float64(g.Instants))
	}
	return w
}

// workloads returns histories of several kinds, and recorded ones where they
// are at hand.
func workloads(s Options, shares ...float64) (list []workload, err error) {
	for _, kind := range []string{"poisson", "periodic", "bursty", "auction"} {
		// Pages with habits are watched for days, so that these can be learned;
		// auctions are over in one.
		gen := generate.Spec{Kind: kind, Seed: s.Seed, Pages: sized(s, 200, 50), Length: sized[time.Duration](s, 10, 4) * 24 * time.Hour}
		instant := 5 * time.Minute
		if kind == "auction" {
			gen.Pages, gen.Length, instant = sized(s, 3000, 400), 24*time.Hour, time.Minute
		}
		h, err := generate.New(gen)
		if err != nil {
			return nil, err
		}
		g, err := h.Quantise(lab.Period{Start: beyondStart, End: beyondStart.Add(gen.Length), Instant: instant})
		if err != nil {
			return nil, err
		}
		list = append(list, newWorkload(kind, g, shares...))
	}
	for _, r := range []struct {
		name    string
		from    string
		days    int
		instant time.Duration
	}{{"rss-a", "2023-06-01", 28, 20 * time.Minute}, {"news-de-a", "2025-03-05", 28, 30 * time.Minute}} {
		h, ok, err := recordedHistory(s, r.name)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		from, err := time.Parse(time.DateOnly, r.from)
		if err != nil {
			return nil, err
		}
		g, err := h.Quantise(lab.Period{Start: from, End: from.AddDate(0, 0, sized(s, r.days, 7)), Instant: r.instant})
		if err != nil {
			return nil, err
		}
		list = append(list, newWorkload("recorded: "+r.name, g, shares...))
	}
	return list, nil
}

// recorded reports whether the workload is of real data.
func (w workload) recorded() bool { return strings.HasPrefix(w.name, "recorded") }

// run replays the workload under a policy. A name may say what estimator the
// policy asks, as in "wic@exact"; without one it learns.
func (w workload) run(ctx context.Context, make policyMaker, name string, budget float64, seed uint64) (lab.Score, error) {
	base, kind, _ := strings.Cut(name, "@")
	spec, err := estimate.Parse(map[string]string{"": "poisson", "exact": "exact", "noisy": "noisy:0.1,2"}[kind])
	if err != nil {
		return lab.Score{}, err
	}
	e, err := spec.New(w.grid.Truth(), seed)
	if err != nil {
		return lab.Score{}, err
	}
	p, err := make(base, policy.Setting{Start: w.grid.Start, Instant: w.grid.Instant, Polls: budget, Sources: len(w.grid.Pages()), Estimator: e, Scale: true, Seed: seed})
	if err != nil {
		return lab.Score{}, err
	}
	return lab.Replay(ctx, w.grid, p, lab.Options{Budget: budget})
}

// A standing is how a policy did on a workload under a budget.
type standing struct {
	lab.Score
	ofLimit float64
	used    float64 // of the budget
}

// A league is how policies did on workloads: by workload, budget and policy.
type league struct {
	work     []workload
	policies []string
	limits   [][]lab.Limit
	all      [][]map[string]standing
}

// play runs every policy on every workload under every budget.
func play(ctx context.Context, work []workload, make policyMaker, seed uint64, policies ...string) (*league, error) {
	l := &league{work: work, policies: policies}
	for _, w := range work {
		var limits []lab.Limit
		var standings []map[string]standing
		for _, budget := range w.budgets {
			limit, err := w.grid.Limit(budget, lab.Weights{})
			if err != nil {
				return nil, err
			}
			row := map[string]standing{}
			for _, name := range policies {
				score, err := w.run(ctx, make, name, budget, seed)
				if err != nil {
					return nil, fmt.Errorf("%s on %s: %w", name, w.name, err)
				}
				row[name] = standing{score, score.Utility / limit.Value, float64(score.Polls) / (budget * float64(w.grid.Instants))}
			}
			limits, standings = append(limits, limit), append(standings, row)
		}
		l.limits, l.all = append(l.limits, limits), append(l.all, standings)
	}
	return l, nil
}

// show adds to a figure one picture a workload, of the middle budget, and a
// table of all.
func (l *league) show(f *Figure) {
	table := Table{Head: []string{"history", "polls per change", "policy", "recall", "of the limit", "budget used", "mean delay, instants"}}
	for i, w := range l.work {
		mid := len(w.budgets) / 2
		bars := plot.Bars{Title: fmt.Sprintf("%s: captured of what was possible, %.2g polls per change", w.name, w.shares[mid]), Caption: "share of the clairvoyant limit", Mark: 1, MarkName: "limit"}
		for _, name := range l.policies {
			bars.Bars = append(bars.Bars, plot.Bar{Name: policyLabel(name), Value: l.all[i][mid][name].ofLimit})
			for b := range w.budgets {
				x := l.all[i][b][name]
				table.Rows = append(table.Rows, []string{w.name, fmt.Sprintf("%.2g", w.shares[b]), policyLabel(name), fmt.Sprintf("%.3f", x.Recall), percent(x.ofLimit), percent(x.used), fmt.Sprintf("%.1f", x.MeanDelay)})
			}
		}
		f.SVGs = append(f.SVGs, bars.SVG())
	}
	f.Tables = append(f.Tables, table)
}

// policyLabel writes a policy and its estimator for people.
func policyLabel(name string) string {
	base, kind, _ := strings.Cut(name, "@")
	switch kind {
	case "exact":
		return base + ", told the truth"
	case "noisy":
		return base + ", told it with noise"
	}
	return base
}

// least returns the least share of the limit that a policy reaches, on which
// workload.
func (l *league) least(name string) (share float64, where string) {
	share = 2
	for i, w := range l.work {
		for b := range w.budgets {
			if x := l.all[i][b][name].ofLimit; x < share {
				share, where = x, w.name
			}
		}
	}
	return share, where
}

// mean returns the mean share of the limit of a policy over all workloads and
// budgets.
func (l *league) mean(name string) float64 {
	sum, n := 0.0, 0
	for i := range l.work {
		for b := range l.all[i] {
			sum, n = sum+l.all[i][b][name].ofLimit, n+1
		}
	}
	return sum / float64(n)
}

// best returns which of some policies has the highest mean.
func (l *league) best(names ...string) string {
	best := names[0]
	for _, name := range names {
		if l.mean(name) > l.mean(best) {
			best = name
		}
	}
	return best
}

// at returns how a policy did at the middle budget of a workload.
func (l *league) at(name, work string) standing {
	for i, w := range l.work {
		if w.name == work {
			return l.all[i][len(w.budgets)/2][name]
		}
	}
	return standing{}
}

// on returns the share of the limit at the middle budget of a workload.
func (l *league) on(name, work string) float64 { return l.at(name, work).ofLimit }

// distancesFigure answers how far each policy is from the clairvoyant limit.
func distancesFigure(ctx context.Context, s Options, q question, make policyMaker) (Figure, error) {
	work, err := workloads(s, .3, .6, .9)
	if err != nil {
		return Figure{}, err
	}
	learning := []string{"wic", "frequency", "freshness", "age", "cyclic"}
	l, err := play(ctx, work, make, s.Seed, append([]string{"round-robin", "uniform", "wic@exact", "wic@noisy", "cam@noisy"}, learning...)...)
	if err != nil {
		return Figure{}, err
	}
	f := Figure{
		Title: "How far each policy is from the clairvoyant limit",
		About: fmt.Sprintf("No paper says how much could have been captured at all. The limit is what the best schedule captures that somebody could have made who knew every change beforehand, within the same polls for each instant; every change counts the same until the next one replaces it. %s; budgets are 0.3, 0.6 and 0.9 polls per change. Policies start knowing nothing, but for those that are told. Noise is that of the WIC experiments: a tenth misplaced, a spread of 2. Seed %d.", describeWork(work), s.Seed),
	}
	l.show(&f)
	blind := max(l.mean("round-robin"), l.mean("uniform"))
	best := l.best(learning...)
	told, where := l.least("wic@exact")
	f.Claims = []Claim{
		q.finding("How near is WIC to the limit if it is told the truth?", "nowhere below the half that is proven (WIC, section 3), and on the average within a tenth", told >= .5 && l.mean("wic@exact") >= .9, "at the least %s of the limit (%s), on the average %s", percent(told), where, percent(l.mean("wic@exact"))),
		q.finding("What is the knowledge worth?", "more than the choice among policies that learn", l.mean("wic@exact")-l.mean(best) > l.mean(best)-blind, "told the truth %s; the best that learns (%s) %s; polls spread blindly %s", percent(l.mean("wic@exact")), best, percent(l.mean(best)), percent(blind)),
		q.finding("Does it pay to learn at all, beginning with nothing?", "yes: the best policy that learns captures more than polls spread blindly", l.mean(best) > blind, "%s %s of the limit, blind polls %s, on the average", best, percent(l.mean(best)), percent(blind)),
		q.finding("Does WIC stay ahead of CAM by this measure too?", "yes, with the same noisy forecast", l.mean("wic@noisy") > l.mean("cam@noisy"), "wic %s, cam %s of the limit", percent(l.mean("wic@noisy")), percent(l.mean("cam@noisy"))),
	}
	f.Claims = append(f.Claims, l.recordedClaims(q, learning)...)
	return f, nil
}

// recordedClaims says what recorded histories show, where there are any.
func (l *league) recordedClaims(q question, learning []string) (claims []Claim) {
	for _, w := range l.work {
		if !w.recorded() {
			continue
		}
		best := learning[0]
		for _, name := range learning {
			if l.on(name, w.name) > l.on(best, w.name) {
				best = name
			}
		}
		blind := max(l.on("uniform", w.name), l.on("round-robin", w.name))
		claims = append(claims, q.finding("Does it pay to learn on real data ("+w.name+")?", "yes", l.on(best, w.name) > blind,
			"%s %s of the limit, blind polls %s, at 0.6 polls per change", best, percent(l.on(best, w.name)), percent(blind)))
	}
	return claims
}

// describeWork lists histories with their sizes.
func describeWork(work []workload) string {
	var parts []string
	for _, w := range work {
		parts = append(parts, fmt.Sprintf("%s (%d pages, %d changes in %d instants)", w.name, len(w.grid.Pages()), w.grid.Changes(), w.grid.Instants))
	}
	return "Histories: " + strings.Join(parts, ", ")
}

// the policies of products, as they are shipped but for their scale.
var products = []string{"fixed", "miniflux", "nutch", "stormcrawler"}

// productsFigure answers how the policies of today's products do.
func productsFigure(ctx context.Context, s Options, q question, make policyMaker) (Figure, error) {
	work, err := workloads(s, .3, .6, 1.2)
	if err != nil {
		return Figure{}, err
	}
	ours := []string{"uniform", "frequency", "wic"}
	l, err := play(ctx, work, make, s.Seed, append(append([]string{}, products...), ours...)...)
	if err != nil {
		return Figure{}, err
	}
	f := Figure{
		Title: "The policies of today's products on the same work",
		About: fmt.Sprintf("A fixed interval, Miniflux by entry frequency, Nutch's adaptive schedule and StormCrawler's adaptive scheduler, as they are shipped, with their smallest interval taken for an instant so that a crawler of days is as quick in proportion. They know no budget: under one the most overdue goes first, and what is not due is not polled, so polls may be left over. %s; budgets are 0.3, 0.6 and 1.2 polls per change. Seed %d.", describeWork(work), s.Seed),
	}
	l.show(&f)
	best := l.best(products...)
	unused, idle := 1.0, ""
	for i, w := range l.work {
		for b := range w.budgets {
			for _, name := range products {
				if x := l.all[i][b][name].used; x < unused {
					unused, idle = x, name+" on "+w.name
				}
			}
		}
	}
	_, worstWhere := l.least(best)
	own := l.best(ours...)
	f.Claims = []Claim{
		q.finding("Which of today's products captures most?", "one that adapts, not a fixed interval", best != "fixed",
			"%s: %s of the limit on the average (%s)", best, percent(l.mean(best)), l.means(products)),
		q.finding("Does a policy that knows the budget capture more than all of them?", "yes, on the average over histories and budgets", l.mean(own) > l.mean(best), "%s %s, %s %s of the limit", own, percent(l.mean(own)), best, percent(l.mean(best))),
		q.finding("Do they use the budget that there is?", "not always: some leave a tenth of it or more", unused < .9,
			"the least used is %s of the budget, by %s", percent(unused), idle),
		q.finding("Do they all beat polls spread evenly over all pages?", "no: uniform is ahead of at least one of them", l.mean("uniform") > l.lowest(products),
			"uniform %s of the limit; %s; the best of them is weakest on %s", percent(l.mean("uniform")), l.means(products), worstWhere),
	}
	return f, nil
}

// lowest returns the least mean of some policies.
func (l *league) lowest(names []string) float64 {
	low := 2.0
	for _, name := range names {
		low = min(low, l.mean(name))
	}
	return low
}

// means lists the means of policies.
func (l *league) means(names []string) string {
	var parts []string
	for _, name := range names {
		parts = append(parts, name+" "+percent(l.mean(name)))
	}
	return strings.Join(parts, ", ")
}
