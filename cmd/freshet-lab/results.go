package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/lab"
	"freshet/internal/lab/labflag"
	"freshet/internal/research/baselines"
	"freshet/internal/research/limit"
	"freshet/internal/research/results"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
)

// A resultsRun is one run of the verb "results".
type resultsRun struct {
	*program
	comparison results.Comparison
	policies   labflag.Policies
	evidence   evidences
	page       string
	data       string
	plot       string
	cache      string
	json       bool
}

func resultsVerb(p *program) *cobra.Command {
	l := resultsRun{program: p, policies: policies()}
	cmd := &cobra.Command{
		Use:   "results --traces DIR",
		Short: "Compare all policies on all traces of a directory",
		Long: `Replay every trace of a directory with every policy, and write a Markdown page: what
share of the limit each policy captured, and how often the first one won and lost. There
are four parts: a reference budget for each trace; the budgets at which the limit captures
30%, 60% and 90% of changes; those budgets again where changes stay and late captures are
worth less (append and exp:0.9); and parts of known recordings that were not used to
develop any policy. --csv writes every setting.

Recordings known by name have their own instant, budget and period. Other traces are
used whole, with instants that suit their length, and with as many polls as there
are changes.

This takes several minutes. --quick makes only the first part and runs each policy
once. --cache keeps computed limits for the next run.

--evidence compares what polls can show instead (see freshet lab replay): auto, or
each of --policies, is run five times at the reference budget of each trace with
each kind of evidence, a little at random. The result is a table of the share of the
limit: the mean of the five runs and, in thousandths, their standard deviation.
--held-out takes the held-out settings instead.

--literature makes only the table of what the literature on crawling proposes, in the
reference and the held-out settings. Without it the table is part of the page, unless
--quick or --policies is given.`,
		Example: "  freshet-lab results --traces recordings --out results.md --plot results.svg --csv results.csv\n" +
			"  freshet-lab results --traces mine --policies auto,uniform --quick\n" +
			"  freshet-lab results --traces recordings --evidence bits,feed:5,index --only rss-a,telegram-web --jobs 1",
		Args: cli.Takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if l.comparison.Traces == "" {
				l.comparison.Traces = l.env("FRESHET_TRACES")
			}
			if l.comparison.Traces == "" {
				return cli.MissingFlag(cmd, "traces", "DIR")
			}
			if l.comparison.Jobs < 0 {
				return cli.Usagef("--jobs must be 1 or more")
			}
			if len(l.evidence) == 0 && l.comparison.Reserved {
				return cli.Usagef("--held-out needs --evidence; without it the held-out settings are part of the page")
			}
			if len(l.evidence) > 0 && l.plot != "" {
				return cli.Usagef("--plot draws policies, not --evidence")
			}
			if l.comparison.Literature && (len(l.evidence) > 0 || len(l.policies.List) > 0 || l.comparison.Quick || l.plot != "") {
				return cli.Usagef("--literature takes its own policies, evidence and settings: leave out --policies, --evidence, --quick and --plot")
			}
			return l.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&l.comparison.Traces, "traces", "", "directory of traces: CSV or CSV.gz [FRESHET_TRACES]")
	flags.StringVar(&l.page, "out", "", "file to write the page to (default: standard output)")
	flags.BoolVar(&l.comparison.Quick, "quick", false, "use only the reference budgets, and run each policy once")
	flags.Var(&l.policies, "policies", "policies to compare; the others are compared with the first (default: all of interest)")
	flags.Var(&l.evidence, "evidence", "compare kinds of evidence instead of policies: "+lab.EvidenceForms)
	flags.BoolVar(&l.comparison.Reserved, "held-out", false, "with --evidence, use the held-out settings of the traces")
	flags.BoolVar(&l.comparison.Literature, "literature", false, "compare only what the literature on crawling proposes")
	flags.StringSliceVar(&l.comparison.Only, "only", nil, "use only the traces of these names")
	flags.IntVar(&l.comparison.Jobs, "jobs", 0, "replays at the same time (default: one for each processor)")
	flags.Var((*cli.Length)(&l.comparison.Instant), "instant", "length of an instant for traces not known by name (default: depends on the trace)")
	flags.StringVar(&l.plot, "plot", "", "draw the mean scores to this SVG file")
	flags.StringVar(&l.data, "csv", "", "write every setting to this CSV file")
	flags.StringVar(&l.cache, "cache", "", "file that keeps computed limits for the next run")
	cli.JSONFlag(cmd, &l.json)
	return cmd
}

