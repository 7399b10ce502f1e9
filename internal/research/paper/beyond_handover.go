package paper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/lab/plot"
	"freshet/internal/sched/policy"
)

// A handover lets one policy choose up to a moment and another one after it.
// Both see all outcomes.
type handover struct {
	first, then freshet.Policy
	at          time.Time
}

// Put implements [freshet.Policy].
func (h *handover) Put(now time.Time, slot freshet.Slot, s freshet.Source, since time.Time) {
	h.first.Put(now, slot, s, since)
	h.then.Put(now, slot, s, since)
}

// Remove implements [freshet.Policy].
func (h *handover) Remove(slot freshet.Slot) {
	h.first.Remove(slot)
	h.then.Remove(slot)
}

// Choose implements [freshet.Policy].
func (h *handover) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	if now.After(h.at) {
		return h.then.Choose(now, n, take)
	}
	return h.first.Choose(now, n, take)
}

// Observe implements [freshet.Policy].
func (h *handover) Observe(now time.Time, slot freshet.Slot, o freshet.Outcome) {
	h.first.Observe(now, slot, o)
	h.then.Observe(now, slot, o)
}

// A relay is a web on which sampling hands over to frequency after different
// numbers of cycles.
type relay struct {
	web       webOfSites
	grid      *lab.Grid
	downloads int
	make      policyMaker
	frequency string // as the policy is called, with its options
}

// relayShare is the part of the pages that is downloaded in a cycle.
const relayShare = .28

func newRelay(w webOfSites, make policyMaker, frequency string) (*relay, error) {
	g, err := w.grid()
	return &relay{w, g, int(relayShare * float64(w.pages())), make, frequency}, err
}

// samples returns how many pages of a site to sample.
func (w webOfSites) samples() int {
	return int(policy.SampleSize(float64(w.Directories*w.Pages), relayShare))
}

// run crawls with a handover after so many cycles.
func (r *relay) run(ctx context.Context, after int) (webCrawl, error) {
	at := policy.Setting{Start: r.grid.Start, Instant: r.grid.Instant, Polls: float64(r.downloads), Sources: len(r.grid.Pages()), Seed: r.web.Seed}
	sampling, err := r.make(fmt.Sprintf("sample-greedy:samples=%d,downloads=%d", r.web.samples(), r.downloads), at)
	if err != nil {
		return webCrawl{}, err
	}
	frequency, err := r.make(r.frequency, at)
	if err != nil {
		return webCrawl{}, err
	}
	return crawlWeb(ctx, r.grid, &handover{sampling, frequency, r.grid.Time(after)}, r.downloads)
}

// A relayed is what handovers gave on one web.
type relayed struct {
	after  []int
	crawls []webCrawl
}

// all crawls with every handover: at once, which is frequency alone, then ever
// later, and never, which is sampling alone.
func (r *relay) all(ctx context.Context) (found relayed, err error) {
	for after := 0; ; after = max(1, 2*after) {
		after = min(after, r.web.Cycles)
		c, err := r.run(ctx, after)
		if err != nil {
			return found, err
		}
		found.after, found.crawls = append(found.after, after), append(found.crawls, c)
		if after == r.web.Cycles {
			return found, nil
		}
	}
}

// frequency and sampling return the two alone.
func (r relayed) frequency() webCrawl { return r.crawls[0] }
func (r relayed) sampling() webCrawl  { return r.crawls[len(r.crawls)-1] }

// best returns after how many cycles the handover was best, over all cycles.
func (r relayed) best() (after int, ratio float64) {
	for i, c := range r.crawls {
		if x := c.ratio(0, c.last()); x > ratio {
			after, ratio = r.after[i], x
		}
	}
	return after, ratio
}

// crossing says from which cycle on frequency alone has found more than sampling
// alone, counted from the beginning: single cycles fluctuate too much to tell.
func (r relayed) crossing() string {
	f, s := r.frequency(), r.sampling()
	at := f.last() + 1
	for at > 1 && f.ratio(0, at-1) > s.ratio(0, at-1) {
		at--
	}
	if at > f.last() {
		return "never"
	}
	return fmt.Sprintf("from cycle %d on", at)
}

