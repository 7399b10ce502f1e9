package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
	"freshet/internal/freshet/timetable"
	"freshet/internal/lab"
	"freshet/internal/lab/labflag"
	"freshet/internal/learn/imported"
	"freshet/internal/sched/cyclic"
	"freshet/internal/suggest"
	"freshet/internal/units"
)

// A planning is one run of the verb "plan".
type planning struct {
	*program
	labflag.Period
	page     string
	period   time.Duration
	polls    int
	method   string
	separate bool
	json     bool
	zone     string
	store    storePlanning
}

func planVerb(p *program) *cobra.Command {
	l := planning{program: p, period: time.Hour}
	var traces []string
	cmd := &cobra.Command{
		Use:   "plan (--from-store SOURCE | --trace FILE) --polls N",
		Short: "Find the best times to poll a page that changes in a rhythm",
		Long: `Find the best times to poll within a period that repeats: an hour, a day or a week.

--from-store SOURCE plans from the changes that were recorded of a source, to the
minute, and prints the strategy with the share of versions that it captures. If there
is enough history, that share is measured on the last third of it, with a plan from
the rest. --tag plans for all sources with a tag: --polls are shared out to where each
saves most. --apply puts the plan in force; --watch plans again as history grows.

--trace FILE plans from a trace of past changes. Times are counted in instants from
the start of the period: the hour, the day or the week of the clock of --zone. Periods
that do not fit into a day count from the first change, and all do from a --start. A
poll sees the changes up to the end of its instant.

--page plans for one page of the trace. Otherwise all pages are treated as one: each
change replaces the one before, and several changes in one instant count as one.
With --separate every page keeps its own changes, and each poll sees all pages.

Methods:
  optimal     misses the fewest changes of this trace, then has the least delay
  modeled     uses a model of what repeats in the trace, and ignores the rest
  uniform     equal distances, from the beginning of the period
  best-phase  equal distances, starting where it works best for this trace

Misses and delay are counted as if polling went on before and after the trace; the
last change is captured at the next poll.`,
		Example: "  freshet lab plan --from-store weather --period 1h --polls 2\n  freshet lab plan --tag prices --period 7d --polls 40 --zone Asia/Tokyo --apply\n  freshet lab plan --trace weather.csv --page KJFK --period 1h --polls 3\n  freshet lab plan --trace weather.csv.gz --page KJFK --period 7d --instant 1m --polls 336 --json",
		Args:    takes(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if l.method == "modelled" {
				l.method = string(cyclic.Modeled)
			}
			if err := l.check(); err != nil {
				return err
			}
			if l.store.on || l.store.tag != "" {
				if len(traces) > 0 {
					return usagef("plan: use --trace or --from-store, not both")
				}
				if !cmd.Flags().Changed("polls") {
					return cli.MissingFlag(cmd, "polls", "2")
				}
				if l.polls < 1 {
					return usagef("--polls: %d polls are no strategy; at least 1 is needed", l.polls)
				}
				if err := l.checkStore(args); err != nil {
					return err
				}
				return l.connectToPlan(cmd.Context(), func(w app.Work) (*connection, error) { return p.connect(cmd, w) }, args)
			}
			if len(args) > 0 || l.store.apply || l.store.watch || l.store.each {
				return freshet.WithHint(usagef("plan: a source, --apply, --watch and --each need --from-store"), "freshet lab plan --from-store SOURCE --polls 2")
			}
			trace, err := labflag.One(cmd, "trace", "FILE", traces)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("polls") {
				return cli.MissingFlag(cmd, "polls", "3")
			}
			return l.run(trace)
		},
	}
	flags := cmd.Flags()
	labflag.Traces(flags, &traces)
	flags.StringVar(&l.page, "page", "", "plan for this page (default: all pages together)")
	flags.BoolVar(&l.separate, "separate", false, "every page keeps its own changes, and each poll sees all pages")
	flags.Var((*lengthFlag)(&l.period), "period", "time after which the plan repeats")
	flags.IntVar(&l.polls, "polls", 0, "number of polls per period")
	flags.StringVar(&l.method, "method", string(cyclic.Optimal), "planning method: "+strings.Join(methods(), ", "))
	flags.StringVar(&l.zone, "zone", "", "time zone of the period, such as Europe/Berlin (default UTC)")
	l.store.register(flags)
	l.Period.Register(flags)
	serverFlags(flags)
	jsonFlag(cmd, &l.json)
	return completed(p, cmd, 1)
}

// methods returns the names of the methods of planning.
func methods() []string {
	return each(cyclic.Methods, func(m cyclic.Method) string { return string(m) })
}

// A cyclicPlan is a strategy and what it makes of the history.
type cyclicPlan struct {
	Trace    string  `json:"trace"`
	Page     string  `json:"page,omitempty"`
	Method   string  `json:"method"`
	Start    string  `json:"start"`
	End      string  `json:"end"`
	Instant  float64 `json:"instant_seconds"`
	Instants int     `json:"period_instants"`
	Polls    int     `json:"polls"`

	Offsets   []int   `json:"offsets"`
	Changes   int     `json:"changes"`
	Misses    int     `json:"misses"`
	Recall    float64 `json:"recall"`
	MeanDelay float64 `json:"mean_delay_instants"`
}

