package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"freshet/internal/api"
	"freshet/internal/cli"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/research/archive"
	"freshet/internal/store/sqlite"
)

// A noiseRun is one run of the verb "noise".
type noiseRun struct {
	*program
	labels string
	json   bool
}

func noiseVerb(p *program) *cobra.Command {
	l := noiseRun{program: p}
	var files []string
	cmd := &cobra.Command{
		Use:   "noise --series FILE.tgz...",
		Short: "Tell noise from changes in saved versions of pages",
		Long: `Replay saved versions of pages with "noise: auto", and say for each step from one
version to the next what it is:

  change   something has changed, and would be told
  noise    only parts differ that differ at nearly every poll, such as a clock
  same     the text is the same
  suspect  it is probably not the page: an error page, or part of one

A series is a .tgz file with one file per version, such as 000.html, 001.html and so
on. Step 1 leads from the first version to the second. What is noise is learnt from
the versions before, so the first ten or so steps are mostly changes.

--labels compares the verdicts with labels: a JSON file with
{"series": {"NAME": {"all_steps": {"1": "noise", "2": "real"}}}}. Labels that end in
a question mark, and the first ten versions, do not count.`,
		Example: "  freshet-lab noise --series terms.tgz\n  freshet-lab noise --series terms.tgz --series news.tgz --json\n  freshet-lab noise --series *.tgz --labels labels.json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if files = append(files, args...); len(files) == 0 {
				return cli.MissingFlag(cmd, "series", "FILE.tgz")
			}
			return l.run(cmd.Context(), files)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&files, "series", nil, "saved versions of a page, as a .tgz file; can be repeated")
	flags.StringVar(&l.labels, "labels", "", "JSON file that says which steps are noise and which are real; shows how many were judged right")
	cli.JSONFlag(cmd, &l.json)
	return cmd
}

// run replays series, and shows what became of them.
func (l *noiseRun) run(ctx context.Context, files []string) error {
	var known labelled
	if l.labels != "" {
		var err error
		if known, err = readLabels(l.labels); err != nil {
			return err
		}
	}
	replays, err := l.replays(ctx, files)
	switch {
	case err != nil:
		return err
	case l.json:
		return cli.WriteJSON(l.out, struct {
			Series []archive.Replay `json:"series"`
		}{replays})
	case l.labels != "":
		return l.printScores(known, replays)
	}
	return l.print(replays)
}

// replays replays series one after the other, in a store that is thrown away.
func (l *noiseRun) replays(ctx context.Context, files []string) (all []archive.Replay, err error) {
	dir, err := os.MkdirTemp("", "freshet-noise-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := sqlite.Open(ctx, sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for i, file := range files {
		s, err := openSeries(file)
		if err != nil {
			return nil, err
		}
		bar := l.progress(fmt.Sprintf("%s (%d of %d)", cli.Harmless(s.Name), i+1, len(files)), len(s.Versions))
		r, err := s.Replay(ctx, store, freshet.NoiseAuto, func() { bar.Add(1) })
		bar.Done()
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func openSeries(file string) (archive.Series, error) {
	f, err := os.Open(file)
	if err != nil {
		return archive.Series{}, freshet.WithHint(cli.Usagef("cannot read the series: %v", err), "a series is a .tgz file with one file per version")
	}
	defer f.Close()
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".tar")
	return archive.Read(strings.TrimSuffix(name, ".tgz"), f)
}

// print shows to people how many steps were what, and where the noise is.
func (l *noiseRun) print(replays []archive.Replay) error {
	rows := table{head: "SERIES\tSTEPS\tDIFFER\tCHANGE\tNOISE\tSAME\tSUSPECT"}
	for _, r := range replays {
		n, differ := map[archive.Verdict]int{}, 0
		for _, s := range r.Steps {
			if n[s.Verdict]++; s.Differs {
				differ++
			}
		}
		rows.add(cli.Harmless(r.Name), len(r.Steps), differ, n[archive.Change],
			n[archive.Noise], n[archive.Same], n[archive.Suspect])
	}
	if err := rows.write(l.out); err != nil {
		return err
	}
	for _, r := range replays {
		told := api.NoiseOf(r.Report)
		if told == nil {
			continue
		}
		fmt.Fprintf(l.out, "\n%s %s:\n", cli.Harmless(r.Name), told)
		for _, p := range told.Places {
			fmt.Fprintln(l.out, "  "+cli.Harmless(p.String()))
		}
	}
	return nil
}
