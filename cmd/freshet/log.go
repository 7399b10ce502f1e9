package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

// errNobodyPolls is what following comes to without a daemon.
var errNobodyPolls = freshet.WithHint(fmt.Errorf("nothing to follow: no daemon is running on this data directory"), "start one with freshet serve, or choose one with --server")

func logVerb(p *program) *cobra.Command {
	var limit int
	var follow, failed, asJSON bool
	cmd := &cobra.Command{
		Use:   "log [SOURCE]",
		Short: "Show the result of each poll",
		Long: `Show the results of the latest polls of one source or of all, oldest first.
--follow keeps running and prints each new result, until you press Ctrl-C. With
--json each result is one line of JSON.`,
		Example: "  freshet history log\n  freshet history log news --failed\n  freshet history log --follow --json",
		Args:    takes(0, 1),
	}
	limitFlag(cmd, &limit, 20)
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep running and print new results")
	cmd.Flags().BoolVar(&failed, "failed", false, "only failed polls")
	jsonFlag(cmd, &asJSON)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		l := pollLog{program: p, connection: c, failed: failed, json: asJSON, urls: map[freshet.SourceID]string{}}
		if follow && c.local {
			return errNobodyPolls
		}
		if len(args) > 0 {
			s, err := c.Sources.Find(ctx, args[0])
			if err != nil {
				return err
			}
			l.source, l.urls[s.ID] = s.ID, s.URL
		}
		if limit == 0 {
			limit = math.MaxInt32
		}
		after, shown, err := l.past(ctx, limit)
		if err == nil && shown == 0 && !follow && !asJSON {
			p.remark("no polls to show")
		}
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

// past prints the last outcomes, and returns where the log ends and how many it
// printed.
func (l *pollLog) past(ctx context.Context, limit int) (end freshet.Place, n int, err error) {
	newest, err := l.Outcomes(ctx, client.OutcomeQuery{Newest: true, Limit: 1})
	if err != nil || len(newest.Items) == 0 {
		return end, 0, err
	}
	end = newest.Items[0].Cursor
	shown, err := l.last(ctx, limit)
	for _, o := range slices.Backward(shown) {
		if err == nil {
			err = l.print(ctx, o)
		}
	}
	return end, len(shown), err
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
	page, err := l.Sources.Outcomes(ctx, l.source, before, limit)
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
	paint := l.screen()
	what := map[string]func(string) string{"changed": paint.Green, "first": paint.Green, "failed": paint.Red}[o.Result]
	if what == nil {
		what = paint.Dim
	}
	detail := strconv.Itoa(o.Status)
	if o.Result == freshet.Failed.String() {
		detail = harmless(fmt.Sprintf("%s: %s", o.Failure, o.Error))
	} else if o.Version > 0 {
		detail += fmt.Sprintf(" version %d", o.Version)
	}
	head := fmt.Sprintf("%s %s %6s ", paint.Dim(o.Ended.Local().Format(time.DateTime)), what(display.Pad(o.Result, 9)), roughDuration(o.Ended.Sub(o.Began)))
	_, err := fmt.Fprintln(l.out, l.fit(paint, head, string(o.Source), l.url(ctx, o.Source), detail))
	return err
}

// Columns of a line of the log.
const (
	logID       = 10 // that an id is filled up to
	logLongID   = 20 // that it is shortened to
	logLeastURL = 24 // below which the URL is left out
)

// fit returns a line of the log that fits the screen: the URL takes what the
// rest leaves, and what is still too long goes on below.
func (l *pollLog) fit(s display.Screen, head, id, url, detail string) string {
	if s.Width == 0 {
		return fmt.Sprintf("%s%s %s %s", head, display.Pad(id, logID), url, detail)
	}
	line := head + display.Pad(display.Shorten(id, logLongID), logID) + " "
	below := display.Columns(line)+display.Columns(detail) > s.Width
	room := s.Width - display.Columns(line)
	if !below {
		room -= display.Columns(detail) + 1
	}
	if url != "" && room >= min(display.Columns(url), logLeastURL) {
		line += display.Shorten(url, room) + " "
	}
	if !below {
		return line + detail
	}
	return strings.TrimRight(line, " ") + "\n" + s.Prose("    "+detail, "    ")
}

// url returns the URL of a source, or "" if it is no longer watched.
func (l *pollLog) url(ctx context.Context, id freshet.SourceID) string {
	known, ok := l.urls[id]
	if !ok {
		if s, err := l.Sources.Get(ctx, id); err == nil {
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