// run compares, and writes the page.
func (l *resultsRun) run(ctx context.Context) (err error) {
	if len(l.policies.List) > 0 {
		if l.comparison.Contenders, err = results.Contenders(l.policies.List...); err != nil {
			return cli.WrongField(err)
		}
	}
	l.comparison.Evidence, l.comparison.Limits = l.evidence, &limit.Book{}
	if l.cache != "" {
		if l.comparison.Limits, err = limit.OpenBook(l.cache); err != nil {
			return freshet.WithHint(err, "choose another file with --cache, or delete this one")
		}
	}
	results, err := l.compare(ctx)
	if err != nil {
		return cli.WrongField(err)
	}
	for _, name := range results.Missing {
		fmt.Fprintf(l.err, "left out: %s is missing\n", name)
	}
	if l.plot != "" {
		if err := os.WriteFile(l.plot, []byte(results.Draw().SVG()), 0o644); err != nil {
			return fmt.Errorf("write a picture: %w", err)
		}
	}
	if l.data != "" {
		var data bytes.Buffer
		if err := results.WriteCSV(&data); err != nil {
			return err
		}
		if err := os.WriteFile(l.data, data.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write every setting: %w", err)
		}
	}
	if l.page != "" {
		if err := l.write(results); err != nil {
			return err
		}
	}
	switch {
	case l.json:
		return cli.WriteJSON(l.out, results)
	case l.page == "":
		return l.render(l.out, results)
	}
	return nil
}

// compare runs the comparison, and shows how far it has come. What was worked
// out of limits is kept also if it is stopped.
func (l *resultsRun) compare(ctx context.Context) (*results.Results, error) {
	fmt.Fprintln(l.err, "reading traces and computing limits")
	began := time.Now()
	results, err := watched(l, func() (*results.Results, error) { return l.comparison.Run(ctx) })
	if l.cache != "" {
		if err := l.comparison.Limits.Save(l.cache); err != nil {
			return nil, err
		}
	}
	if err == nil {
		fmt.Fprintf(l.err, "compared %s on %s in %s\n", cli.Counted(len(results.Contenders), "contender"), cli.Counted(max(len(results.Reference), len(results.HeldOut)), "trace"), units.FormatDuration(time.Since(began).Round(time.Second)))
	}
	return results, err
}

// watched shows how far a comparison has come.
func watched[T any](l *resultsRun, run func() (T, error)) (T, error) {
	const steps = 1000
	bar := l.progress("comparing", steps)
	defer bar.Done()
	var mutex sync.Mutex
	shown := 0
	l.comparison.Progress = func(done, all int) {
		mutex.Lock()
		defer mutex.Unlock()
		reached := done * steps / all
		if tenth := steps / 10; !bar.Shown() && reached/tenth > shown/tenth && done < all {
			fmt.Fprintf(l.err, "%d of %d replays\n", done, all) // for those who look at a log
		}
		bar.Add(max(0, reached-shown))
		shown = max(shown, reached)
	}
	return run()
}

// write writes the page into its file.
func (l *resultsRun) write(r *results.Results) error {
	var page bytes.Buffer
	if err := l.render(&page, r); err != nil {
		return err
	}
	if err := os.WriteFile(l.page, page.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	_, err := fmt.Fprintln(l.err, "wrote", l.page)
	return err
}

// render writes the page, which says what made it, but not in which folders.
func (l *resultsRun) render(w io.Writer, r *results.Results) error {
	if len(l.evidence) > 0 {
		return r.WriteEvidence(w)
	}
	command := "freshet-lab results --traces DIR"
	if l.comparison.Quick {
		command += " --quick"
	}
	if len(l.comparison.Only) > 0 {
		command += " --only " + strings.Join(l.comparison.Only, ",")
	}
	if len(l.policies.List) > 0 {
		command += " --policies " + l.policies.String()
	}
	if l.comparison.Instant > 0 {
		command += " --instant " + units.FormatDuration(l.comparison.Instant)
	}
	return r.WritePage(w, results.Origin{Command: command, Day: time.Now().UTC().Format(time.DateOnly), Picture: l.beside(l.plot), Data: l.beside(l.data)})
}

// beside returns the path of a file as the page names it.
func (l *resultsRun) beside(file string) string {
	if l.page == "" || file == "" {
		return file
	}
	path, err := filepath.Rel(filepath.Dir(l.page), file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(path)
}

// policies returns a flag that lists policies, and baselines as well.
func policies() labflag.Policies {
	return labflag.Policies{Known: baselines.Names(), Check: func(name string) error {
		_, err := baselines.New(name, policy.Setting{})
		return err
	}}
}

// evidences is a flag that lists kinds of evidence.
type evidences []lab.Evidence

// String returns the list.
func (f *evidences) String() string {
	var list []string
	for _, e := range *f {
		list = append(list, e.String())
	}
	return strings.Join(list, ",")
}

// Type returns what the flag takes, for its help.
func (f *evidences) Type() string { return "EVIDENCE" }

// Set adds kinds of evidence, with commas between them. An option belongs to the one
// before.
func (f *evidences) Set(v string) error {
	for item := range strings.SplitSeq(strings.ReplaceAll(v, ",every=", ";every="), ",") {
		var one labflag.Evidence
		if err := one.Set(strings.ReplaceAll(strings.TrimSpace(item), ";", ",")); err != nil {
			return err
		}
		*f = append(*f, one.Evidence)
	}
	return nil
}
