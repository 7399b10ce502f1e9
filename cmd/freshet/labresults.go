package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/lab"
)

// A labResults is one run of the verb "lab results".
type labResults struct {
	*program
	comparison lab.Comparison
	policies   policiesFlag
	page       string
	plot       string
	cache      string
	json       bool
}

func labResultsVerb(p *program) *cobra.Command {
	l := labResults{program: p}
	cmd := &cobra.Command{
		Use:   "results --traces DIR",
		Short: "Make the page of results: all policies on all recordings of a folder",
		Long: `Replay every trace of a folder under every policy, and write a page with tables:
what each captured, what it had of the limit, and where the first policy won and
lost. There are four parts: a reference budget for each trace; the budgets at
which the limit captures 30%, 60% and 90% of the changes; those budgets again
where changes stay and late captures are worth less (append and exp:0.9); and
other periods or pages of known recordings, on which no policy was made.

Recordings that are known by name have an instant, a budget and a period of their
own. Other traces are taken whole, in instants that suit their length, with as
many polls as there are changes. Known recordings that are not there are left
out, and the page says so.

This takes minutes. With --quick there is only the first part, and each policy
runs once. Limits that were worked out are kept in the file of --cache.`,
		Example: "  freshet lab results --traces recordings --out docs/results.md --plot docs/results.svg\n" +
			"  freshet lab results --traces mine --policies auto,uniform --quick",
		Args: takes(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if l.comparison.Traces == "" {
				l.comparison.Traces = l.env("FRESHET_TRACES")
			}
			if l.comparison.Traces == "" {
				return missing(cmd, "traces", "DIR")
			}
			return l.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&l.comparison.Traces, "traces", "", "folder of traces: CSV or CSV.gz (default: what FRESHET_TRACES names)")
	flags.StringVar(&l.page, "out", "", "file to write the page into (default: print)")
	flags.BoolVar(&l.comparison.Quick, "quick", false, "only the reference budgets, and each policy once")
	flags.Var(&l.policies, "policies", "who takes part, the one to hold the others against first (default: all that there is a reason to compare)")
	flags.Var((*lengthFlag)(&l.comparison.Instant), "instant", "how finely traces are cut that are not known by name (default: what suits them)")
	flags.StringVar(&l.plot, "plot", "", "draw the means into this SVG file")
	flags.StringVar(&l.cache, "cache", "", "file to keep limits in, so that the next run need not work them out")
	jsonFlag(cmd, &l.json)
	return cmd
}

// run compares, and writes the page.
func (l *labResults) run(ctx context.Context) (err error) {
	if l.comparison.Contenders, err = lab.Contenders(l.policies...); err != nil {
		return flagFault(err)
	}
	l.comparison.Limits = &lab.LimitBook{}
	if l.cache != "" {
		if l.comparison.Limits, err = lab.OpenLimitBook(l.cache); err != nil {
			return freshet.WithHint(err, "name another file with --cache, or remove this one")
		}
	}
	results, err := l.compare(ctx)
	if err != nil {
		return err
	}
	for _, name := range results.Missing {
		fmt.Fprintf(l.err, "left out: %s is not there\n", name)
	}
	if l.plot != "" {
		if err := os.WriteFile(l.plot, []byte(results.Draw().SVG()), 0o644); err != nil {
			return fmt.Errorf("write a picture: %w", err)
		}
	}
	if l.page != "" {
		if err := l.write(results); err != nil {
			return err
		}
	}
	switch {
	case l.json:
		return l.printJSON(results)
	case l.page == "":
		return l.render(l.out, results)
	}
	return nil
}

// compare runs the comparison, and shows how far it has come. What was worked
// out of limits is kept also if it is stopped.
func (l *labResults) compare(ctx context.Context) (*lab.Results, error) {
	fmt.Fprintln(l.err, "reading traces and working out limits")
	const steps = 1000
	bar := l.progress("comparing", steps)
	defer bar.done()
	var mutex sync.Mutex
	shown := 0
	l.comparison.Progress = func(done, all int) {
		mutex.Lock()
		defer mutex.Unlock()
		reached := done * steps / all
		if tenth := steps / 10; bar.bar == nil && reached/tenth > shown/tenth && done < all {
			fmt.Fprintf(l.err, "%d of %d replays\n", done, all) // for those who look at a log
		}
		bar.add(max(0, reached-shown))
		shown = max(shown, reached)
	}
	began := time.Now()
	results, err := l.comparison.Run(ctx)
	if l.cache != "" {
		if err := l.comparison.Limits.Save(l.cache); err != nil {
			return nil, err
		}
	}
	if err == nil {
		bar.done()
		fmt.Fprintf(l.err, "compared %s on %s in %s\n", counted(len(results.Contenders), "contender"), counted(len(results.Reference), "trace"), freshet.FormatDuration(time.Since(began).Round(time.Second)))
	}
	return results, err
}

// write writes the page into its file.
func (l *labResults) write(results *lab.Results) error {
	var page bytes.Buffer
	if err := l.render(&page, results); err != nil {
		return err
	}
	if err := os.WriteFile(l.page, page.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	_, err := fmt.Fprintln(l.err, "wrote", l.page)
	return err
}

// render writes the page, which says what made it, but not in which folders.
func (l *labResults) render(w io.Writer, results *lab.Results) error {
	command := "freshet lab results --traces DIR"
	if l.comparison.Quick {
		command += " --quick"
	}
	if len(l.policies) > 0 {
		command += " --policies " + l.policies.String()
	}
	if l.comparison.Instant > 0 {
		command += " --instant " + freshet.FormatDuration(l.comparison.Instant)
	}
	picture := l.plot
	if l.page != "" && l.plot != "" {
		if beside, err := filepath.Rel(filepath.Dir(l.page), l.plot); err == nil {
			picture = filepath.ToSlash(beside)
		}
	}
	return results.WritePage(w, command, picture)
}
