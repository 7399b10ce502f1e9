package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/lab"
	"freshet/internal/lab/labflag"
	"freshet/internal/lab/plot"
	"freshet/internal/units"
)

// A labReplay is one run of the verb "lab replay".
type labReplay struct {
	*program
	labSetting
	store   storeFlags
	chances string // file
	picture pictureFlags
	honest  bool   // hold what is said of polls against the truth
	plot    string // file for a picture of that
	json    bool
}

func labReplayVerb(p *program) *cobra.Command {
	r := labReplay{program: p, store: storeFlags{hidden: true}}
	var traces []string
	policies := policiesFlag()
	budget := labflag.Budgets()
	cmd := &cobra.Command{
		Use:   "replay {--trace FILE --budget POLLS | --from-store} --policy POLICY",
		Short: "Replay a trace with one policy, and score the result",
		Long: `Replay a trace with one policy, and report how many changes it captured and how
late.

The budget is the number of polls per instant. With a fraction such as 0.5, unused
budget is carried over, up to the budget of one instant and at least one poll.

` + estimateHelp + evidenceHelp + conditionsHelp + calibrationHelp + fromStoreHelp,
		Example: "  freshet lab replay --trace feeds.csv.gz --policy wic --budget 8 --instant 1m --json\n" +
			"  freshet lab replay --trace feeds.csv --policy sample-greedy:samples=10,share=0.3 --budget 20 --html replay.html\n" +
			"  freshet lab replay --trace feeds.csv --policy auto --budget 8 --calibration --plot calibration.svg\n" +
			"  freshet lab replay --trace feeds.csv --policy auto --budget 8 --continuous --host-delay 5s --fail 0.02\n" +
			"  freshet lab replay --from-store --policy frequency --days 14",
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if r.store.on {
				return r.runRecorded(cmd, traces, policies.List, budget.List)
			}
			trace, err := labflag.One(cmd, "trace", "FILE", traces)
			if err != nil {
				return err
			}
			name, err := labflag.One(cmd, "policy", "uniform", policies.List)
			if err != nil {
				return err
			}
			polls, err := labflag.One(cmd, "budget", "8", budget.List)
			if err != nil {
				return err
			}
			t, err := r.openTrace(trace)
			if err != nil {
				return err
			}
			return r.run(cmd.Context(), t, name, polls)
		},
	}
	flags := cmd.Flags()
	labflag.Traces(flags, &traces)
	flags.Var(&policies, "policy", "policy to replay; freshet lab compare --help lists them")
	flags.Var(&budget, "budget", "polls per instant; fractions are allowed")
	r.store.register(flags)
	r.labSetting.register(flags)
	flags.StringVar(&r.chances, "chances", "", "CSV file with the header page,time,chance: chances that are given to auto or wic in the place of what they learn")
	flags.BoolVar(&r.limit, "limit", false, "compare the score with the best that was possible")
	flags.BoolVar(&r.honest, "calibration", false, "compare Freshet's own predictions with the truth")
	flags.StringVar(&r.plot, "plot", "", "draw the calibration to this SVG file")
	r.picture.register(flags)
	jsonFlag(cmd, &r.json)
	return cmd
}

// run replays, and shows how it went.
func (r *labReplay) run(ctx context.Context, c *lab.Case, policy string, budget float64) error {
	terms, err := r.terms()
	if err != nil {
		return err
	}
	bar := r.progress("replaying", c.Grid.Instants)
	begins, ends := instantProgress(bar, c.Grid.Instants)
	o := lab.Options{Progress: begins}
	if r.chances != "" {
		if o.Chances, err = lab.ReadChances(r.chances, c.Grid); err != nil {
			return err
		}
	}
	var curve *lab.CaptureCurve
	if r.picture.wanted() {
		curve = lab.NewCaptureCurve(c)
		o.Look = curve.Look
	}
	var held *lab.Calibration
	if r.honest || r.plot != "" {
		at, err := terms.Setting(policy, c.Grid, budget)
		if err != nil {
			return cli.WrongField(err)
		}
		held = lab.NewCalibration(c.Grid, at)
		o.Learner = held
	}
	result, err := terms.Try(ctx, c, policy, budget, o)
	ends()
	bar.Done()
	if err != nil {
		return cli.WrongField(err)
	}
	if r.limit {
		most, err := c.Grid.Limit(budget, c.Weights)
		if err != nil {
			return cli.WrongField(err)
		}
		result.HoldAgainst(most, c.Weight)
	}
	if held != nil {
		result.Calibration = held.Figures(result.Score)
	}
	if c.Recorded != nil {
		result.Recorded = c.Recorded.Figures()
		result.Recorded.Score = &c.Recorded.Score
	}
	if err := r.draw(c, result, curve); err != nil {
		return err
	}
	if r.json {
		return r.printJSON(result)
	}
	return r.show(c, result)
}

