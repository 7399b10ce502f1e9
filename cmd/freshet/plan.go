package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/cycle"
	"freshet/lab"
	"freshet/spell"
)

// A planning is one run of the verb "plan".
type planning struct {
	*program
	labPeriod
	page     string
	period   time.Duration
	polls    int
	method   string
	separate bool
	json     bool
}

func planVerb(p *program) *cobra.Command {
	l := planning{program: p, period: time.Hour}
	var traces []string
	cmd := &cobra.Command{
		Use:   "plan --trace FILE --polls N",
		Short: "Find the best times to poll a page that changes in a rhythm",
		Long: `Find the best times to poll within a period that repeats, such as an hour or a week,
from a trace of past changes. Times are counted in instants from the start of the
period. A poll sees the changes up to the end of its instant.

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
		Example: "  freshet plan --trace weather.csv --page KJFK --period 1h --polls 3\n  freshet plan --trace weather.csv.gz --page KJFK --period 7d --instant 1m --polls 336 --json",
		Args:    takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			trace, err := one(cmd, "trace", "FILE", traces)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("polls") {
				return missing(cmd, "polls", "3")
			}
			return l.run(trace)
		},
	}
	flags := cmd.Flags()
	tracesFlag(flags, &traces)
	flags.StringVar(&l.page, "page", "", "plan for this page (default: all pages together)")
	flags.BoolVar(&l.separate, "separate", false, "every page keeps its own changes, and each poll sees all pages")
	flags.Var((*lengthFlag)(&l.period), "period", "time after which the plan repeats")
	flags.IntVar(&l.polls, "polls", 0, "number of polls per period")
	flags.StringVar(&l.method, "method", string(cycle.Optimal), "planning method: "+strings.Join(methods(), ", "))
	l.labPeriod.register(flags)
	jsonFlag(cmd, &l.json)
	return cmd
}

// methods returns the names of the methods of planning.
func methods() []string {
	return each(cycle.Methods, func(m cycle.Method) string { return string(m) })
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

// run plans, and shows the plan.
func (l *planning) run(file string) error {
	if l.page != "" && l.separate {
		return usagef("plan: use --separate or --page, not both")
	}
	if !slices.Contains(methods(), l.method) {
		return usagef("--method: %q is not one of %s%s", l.method, strings.Join(methods(), ", "), spell.DidYouMean(l.method, methods()))
	}
	if l.instant <= 0 || l.period <= 0 || l.period%l.instant != 0 {
		return usagef("--period: %s is not a whole number of instants of %s", freshet.FormatDuration(l.period), freshet.FormatDuration(l.instant))
	}
	g, err := l.grid(file)
	if err != nil {
		return err
	}
	h, err := l.history(g, file)
	if err != nil {
		return err
	}
	s := int(l.period / l.instant)
	offsets, err := cycle.Plan(h, s, l.polls, cycle.Method(l.method))
	if err != nil {
		return flagFault(err)
	}
	tally := h.Count(s, offsets)
	return l.show(g, cyclicPlan{
		Trace: file, Page: l.page, Method: l.method,
		Start: g.Start.Format(time.RFC3339), End: g.Time(g.Instants).Format(time.RFC3339),
		Instant: l.instant.Seconds(), Instants: s, Polls: l.polls,
		Offsets: offsets, Changes: tally.Changes, Misses: tally.Misses, Recall: tally.Recall(), MeanDelay: tally.MeanDelay(),
	})
}

// history returns what the strategy is planned from.
func (l *planning) history(g *lab.Grid, file string) (h cycle.Timeline, err error) {
	instants := func(page int) []int { return each(g.Of(page), func(j int32) int { return int(j) }) }
	if l.page != "" {
		page, ok := g.Page(freshet.SourceID(l.page))
		if !ok {
			known := each(g.Pages(), func(id freshet.SourceID) string { return string(id) })
			return h, fmt.Errorf("%s has no page %q%s", file, l.page, spell.DidYouMean(l.page, known))
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
	t := table{head: []string{"OFFSET", "POLL AT", "OF THE PERIOD"}}
	for _, b := range c.Offsets {
		// A poll comes at the end of its instant.
		end := time.Duration(b+1) * l.instant
		t.add(plain(fmt.Sprint(b)), plain(g.Start.Add(end).Format("2006-01-02 15:04:05")), plain("+"+freshet.FormatDuration(end)))
	}
	return t.write(l.out, l.screen())
}
