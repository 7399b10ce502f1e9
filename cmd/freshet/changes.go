package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/freshet"
)

func changesVerb(p *program) *cobra.Command {
	l := changeLog{program: p}
	var limit int
	var after string
	var follow bool
	var seen span
	var site string
	cmd := &cobra.Command{
		Use:   "changes [SOURCE]",
		Short: "Show what changed, and follow new changes",
		Long: `Show the latest changes of one source or of all, oldest first. --follow keeps
running and prints each new change, until you press Ctrl-C.

With --json each change is one line of JSON. Its cursor is a position in the change
log: pass it to --after to continue from there. If the data was restored from an
older backup and no longer has that position, the exit code is 4 and the hint says
where to continue.

--query takes words as freshet search does, and shows the changes that tell of them:
in the summary, in values, items or lines that changed, or in the name or URL of the
source. freshet search finds what versions say, whether it changed or not.`,
		Example: "  freshet changes\n  freshet changes --tag shop\n  freshet changes --since 2026-11-01 --until 2026-11-08\n  freshet changes --since 7d --query 'price -test'\n  freshet changes --follow --diff\n  freshet changes --after 17~k3f9q2xw --follow --json",
		Args:    takes(0, 1),
	}
	limitFlag(cmd, &limit, 20)
	cmd.Flags().StringVar(&after, "after", "", "show everything after this cursor; 0 means from the beginning")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep running and print new changes")
	cmd.Flags().BoolVar(&l.diff, "diff", false, "show the changed lines too")
	cmd.Flags().StringVar(&l.which.Tag, "tag", "", "only changes of sources that had this tag when they changed")
	cmd.Flags().StringVar(&site, "site", "", "only changes of this site and its pages")
	cmd.Flags().StringVar(&l.which.Words, "query", "", "only changes that contain these `words`")
	seen.register(cmd, "changes")
	jsonFlag(cmd, &l.json)
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		l.connection = c
		if follow && c.local {
			return errNobodyPolls
		}
		var begin *freshet.Place
		if after != "" {
			place, err := freshet.ParsePlace(after)
			if err != nil {
				return usagef("changes: --after: %q %v", after, err)
			}
			begin = &place
		}
		var err error
		if l.which.Seen, err = seen.read(p); err != nil {
			return err
		}
		if limit == 0 || !cmd.Flags().Changed("limit") && !l.which.Seen.IsZero() {
			limit = math.MaxInt32 // all, or all of that time
		}
		if len(args) > 0 && l.which.Tag != "" {
			return usagef("changes: name a source or use --tag, not both")
		}
		if len(args) > 0 {
			s, err := c.Sources.Find(ctx, args[0])
			if err != nil {
				return err
			}
			l.which.Source = s.ID
		}
		if site != "" {
			s, err := c.Sources.Find(ctx, site)
			if err != nil {
				return err
			}
			l.which.Site = s.ID
		}
		return unlessDone(ctx, l.run(ctx, begin, limit, follow))
	}), 1)
}

// A changeLog prints changes.
type changeLog struct {
	*program
	*connection
	which client.ChangeFilter
	diff  bool
	json  bool
}

// run prints the changes after a place or, if there is none, the last ones, and
// then follows the log if asked to.
func (l *changeLog) run(ctx context.Context, after *freshet.Place, limit int, follow bool) error {
	var begin freshet.Place
	switch {
	case after != nil:
		begin = *after
	case l.which == client.ChangeFilter{Tag: l.which.Tag, Words: l.which.Words, Site: l.which.Site}: // no need to read all of the log to see its end
		now, err := l.Status(ctx)
		if err != nil {
			return err
		}
		begin = now.LastChange
		begin.Cursor = max(0, begin.Cursor-freshet.Cursor(limit))
	}
	past, end, err := l.read(ctx, begin)
	for back := freshet.Cursor(limit); after == nil && err == nil && len(past) < limit && begin.Cursor > 0; { // others are in between
		back = max(1000, 8*back)
		begin.Cursor = max(0, begin.Cursor-back)
		past, end, err = l.read(ctx, begin)
	}
	if err != nil {
		return err
	}
	if after == nil {
		past = past[max(0, len(past)-limit):]
	}
	if err := l.print(ctx, past); err != nil {
		return err
	}
	if len(past) == 0 && !follow && !l.json {
		l.remark("no changes to show")
	}
	for follow {
		page, err := l.page(ctx, end, 30*time.Second)
		if err != nil {
			return err
		}
		end = page.Next
		if err := l.print(ctx, page.Items); err != nil {
			return err
		}
	}
	return nil
}

// read returns all changes after a place, and where they end.
func (l *changeLog) read(ctx context.Context, after freshet.Place) (all []client.Change, end freshet.Place, err error) {
	for {
		page, err := l.page(ctx, after, 0)
		if err != nil {
			return nil, end, err
		}
		if len(page.Items) == 0 {
			return all, page.Next, nil
		}
		all, after = append(all, page.Items...), page.Next
	}
}

func (l *changeLog) page(ctx context.Context, after freshet.Place, wait time.Duration) (client.ChangesPage, error) {
	return l.Changes(ctx, client.ChangeQuery{ChangeFilter: l.which, After: after, Limit: 1000, Wait: wait})
}

// print prints changes, with what changed if that was asked for.
func (l *changeLog) print(ctx context.Context, changes []client.Change) error {
	for _, c := range changes {
		if l.json {
			if err := l.printLine(c); err != nil {
				return err
			}
			continue
		}
		about := ""
		if c.Name != "" || c.Title != "" { // else the URL is what it is called by
			about = c.URL
		}
		printChange(l.program, c, calledIn(c), about)
		if !l.diff {
			continue
		}
		d, err := l.Sources.Diff(ctx, c.Source, 0, c.Number)
		switch {
		case errors.Is(err, freshet.ErrNotFound):
			fmt.Fprintln(l.out, "  (these versions are no longer stored)")
		case err != nil:
			return err
		default:
			newDiffView(l.program).Hunks(d.Hunks)
		}
	}
	return nil
}

// printChange prints the head of a change: the name of the source, more about
// it if there is any and there is room, when it changed, and how.
func printChange(p *program, c client.Change, name, about string) {
	s := p.screen()
	when := moment(c.Before, p.now())
	if !c.After.IsZero() {
		when += fmt.Sprintf(" (up to %s before)", roughDuration(c.Before.Sub(c.After)))
	}
	name, about = harmless(name), harmless(about)
	if s.Width > 0 {
		name = display.Shorten(name, max(display.LeastWidth/2, s.Width-display.Columns(when)-1))
		about = display.Shorten(about, max(0, s.Width-display.Columns(name)-display.Columns(when)-2))
	}
	if about != "" && about != "…" {
		name = s.Bold(name) + " " + about
	} else {
		name = s.Bold(name)
	}
	fmt.Fprintf(p.out, "%s %s\n%s\n", name, s.Dim(when), s.Prose("  "+harmless(c.Summary), "  "))
	if c.Items != nil {
		printItemChanges(p, c.Items)
	}
	if c.Suspect != nil {
		fmt.Fprintln(p.out, s.Prose("  suspect: "+harmless(c.Suspect.String()), "  "))
	}
}

// calledIn returns what people call the source of a change: its name, or else the title of its page, or the host and
// the path of its URL.
func calledIn(c client.Change) string {
	return cmp.Or(c.Name, c.Title, client.Address(c.URL), string(c.Source))
}

// moment writes a time for people: of the day, with the date if that is not today.
func moment(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