// check judges the flags.
func (l *planning) check() error {
	if l.page != "" && l.separate {
		return usagef("plan: use --separate or --page, not both")
	}
	if _, err := timetable.Parse("hour {0} " + l.zone); err != nil {
		return usagef("--zone: %q is not a time zone, such as Europe/Berlin or UTC", l.zone)
	}
	if l.zone == "UTC" {
		l.zone = ""
	}
	if !slices.Contains(methods(), l.method) {
		return usagef("--method: %q is not one of %s%s", l.method, strings.Join(methods(), ", "), suggest.DidYouMean(l.method, methods()))
	}
	if l.Instant <= 0 || l.period <= 0 || l.period%l.Instant != 0 {
		return usagef("--period: %s is not a whole number of instants of %s", units.FormatDuration(l.period), units.FormatDuration(l.Instant))
	}
	return nil
}

// run plans, and shows the plan.
func (l *planning) run(file string) error {
	g, err := l.Grid(file)
	if err != nil {
		return err
	}
	h, err := l.history(g, file)
	if err != nil {
		return err
	}
	s := int(l.period / l.Instant)
	offsets, err := cyclic.Plan(h, s, l.polls, cyclic.Method(l.method))
	if err != nil {
		return cli.WrongField(err)
	}
	tally := h.Count(s, offsets)
	return l.show(g, cyclicPlan{
		Trace: file, Page: l.page, Method: l.method,
		Start: g.Start.Format(time.RFC3339), End: g.Time(g.Instants).Format(time.RFC3339),
		Instant: l.Instant.Seconds(), Instants: s, Polls: l.polls,
		Offsets: offsets, Changes: tally.Changes, Misses: tally.Misses, Recall: tally.Recall(), MeanDelay: tally.MeanDelay(),
	})
}

// history returns what the strategy is planned from.
func (l *planning) history(g *lab.Grid, file string) (h cyclic.Timeline, err error) {
	count, err := l.counter(g)
	if err != nil {
		return h, err
	}
	instants := func(page int) []int { return each(g.Of(page), count) }
	if l.page != "" {
		page, ok := g.Page(freshet.SourceID(l.page))
		if !ok {
			known := each(g.Pages(), func(id freshet.SourceID) string { return string(id) })
			return h, usagef("%s has no page %q%s", file, l.page, suggest.DidYouMean(l.page, known))
		}
		h.Pages = [][]int{instants(page)}
		return h, nil
	}
	for page := range g.Pages() {
		h.Pages = append(h.Pages, instants(page))
	}
	if !l.separate {
		h.Pages = [][]int{slices.Compact(slices.Sorted(slices.Values(slices.Concat(h.Pages...))))}
	}
	return h, nil
}

// counter returns how instants of a grid are counted: from the beginning of a period of
// the clock, unless the period does not fit into a day or its beginning is given.
func (l *planning) counter(g *lab.Grid) (func(int32) int, error) {
	every := slices.IndexFunc(timetable.Periods, func(p timetable.Period) bool { return p.Length() == l.period })
	if every < 0 && units.Day%l.period != 0 || !l.Start.IsZero() {
		return func(j int32) int { return int(j) }, nil
	}
	table, err := timetable.Strategy{Every: timetable.EveryDay, Minutes: []int{0}, Zone: l.zone}.Timetable()
	if err != nil {
		return nil, err
	}
	return func(j int32) int {
		at := g.Time(int(j) - 1)
		wall := time.Duration(table.Clock(at))*time.Second + time.Duration(at.Nanosecond())
		past := (wall%l.Instant + l.Instant) % l.Instant
		return int((wall-past)/l.Instant) + 1
	}, nil
}

// begins returns when the period began that a grid begins in.
func (l *planning) begins(g *lab.Grid) (time.Time, error) {
	count, err := l.counter(g)
	if err != nil {
		return time.Time{}, err
	}
	s := int(l.period / l.Instant)
	past := ((count(1)-1)%s + s) % s
	return g.Start.Add(-time.Duration(past) * l.Instant), nil
}

