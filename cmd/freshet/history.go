package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/web"
)

func (p *program) history() *cobra.Command {
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
	return p.completed(p.clientVerb(cmd, false, func(ctx context.Context, c *client, args []string) error {
		s, err := c.source(ctx, args[0])
		if err != nil {
			return err
		}
		found, err := c.versions(ctx, s.ID, limit)
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
		return p.printVersions(found)
	}), 1)
}

// versions returns the newest versions of a source; a limit of 0 means all.
func (c *client) versions(ctx context.Context, id freshet.SourceID, limit int) ([]web.Version, error) {
	found, query := []web.Version{}, url.Values{}
	for {
		page := 1000
		if limit > 0 {
			page = min(page, limit-len(found))
		}
		query.Set("limit", strconv.Itoa(page))
		var got web.VersionPage
		if err := c.get(ctx, sourcePath(id, "versions"), query, &got); err != nil {
			return nil, err
		}
		found = append(found, got.Items...)
		if got.Next == nil || len(found) == limit {
			return found, nil
		}
		query.Set("before", strconv.Itoa(*got.Next))
	}
}

func (p *program) printVersions(found []web.Version) error {
	paint, now := palette(p.colours(p.out)), time.Now()
	t := table{head: []string{"VERSION", "SEEN", "AGO", "TEXT", "RAW", "HASH", "TITLE"}}
	for _, v := range found {
		t.add(plain(strconv.Itoa(v.Number)), plain(v.SeenAt.Local().Format(time.DateTime)), plain(ago(v.SeenAt, now)),
			plain(roughSize(v.TextBytes)), plain(roughSize(v.RawBytes)),
			cell{v.Hash[:min(12, len(v.Hash))], paint.dim}, plain(shorten(harmless(v.Title), 60)))
	}
	return t.write(p.out, paint)
}

func (p *program) diff() *cobra.Command {
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
	return p.completed(p.clientVerb(cmd, false, func(ctx context.Context, c *client, args []string) error {
		query := url.Values{}
		for i, name := range []string{"from", "to"} {
			if len(args) > i+1 {
				if n, err := strconv.Atoi(args[i+1]); err != nil || n < 1 {
					return usagef("diff: %q is not the number of a version", args[i+1])
				}
				query.Set(name, args[i+1])
			}
		}
		s, err := c.source(ctx, args[0])
		if err != nil {
			return err
		}
		if asJSON {
			var d web.Diff
			if err := c.get(ctx, sourcePath(s.ID, "diff"), query, &d); err != nil {
				return err
			}
			return p.printJSON(d)
		}
		query.Set("format", "unified")
		text, err := c.text(ctx, sourcePath(s.ID, "diff"), query)
		if err != nil {
			return err
		}
		p.printUnified(text)
		return nil
	}), 1)
}

// text returns an answer as it is.
func (c *client) text(ctx context.Context, path string, query url.Values) (string, error) {
	resp, err := c.send(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func (p *program) cat() *cobra.Command {
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
	return p.completed(p.clientVerb(cmd, false, func(ctx context.Context, c *client, args []string) error {
		number := "latest"
		if len(args) > 1 {
			if number = args[1]; number != "latest" && strings.Trim(number, "0123456789") != "" {
				return usagef("cat: %q is not the number of a version", number)
			}
		}
		s, err := c.source(ctx, args[0])
		if err != nil {
			return err
		}
		what := "text"
		if raw {
			what = "raw"
		}
		text, err := c.text(ctx, sourcePath(s.ID, "versions", number, what), nil)
		if err != nil {
			return err
		}
		if isTerminal(p.out) {
			text = harmlessLines(text)
		}
		_, err = io.WriteString(p.out, text)
		return err
	}), 1)
}
