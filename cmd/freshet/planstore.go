package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/sched/cyclic"
)

// A storePlanning plans strategies from the history that a daemon has recorded.
type storePlanning struct {
	on      bool
	tag     string
	each    bool
	apply   bool
	watch   bool
	every   time.Duration
	margin  shareFlag
	request lab.StrategyRequest
}

func (l *storePlanning) register(flags *pflag.FlagSet) {
	l.every, l.margin = time.Hour, 0.02
	flags.BoolVar(&l.on, "from-store", false, "plan for a source from the changes that were recorded of it")
	flags.StringVar(&l.tag, "tag", "", "plan for all sources with this tag; they share --polls")
	flags.BoolVar(&l.each, "each", false, "give --polls to each source of the tag")
	flags.BoolVar(&l.apply, "apply", false, "put the plan in force as the strategy of the source")
	flags.BoolVar(&l.watch, "watch", false, "plan again as history grows, and say when a new plan would capture more")
	flags.Var((*lengthFlag)(&l.every), "every", "how often to plan again with --watch")
	flags.Var(&l.margin, "margin", "how much more a new plan must capture with --watch")
}

// A sourcePlan is the plan for one source.
type sourcePlan struct {
	Source   freshet.SourceID `json:"source"`
	Strategy string           `json:"strategy,omitempty"`
	Polls    int              `json:"polls"`
	Method   string           `json:"method"`
	Changes  int              `json:"changes"`
	From     time.Time        `json:"from,omitzero"`
	To       time.Time        `json:"to,omitzero"`
	Width    float64          `json:"uncertainty_seconds"`
	Captures float64          `json:"captures"`
	Uniform  float64          `json:"uniform_captures"`
	HeldOut  bool             `json:"held_out"`
	InForce  string           `json:"in_force,omitempty"`
	Captured *float64         `json:"in_force_captures,omitempty"`
	Applied  bool             `json:"applied"`
}

// storePlans are the plans for all sources that were named.
type storePlans struct {
	Polls  int          `json:"polls"`
	Period string       `json:"period"`
	Zone   string       `json:"zone"`
	Plans  []sourcePlan `json:"plans"`
}

// check judges the flags of a plan from the store.
func (l *planning) checkStore(args []string) error {
	s := &l.store
	switch {
	case len(args) == 0 && s.tag == "":
		return usagef("plan: name the source to plan for, or a tag with --tag")
	case len(args) > 0 && s.tag != "":
		return usagef("plan: use SOURCE or --tag, not both")
	case s.each && s.tag == "":
		return usagef("plan: --each needs --tag")
	case s.watch && s.every < time.Second:
		return usagef("--every: %s is too short; the shortest allowed is 1s", freshet.FormatDuration(s.every))
	}
	every := slices.IndexFunc(freshet.StrategyPeriods, func(p freshet.StrategyPeriod) bool { return p.Length() == l.period })
	if every < 0 {
		return usagef("--period: a strategy repeats every 1h, 24h or 7d, not %s", freshet.FormatDuration(l.period))
	}
	s.request = lab.StrategyRequest{Every: freshet.StrategyPeriods[every], Zone: l.zone, Method: cyclic.Method(l.method)}
	return nil
}

// runStore plans from the store.
func (l *planning) runStore(ctx context.Context, c *connection, args []string) error {
	plans, err := l.planStore(ctx, c, args)
	if err != nil {
		return err
	}
	for i := range plans.Plans {
		if p := &plans.Plans[i]; l.store.apply && (!l.store.watch || p.InForce == "" || l.better(p)) {
			if err := l.putInForce(ctx, c, p); err != nil {
				return err
			}
		}
	}
	if err := l.showStore(plans); err != nil || !l.store.watch {
		return err
	}
	return l.watchStore(ctx, c, args)
}

// watchStore plans again and again, until somebody interrupts it.
func (l *planning) watchStore(ctx context.Context, c *connection, args []string) error {
	told := map[freshet.SourceID]string{}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(l.store.every):
		}
		plans, err := l.planStore(ctx, c, args)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		for i := range plans.Plans {
			p := &plans.Plans[i]
			if !l.better(p) || told[p.Source] == p.Strategy {
				continue
			}
			told[p.Source] = p.Strategy
			if l.store.apply {
				if err := l.putInForce(ctx, c, p); err != nil {
					return err
				}
			}
			if err := l.tellBetter(p); err != nil {
				return err
			}
		}
	}
}

