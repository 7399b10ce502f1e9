package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

const exportHelp = `Write every version that was captured on a day, or in a span of time: as JSON lines
to standard output or --out, or with --dir as a folder of files. The first version of
a source, which is no change, is part of it. Versions that were held are not.

A line has "version" (as freshet history --json shows it), "text", and "change" (as
freshet changes --json shows it: what was and what is) if a change led to it.

A folder has texts as SOURCE/NUMBER.txt, responses as SOURCE/NUMBER.raw with --raw,
and all lines, without texts, in index.jsonl. Files that are there already are not
written again, so an export that was interrupted can be repeated.`

func exportVerb(p *program) *cobra.Command {
	e := export{program: p}
	var day, source string
	var seen span
	cmd := &cobra.Command{
		Use:     "export",
		Short:   "Write the versions of a day to files",
		Long:    exportHelp,
		Example: "  freshet export --day 2026-11-15 > 2026-11-15.jsonl\n  freshet export --since 7d --tag shop --dir week\n  freshet export --source news --since 2026-11-01 --until 2026-12-01 --out news.jsonl",
		Args:    takes(0, 0),
	}
	flags := cmd.Flags()
	flags.StringVar(&day, "day", "", "all of this `date`, in local time")
	seen.register(cmd, "versions")
	flags.StringVar(&e.tag, "tag", "", "only of sources with this tag")
	flags.StringVar(&source, "source", "", "only of this source")
	flags.StringVar(&e.dir, "dir", "", "`folder` to write files to")
	flags.StringVar(&e.out, "out", "", "`file` to write lines to (default: standard output)")
	flags.BoolVar(&e.raw, "raw", false, "write the response bodies, too; needs --dir")
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) (err error) {
		e.connection = c
		if e.seen, err = seen.read(p); err != nil {
			return err
		}
		if e.seen, err = exportDay(day, e.seen); err != nil {
			return err
		}
		if e.raw && e.dir == "" || e.dir != "" && e.out != "" {
			return usagef("export: --raw needs --dir, and --dir and --out do not go together")
		}
		if source == "" {
			return e.all(ctx)
		}
		s, err := c.find(ctx, source)
		if err != nil {
			return err
		}
		return e.write(func(line func(exported) error) error { return e.source(ctx, s, line) })
	})
}

// exportDay returns the span of time of a day, or the one that is given without it.
func exportDay(day string, seen freshet.Between) (freshet.Between, error) {
	switch {
	case day == "" && seen.IsZero():
		return seen, freshet.WithHint(usagef("export: --day or --since is required"), "freshet export --since 0001-01-01 writes all that is stored")
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

// An export writes what was captured.
type export struct {
	*program
	*connection
	seen     freshet.Between
	tag      string
	dir, out string
	root     *os.Root // of dir: a server must not choose files outside of it
	raw      bool
	n        int
}

// An exported is a version as it is written.
type exported struct {
	Version client.Version `json:"version"`
	Text    *string        `json:"text,omitempty"`
	Change  *client.Change `json:"change,omitempty"`
}

// all writes the versions of all sources, removed ones too.
func (e *export) all(ctx context.Context) error {
	return e.write(func(line func(exported) error) error {
		for _, removed := range []bool{false, true} {
			found, err := e.Sources.List(ctx, client.SourceQuery{Tag: e.tag, Removed: removed})
			if err != nil {
				return err
			}
			for _, s := range found {
				if err := e.source(ctx, s, line); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// write hands what is exported to where it is wanted.
func (e *export) write(each func(line func(exported) error) error) error {
	to, name := e.program.out, ""
	var file *os.File
	var err error
	switch {
	case e.dir != "":
		if err = os.MkdirAll(e.dir, 0o755); err != nil {
			return err
		}
		if e.root, err = os.OpenRoot(e.dir); err != nil {
			return err
		}
		defer e.root.Close()
		name = filepath.Join(e.dir, "index.jsonl")
		file, err = e.root.Create("index.jsonl")
	case e.out != "" && e.out != "-":
		name = e.out
		file, err = os.Create(name)
	}
	if err != nil {
		return err
	}
	if file != nil {
		to = file
	}
	b := bufio.NewWriter(to)
	lines := json.NewEncoder(b)
	lines.SetEscapeHTML(false)
	err = each(func(x exported) error {
		e.n++
		return lines.Encode(x)
	})
	err = errors.Join(err, b.Flush())
	if file != nil {
		err = errors.Join(err, file.Close())
	}
	if err == nil && name != "" {
		e.remark("wrote %s to %s", counted(e.n, "version"), name)
	}
	return err
}

// source writes the versions of one source, the oldest first.
func (e *export) source(ctx context.Context, s client.Source, line func(exported) error) error {
	versions, err := e.Sources.Versions(ctx, s.ID, e.seen, 0)
	if s.Removed && errors.Is(err, freshet.ErrNotFound) { // it was removed before a version was captured
		return nil
	}
	if err != nil || len(versions) == 0 {
		return err
	}
	changes, err := e.changes(ctx, s.ID)
	if err != nil {
		return err
	}
	for _, v := range slices.Backward(versions) {
		if v.Quiet == freshet.QuietSuspect {
			continue
		}
		text, err := e.Sources.Text(ctx, s.ID, v.Number)
		if errors.Is(err, freshet.ErrNotFound) { // pruned meanwhile
			continue
		}
		if err != nil {
			return err
		}
		x := exported{Version: v}
		if c, ok := changes[v.Number]; ok {
			x.Change = &c
		}
		if e.dir == "" {
			said := string(text)
			x.Text = &said
		} else if err := e.files(ctx, v, text); err != nil {
			return err
		}
		if err := line(x); err != nil {
			return err
		}
	}
	return nil
}

// changes returns the changes of a source by the versions that they led to.
func (e *export) changes(ctx context.Context, id freshet.SourceID) (map[int]client.Change, error) {
	found := map[int]client.Change{}
	for after := (freshet.Place{}); ; {
		page, err := e.Changes(ctx, client.ChangeQuery{ChangeFilter: client.ChangeFilter{Source: id, Seen: e.seen}, After: after, Limit: 1000})
		if err != nil {
			return nil, err
		}
		if len(page.Items) == 0 {
			return found, nil
		}
		for _, c := range page.Items {
			found[c.Number] = c
		}
		after = page.Next
	}
}

// files writes a version into the folder, unless it is there.
func (e *export) files(ctx context.Context, v client.Version, text []byte) error {
	dir := string(v.Source)
	if !freshet.ValidSourceID(v.Source) {
		return fmt.Errorf("the server sent a source with the id %.80q, which cannot be the name of a folder", dir)
	}
	if err := e.root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(dir, strconv.Itoa(v.Number))
	if err := e.writeNew(name+".txt", func() ([]byte, error) { return text, nil }); err != nil || !e.raw {
		return err
	}
	return e.writeNew(name+".raw", func() ([]byte, error) { return e.Sources.Raw(ctx, v.Source, v.Number) })
}

// writeNew writes a file of the folder that is not there yet, whole or not at all.
func (e *export) writeNew(name string, read func() ([]byte, error)) error {
	if _, err := e.root.Stat(name); err == nil {
		return nil
	}
	body, err := read()
	if err != nil {
		return err
	}
	part := name + ".part"
	if err := e.root.WriteFile(part, body, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, e.root.Remove(part)))
	}
	return e.root.Rename(part, name)
}
