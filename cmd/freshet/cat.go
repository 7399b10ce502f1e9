package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"freshet/internal/cli/display"
	"freshet/internal/freshet"
	"freshet/internal/warc"
)

func catVerb(p *program) *cobra.Command {
	var raw, headers bool
	var asOf string
	cmd := &cobra.Command{
		Use:   "cat SOURCE [VERSION]",
		Short: "Print a stored version of a source",
		Long: `Print the text of a version: what Freshet extracted from the page and compares.
Without VERSION, print the newest one; with --as-of, the one that was current at a
time, as far as polls had seen it by then. With --raw, print the response body that
the server sent, and with --headers the status and headers that came before it.
Secrets in headers, such as the values of cookies, are masked.

On a terminal, control characters are replaced. In a file or a pipe you get the
exact bytes.`,
		Example: "  freshet cat news\n  freshet cat news --as-of 2026-11-01\n  freshet cat news --as-of 2d\n  freshet cat --raw news 3 > page.html\n  freshet cat --headers news",
		Args:    takes(1, 2),
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the response body instead of the text")
	cmd.Flags().BoolVar(&headers, "headers", false, "print the status and the headers of the response instead of the text")
	cmd.Flags().StringVar(&asOf, "as-of", "", "print the version of this `time`: a date, a time, or how long ago, such as 2d")
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		number := 0 // the newest
		if len(args) > 1 && args[1] != "latest" {
			n, err := strconv.Atoi(args[1])
			if err != nil || n < 1 {
				return usagef("cat: %q is not a version number; freshet history lists them", args[1])
			}
			number = n
		}
		if asOf != "" && len(args) > 1 {
			return usagef("cat: name a version or use --as-of, not both")
		}
		if raw && headers {
			return usagef("cat: --raw and --headers do not go together")
		}
		at, err := p.moment("as-of", asOf)
		if err != nil {
			return err
		}
		s, err := c.Sources.Find(ctx, args[0])
		if err != nil {
			return err
		}
		if asOf != "" {
			v, err := c.Sources.VersionAt(ctx, s.ID, at)
			if err != nil {
				return err
			}
			number = v.Number
		}
		read := c.Sources.Text
		switch {
		case raw:
			read = c.Sources.Raw
		case headers:
			read = c.responseHead
		}
		text, err := read(ctx, s.ID, number)
		if err != nil {
			return err
		}
		if isTerminal(p.out) {
			text = []byte(display.HarmlessLines(string(text)))
		}
		_, err = p.out.Write(text)
		return err
	}), 1)
}

// responseHead returns the status line and the headers of the response of a version.
func (c *connection) responseHead(ctx context.Context, id freshet.SourceID, number int) ([]byte, error) {
	r, err := c.Sources.Response(ctx, id, number)
	if err != nil {
		return nil, err
	}
	m, err := warc.ReadResponse(r.Message)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d %s\n", m.Status, http.StatusText(m.Status))
	err = m.Header.Write(&b)
	return bytes.ReplaceAll(b.Bytes(), []byte("\r\n"), []byte("\n")), err
}
