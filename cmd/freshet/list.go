package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli/display"
	"freshet/internal/suggest"
)

// A listing is one run of the verb "list".
type listing struct {
	*program
	query client.SourceQuery
	only  map[client.State]*bool
	pages bool
	json  bool
	asOf  string

	screenful bool // list no more than a person reads
}

const listHelp = `List the sources: the name of each or, if it has none, the title of its page, when
it last changed, when its next poll is expected, and how it is doing. With TEXT only
those that have it in their id, name, title or URL. With --removed those that are no
longer watched and whose history is kept: show, history, diff and cat work on them.

A site is one line. With TEXT or --pages its pages are listed, too.

Several of --failing, --noisy, --paused, --suspect and --unseen list the sources that are any
of these. Only a daemon at work knows the next poll. A terminal shows the first 100 sources
unless --limit says otherwise, and in a narrow one some columns are left out; a pipe, --json and
--width 0 get everything.`

// screenfulOfSources is how many sources are listed for a person who does not say how many.
const screenfulOfSources = 100

// sorts are the orders of a list, with the column that each is about.
var sorts = map[string]string{"id": "ID", "changed": "CHANGED", "seen": "SEEN", "next": "NEXT", "polls": "POLLS", "changes": "CHANGES"}

// sortNames are the same in the order of the help.
var sortNames = []string{"id", "changed", "seen", "next", "polls", "changes"}

func listVerb(p *program) *cobra.Command {
	l := listing{program: p, only: map[client.State]*bool{}}
	cmd := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "List the sources and their state",
		Long:  listHelp,
		Example: "  freshet list\n  freshet list --failing\n  freshet list --sort changed -n 10\n" +
			"  freshet list --tag shop --sort next\n  freshet list --json example.com\n  freshet list --as-of 2026-11-01",
		Args: takes(0, 1),
	}
	flags := cmd.Flags()
	flags.StringVar(&l.query.Tag, "tag", "", "only sources with this tag")
	for _, s := range []struct {
		state client.State
		help  string
	}{
		{client.Failing, "only sources whose last poll failed"},
		{client.Paused, "only sources that are paused"},
		{client.Noisy, "only sources that differ at nearly every poll"},
		{client.Unseen, "only sources that no poll has seen yet"},
		{client.Suspected, "only sources that are probably not the page that is wanted"},
	} {
		l.only[s.state] = flags.Bool(string(s.state), false, s.help)
	}
	flags.BoolVar(&l.pages, "pages", false, "list the pages of sites, too")
	flags.BoolVar(&l.query.Removed, "removed", false, "list removed sources whose history is kept")
	flags.StringVar(&l.query.Sort, "sort", "id", "sort by "+strings.Join(sortNames, ", "))
	flags.BoolVarP(&l.query.Reverse, "reverse", "r", false, "sort the other way round")
	flags.StringVar(&l.asOf, "as-of", "", "list the versions that were current at this `time`: a date, a time, or how long ago, such as 2d")
	limitFlag(cmd, &l.query.Limit, 0)
	jsonFlag(cmd, &l.json)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		l.screenful = !l.json && !flags.Changed("limit") && l.screen().Width > 0
		return l.run(ctx, c, args)
	})
}

