package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"freshet"
	"freshet/client"
)

// errNobodyPolls is what following comes to without a daemon.
var errNobodyPolls = freshet.WithHint(fmt.Errorf("there is nothing to follow: no daemon holds the data directory"), "start one with freshet serve, or name one with --server")

func logVerb(p *program) *cobra.Command {
	var limit int
	var follow, failed, asJSON bool
	cmd := &cobra.Command{
		Use:   "log [SOURCE]",
		Short: "Show how polls ended",
		Long: `Show how the last polls ended, of one source or of all, the oldest first. With
--follow further ones are shown as they come, until interrupted; with --json each
is on a line of its own.`,
		Example: "  freshet log\n  freshet log news --failed\n  freshet log --follow --json",
		Args:    takes(0, 1),
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "at most so many of those that there are")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with further ones")
	cmd.Flags().BoolVar(&failed, "failed", false, "only polls that failed")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		l := pollLog{program: p, connection: c, failed: failed, json: asJSON, urls: map[freshet.SourceID]string{}}
		if follow && c.local {
			return errNobodyPolls
		}
		if len(args) > 0 {
			s, err := c.find(ctx, args[0])
			if err != nil {
				return err
			}
			l.source, l.urls[s.ID] = s.ID, s.URL
		}
		after, err := l.past(ctx, limit)
		if err != nil || !follow {
			return err
		}
		return l.follow(ctx, after)
	}), 1)
}

// A pollLog prints outcomes of polls.
type pollLog struct {
	*program
	*connection
	source freshet.SourceID // "" means all
	failed bool
	json   bool
	urls   map[freshet.SourceID]string // looked up so far
}

// past prints the last outcomes and returns where the log ends.
func (l *pollLog) past(ctx context.Context, limit int) (end freshet.Place, err error) {
	newest, err := l.Outcomes(ctx, client.OutcomeQuery{Newest: true, Limit: 1})
	if err != nil || len(newest.Items) == 0 {
		return end, err
	}
	end = newest.Items[0].Cursor
	shown, err := l.last(ctx, limit)
	for _, o := range slices.Backward(shown) {
		if err == nil {
			err = l.print(ctx, o)
		}
	}
	return end, err
}

// last returns the last outcomes that are wanted, the newest first.
func (l *pollLog) last(ctx context.Context, limit int) (found []client.Outcome, err error) {
	var before freshet.Place
	for len(found) < limit {
		items, older, err := l.older(ctx, before, min(1000, limit))
		if err != nil {
			return nil, err
		}
		found = append(found, l.wanted(items)...)
		if older.Cursor == 0 {
			break
		}
		before = older
	}
	return found[:min(limit, len(found))], nil
}

// older returns a page of the log, the newest first, and where to go on; zero
// at its beginning.
func (l *pollLog) older(ctx context.Context, before freshet.Place, limit int) ([]client.Outcome, freshet.Place, error) {
	if l.source == "" {
		page, err := l.Outcomes(ctx, client.OutcomeQuery{Newest: true, Before: before, Limit: limit})
		return page.Items, page.Next, err
	}
	page, err := l.SourceOutcomes(ctx, l.source, before, limit)
	if err != nil || page.Next == nil {
		return page.Items, freshet.Place{}, err
	}
	return page.Items, *page.Next, nil
}

// wanted drops the outcomes that were not asked for.
func (l *pollLog) wanted(found []client.Outcome) []client.Outcome {
	return slices.DeleteFunc(found, func(o client.Outcome) bool {
		return l.failed && o.Result != freshet.Failed.String() || l.source != "" && o.Source != l.source
	})
}

// follow prints outcomes as they come, until ctx is done.
func (l *pollLog) follow(ctx context.Context, after freshet.Place) error {
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		page, err := l.Outcomes(ctx, client.OutcomeQuery{After: after, Limit: 1000})
		if err != nil {
			return unlessDone(ctx, err)
		}
		after = page.Next
		for _, o := range l.wanted(page.Items) {
			if err := l.print(ctx, o); err != nil {
				return unlessDone(ctx, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
	}
}

// print prints one outcome.
func (l *pollLog) print(ctx context.Context, o client.Outcome) error {
	if l.json {
		return l.printLine(o)
	}
	paint := palette(l.colours(l.out))
	what := map[string]func(string) string{"changed": paint.green, "first": paint.green, "failed": paint.red}[o.Result]
	if what == nil {
		what = paint.dim
	}
	detail := strconv.Itoa(o.Status)
	if o.Result == freshet.Failed.String() {
		detail = harmless(fmt.Sprintf("%s: %s", o.Failure, o.Error))
	} else if o.Version > 0 {
		detail += fmt.Sprintf(" version %d", o.Version)
	}
	_, err := fmt.Fprintf(l.out, "%s %s %6s %-10s %s %s\n", paint.dim(o.Ended.Local().Format(time.DateTime)),
		what(fmt.Sprintf("%-9s", o.Result)), roughDuration(o.Ended.Sub(o.Began)), o.Source, shorten(l.url(ctx, o.Source), 52), detail)
	return err
}

// url returns the URL of a source, or "" if it is no longer watched.
func (l *pollLog) url(ctx context.Context, id freshet.SourceID) string {
	known, ok := l.urls[id]
	if !ok {
		if s, err := l.Source(ctx, id); err == nil {
			known = s.URL
		}
		l.urls[id] = known
	}
	return known
}

// unlessDone returns err, or nil if all that happened is that we were asked to
// stop.
func unlessDone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