// show shows a plan.
func (l *planning) show(g *lab.Grid, c cyclicPlan) error {
	if l.json {
		return l.printJSON(c)
	}
	what := counted(len(g.Pages()), "page")
	if c.Page != "" {
		what = "page " + harmless(c.Page)
	}
	fmt.Fprintln(l.out, l.screen().Prose(fmt.Sprintf("%s of %s, from %s: %s per period of %s", what, harmless(c.Trace), c.Start, counted(c.Polls, "poll"), units.FormatDuration(l.period)), "  "))
	fmt.Fprintf(l.out, "%s: of %s %d missed, recall %.4f, mean delay %.2f instants\n", c.Method, counted(c.Changes, "change"), c.Misses, c.Recall, c.MeanDelay)
	begins, err := l.begins(g)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(l.zone)
	if err != nil {
		return err
	}
	t := display.Table{Head: []string{"OFFSET", "POLL AT", "OF THE PERIOD"}}
	for _, b := range c.Offsets {
		// A poll comes at the end of its instant.
		end := time.Duration(b+1) * l.Instant
		t.Add(display.Plain(fmt.Sprint(b)), display.Plain(begins.Add(end).In(zone).Format("2006-01-02 15:04:05")), display.Plain("+"+units.FormatDuration(end)))
	}
	return t.Write(l.out, l.screen())
}

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
		return usagef("--every: %s is too short; the shortest allowed is 1s", units.FormatDuration(s.every))
	}
	every := slices.IndexFunc(timetable.Periods, func(p timetable.Period) bool { return p.Length() == l.period })
	if every < 0 {
		return usagef("--period: a strategy repeats every 1h, 24h or 7d, not %s", units.FormatDuration(l.period))
	}
	s.request = lab.StrategyRequest{Every: timetable.Periods[every], Zone: l.zone, Method: cyclic.Method(l.method)}
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

// watchStore plans again and again, until it is interrupted.
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
	_, err := fmt.Fprintln(l.out, l.screen().Prose(harmless(fmt.Sprintf("%s: %s would capture %s, instead of %s%s", p.Source, p.Strategy, percent(p.Captures), before, done)), "  "))
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
		request := l.store.request
		if request.Announced, err = announcedOf(ctx, c, s.ID); err != nil {
			return all, err
		}
		if chronicles[i], err = lab.NewChronicle(updates, request); err != nil {
			return all, cli.WrongField(err)
		}
		weights[i], shares[i] = s.Weight, l.polls
	}
	if l.store.tag != "" && !l.store.each {
		shares = lab.ShareStrategies(chronicles, weights, l.polls)
	}
	all = storePlans{Polls: l.polls, Period: units.FormatHours(l.period), Zone: l.zone, Plans: []sourcePlan{}}
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
	sources, err := c.Sources.List(ctx, client.SourceQuery{Tag: l.store.tag})
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
	inForce, err := timetable.Parse(s.Strategy)
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
func updatesOf(ctx context.Context, c *connection, id freshet.SourceID) (updates []imported.UpdateTime, err error) {
	q := client.ChangeQuery{ChangeFilter: client.ChangeFilter{Source: id}, Limit: 1000}
	for {
		page, err := c.Changes(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, change := range page.Items {
			u := imported.UpdateTime{After: change.After, Until: change.Before}
			if !change.Modified.IsZero() {
				u.After, u.Until = change.Modified, change.Modified
			}
			updates = append(updates, u)
		}
		if q.After = page.Next; len(page.Items) < q.Limit {
			break
		}
	}
	taught, err := c.Sources.ImportedTimes(ctx, id)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(taught.Times, imported.UpdateTime.Compare)
	updates = slices.DeleteFunc(updates, func(u imported.UpdateTime) bool { // what is known better by what was taught
		i, _ := slices.BinarySearchFunc(taught.Times, u.After, func(t imported.UpdateTime, after time.Time) int {
			if t.Until.After(after) {
				return 1
			}
			return -1
		})
		return i < len(taught.Times) && !taught.Times[i].Until.After(u.Until)
	})
	return append(updates, taught.Times...), nil
}

// announcedOf returns when a source announces that it changes, if it does at equal intervals and a
// daemon has found that to be true.
func announcedOf(ctx context.Context, c *connection, id freshet.SourceID) (a lab.Announced, err error) {
	w, err := c.whyIfKnown(ctx, id)
	if err != nil || w == nil || w.Foretold == nil {
		return a, err
	}
	if f := w.Foretold; f.Believed && f.Every > 0 && f.Times > 0 {
		a = lab.Announced{At: f.At, Every: time.Duration(f.Every), Right: f.Right / f.Times}
	}
	return a, nil
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
	t := display.Table{Head: []string{"SOURCE", "CHANGES", "CAPTURES", "UNIFORM", "STRATEGY"}}
	for _, p := range all.Plans {
		if p.Strategy == "" {
			t.Add(display.Plain(string(p.Source)), display.Plain(fmt.Sprint(p.Changes)), display.Plain("-"), display.Plain("-"), display.Plain("none: polls are worth more elsewhere"))
			continue
		}
		t.Add(display.Plain(string(p.Source)), display.Plain(fmt.Sprint(p.Changes)), display.Plain(percent(p.Captures)), display.Plain(percent(p.Uniform)), display.Plain(p.Strategy))
	}
	if err := t.Write(l.out, l.screen()); err != nil {
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
		if _, err := fmt.Fprintln(l.out, l.screen().Prose(harmless(line), "")); err != nil {
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
