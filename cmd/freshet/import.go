package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
)

func importVerb(p *program) *cobra.Command {
	var list client.Import
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import sources from another program or a feed reader",
		Long: `Add the pages of a list: addresses with tags, OPML of a feed reader, jobs of urlwatch or
webchanges (urls.yaml), or what changedetection.io exports (url-watches.json). - means
standard input.

--dry-run shows what each entry would become, what of it cannot be carried over, and what
is wrong. Pages that are watched already stay as they are. If an entry cannot be watched
the others are added, and the exit code is 1.`,
		Example: "  freshet import subscriptions.opml --dry-run\n  freshet import ~/.config/urlwatch/urls.yaml --tag urlwatch\n  freshet import - < addresses.txt",
		Args:    takes(1, 1),
	}
	cmd.Flags().BoolVar(&list.DryRun, "dry-run", false, "only show what would be added")
	cmd.Flags().StringVar(&list.Format, "format", "", "list, opml, urlwatch or changedetection (default by what it looks like)")
	cmd.Flags().StringSliceVar(&list.Tags, "tag", nil, "tag for all that is added; can be repeated")
	optionFlags(cmd.Flags(), "allow-cidr")
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		text, err := readList(args[0], p.in)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		list.Text = string(text)
		done, err := c.Import(ctx, list)
		if err != nil {
			return err
		}
		if asJSON {
			if err := p.printJSON(done); err != nil {
				return err
			}
		} else if err := printImported(p, done); err != nil {
			return err
		}
		if done.Wrong > 0 {
			return fmt.Errorf("%s of %d cannot be watched", strconv.Itoa(done.Wrong), len(done.Items))
		}
		return nil
	})
}

// maxImport is the longest list that is sent, in bytes.
const maxImport = 768 << 10

// readList reads a file, or standard input.
func readList(path string, in io.Reader) ([]byte, error) {
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxImport+1))
	if err == nil && len(text) > maxImport {
		err = fmt.Errorf("%s is longer than %d kB; bring it in parts", path, maxImport>>10)
	}
	return text, err
}

// printImported prints what became of a list.
func printImported(p *program, done client.Imported) error {
	t := display.Table{Head: []string{"LINE", "RESULT", "URL", "NOTES"}}
	for _, i := range done.Items {
		line, notes := "", strings.Join(i.Notes, "; ")
		if i.Line > 0 {
			line = strconv.Itoa(i.Line)
		}
		switch i.Result {
		case "wrong":
			notes = i.Error
		case "known":
			if i.ID != "" {
				notes = "watched as " + string(i.ID)
			}
		}
		result := i.Result
		if done.DryRun && result == "added" {
			result = "new"
		}
		t.Add(display.Plain(line), display.Plain(result), display.Plain(harmless(i.URL)), display.Plain(harmless(notes)))
	}
	if err := t.Write(p.out, p.screen()); err != nil {
		return err
	}
	verb := "added"
	if done.DryRun {
		verb = "would be added"
	}
	p.remark("%d %s, %d watched already, %d wrong (%s)", done.Added, verb, done.Known, done.Wrong, done.Format)
	return nil
}
