package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/internal/app/exporter"
	"freshet/internal/cli"
	"freshet/internal/freshet"
)

const exportHelp = `Write what was captured in formats that other programs read, while the daemon runs.

  freshet export config     the configuration, as freshet apply reads it
  freshet export opml       the sources, for feed readers
  freshet export csv        the sources, as a table
  freshet export changes    the log of changes: JSON lines, CSV or Parquet
  freshet export values     named values of versions: JSON lines, CSV or Parquet
  freshet export versions   versions: JSON lines, WARC, a git repository or files

Exports go to standard output, or to a file with --out. One to a file that was
interrupted goes on when the same command is run again.

Without a word, write every version that was captured on a day, or in a span of
time, as freshet export versions does.`

func exportVerb(p *program) *cobra.Command {
	e := &export{program: p, format: "jsonl"}
	cmd := e.verb(&cobra.Command{
		Use:     "export",
		Short:   "Write the configuration, changes or versions to files",
		Long:    exportHelp,
		Example: "  freshet export config > freshet.yaml\n  freshet export --day 2026-11-15 > 2026-11-15.jsonl\n  freshet export --since 7d --tag shop --dir week\n  freshet export versions --format warc --out archive.warc.gz",
	}, (*export).dayOfVersions)
	e.dayFlags(cmd)
	cmd.AddCommand(exportConfigVerb(p), exportVersionsVerb(p), exportTableVerb(p, "changes"), exportTableVerb(p, "values"), exportListVerb(p, "opml"), exportListVerb(p, "csv"))
	return cmd
}

// An export is one run of the verb.
type export struct {
	*program
	exporter.Selection
	day, source string
	span        span
	format      string
	dir, out    string
	raw         bool
}

// verb completes a verb of exports.
func (e *export) verb(cmd *cobra.Command, run func(*export, context.Context) error) *cobra.Command {
	cmd.Args = takes(0, 0)
	cmd.Flags().StringVar(&e.Tag, "tag", "", "only of sources with this tag")
	cmd.Flags().StringVar(&e.source, "source", "", "only of this source")
	cmd.Flags().StringVar(&e.out, "out", "", "`file` to write to (default: standard output)")
	return clientVerb(e.program, cmd, false, func(ctx context.Context, c *connection, _ []string) (err error) {
		e.Client, e.Program, e.Now, e.Step = c.Client, thisBuild().Version, time.Now, func(int) {}
		if e.out == "-" {
			e.out = ""
		}
		if e.source != "" {
			s, err := c.Sources.Find(ctx, e.source)
			if err != nil {
				return err
			}
			e.Source = s.ID
		}
		return run(e, ctx)
	})
}

// dayFlags adds the flags of versions.
func (e *export) dayFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&e.day, "day", "", "all of this `date`, in local time")
	e.span.register(cmd, "versions")
	cmd.Flags().StringVar(&e.dir, "dir", "", "`folder` to write files to")
	cmd.Flags().BoolVar(&e.raw, "raw", false, "write the response bodies, too; needs --dir")
}

// dayOfVersions writes the versions of a day or of a span, which must be given.
func (e *export) dayOfVersions(ctx context.Context) error {
	seen, err := e.span.read(e.program)
	if err != nil {
		return err
	}
	if e.day == "" && seen.IsZero() {
		return freshet.WithHint(usagef("export: --day or --since is required"), "freshet export versions writes all that is stored")
	}
	if e.dir != "" {
		e.format = "dir"
	}
	return e.versions(ctx)
}

// exportDay returns the span of time of a day, or the one that is given without it.
func exportDay(day string, seen freshet.Between) (freshet.Between, error) {
	switch {
	case day == "":
		return seen, nil
	case !seen.IsZero():
		return seen, usagef("export: --day goes with neither --since nor --until")
	}
	from, err := time.ParseInLocation(time.DateOnly, day, time.Local)
	if err != nil {
		return seen, usagef("export: --day: %q is not a date such as 2026-11-15", day)
	}
	return freshet.Between{Since: from, Until: from.AddDate(0, 0, 1)}, nil
}

const exportVersionsHelp = `Write the stored versions, of all sources or of one, of all times or of a span. The
first version of a source, which is no change, is part of it. Versions that were
quarantined and never reported are not.

  jsonl  A line has "version" (as freshet history --json shows it), "text", and
         "change" (as freshet changes --json shows it) if a change led to it.
  warc   WARC 1.1 for web archives: responses with status and headers. One with
         the body of an earlier version is a revisit record, and one whose
         headers were not kept is a resource record. Each record is packed if
         the name ends in .gz, and on standard output.
  git    The bare git repository --dir, with one commit a change: SOURCE.txt has
         the text, the author is the source, and the date when it was seen. Run
         it again to add what is new.
  dir    The folder --dir with texts as SOURCE/NUMBER.txt, responses as
         SOURCE/NUMBER.raw with --raw, and all lines in index.jsonl. Files that
         are there are not written again.

Secrets in URLs and headers are masked, as everywhere in the API.`

