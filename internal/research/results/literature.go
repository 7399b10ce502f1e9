package results

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"freshet/internal/lab"
	"freshet/internal/sched/policy"
)

// crawlers are what the literature on crawling proposes, and what they are held against.
var crawlers = [...]string{"azar", "lambdacrawl", "explore-commit", "avrachenkov", "ncis"}

// signalShare is the share of the budget that readings of indexes take where they are read
// every so often.
const signalShare = 0.1

// literature returns the settings of one recording in which the literature takes part: the
// reference setting and the held-out one.
func (c Comparison) literature(ctx context.Context, r *Results, f recordingFile, h *lab.History, g *lab.Grid) ([]*bout, error) {
	reference, err := c.bout(ctx, f.Recording, g, f.Budget, lab.Weights{}, crawlersOn(g, f.Budget))
	if err != nil {
		return nil, err
	}
	reference.to = &r.Literature
	held, err := f.reserve(h)
	if err != nil || held == nil {
		return []*bout{reference}, err
	}
	other, err := c.bout(ctx, f.Recording, held, f.Budget, lab.Weights{}, crawlersOn(held, f.Budget))
	if err != nil {
		return nil, err
	}
	other.to = &r.LiteratureHeldOut
	return []*bout{reference, other}, nil
}

// crawlersOn returns what the literature on crawling proposes as contenders, by what they
// aim at, and the daemon's policies of the same aims. Those that go by signals meet them
// also: indexes are read so often that it takes a tenth of the budget.
func crawlersOn(g *lab.Grid, budget float64) (list []Contender) {
	sites := map[string]bool{}
	for _, id := range g.Pages() {
		host, _, found := strings.Cut(string(id), "/")
		if !found {
			host = ""
		}
		sites[host] = true
	}
	every := g.Instant * time.Duration(math.Ceil(float64(len(sites))/(signalShare*budget)))
	signals := lab.Evidence{Kind: lab.Index, Every: max(every, time.Second)}
	add := func(name string, e lab.Evidence) {
		title := name
		if e.Kind == lab.Index {
			title += ", index"
		}
		list = append(list, Contender{Name: title, Policy: name, Evidence: e})
	}
	for _, name := range []string{policy.Default, policy.Default + ":aim=freshness", "frequency", "freshness"} {
		add(name, lab.Evidence{})
	}
	for _, name := range crawlers {
		add(name, lab.Evidence{})
		add(name+":aim=captures", lab.Evidence{})
	}
	for _, name := range []string{policy.Default, policy.Default + ":aim=freshness", "ncis", "ncis:aim=captures"} {
		add(name, signals)
	}
	return list
}

// literature writes how those did.
func (p *page) literature() {
	if len(p.Literature) == 0 {
		return
	}
	p.say("## The literature on crawling")
	p.say("What the literature proposes, in the same settings: `azar` (Azar et al., PNAS 2018), `lambdacrawl` (Kolobov et al., NeurIPS 2019), `explore-commit` (Upadhyay et al., AAAI 2020), `avrachenkov` (Avrachenkov et al., 2020) and `ncis` (Busa-Fekete et al., 2025). They aim at freshness; with `aim=captures` the same rule weighs each source by its rate, which aims at captures. *Index* means that indexes are also read so often that it takes a tenth of the budget: these readings are the signals of `ncis`. Captured is the mean share of the limit, fresh the mean share of the time. Captures are held against those of `auto`, freshness against that of `auto:aim=freshness`, with the same evidence: settings with more, as much (within %s) and less.", lab.FormatPercent(tie, 1))
	head := []string{"policy"}
	parts := [][]Result{p.Literature}
	if len(p.LiteratureHeldOut) > 0 {
		parts = append(parts, p.LiteratureHeldOut)
	}
	for i := range parts {
		of := []string{"", ", held out"}[i]
		head = append(head, "captured"+of, "against auto"+of, "fresh"+of, "against auto:aim=freshness"+of)
	}
	var rows [][]string
	for _, f := range p.Literature[0].Feats {
		row := []string{f.Name}
		for _, list := range parts {
			captures := against(list, f.Name, policy.Default, func(f Feat) float64 { return f.OfLimit })
			freshness := against(list, f.Name, policy.Default+":aim=freshness", func(f Feat) float64 { return f.Fresh })
			row = append(row, fmt.Sprintf("%.3f", MeanOfLimit(list, f.Name)), captures, fmt.Sprintf("%.3f", meanFresh(list, f.Name)), freshness)
		}
		rows = append(rows, row)
	}
	p.table(1, head, rows)
}

// against counts in how many settings a contender has more, as much and less than another
// with the same evidence.
func against(list []Result, name, other string, measure func(Feat) float64) string {
	if strings.HasSuffix(name, ", index") {
		other += ", index"
	}
	if name == other {
		return ""
	}
	more, same, less := 0, 0, 0
	for _, r := range list {
		ours, _ := r.of(name)
		theirs, ok := r.of(other)
		if !ok {
			return ""
		}
		switch d := measure(ours) - measure(theirs); {
		case math.Abs(d) <= tie:
			same++
		case d > 0:
			more++
		default:
			less++
		}
	}
	return fmt.Sprintf("%d / %d / %d", more, same, less)
}
