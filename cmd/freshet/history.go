package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
)

func historyVerb(p *program) *cobra.Command {
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "history SOURCE",
		Short:   "List the versions of a source",
		Long:    "List the versions that were captured of a source, the newest first.",
		Example: "  freshet history news\n  freshet history --limit 0 --json news",
		Args:    takes(1, 1),
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "at most so many; 0 means all")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		s, err := c.find(ctx, args[0])
		if err != nil {
			return err
		}
		found, err := c.Versions(ctx, s.ID, limit)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(found)
		}
		if len(found) == 0 {
			fmt.Fprintf(p.err, "nothing has been captured of %s yet; poll it with freshet poll %s\n", label(s), s.ID)
			return nil
		}
		return printVersions(p, found)
	}), 1)
}

func printVersions(p *program, found []client.Version) error {
	paint, now := palette(p.colours(p.out)), time.Now()
	t := table{head: []string{"VERSION", "SEEN", "AGO", "TEXT", "RAW", "HASH", "TITLE"}}
	for _, v := range found {
		t.add(plain(strconv.Itoa(v.Number)), plain(v.SeenAt.Local().Format(time.DateTime)), plain(ago(v.SeenAt, now)),
			plain(roughSize(v.TextBytes)), plain(roughSize(v.RawBytes)),
			cell{v.Hash[:min(12, len(v.Hash))], paint.dim}, plain(shorten(harmless(v.Title), 60)))
	}
	return t.write(p.out, paint)
}

func diffVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff SOURCE [FROM] [TO]",
		Short: "Show how two versions of a source differ",
		Long: `Show how two versions of a source differ, line by line: the newest and the one
before it, or FROM and the newest, or FROM and TO. Versions are numbers as history
lists them.`,
		Example: "  freshet diff news\n  freshet diff news 3 7\n  freshet diff --json news",
		Args:    takes(1, 3),
	}
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		var between [2]int // zero means that the API chooses
		for i, arg := range args[1:] {
			n, err := strconv.Atoi(arg)
			if err != nil || n < 1 {
				return usagef("diff: %q is not the number of a version", arg)
			}
			between[i] = n
		}
		s, err := c.find(ctx, args[0])
		if err != nil {
			return err
		}
		if asJSON {
			d, err := c.Diff(ctx, s.ID, between[0], between[1])
			if err != nil {
				return err
			}
			return p.printJSON(d)
		}
		text, err := c.UnifiedDiff(ctx, s.ID, between[0], between[1])
		if err != nil {
			return err
		}
		printUnified(p, text)
		return nil
	}), 1)
}

func catVerb(p *program) *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use:   "cat SOURCE [VERSION]",
		Short: "Print a version of a source",
		Long: `Print the text of a version, as it was extracted and compared, or with --raw the
body of the response that it came from. Without VERSION the newest one.

To a terminal, characters that could steer it are replaced; to a file or a pipe
the bytes are as they were stored.`,
		Example: "  freshet cat news\n  freshet cat --raw news 3 > page.html",
		Args:    takes(1, 2),
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the response body instead of the text")
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		number := 0 // the newest
		if len(args) > 1 && args[1] != "latest" {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return usagef("cat: %q is not the number of a version", args[1])
			}
			number = n
		}
		s, err := c.find(ctx, args[0])
		if err != nil {
			return err
		}
		read := c.Text
		if raw {
			read = c.Raw
		}
		text, err := read(ctx, s.ID, number)
		if err != nil {
			return err
		}
		if isTerminal(p.out) {
			text = []byte(harmlessLines(string(text)))
		}
		_, err = p.out.Write(text)
		return err
	}), 1)
}