func (l *listing) run(ctx context.Context, c *connection, args []string) error {
	if sorts[l.query.Sort] == "" {
		return usagef("--sort: %q is not one of %s%s", l.query.Sort, strings.Join(sortNames, ", "), suggest.DidYouMean(l.query.Sort, sortNames))
	}
	if len(args) > 0 {
		l.query.Text = args[0]
	}
	for state, wanted := range l.only {
		if *wanted {
			l.query.States = append(l.query.States, state)
		}
	}
	slices.Sort(l.query.States)
	if l.screenful && l.query.Sort != "next" { // in the order of the next polls, only a daemon at work has fewer than all
		l.query.Limit = screenfulOfSources + 1 // one more shows that there are more
	}
	l.query.Next, l.query.Named = !l.query.Removed, !l.pages && l.query.Text == ""
	if l.asOf != "" {
		at, err := l.moment("as-of", l.asOf)
		if err != nil {
			return err
		}
		return l.listAsOf(ctx, c, at)
	}
	found, err := c.Sources.List(ctx, l.query)
	if err != nil {
		return err
	}
	switch {
	case l.json:
		return l.printJSON(append([]client.Source{}, found...))
	case l.screenful && len(found) > screenfulOfSources:
		err := l.show(found[:screenfulOfSources])
		fmt.Fprintf(l.err, "these are the first %d; freshet list --limit 0 lists all, freshet list TEXT those with TEXT in their name or URL\n", screenfulOfSources)
		return err
	case len(found) > 0:
		return l.show(found)
	case l.query.Tag+l.query.Text != "" || len(l.query.States) > 0:
		fmt.Fprintln(l.err, "no source is like that; freshet list shows all")
	case l.query.Removed:
		fmt.Fprintln(l.err, "no removed sources whose history is kept")
	default:
		fmt.Fprintln(l.err, "no sources; add one with freshet add URL")
	}
	return nil
}

// show prints the sources as a table.
func (l *listing) show(found []client.Source) error {
	s, now := l.screen(), l.now()
	by := sorts[l.query.Sort]
	t := display.Table{
		Head:  []string{"ID", "NAME", "URL", "SEEN", "CHANGES", "CHANGED", "NEXT", "STATE"},
		Short: map[string]int{"ID": 10, "NAME": 14, "URL": 20},
		Drop:  []string{"SEEN", "CHANGES", "URL", "NEXT", "CHANGED"},
	}
	if by == "POLLS" {
		t.Head = slices.Insert(t.Head, 4, by)
	}
	t.Drop = slices.DeleteFunc(t.Drop, func(name string) bool { return name == by })
	for _, source := range found {
		st := source.Standing
		state, colour := stateOf(source, s.Palette)
		name := display.Plain(harmless(source.Name))
		if name.Text == "" {
			name = display.Painted(harmless(st.Title), s.Dim)
		}
		row := []display.Cell{
			display.Plain(string(source.ID)), name, display.Plain(source.URL), display.Plain(ago(st.LastSeen, now)),
			display.Plain(strconv.Itoa(st.Changes)), display.Plain(ago(st.ChangedAt, now)), display.Plain(until(source.NextPoll, now)), display.Painted(state, colour),
		}
		if by == "POLLS" {
			row = slices.Insert(row, 4, display.Plain(strconv.FormatInt(st.Polls, 10)))
		}
		t.Add(row...)
	}
	if shown, _ := t.Fit(s.Width); !slices.Contains(shown, slices.Index(t.Head, "URL")) {
		for i, source := range found { // a URL is better than no name
			if t.Rows[i][1].Text == "" {
				t.Rows[i][1] = display.Painted(source.URL, s.Dim)
			}
		}
	}
	return t.Write(l.out, s)
}

// until formats the time that is left until t; "-" if t is not known.
func until(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case t.Sub(now) < time.Second:
		return "now"
	}
	return "in " + roughDuration(t.Sub(now))
}

// stateOf says in a word or two how a source is doing, and in which colour.
func stateOf(s client.Source, paint display.Palette) (string, func(string) string) {
	st := s.Standing
	switch {
	case s.Removed:
		return "removed", paint.Dim
	case s.Is(client.Paused):
		return "paused", paint.Dim
	case s.Is(client.Failing) && st.LastError != nil:
		return fmt.Sprintf("failing ×%d: %s", st.Failures, st.LastError.Class), paint.Red
	case s.Is(client.Failing):
		return fmt.Sprintf("failing ×%d", st.Failures), paint.Red
	case s.Is(client.Unseen):
		return "new", paint.Yellow
	case s.Is(client.Suspected):
		if st.Held != nil {
			return "held: " + display.Shorten(harmless(st.Suspect.Short(s.URL)), 48), paint.Yellow
		}
		return "suspect: " + display.Shorten(harmless(st.Suspect.Short(s.URL)), 48), paint.Yellow
	case s.Is(client.Noisy):
		return "noisy", paint.Yellow
	}
	return "ok", paint.Green
}
