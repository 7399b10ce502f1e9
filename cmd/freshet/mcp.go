package main

import (
	"context"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/mcp"
)

func mcpVerb(p *program) *cobra.Command {
	var write bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an assistant read the archive (Model Context Protocol)",
		Long: `Serve the Model Context Protocol on standard input and output, for assistants that
start programs: search versions, list changes, read versions and diffs, and explain when a
source is polled. With --write, an assistant can add sources as well.

It reads from the daemon or, if none runs, from the data directory. A daemon serves the
same at /mcp, and at /mcp/write with --write, to programs with a token.

Text of Web pages is under the key "untrusted", and the server instructs assistants not to
follow instructions in it. That is no guarantee: do not give an assistant that reads pages
of strangers other tools that can do harm.`,
		Example: "  freshet mcp\n  freshet mcp --write --server http://127.0.0.1:8080",
		Args:    takes(0, 0),
	}
	cmd.Flags().BoolVar(&write, "write", false, "let the assistant add sources")
	serverFlags(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		work := app.Reading
		if write {
			work = app.Polling
		}
		return mcp.Serve(cmd.Context(), mcp.Config{
			Version: thisBuild().Version, Write: write, Now: p.now,
			Connect: func(ctx context.Context) (*client.Client, func() error, error) {
				c, err := p.connect(cmd, work)
				if err != nil {
					return nil, nil, err
				}
				return c.Client, c.close, nil
			},
		}, p.in, p.out)
	}
	return cmd
}
