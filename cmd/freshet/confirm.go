package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"freshet/client"
)

func confirmVerb(p *program) *cobra.Command {
	var asJSON bool
	var number int
	cmd := &cobra.Command{
		Use:   "confirm SOURCE...",
		Short: "Accept a version that is suspect",
		Long: `Accept a version that is held because it is probably the wrong page. It is reported
as a change at once, and later polls compare with it. A version that is suspect since
the first look loses its mark, and nothing is reported.

A suspect version is stored, but not reported until a second look agrees. A login
page, a captcha, a consent form or a maintenance page is never reported by itself,
however long it lasts. "freshet list --suspect" lists the sources that have one,
and "freshet show SOURCE" says what will happen next.`,
		Example: "  freshet confirm news\n  freshet confirm --version 12 news",
		Args:    takes(1, -1),
	}
	cmd.Flags().IntVar(&number, "version", 0, "accept this version only; 0 means the one that is held, or else the first")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		return forEach(ctx, args, c.Sources.Find, func(s client.Source) error {
			change, err := c.Sources.Confirm(ctx, s.ID, number)
			if err != nil {
				return err
			}
			if asJSON {
				return p.printLine(change)
			}
			reported := ""
			if change.Seq > 0 {
				reported = fmt.Sprintf(", reported as change %d", change.Seq)
			}
			_, err = fmt.Fprintf(p.out, "%s: %s version %d%s\n", label(s), p.screen().Green("accepted"), change.Number, reported)
			return err
		})
	}), -1)
}
