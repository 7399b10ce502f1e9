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
	p.say("The same settings, budgets and bits for what the literature proposes: `azar` (Azar et al., PNAS 2018), `lambdacrawl` (Kolobov et al., NeurIPS 2019), `explore-commit` (Upadhyay et al., AAAI 2020), `avrachenkov` (Avrachenkov et al., 2020) and `ncis` (Busa-Fekete et al., 2025). They aim at freshness, the share of the time that copies are up to date; with `aim=captures` the same rule has the rate of each source as its weight, which aims at captures. *Index* means that indexes are also read so often that it takes a tenth of the budget: these readings are the signals of `ncis`. Captured is the mean share of the limit, fresh the mean share of the time. Captures are held against those of `auto`, freshness against that of `auto:aim=freshness`, with the same evidence: settings with more, as much (within %s) and less.", lab.FormatPercent(tie, 1))
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
	var ahead []string
	for _, f := range p.Literature[0].Feats {
		row := []string{f.Name}
		for _, list := range parts {
			captures, ahead1 := against(list, f.Name, policy.Default, "captured", func(f Feat) float64 { return f.OfLimit })
			freshness, ahead2 := against(list, f.Name, policy.Default+":aim=freshness", "fresh", func(f Feat) float64 { return f.Fresh })
			fresh := 0.0
			for _, r := range list {
				got, _ := r.of(f.Name)
				fresh += got.Fresh / float64(len(list))
			}
			row = append(row, fmt.Sprintf("%.3f", MeanOfLimit(list, f.Name)), captures, fmt.Sprintf("%.3f", fresh), freshness)
			if !strings.HasPrefix(f.Name, policy.Default) {
				ahead = append(append(ahead, ahead1...), ahead2...)
			}
		}
		rows = append(rows, row)
	}
	p.table(1, head, rows)
	if len(ahead) > 0 {
		p.say("Ahead of `auto` with the same aim:")
		p.say("- %s", strings.Join(ahead, "\n- "))
	}
}

// against counts in how many settings a contender has more, as much and less than another
// with the same evidence, and lists those in which it has more.
func against(list []Result, name, other, what string, measure func(Feat) float64) (counts string, ahead []string) {
	if strings.HasSuffix(name, ", index") {
		other += ", index"
	}
	if name == other {
		return "", nil
	}
	more, same, less := 0, 0, 0
	for _, r := range list {
		ours, _ := r.of(name)
		theirs, ok := r.of(other)
		if !ok {
			return "", nil
		}
		switch d := measure(ours) - measure(theirs); {
		case math.Abs(d) <= tie:
			same++
		case d > 0:
			more++
			ahead = append(ahead, fmt.Sprintf("%s, %s: `%s` %s %.3f, `%s` %.3f", r.Trace, r.circumstances(), name, what, measure(ours), other, measure(theirs)))
		default:
			less++
		}
	}
	return fmt.Sprintf("%d / %d / %d", more, same, less), ahead
}
