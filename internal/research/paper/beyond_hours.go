package paper

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/lab"
	"freshet/internal/lab/plot"
	"freshet/internal/research/generate"
	"freshet/internal/sched/cyclic"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
)

// hourPolicies are those that have to find out when pages change.
var hourPolicies = []string{"uniform", "frequency", "cyclic", "auto"}

// hoursFigure asks what plans by the hour are worth where pages keep to minutes of it.
func hoursFigure(ctx context.Context, s Options, q question, make policyMaker) (Figure, error) {
	pages, days := sized(s, 24, 8), sized(s, 60, 24)
	h, err := generate.New(generate.Spec{Kind: "atis", Seed: s.Seed, Pages: pages, Length: time.Duration(days) * units.Day})
	if err != nil {
		return Figure{}, err
	}
	set, err := captureSplit("minutes of their own", h, 1)
	if err != nil {
		return Figure{}, err
	}
	f := Figure{Title: "Plans by the hour",
		About: fmt.Sprintf("%d made-up airports over %d days: two reports an hour, each near a minute of its own, within ten minutes of each other (3 min, 20%% specials). Plans are made for each page from two thirds of the time; policies begin with nothing and learn from their polls in it. All are scored on the last third. Seed %d.", pages, days, s.Seed)}
	table := Table{Head: []string{"polls an hour", "plan from the history", "plan from a model"}}
	table.Head = append(table.Head, hourPolicies...)
	got := map[string][]float64{}
	for _, polls := range []int{2, 3} {
		row := []string{fmt.Sprint(polls)}
		add := func(name string, recall float64) {
			got[name] = append(got[name], recall)
			row = append(row, fmt.Sprintf("%.3f", recall))
		}
		for _, m := range []cyclic.Method{cyclic.Optimal, cyclic.Modeled} {
			r, err := captureMeans{cyclic.Plan, cyclic.Model.Strategy}.follow(set, set.grid(), m, polls)
			if err != nil {
				return f, err
			}
			add(string(m), r.future.Recall())
		}
		for _, name := range hourPolicies {
			score, err := set.learning(ctx, name, float64(polls*len(set.past))/captureHour, s.Seed, make)
			if err != nil {
				return f, err
			}
			add(name, score.Recall)
		}
		table.Rows = append(table.Rows, row)
	}
	bars := plot.Bars{Title: "Two polls an hour of pages that keep to minutes of it", Caption: "change recall"}
	for i, name := range table.Head[1:] {
		recall := []string{string(cyclic.Optimal), string(cyclic.Modeled)}
		bars.Bars = append(bars.Bars, plot.Bar{Name: name, Value: got[append(recall, hourPolicies...)[i]][0]})
	}
	f.SVGs, f.Tables = []string{bars.SVG()}, []Table{table}
	plan, often, auto, own := got[string(cyclic.Optimal)], got["frequency"], got["auto"], got["cyclic"]
	f.Claims = []Claim{
		q.finding("Do plans by the hour capture more where pages keep to minutes of it?", "yes: a plan from the history captures more than the same polls spaced evenly by how often each page changes",
			plan[0] > often[0]+.05 && plan[1] > often[1]+.05, "at 2 and 3 polls an hour the plan has %s, frequency %s, uniform %s", figuresOf(plan), figuresOf(often), figuresOf(got["uniform"])),
		q.finding("How near does auto come without being told?", "nearer to the plan than to uniform polls", auto[0]-got["uniform"][0] > plan[0]-auto[0],
			"at 2 and 3 polls an hour auto has %s, the plan %s, uniform %s", figuresOf(auto), figuresOf(plan), figuresOf(got["uniform"])).
			because("The pages date nothing: one bit a poll tells the minute of a change only to the gap between two polls. Of pages that date their changes auto learns the minute (docs/explanation/learning.md, Minutes of the hour)."),
		q.finding("Does a policy that plans by the hour while it learns (cyclic) capture more than frequency?", "yes", own[0] > often[0],
			"at 2 and 3 polls an hour cyclic has %s, frequency %s", figuresOf(own), figuresOf(often)).
			because("It plans from bits that are as wide as the gaps between its polls, and spends some polls on other minutes to learn. The fewer polls, the more both cost."),
	}
	return f, nil
}

// learning lets a policy learn in the past of a set, and scores it in the future.
func (s captureSet) learning(ctx context.Context, name string, budget float64, seed uint64, make policyMaker) (lab.Score, error) {
	cut := s.before * captureHour
	var pages [][]int
	for i, past := range s.past {
		page := past[:len(past):len(past)]
		for _, at := range s.future[i] {
			page = append(page, at+cut)
		}
		pages = append(pages, page)
	}
	g := lab.NewGrid(time.Unix(0, 0).UTC(), time.Minute, cut+s.hours*captureHour, pages)
	p, err := make(name, policy.Setting{Start: g.Start, Instant: g.Instant, Polls: budget, Sources: len(pages), Seed: seed})
	if err != nil {
		return lab.Score{}, err
	}
	future := lab.NewScorer(s.grid(), lab.Weights{}, lab.Measures{})
	_, err = lab.Replay(ctx, g, p, lab.Options{Budget: budget, Look: func(page, instant int, _ bool) {
		if instant > cut {
			future.Poll(page, instant-cut)
		}
	}})
	return future.Score(), err
}
