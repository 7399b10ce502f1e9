package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

func historyVerb(p *program) *cobra.Command {
	var limit int
	var asJSON bool
	var field, asOf string
	var seen span
	cmd := &cobra.Command{
		Use:     "history SOURCE",
		Short:   "List the stored versions of a source, or the values of a field",
		Long:    "List the stored versions of a source, newest first. With --field, list the values\nthat a named field has had. --as-of shows what was current at a time: the version, or\nthe value of the field.",
		Example: "  freshet history news\n  freshet history --limit 0 --json news\n  freshet history news --since 2026-11-01 --until 2026-11-08\n  freshet history pump --field price\n  freshet history pump --field price --as-of 7d",
		Args:    takes(1, 1),
	}
	limitFlag(cmd, &limit, 20)
	cmd.Flags().StringVar(&field, "field", "", "list the values of this named field")
	cmd.Flags().StringVar(&asOf, "as-of", "", "show what was current at this `time`: a date, a time, or how long ago, such as 2d")
	seen.register(cmd, "versions")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		w := window{limit: limit}
		var err error
		if w.seen, err = seen.read(p); err != nil {
			return err
		}
		if w.at, err = p.moment("as-of", asOf); err != nil {
			return err
		}
		if asOf != "" && !w.seen.IsZero() {
			return usagef("history: --as-of goes with neither --since nor --until")
		}
		s, err := c.Sources.Find(ctx, args[0])
		if err != nil {
			return err
		}
		if field != "" {
			return printField(ctx, p, c, s, field, w, asJSON)
		}
		found, err := w.versions(ctx, c, s.ID)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(found)
		}
		if len(found) == 0 && !w.seen.IsZero() {
			p.remark("no version of %s was first seen in that time", label(s))
			return nil
		}
		if len(found) == 0 {
			p.remark("%s has no versions yet; poll it now with: freshet poll %s", label(s), s.ID)
			return nil
		}
		return printVersions(p, found)
	}), 1)
}

// A window is how much of a history is wanted.
type window struct {
	seen  freshet.Between
	at    time.Time // only what was current then, unless it is zero
	limit int       // zero means all
}

// versions returns the versions of a source in the window.
func (w window) versions(ctx context.Context, c *connection, id freshet.SourceID) ([]client.Version, error) {
	if w.at.IsZero() {
		return c.Sources.Versions(ctx, id, w.seen, w.limit)
	}
	v, err := c.Sources.VersionAt(ctx, id, w.at)
	return []client.Version{v}, err
}

// values returns the values of a field in the window.
func (w window) values(ctx context.Context, c *connection, id freshet.SourceID, name string) ([]client.FieldValue, error) {
	if w.at.IsZero() {
		return c.Sources.Field(ctx, id, name, w.seen, w.limit)
	}
	return c.Sources.FieldAt(ctx, id, name, w.at)
}

func printVersions(p *program, found []client.Version) error {
	paint, now := p.screen(), p.now()
	t := display.Table{
		Head: []string{"VERSION", "SEEN", "AGO", "TEXT", "RAW", "HASH", "TITLE"},
		Drop: []string{"HASH", "RAW", "AGO"},
	}
	quiet := slices.ContainsFunc(found, func(v client.Version) bool { return v.Quiet != "" })
	if quiet {
		t.Head = slices.Insert(t.Head, len(t.Head)-1, "REPORTED")
	}
	for _, v := range found {
		row := []display.Cell{
			display.Plain(strconv.Itoa(v.Number)), display.Plain(v.SeenAt.Local().Format(time.DateTime)), display.Plain(ago(v.SeenAt, now)),
			display.Plain(cli.Size(v.TextBytes)), display.Plain(cli.Size(v.RawBytes)),
			display.Painted(v.Hash[:min(12, len(v.Hash))], paint.Dim),
		}
		if quiet {
			row = append(row, reported(v, paint.Palette))
		}
		t.Add(append(row, display.Plain(harmless(v.Title)))...)
	}
	return t.Write(p.out, paint)
}

// reported says whether a version was reported as a change, and if not why.
func reported(v client.Version, paint display.Palette) display.Cell {
	switch {
	case v.Quiet == freshet.QuietSuspect && v.Suspect != nil:
		return display.Painted("no, held: "+string(v.Suspect.Class), paint.Yellow)
	case v.Quiet != "":
		return display.Painted("no, "+string(v.Quiet), paint.Dim)
	}
	return display.Plain("yes")
}

// fewItems is how many items of a change are printed.
const fewItems = 5

// printItemChanges prints which items are new, which are other and which are gone.
func printItemChanges(p *program, c *client.ItemChanges) {
	s := p.screen()
	for _, n := range (freshet.Details{Items: c.Plain()}).Notes(fewItems) {
		fmt.Fprintln(p.out, s.Prose("  "+harmless(n.String()), "    "))
	}
}

// printField prints the history of a named value, those that follow an equal one
// left out.
func printField(ctx context.Context, p *program, c *connection, s client.Source, name string, w window, asJSON bool) error {
	values, err := w.values(ctx, c, s.ID, name)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(values)
	}
	if len(values) == 0 && w.at.IsZero() && w.seen.IsZero() {
		p.remark("%s has no value of %s yet", label(s), name)
		return nil
	}
	if len(values) == 0 {
		p.remark("%s had no value of %s at that time", label(s), name)
		return nil
	}
	t := display.Table{Head: []string{"VERSION", "SEEN", "AGO", "VALUE"}, Drop: []string{"AGO"}}
	for i, v := range values {
		text := freshet.ShowValue(v.Value)
		if i+1 < len(values) && freshet.ShowValue(values[i+1].Value) == text {
			continue
		}
		t.Add(display.Plain(strconv.Itoa(v.Version)), display.Plain(v.SeenAt.Local().Format(time.DateTime)), display.Plain(ago(v.SeenAt, p.now())), display.Plain(harmless(text)))
	}
	return t.Write(p.out, p.screen())
}

// fieldLines returns named values for people, one a line.
func fieldLines(fields map[string]any) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		lines = append(lines, fmt.Sprintf("%s %s", name, freshet.ShowValue(fields[name])))
	}
	return lines
}
