package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/client"
)

const whyHelp = `Explain the next poll of a source: how often it changes and how likely it is to
have changed since it was last seen, what waiting costs, what a poll would be
worth and what polls have to be worth under the present budget, which limit is
holding it back, and when it is expected. A source is named by its id, its name
or its URL.

Only a daemon at work knows what it will do next.`

func whyVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "why SOURCE",
		Short:   "Explain when a source will be polled next, and why not now",
		Long:    whyHelp,
		Example: "  freshet why news\n  freshet why --json https://example.com/",
		Args:    takes(1, 1),
	}
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		s, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		w, err := c.Why(ctx, s.ID)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(w)
		}
		w.Name = args[0] // the name that the user knows it by
		_, err = fmt.Fprintln(p.out, p.screen().prose(harmless(w.Words(time.Local)), ""))
		return err
	}), 1)
}

// nextInWords says in short when a source will be polled; "" if there is nobody
// who could tell.
func (c *connection) nextInWords(ctx context.Context, id freshet.SourceID, now time.Time) (string, error) {
	if c.local {
		return "", nil
	}
	w, err := c.Why(ctx, id)
	if _, refused := errors.AsType[*client.Problem](err); refused {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	words := "cannot be told"
	switch {
	case w.Hold.Kind == "under_way" || w.Hold.Kind == "paused":
		return w.Hold.Reason, nil
	case !w.Next.IsZero() && w.Next.After(now):
		words = "in about " + roughDuration(w.Next.Sub(now))
	case !w.Next.IsZero():
		words = "any moment"
	}
	if o := w.Outlook; o != nil && !w.LastSeen.IsZero() {
		words += fmt.Sprintf("; %s likely to have changed since it was seen", percent(o.Chance))
	}
	if w.Hold.Kind != "none" && w.Hold.Kind != "budget" && w.Hold.Kind != "workers" {
		words += "; " + w.Hold.Reason
	}
	return words, nil
}