// better reports whether a plan captures more than what is in force, by the margin.
func (l *planning) better(p *sourcePlan) bool {
	before := p.Uniform
	if p.Captured != nil {
		before = *p.Captured
	}
	return p.Strategy != "" && p.Strategy != p.InForce && p.Captures >= before+float64(l.store.margin)
}

func (l *planning) tellBetter(p *sourcePlan) error {
	if l.json {
		return json.NewEncoder(l.out).Encode(p)
	}
	before := fmt.Sprintf("%s at equal distances", percent(p.Uniform))
	if p.Captured != nil {
		before = fmt.Sprintf("%s by %s", percent(*p.Captured), p.InForce)
	}
	done := ""
	if p.Applied {
		done = "; it is in force now"
	}
	_, err := fmt.Fprintln(l.out, l.screen().prose(harmless(fmt.Sprintf("%s: %s would capture %s, instead of %s%s", p.Source, p.Strategy, percent(p.Captures), before, done)), "  "))
	return err
}

// planStore plans once.
func (l *planning) planStore(ctx context.Context, c *connection, args []string) (all storePlans, err error) {
	sources, err := l.sourcesToPlan(ctx, c, args)
	if err != nil {
		return all, err
	}
	chronicles, weights := make([]*lab.Chronicle, len(sources)), make([]float64, len(sources))
	shares := make([]int, len(sources))
	for i, s := range sources {
		updates, err := updatesOf(ctx, c, s.ID)
		if err != nil {
			return all, err
		}
		if len(updates) == 0 && l.store.tag == "" {
			return all, freshet.WithHint(fmt.Errorf("%s: no change has been recorded yet", s.ID), "let the daemon watch it for a while")
		}
		if chronicles[i], err = lab.NewChronicle(updates, l.store.request); err != nil {
			return all, cli.WrongField(err)
		}
		weights[i], shares[i] = s.Weight, l.polls
	}
	if l.store.tag != "" && !l.store.each {
		shares = lab.ShareStrategies(chronicles, weights, l.polls)
	}
	all = storePlans{Polls: l.polls, Period: freshet.FormatHours(l.period), Zone: l.zone, Plans: []sourcePlan{}}
	for i, s := range sources {
		p, err := l.planSource(s, chronicles[i], shares[i])
		if err != nil {
			return all, err
		}
		all.Plans = append(all.Plans, p)
	}
	return all, nil
}

func (l *planning) sourcesToPlan(ctx context.Context, c *connection, args []string) ([]client.Source, error) {
	if l.store.tag == "" {
		s, err := c.watched(ctx, args[0])
		return []client.Source{s}, err
	}
	sources, err := c.Sources(ctx, client.SourceQuery{Tag: l.store.tag})
	if err == nil && len(sources) == 0 {
		err = freshet.WithHint(fmt.Errorf("no source has the tag %q", l.store.tag), "freshet list shows the tags")
	}
	return sources, err
}

// planSource plans for one source.
func (l *planning) planSource(s client.Source, history *lab.Chronicle, polls int) (p sourcePlan, err error) {
	p = sourcePlan{Source: s.ID, Polls: polls, Method: l.method, InForce: s.Strategy}
	if polls == 0 {
		return p, nil
	}
	inForce, err := freshet.ParseStrategy(s.Strategy)
	if err != nil {
		return p, err
	}
	plan, err := history.Plan(polls, inForce)
	if err != nil {
		return p, cli.WrongField(err)
	}
	p.Strategy, p.Changes, p.From, p.To, p.Width = plan.Strategy.String(), plan.Changes, plan.From.UTC(), plan.To.UTC(), plan.Width.Seconds()
	p.Captures, p.Uniform, p.HeldOut = plan.Planned, plan.Uniform, plan.HeldOut
	if !inForce.IsZero() {
		p.Captured = &plan.InForce
	}
	return p, nil
}

