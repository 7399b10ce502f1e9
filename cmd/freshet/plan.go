package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app"
	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/lab/labflag"
	"freshet/internal/sched/cyclic"
	"freshet/internal/suggest"
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
		Example: "  freshet plan --from-store weather --period 1h --polls 2\n  freshet plan --tag prices --period 7d --polls 40 --zone Asia/Tokyo --apply\n  freshet plan --trace weather.csv --page KJFK --period 1h --polls 3\n  freshet plan --trace weather.csv.gz --page KJFK --period 7d --instant 1m --polls 336 --json",
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
				return freshet.WithHint(usagef("plan: a source, --apply, --watch and --each need --from-store"), "freshet plan --from-store SOURCE --polls 2")
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
	flags.StringVar(&l.zone, "zone", "", "time zone whose clock the period goes by, such as Europe/Berlin (default UTC)")
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
	if _, err := freshet.ParseStrategy("hour {0} " + l.zone); err != nil {
		return usagef("--zone: %q is not a time zone, such as Europe/Berlin or UTC", l.zone)
	}
	if l.zone == "UTC" {
		l.zone = ""
	}
	if !slices.Contains(methods(), l.method) {
		return usagef("--method: %q is not one of %s%s", l.method, strings.Join(methods(), ", "), suggest.DidYouMean(l.method, methods()))
	}
	if l.Instant <= 0 || l.period <= 0 || l.period%l.Instant != 0 {
		return usagef("--period: %s is not a whole number of instants of %s", freshet.FormatDuration(l.period), freshet.FormatDuration(l.Instant))
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
			return h, fmt.Errorf("%s has no page %q%s", file, l.page, suggest.DidYouMean(l.page, known))
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
// the clock, unless the period does not fit into a day or somebody says where it begins.
func (l *planning) counter(g *lab.Grid) (func(int32) int, error) {
	every := slices.IndexFunc(freshet.StrategyPeriods, func(p freshet.StrategyPeriod) bool { return p.Length() == l.period })
	if every < 0 && freshet.Day%l.period != 0 || !l.Start.IsZero() {
		return func(j int32) int { return int(j) }, nil
	}
	table, err := freshet.Strategy{Every: freshet.EveryDay, Minutes: []int{0}, Zone: l.zone}.Timetable()
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
	fmt.Fprintln(l.out, l.screen().prose(fmt.Sprintf("%s of %s, from %s: %s per period of %s", what, harmless(c.Trace), c.Start, counted(c.Polls, "poll"), freshet.FormatDuration(l.period)), "  "))
	fmt.Fprintf(l.out, "%s: of %s %d missed, recall %.4f, mean delay %.2f instants\n", c.Method, counted(c.Changes, "change"), c.Misses, c.Recall, c.MeanDelay)
	begins, err := l.begins(g)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(l.zone)
	if err != nil {
		return err
	}
	t := table{head: []string{"OFFSET", "POLL AT", "OF THE PERIOD"}}
	for _, b := range c.Offsets {
		// A poll comes at the end of its instant.
		end := time.Duration(b+1) * l.Instant
		t.add(plain(fmt.Sprint(b)), plain(begins.Add(end).In(zone).Format("2006-01-02 15:04:05")), plain("+"+freshet.FormatDuration(end)))
	}
	return t.write(l.out, l.screen())
}
