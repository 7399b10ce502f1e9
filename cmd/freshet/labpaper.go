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

	"freshet"
	"freshet/paper"
	"freshet/spell"
)

// A labPaper is one run of the verb "lab paper".
type labPaper struct {
	*program
	setting paper.Options
	dir     string
	json    bool
}

func labPaperVerb(p *program) *cobra.Command {
	l := labPaper{program: p}
	names := each(paper.Papers, func(p paper.Paper) string { return string(p) })
	cmd := &cobra.Command{
		Use:   "paper [" + strings.Join(names, "|") + "]...",
		Short: "Run the experiments of the papers again, and hold them to what they say",
		Long: `Run the experiments of the papers that Freshet grows from, and write a report: a
page that needs nothing beside itself, with a picture or a table for each, and
under it for every claim of the paper what it says, what was measured, and
whether it holds. A claim that does not hold is no error.

  wic       Pandey, Dhamdhere and Olston: WIC, 2004
  sampling  Cho and Ntoulas: change detection using sampling, 2002
  capture   Ashish, Kulkarni and Wang: source update capture
  beyond    questions that they leave open

The same seed gives the same page. Where FRESHET_TRACES names a folder of
recorded histories, experiments that can use them run on them too.`,
		Example:   "  freshet lab paper --quick\n  freshet lab paper wic sampling --out report --seed 7\n  freshet lab paper --json | jq '.[] | select(.holds | not)'",
		Args:      takes(0, -1),
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
	flags.BoolVar(&l.setting.Quick, "quick", false, "small sizes: done in under a minute")
	flags.StringVar(&l.dir, "out", "freshet-papers", "folder to write papers.html into")
	flags.Uint64Var(&l.setting.Seed, "seed", 1, "of what is drawn by chance")
	jsonFlag(cmd, &l.json)
	return cmd
}

// papersNamed returns the papers that were named, in the order of a report; all
// if none was.
func papersNamed(args []string) (list []paper.Paper, err error) {
	for _, a := range args {
		if !slices.Contains(paper.Papers, paper.Paper(a)) {
			names := each(paper.Papers, func(p paper.Paper) string { return string(p) })
			return nil, freshet.WithHint(usagef("paper: there is no paper %q%s", a, spell.DidYouMean(a, names)), "there are "+strings.Join(names, ", "))
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
func (l *labPaper) run(ctx context.Context, papers []paper.Paper) error {
	if l.setting.Traces = l.env("FRESHET_TRACES"); l.setting.Traces != "" {
		if info, err := os.Stat(l.setting.Traces); err != nil || !info.IsDir() {
			return freshet.WithHint(fmt.Errorf("FRESHET_TRACES: %s is not a folder", l.setting.Traces), "name a folder of traces, or unset it")
		}
	}
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return fmt.Errorf("make room for the report: %w", err)
	}
	var list []paper.Experiment
	for _, p := range papers {
		list = append(list, paper.Experiments(p)...)
	}
	fmt.Fprintf(l.err, "running %s, %s\n", counted(len(list), "experiment"), l.length(list))
	bar := l.progress("running", len(list))
	report, err := paper.NewReport(ctx, list, l.setting, func(paper.Experiment) { bar.add(1) })
	bar.done()
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
		return l.printJSON(report.Claims())
	}
	return l.summary(report)
}

// length says how long experiments will take.
func (l *labPaper) length(list []paper.Experiment) string {
	if l.setting.Quick {
		return "in less than a minute"
	}
	about := paper.Estimate(list)
	if about < time.Minute {
		return "in about a minute or less"
	}
	return "in about " + counted(int((about+time.Minute-1)/time.Minute), "minute")
}

// summary prints how many claims hold, and which do not.
func (l *labPaper) summary(r paper.Report) error {
	paint := l.screen()
	t := table{head: []string{"PAPER", "FIGURES", "CLAIMS", "HOLD"}}
	for _, s := range r.Summaries() {
		t.add(plain(string(s.Paper)), plain(fmt.Sprint(s.Figures)), plain(fmt.Sprint(s.Claims)), plain(fmt.Sprint(s.Holds)))
	}
	if err := t.write(l.out, paint); err != nil {
		return err
	}
	for _, c := range r.Claims() {
		if !c.Holds {
			if _, err := fmt.Fprintf(l.out, "%s %s, %s: %s\n", paint.yellow("does not hold:"), c.Paper, c.Where, c.Claim); err != nil {
				return err
			}
		}
	}
	return nil
}