// updatesOf returns when a source changed, as far as that is recorded or was taught.
func updatesOf(ctx context.Context, c *connection, id freshet.SourceID) (updates []freshet.UpdateTime, err error) {
	q := client.ChangeQuery{ChangeFilter: client.ChangeFilter{Source: id}, Limit: 1000}
	for {
		page, err := c.Changes(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, change := range page.Items {
			u := freshet.UpdateTime{After: change.After, Until: change.Before}
			if !change.Modified.IsZero() {
				u.After, u.Until = change.Modified, change.Modified
			}
			updates = append(updates, u)
		}
		if q.After = page.Next; len(page.Items) < q.Limit {
			break
		}
	}
	taught, err := c.Taught(ctx, id)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(taught.Times, freshet.UpdateTime.Compare)
	updates = slices.DeleteFunc(updates, func(u freshet.UpdateTime) bool { // what is known better by what was taught
		i, _ := slices.BinarySearchFunc(taught.Times, u.After, func(t freshet.UpdateTime, after time.Time) int {
			if t.Until.After(after) {
				return 1
			}
			return -1
		})
		return i < len(taught.Times) && !taught.Times[i].Until.After(u.Until)
	})
	return append(updates, taught.Times...), nil
}

// putInForce makes a plan the strategy of its source.
func (l *planning) putInForce(ctx context.Context, c *connection, p *sourcePlan) error {
	if p.Strategy == "" {
		return nil
	}
	s, err := c.edit(ctx, p.Source, client.Patch{"strategy": p.Strategy})
	if err != nil {
		return fmt.Errorf("put the plan for %s in force: %w", p.Source, err)
	}
	p.Applied = true
	warnOfFile(l.program, s)
	return nil
}

// showStore shows plans from the store.
func (l *planning) showStore(all storePlans) error {
	if l.json {
		return l.printJSON(all)
	}
	if len(all.Plans) == 1 {
		return l.showOne(all.Plans[0])
	}
	t := table{head: []string{"SOURCE", "CHANGES", "CAPTURES", "UNIFORM", "STRATEGY"}}
	for _, p := range all.Plans {
		if p.Strategy == "" {
			t.add(plain(string(p.Source)), plain(fmt.Sprint(p.Changes)), plain("-"), plain("-"), plain("none: polls are worth more elsewhere"))
			continue
		}
		t.add(plain(string(p.Source)), plain(fmt.Sprint(p.Changes)), plain(percent(p.Captures)), plain(percent(p.Uniform)), plain(p.Strategy))
	}
	if err := t.write(l.out, l.screen()); err != nil {
		return err
	}
	return l.sayApplied(slices.ContainsFunc(all.Plans, func(p sourcePlan) bool { return p.Applied }))
}

func (l *planning) showOne(p sourcePlan) error {
	trial := "of the changes that it was planned from"
	if p.HeldOut {
		trial = "of later changes, planned from the ones before"
	}
	lines := []string{
		p.Strategy,
		fmt.Sprintf("It captures %s %s; as many polls at equal distances capture %s.", percent(p.Captures), trial, percent(p.Uniform)),
		fmt.Sprintf("%s: %s from %s to %s.", p.Source, counted(p.Changes, "change"), p.From.Format(time.RFC3339), p.To.Format(time.RFC3339)),
	}
	if p.Captured != nil {
		lines = append(lines, fmt.Sprintf("%s, which is in force, captures %s.", p.InForce, percent(*p.Captured)))
	}
	if gap := l.period / time.Duration(max(p.Polls, 1)); p.Width > gap.Seconds()/2 {
		lines = append(lines, fmt.Sprintf("The times of these changes are known to %s only; poll it more often for a while for a better plan.", roughDuration(time.Duration(p.Width*float64(time.Second)))))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(l.out, l.screen().prose(harmless(line), "")); err != nil {
			return err
		}
	}
	return l.sayApplied(p.Applied)
}

func (l *planning) sayApplied(applied bool) error {
	said := "To put it in force: add --apply."
	switch {
	case applied:
		said = "It is in force."
	case l.store.watch:
		return nil
	}
	_, err := fmt.Fprintln(l.out, said)
	return err
}

// connectToPlan runs a plan from the store over the API.
func (l *planning) connectToPlan(ctx context.Context, connect func(app.Work) (*connection, error), args []string) (err error) {
	c, err := connect(app.Reading)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	return l.runStore(ctx, c, args)
}
