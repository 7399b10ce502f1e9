package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/cli"
	"freshet/internal/freshet"
	"freshet/internal/research/paper"
	"freshet/internal/suggest"
)

// A paperRun is one run of the verb "paper".
type paperRun struct {
	*program
	setting paper.Options
	dir     string
	json    bool
}

func paperVerb(p *program) *cobra.Command {
	l := paperRun{program: p}
	names := paperNames()
	cmd := &cobra.Command{
		Use:   "paper [" + strings.Join(names, "|") + "]...",
		Short: "Repeat the experiments of three research papers",
		Long: `Repeat the experiments of the research papers that Freshet is based on, and write a
report: one HTML file with a chart or a table for each experiment, and for each
claim what was measured and whether it holds. A claim that does not hold is not an
error. Claims of the papers are counted apart from questions of our own.

What is drawn by chance is drawn with several seeds. A claim holds if it does with
every seed; otherwise the report says in how many it does.

  wic       Pandey, Dhamdhere and Olston: WIC, 2004
  sampling  Cho and Ntoulas: change detection using sampling, 2002
  capture   Ashish, Kulkarni and Wang: source update capture
  beyond    questions that the papers leave open

The same seeds give the same report. If FRESHET_TRACES names a directory of traces,
the experiments that can use them run on them too.`,
		Example:   "  freshet-lab paper --quick\n  freshet-lab paper wic sampling --out report --seed 7 --seeds 3\n  freshet-lab paper --json | jq '.[] | select(.holds | not)'",
		Args:      cli.Takes(0, -1),
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			papers, err := papersNamed(args)
			if err != nil {
				return err
			}
			return l.run(cmd.Context(), papers)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&l.setting.Quick, "quick", false, "smaller experiments; takes a few minutes")
	flags.StringVar(&l.dir, "out", "freshet-papers", "directory to write papers.html to")
	flags.Uint64Var(&l.setting.Seed, "seed", 1, "random seed, the first of several")
	flags.IntVar(&l.setting.Seeds, "seeds", 5, "how many seeds to try each claim with, from 1 to 100")
	cli.JSONFlag(cmd, &l.json)
	return cmd
}

// paperNames returns the names of all papers.
func paperNames() (names []string) {
	for _, p := range paper.Papers {
		names = append(names, string(p))
	}
	return names
}

// papersNamed returns the papers that were named, in the order of a report; all
// if none was.
func papersNamed(args []string) (list []paper.Paper, err error) {
	for _, a := range args {
		if !slices.Contains(paper.Papers, paper.Paper(a)) {
			names := paperNames()
			return nil, freshet.WithHint(cli.Usagef("paper: unknown paper %q%s", a, suggest.DidYouMean(a, names)), "known papers: "+strings.Join(names, ", "))
		}
	}
	for _, p := range paper.Papers {
		if len(args) == 0 || slices.Contains(args, string(p)) {
			list = append(list, p)
		}
	}
	return list, nil
}

// run runs the experiments of papers, writes the report and prints the verdicts.
func (l *paperRun) run(ctx context.Context, papers []paper.Paper) error {
	if l.setting.Traces = l.env("FRESHET_TRACES"); l.setting.Traces != "" {
		if info, err := os.Stat(l.setting.Traces); err != nil || !info.IsDir() {
			return freshet.WithHint(fmt.Errorf("FRESHET_TRACES: %s is not a directory", l.setting.Traces), "set it to a directory of traces, or unset it")
		}
	}
	if l.setting.Seeds < 1 || l.setting.Seeds > 100 {
		return cli.Usagef("paper: --seeds: %d is not a number from 1 to 100", l.setting.Seeds)
	}
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return fmt.Errorf("create the directory for the report: %w", err)
	}
	var list []paper.Experiment
	for _, p := range papers {
		list = append(list, paper.Experiments(p)...)
	}
	fmt.Fprintf(l.err, "running %s with %s, %s\n", cli.Counted(len(list), "experiment"), cli.Counted(l.setting.Seeds, "seed"), l.length(list))
	bar := l.progress("running", paper.Runs(list, l.setting))
	report, err := paper.NewReport(ctx, list, l.setting, func(paper.Experiment) { bar.Add(1) })
	bar.Done()
	if err != nil {
		return err
	}
	var page bytes.Buffer
	if err := report.Write(&page); err != nil {
		return err
	}
	file := filepath.Join(l.dir, "papers.html")
	if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	fmt.Fprintln(l.err, "wrote", file)
	if l.json {
		return cli.WriteJSON(l.out, report.Claims())
	}
	return l.summary(report)
}

// length says how long experiments will take.
func (l *paperRun) length(list []paper.Experiment) string {
	about := paper.Estimate(list, l.setting)
	if l.setting.Quick {
		about /= 6
	}
	if about < time.Minute {
		return "in about a minute or less"
	}
	return "in about " + cli.Counted(int((about+time.Minute-1)/time.Minute), "minute")
}

// summary prints how many claims hold, and which do not.
func (l *paperRun) summary(r paper.Report) error {
	t := table{head: "PAPER\tKIND\tFIGURES\tCLAIMS\tHOLD\tTURN\tFAIL"}
	for _, s := range append(r.Summaries(), r.Whole()...) {
		name := string(s.Paper)
		if name == "" {
			name = "all"
		}
		t.add(name, string(s.Kind), s.Figures, s.Claims, s.Holds, s.Turns, s.Fails())
	}
	if err := t.write(l.out); err != nil {
		return err
	}
	for _, c := range r.Claims() {
		if !c.Holds {
			if _, err := fmt.Fprintf(l.out, "%s %s, %s: %s\n", c.Verdict()+":", c.Paper, c.Where, c.Claim); err != nil {
				return err
			}
		}
	}
	return nil
}