// handoverFigure answers when to move from sampling to frequency.
func handoverFigure(ctx context.Context, s Options, q question, make policyMaker) (Figure, error) {
	w := webOfSites{Sites: sized(s, 100, 24), Directories: 1, Pages: sized(s, 200, 80), Cycles: sized(s, 64, 32), By: "site", Seed: s.Seed}
	webs := []struct {
		name     string
		likeness float64
		drift    float64
		found    relayed
	}{
		{name: "pages of a site differ", likeness: .3},
		{name: "pages of a site alike", likeness: 100},
		{name: "pages differ and drift", likeness: .3, drift: .05},
	}
	for i := range webs {
		w.Likeness, w.Drift = webs[i].likeness, webs[i].drift
		r, err := newRelay(w, make, "frequency")
		if err != nil {
			return Figure{}, err
		}
		if webs[i].found, err = r.all(ctx); err != nil {
			return Figure{}, err
		}
	}
	f := Figure{
		Title: "When to move from sampling to frequency",
		About: fmt.Sprintf("Cho and Ntoulas ask in section 6 when to move from sampling to the frequency of each page, and what to do if frequencies change. %d sites of %d pages, shares of changing pages V-shaped over the sites, %d%% of the pages downloaded in a cycle, %d cycles; %d samples of each site. Greedy sampling hands over to the policy frequency, which has seen all outcomes so far, after 0, 1, 2, 4 ... cycles. Pages differ: each site's pages have chances of change drawn from a beta distribution with weight 0.3; alike: with weight 100; drift: a page draws its chance anew in one cycle of twenty. Seed %d.",
			w.Sites, w.Pages, int(100*relayShare), w.Cycles, w.samples(), s.Seed),
	}
	table := Table{Head: []string{"handover"}}
	over := plot.Chart{Title: "ChangeRatio over all cycles, by when sampling hands over", X: handoverAxis(webs[0].found.after), Y: plot.Linear("ChangeRatio", .6, 1)}
	for k, web := range webs {
		table.Head = append(table.Head, web.name)
		line := plot.Line{Name: web.name}
		for i, c := range web.found.crawls {
			line.Points = append(line.Points, [2]float64{float64(web.found.after[i]) + 1, c.ratio(0, c.last())})
			if k == 0 {
				table.Rows = append(table.Rows, []string{handoverName(web.found.after[i], w.Cycles)})
			}
			table.Rows[i] = append(table.Rows[i], fmt.Sprintf("%.3f", c.ratio(0, c.last())))
		}
		over.Lines = append(over.Lines, line)
	}
	differ, alike, drift := webs[0].found, webs[1].found, webs[2].found
	after, _ := differ.best()
	cycles := plot.Chart{Title: "ChangeRatio by cycle, where pages of a site differ", X: plot.Linear("cycle", 0, float64(w.Cycles)), Y: plot.Linear("ChangeRatio (mean of 3 cycles)", 0, 1)}
	for i, c := range differ.crawls {
		if n := differ.after[i]; n == 0 || n == w.Cycles || n == after {
			cycles.Lines = append(cycles.Lines, plot.Line{Name: handoverName(n, w.Cycles), Points: c.curve(1)})
		}
	}
	f.SVGs = []string{cycles.SVG(), over.SVG()}
	f.Tables = []Table{table}
	f.Claims = handoverClaims(q, w.Cycles, differ, alike, drift)
	forgetting, err := forgettingClaim(ctx, q, w, make)
	f.Claims = append(f.Claims, forgetting)
	return f, err
}

// handoverAxis is that of cycles at which sampling hands over, counted from 1.
func handoverAxis(after []int) plot.Axis {
	x := plot.Axis{Caption: "cycles of sampling before the handover", From: 1, To: float64(after[len(after)-1]) + 1, Log: true}
	for _, n := range after {
		x.Ticks = append(x.Ticks, plot.Tick{At: float64(n) + 1, Label: fmt.Sprint(n)})
	}
	return x
}

func handoverName(after, cycles int) string {
	switch after {
	case 0:
		return "frequency alone"
	case cycles:
		return "sampling alone"
	}
	return fmt.Sprintf("after %d cycles", after)
}

func handoverClaims(q question, cycles int, differ, alike, drift relayed) []Claim {
	of := func(c webCrawl) float64 { return c.ratio(0, c.last()) }
	after, best := differ.best()
	alone := max(of(differ.frequency()), of(differ.sampling()))
	const tour = 8
	dip, sampled := differ.crawls[slices.Index(differ.after, tour)].ratio(tour, tour+3), differ.sampling().ratio(tour, tour+3)
	alikeAfter, alikeBest := alike.best()
	alikeSampling := of(alike.sampling())
	driftAfter, driftBest := drift.best()
	return []Claim{
		q.finding("When should one move from sampling to frequency?", "after a few cycles, and then it is better than either alone",
			after > 0 && after < cycles && best > alone,
			"best after %d cycles: ChangeRatio %.3f over all; frequency alone %.3f, sampling alone %.3f", after, best, of(differ.frequency()), of(differ.sampling())),
		q.finding("Does the handover spare the tour of all pages that frequency begins with?", "no, it puts it off: right after it fewer downloads find a change than if one had gone on sampling",
			dip < sampled, "handover after %d cycles: the next three %.3f, sampling in the same three %.3f", tour, dip, sampled),
		q.finding("Does it depend on how alike the pages of a site are?", "the move gains less over sampling alone where they are alike",
			alikeBest-alikeSampling < best-of(differ.sampling()),
			"the best handover (after %d cycles where pages differ, %d where they are alike) gains %.3f and %.3f; frequency alone has found more than sampling alone %s where they differ, %s where they are alike",
			after, alikeAfter, best-of(differ.sampling()), alikeBest-alikeSampling, differ.crossing(), alike.crossing()),
		q.finding("And if the frequencies themselves change?", "the move pays less than where they stay, but it still pays",
			driftBest > of(drift.sampling()) && driftBest-of(drift.sampling()) < best-of(differ.sampling()),
			"best after %d cycles: %.3f against %.3f of sampling alone, a gain of %.3f; without drift a gain of %.3f", driftAfter, driftBest, of(drift.sampling()), driftBest-of(drift.sampling()), best-of(differ.sampling())),
	}
}

// forgettingClaim asks whether a frequency that forgets copes better with pages
// that drift than one that does not.
func forgettingClaim(ctx context.Context, q question, w webOfSites, make policyMaker) (Claim, error) {
	w.Likeness, w.Drift, w.Cycles = .3, .05, 64 // at any size: pages have to have drifted
	var late [2]float64
	for i, name := range []string{"frequency:memory=16", "frequency:memory=-1"} {
		r, err := newRelay(w, make, name)
		if err != nil {
			return Claim{}, err
		}
		c, err := r.run(ctx, 4)
		if err != nil {
			return Claim{}, err
		}
		late[i] = c.ratio(w.Cycles/2, w.Cycles)
	}
	return q.finding("What can one do if frequencies change? Forget.", "a frequency over the last few polls finds more than one over all, once pages have drifted",
		late[0] > late[1],
		"second half of %d cycles, handover after 4: memory of 16 polls %.3f, of all polls %.3f", w.Cycles, late[0], late[1]), nil
}
