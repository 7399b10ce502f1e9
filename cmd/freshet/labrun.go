package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
	"freshet/internal/lab/labflag"
)

// A labRun is one run of the verb "lab run".
type labRun struct {
	*program
	policies labflag.Policies
	sources  []string
	during   span
	asked    client.LabRequest
	json     bool
}

func labRunVerb(p *program) *cobra.Command {
	l := labRun{program: p, policies: policiesFlag()}
	cmd := &cobra.Command{
		Use:   "run --policies POLICY...",
		Short: "Have the daemon compare policies on what it recorded",
		Long: `Have the daemon replay what it recorded with other policies and budgets, and show what
each would have captured, beside what was possible. Nothing is fetched. The page shows
the same at /lab.

Budgets are written as for freshet serve, such as 10/m. Without --budgets there are five,
from a quarter of what was spent to four times of it. --tag, --source, --since and --until
choose a part of what was recorded.

The daemon makes one run at a time, at half of one processor, so that its polls are not
late; others wait. Ctrl-C cancels the run. A run takes at most 20,000 sources and the
newest 1,000,000 polls. freshet lab compare --from-store has no such bounds, reads the data
directory itself, and has more options.`,
		Example: "  freshet lab run --policies auto,uniform,wic\n" +
			"  freshet lab run --policies auto,frequency --budgets 1/m,10/m,60/m --tag news --since 14d\n" +
			"  freshet lab run --policies auto,uniform --json",
		Args: takes(0, 0),
	}
	flags := cmd.Flags()
	flags.Var(&l.policies, "policies", "policies to compare, separated by commas")
	flags.StringSliceVar(&l.asked.Budgets, "budgets", nil, "budgets to compare, separated by commas, such as 1/m,10/m")
	flags.StringVar(&l.asked.Tag, "tag", "", "only sources with this tag")
	flags.StringSliceVar(&l.sources, "source", nil, "only this source; can be repeated")
	l.during.register(cmd, "polls")
	flags.Uint64Var(&l.asked.Seed, "seed", 1, "random seed; the same seed gives the same result")
	flags.BoolVar(&l.asked.SeenOnly, "seen-only", false, "do not add, at random, changes that were probably missed between two polls")
	jsonFlag(cmd, &l.json)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		if len(l.policies.List) == 0 {
			return cli.MissingFlag(cmd, "policies", "auto,uniform")
		}
		return l.run(ctx, c)
	})
}

func (l *labRun) run(ctx context.Context, c *connection) error {
	during, err := l.during.read(l.program)
	if err != nil {
		return err
	}
	l.asked.Policies, l.asked.Since, l.asked.Until = l.policies.List, written(during.Since), written(during.Until)
	for _, id := range l.sources {
		l.asked.Sources = append(l.asked.Sources, freshet.SourceID(id))
	}
	run, err := c.LabRuns.Add(ctx, l.asked)
	if err != nil {
		return err
	}
	run, err = l.follow(ctx, c, run)
	switch {
	case err != nil:
		return err
	case run.State == client.LabCancelled:
		return errors.New("the run was cancelled")
	case run.State == client.LabFailed:
		return freshet.WithHint(errors.New(run.Error), run.Hint)
	case l.json:
		return l.printJSON(run)
	}
	return l.show(run)
}

// written writes a time for the API; none is "".
func written(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// follow waits until a run is over, and shows how far it has come. If it is stopped it
// cancels the run.
func (l *labRun) follow(ctx context.Context, c *connection, run client.LabRun) (client.LabRun, error) {
	const steps = 1000
	var bar *cli.Progress
	doing, shown := "", 0
	defer func() {
		if bar != nil {
			bar.Done()
		}
	}()
	for !run.State.Over() {
		if now := labDoing(run); now != doing {
			if bar != nil {
				bar.Done()
			}
			bar, doing, shown = l.progress(now, steps), now, 0
		}
		reached := int(run.Progress * steps)
		bar.Add(max(0, reached-shown))
		shown = max(shown, reached)
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer cancel()
			return run, errors.Join(ctx.Err(), c.LabRuns.Remove(last, run.ID))
		}
		var err error
		if run, err = c.LabRuns.Get(ctx, run.ID); err != nil && ctx.Err() == nil {
			return run, err
		}
	}
	return run, nil
}

// runCaveat says what a replay of a log cannot show.
const runCaveat = `The recording has only what its own polls found. Changes missed between polls are
added at random, as if each source changed at a steady rate, unless --seen-only leaves
them out, which favours the policy that made the recording.`

// labDoing says what a run does.
func labDoing(run client.LabRun) string {
	if run.State == client.LabWaiting {
		return "waiting for " + counted(run.Ahead, "other run")
	}
	return run.Doing
}

// show shows to people how a run went.
func (l *labRun) show(run client.LabRun) error {
	r := run.Result
	paint := l.screen()
	t := display.Table{Head: []string{"BUDGET", "POLICY", "CAPTURED", "OF LIMIT", "LATE", "FRESH", "AGE", "POLLS"}, Drop: []string{"AGE", "FRESH", "POLLS"}}
	add := func(budget, policy, of string, s client.LabScore, paint func(string) string) {
		cells := []string{budget, policy, fmt.Sprintf("%.1f%%", 100*s.Recall), of, s.Delay.String(), fmt.Sprintf("%.1f%%", 100*s.Freshness), s.Age.String(), strconv.Itoa(s.Polls)}
		t.Add(each(cells, func(text string) display.Cell { return display.Painted(harmless(text), paint) })...)
	}
	add(r.Spent, "(recorded)", "", r.Recorded, paint.Dim)
	for _, b := range r.Budgets {
		sign := "<= "
		if b.LimitExact {
			sign = ""
		}
		limit := each([]string{b.Budget, "(limit)", sign + fmt.Sprintf("%.1f%%", 100*b.Limit), "", "", "", "", ""}, func(text string) display.Cell { return display.Painted(text, paint.Dim) })
		t.Add(limit...)
		for _, x := range b.Trials {
			add(b.Budget, x.Policy, fmt.Sprintf("%.1f%%", 100*x.OfLimit), x.LabScore, nil)
		}
	}
	if err := t.Write(l.out, paint); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s to %s, instants of %s; %s, %s, %s of which %d were added\n",
		r.From.Format(time.RFC3339), r.To.Format(time.RFC3339), r.Instant, counted(r.Sources, "source"), counted(r.Polls, "poll"), counted(r.Changes+r.Added, "change"), r.Added)
	if r.Weighed {
		b.WriteString("Sources differ in weight or urgency: the limit is of worth, not of changes.\n")
	}
	if r.Cut {
		b.WriteString("Older polls were left out.\n")
	}
	fmt.Fprintf(&b, "\n%s\n", paint.Dim(runCaveat))
	_, err := fmt.Fprint(l.out, b.String())
	return err
}