// versionFormats are the formats of versions.
var versionFormats = []string{"jsonl", "warc", "git", "dir"}

func exportVersionsVerb(p *program) *cobra.Command {
	e := &export{program: p}
	cmd := e.verb(&cobra.Command{
		Use:   "versions",
		Short: "Write stored versions as JSON lines, WARC, git or files",
		Long:  exportVersionsHelp,
		Example: "  freshet export versions --format warc --out archive.warc.gz\n  freshet export versions --format git --dir history.git\n" +
			"  freshet export versions --source news --since 2026-11-01 --out news.jsonl",
	}, (*export).versions)
	cmd.Flags().StringVar(&e.format, "format", "jsonl", "jsonl, warc, git or dir")
	e.dayFlags(cmd)
	return cmd
}

// versions writes versions.
func (e *export) versions(ctx context.Context) (err error) {
	inFolder := e.format == "git" || e.format == "dir"
	switch {
	case !slices.Contains(versionFormats, e.format):
		return usagef("export: --format %q: want %s", e.format, strings.Join(versionFormats, ", "))
	case inFolder && e.dir == "":
		return usagef("export: --format %s needs --dir", e.format)
	case e.raw && e.format != "dir" || inFolder && e.out != "":
		return usagef("export: --raw needs --dir, and --dir and --out do not go together")
	case !inFolder && e.dir != "":
		return usagef("export: --dir goes with --format git or dir")
	}
	if e.Seen, err = e.span.read(e.program); err != nil {
		return err
	}
	if e.Seen, err = exportDay(e.day, e.Seen); err != nil {
		return err
	}
	bar, err := e.bar(ctx, e.format == "git")
	if err != nil {
		return err
	}
	defer bar.Done()
	n, what, where := 0, "version", e.out
	switch e.format {
	case "git":
		what, where = "commit", e.dir
		n, err = e.Git(ctx, e.dir)
	case "dir":
		where = e.dir
		n, err = e.Folder(ctx, e.dir, e.raw)
	case "warc":
		n, err = e.Archive(ctx, e.out, e.program.out)
	default:
		n, err = e.Lines(ctx, e.out, e.program.out)
	}
	bar.Done()
	return e.wrote(n, what, where, err)
}

// bar begins to show how far the export has come, if that can be seen.
func (e *export) bar(ctx context.Context, ofChanges bool) (*cli.Progress, error) {
	bar := e.progress("exporting", 1)
	if !bar.Shown() {
		return bar, nil
	}
	versions, changes, err := e.Total(ctx)
	if ofChanges {
		versions = changes
	}
	bar = e.progress("exporting", versions)
	e.Step = bar.Add
	return bar, err
}

// wrote says what was written to a file, or that the export can be repeated.
func (e *export) wrote(n int, what, where string, err error) error {
	switch {
	case err != nil && where != "" && n > 0:
		e.remark("%s written to %s so far; run the same command again to go on", counted(n, what), where)
	case err == nil && where != "":
		e.remark("wrote %s to %s", counted(n, what), where)
	}
	return err
}

func exportTableVerb(p *program, what string) *cobra.Command {
	e := &export{program: p}
	long := `Write the log of changes, the oldest first: as JSON lines, as freshet changes --json
shows them, or as a table in CSV or Parquet. In tables, fields, items and text are
JSON.`
	if what == "values" {
		long = `Write the named values of versions that the extract of a source asks for, such as
prices: one row for each value of each version, as JSON lines, CSV or Parquet.`
	}
	cmd := e.verb(&cobra.Command{
		Use:     what,
		Short:   map[string]string{"changes": "Write the log of changes as JSON lines, CSV or Parquet", "values": "Write named values as JSON lines, CSV or Parquet"}[what],
		Long:    long,
		Example: "  freshet export " + what + " --format parquet --out " + what + ".parquet\n  freshet export " + what + " --since 7d --tag shop --format csv",
	}, func(e *export, ctx context.Context) (err error) {
		format := exporter.Format(e.format)
		if !slices.Contains([]exporter.Format{exporter.JSONL, exporter.CSV, exporter.Parquet}, format) {
			return usagef("export: --format %q: want jsonl, csv or parquet", e.format)
		}
		if e.Seen, err = e.span.read(e.program); err != nil {
			return err
		}
		bar, err := e.bar(ctx, what == "changes")
		if err != nil {
			return err
		}
		defer bar.Done()
		n, counts := 0, "change"
		if what == "changes" {
			n, err = e.Changes(ctx, format, e.out, e.program.out)
		} else {
			counts = "version"
			n, err = e.Values(ctx, format, e.out, e.program.out)
		}
		bar.Done()
		return e.wrote(n, counts, e.out, err)
	})
	cmd.Flags().StringVar(&e.format, "format", "jsonl", "jsonl, csv or parquet")
	e.span.register(cmd, what)
	return cmd
}
