package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
)

const whyHelp = `Explain when a source will be polled next, and what it is waiting for: how likely it is
to have changed, which limit holds it back, and how often it changes. With --verbose also
how sure that is, what waiting costs and what a poll is worth to the policy.

The time is a forecast. Only a running daemon knows what it will do next.`

func whyVerb(p *program) *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:     "why SOURCE",
		Short:   "Explain when a source will be polled next, and what it waits for",
		Long:    whyHelp,
		Example: "  freshet why news\n  freshet why news --verbose\n  freshet why --json https://example.com/",
		Args:    takes(1, 1),
	}
	jsonFlag(cmd, &asJSON)
	verboseFlag(cmd, &verbose)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		s, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		w, err := c.Sources.Why(ctx, s.ID)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(w)
		}
		said := []string{w.Words(time.Local)}
		if verbose {
			said = append(said, w.Details())
		}
		for _, text := range said {
			if _, err = fmt.Fprintln(p.out, p.screen().Prose(harmless(text), "")); err != nil {
				return err
			}
		}
		return nil
	}), 1)
}

// whyIfKnown returns why a source is polled when it is; nil if there is nobody who could
// tell.
func (c *connection) whyIfKnown(ctx context.Context, id freshet.SourceID) (*client.Why, error) {
	if c.local {
		return nil, nil
	}
	w, err := c.Sources.Why(ctx, id)
	if _, refused := errors.AsType[*client.Problem](err); refused {
		return nil, nil
	}
	return &w, err
}

// nextInWords says in short when a source will be polled.
func nextInWords(w *client.Why, now time.Time) string {
	words := "unknown"
	switch {
	case w.Hold.Kind == "under_way" || w.Hold.Kind == "paused":
		return w.Hold.Reason
	case !w.Next.IsZero() && w.Next.After(now):
		words = "in about " + roughDuration(w.Next.Sub(now))
	case !w.Next.IsZero():
		words = "any moment"
	}
	if o := w.Outlook; o != nil && !w.LastSeen.IsZero() && o.RatePerDay.IsKnown() {
		words += fmt.Sprintf("; %s likely to have changed since it was seen", percent(o.Chance))
	}
	if w.Hold.Kind != "none" && w.Hold.Kind != "budget" && w.Hold.Kind != "workers" {
		words += "; " + w.Hold.Reason
	}
	return words
}

// verboseFlag gives a verb the flag that shows the details.
func verboseFlag(cmd *cobra.Command, verbose *bool) {
	cmd.Flags().BoolVarP(verbose, "verbose", "v", false, "show the details, too")
}