// draw draws the pictures that were asked for.
func (r *labReplay) draw(c *lab.Case, result lab.Trial, curve *lab.CaptureCurve) error {
	if curve != nil {
		page := curve.Page(result)
		if c.Recorded != nil {
			page.About += " " + caveat(r.store.hidden)
		}
		if err := r.picture.write(page); err != nil {
			return err
		}
	}
	if r.plot == "" {
		return nil
	}
	title := fmt.Sprintf("%s on %s: predicted and actual changes", result.Policy, c.Name())
	return (&pictureFlags{svg: r.plot}).write(plot.Page{Title: title, Charts: []interface{ SVG() string }{result.Calibration.Chart(title)}})
}

// show shows to people how a replay went.
func (r *labReplay) show(c *lab.Case, result lab.Trial) error {
	if err := r.report(result); err != nil {
		return err
	}
	if result.Calibration != nil {
		if err := printCalibration(r.program, result.Calibration); err != nil {
			return err
		}
	}
	if c.Recorded == nil {
		return nil
	}
	return printRecorded(r.program, c, &r.store)
}

// report shows one trial to people.
func (r *labReplay) report(x lab.Trial) error {
	var b strings.Builder
	paint := r.screen()
	say := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "%s%s\n", paint.Dim(fmt.Sprintf("%-11s", what)), fmt.Sprintf(format, args...))
	}
	say("trace", "%s", harmless(x.Trace))
	say("period", "%s to %s, %d instants of %s", x.Start, x.End, x.Instants, units.FormatDuration(r.Instant))
	say("pages", "%d, with %s", x.Pages, counted(x.Changes, "change"))
	say("worth", "life %s, urgency %s", x.Life, x.Urgency)
	say("policy", "%s, %s, estimate %s, evidence %s, seed %d", x.Policy, x.Rate(), x.Estimate, x.Evidence, x.Seed)
	if met := x.Met(); met != "" {
		say("polls meet", "%s", met)
	}
	b.WriteString("\n")
	say("captured", "%d, %d of them at once", x.Captured, x.ZeroDelay)
	say("missed", "%d", x.Missed())
	say("recall", "%.4f", x.Recall)
	say("utility", "%.4f, %s in all", x.UtilityNormalized, plot.Brief(x.Utility))
	if x.TrialLimit != nil {
		say("limit", "%.4f, %s; %.1f%% of it was had", x.LimitNormalized, lab.Exactness(x.LimitExact), 100*x.OfLimit)
	}
	say("polls", "%d, %d of them found a change (%.4f)", x.Polls, x.Found, x.ChangeRatio)
	if x.IndexPolls > 0 {
		say("indexes", "%d of them", x.IndexPolls)
	}
	if x.Failed > 0 {
		say("failed", "%d of them", x.Failed)
	}
	say("delay", "%.2f instants on average; half within %d, 90%% within %d, 99%% within %d", x.MeanDelay, x.DelayP50, x.DelayP90, x.DelayP99)
	say("freshness", "%.4f", x.Freshness)
	say("age", "%s", plot.Brief(x.AgeSeconds)+"s")
	if r.divergence != "" {
		say("divergence", "%s on average", plot.Brief(x.Divergence))
	}
	say("fairness", "%.4f of the pages that changed were polled", x.Fairness)
	_, err := fmt.Fprint(r.out, b.String())
	return err
}
