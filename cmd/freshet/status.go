package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/cli"
	"freshet/internal/cli/display"
)

const statusHelp = `Show on one screen whether the daemon is running, how the sources are doing, what
the budget achieves, what needs attention (with a command that helps), and the
latest changes.

The exit code is 0 if the daemon is running and can capture changes, and 1 if not.
Failing sources do not affect it.`

func statusVerb(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "status",
		Short:   "Show the state of the daemon, and what needs attention",
		Long:    statusHelp,
		Example: "  freshet status\n  freshet status --json\n  freshet status >/dev/null || echo 'freshet is not working'",
		Args:    takes(0, 0),
	}
	jsonFlag(cmd, &asJSON)
	return clientVerb(p, cmd, false, func(ctx context.Context, c *connection, _ []string) error {
		o, err := c.Overview(ctx)
		if err != nil {
			return err
		}
		if asJSON {
			err = p.printJSON(o)
		} else {
			(&statusView{p.screen(), p.out, p.now()}).show(o)
		}
		if err == nil && (!o.Status.Running || !o.Status.Ready) {
			err = errNotWell
		}
		return err
	})
}

// A statusView prints an overview.
type statusView struct {
	display.Screen
	out io.Writer
	now time.Time
}

// show prints the screen.
func (v *statusView) show(o client.Overview) {
	v.say("%s", v.running(o.Status))
	fmt.Fprintln(v.out)
	v.line("Sources", v.sources(o.Sources))
	v.line("Budget", v.budget(o))
	v.line("Disk", disk(o.Status))
	v.line("Sinks", owedTo(o.Status.Sinks))
	if len(o.Attention) > 0 {
		fmt.Fprintf(v.out, "\n%s\n", v.Bold("Needs attention"))
		for _, a := range o.Attention {
			v.say("  %s", harmless(a.Text))
			if a.Command != "" { // whole, to be copied
				fmt.Fprintln(v.out, "      "+v.Cyan(harmless(a.Command)))
			}
		}
	}
	if len(o.Changes) > 0 {
		fmt.Fprintf(v.out, "\n%s\n", v.Bold("Latest changes"))
		v.changes(o.Changes)
	}
}

// say prints prose.
func (v *statusView) say(format string, args ...any) {
	fmt.Fprintln(v.out, v.Prose(fmt.Sprintf(format, args...), "    "))
}

// line prints a name and a text, unless the text is empty.
func (v *statusView) line(name, value string) {
	if value != "" {
		const indent = "           "
		fmt.Fprintln(v.out, v.Dim(display.Pad(name, len(indent)-1))+" "+strings.Join(display.Wrap(value, max(0, v.Width-len(indent)), ""), "\n"+indent))
	}
}

// running describes whether a daemon is running.
func (v *statusView) running(s client.Status) string {
	switch {
	case s.Loading != nil:
		return v.Yellow("Freshet is starting") + fmt.Sprintf(": %d of %d sources loaded.", s.Loading.Done, s.Loading.Of)
	case !s.Running:
		return v.Yellow("No daemon is running") + ", so nothing is polled."
	case !s.Ready:
		return v.Red("Freshet is running but cannot capture changes") + ": " + harmless(s.Trouble) + "."
	}
	up := ""
	if d := v.now.Sub(s.StartedAt); d >= 0 { // else the clock of the daemon, or of its database, is ahead of ours
		up = " (" + roughDuration(d) + ")"
	}
	return fmt.Sprintf("%s since %s%s, version %s.", v.Green("Freshet is running"), s.StartedAt.Local().Format("2006-01-02 15:04"), up, s.Version)
}

// sources counts the sources by state.
func (v *statusView) sources(s client.StateCounts) string {
	if s.All == 0 {
		return "none; add one with freshet add URL"
	}
	var parts []string
	for _, part := range []struct {
		n     int
		what  string
		paint func(string) string
	}{
		{s.Failing, "failing", v.Red}, {s.Suspect, "suspect", v.Yellow}, {s.Paused, "paused", v.Dim}, {s.Unseen, "not seen yet", v.Yellow}, {s.Noisy, "noisy", v.Yellow},
	} {
		if part.n > 0 {
			parts = append(parts, part.paint(fmt.Sprintf("%d %s", part.n, part.what)))
		}
	}
	if len(parts) == 0 {
		parts = []string{"all are fine"}
	}
	return fmt.Sprintf("%d: %s", s.All, strings.Join(parts, ", "))
}

// budget returns what is spent and which share of changes that captures, if known.
func (v *statusView) budget(o client.Overview) string {
	words := o.Status.Budget
	if s := o.Spending; s != nil && s.Most > 0 {
		words += fmt.Sprintf(", %s used", percent(float64(s.Used)/float64(s.Most)))
	}
	if o.Captured != nil {
		words += "; " + capturedHonestly(*o.Captured)
	}
	return words
}

// capturedHonestly says what share of changes is captured, or why that is not
// known yet.
func capturedHonestly(c client.Captured) string {
	if c.TooEarly != "" {
		return "too early to say what share of changes is captured: " + c.TooEarly
	}
	if c.Saturated {
		return fmt.Sprintf("at most %s of changes are captured", percent(c.Share.High))
	}
	return fmt.Sprintf("about %s of changes are captured (%s)", percent(c.Share.Mean), bounds(c.Share))
}

// disk says what room the store takes, and what is left.
func disk(s client.Status) string {
	var parts []string
	if s.StoreBytes > 0 {
		parts = append(parts, cli.Size(s.StoreBytes)+" used")
	}
	if d := s.Disk; d != nil {
		parts = append(parts, cli.Size(d.Free)+" free")
		if d.DaysLeft != nil && *d.DaysLeft < 3650 {
			parts = append(parts, fmt.Sprintf("full in about %s", counted(int(*d.DaysLeft), "day")))
		}
	}
	return strings.Join(parts, ", ")
}

// owedTo describes the pending deliveries.
func owedTo(sinks []client.Sink) string {
	if len(sinks) == 0 {
		return ""
	}
	open, dead := 0, 0
	for _, s := range sinks {
		open, dead = open+s.Open, dead+s.Dead
	}
	words := fmt.Sprintf("%d, all up to date", len(sinks))
	if open > 0 {
		words = fmt.Sprintf("%d, %s waiting", len(sinks), deliveries(open))
	}
	if dead > 0 {
		words += fmt.Sprintf("; %s given up", deliveries(dead))
	}
	return words
}

func deliveries(n int) string {
	if n == 1 {
		return "1 delivery"
	}
	return fmt.Sprintf("%d deliveries", n)
}

// changes prints the latest changes, one a line.
func (v *statusView) changes(latest []client.Change) {
	wide := 0
	for _, c := range latest {
		wide = max(wide, min(display.Columns(calledIn(c)), logLongID))
	}
	for _, c := range latest {
		head := fmt.Sprintf("  %s  %s  ", display.Pad(ago(c.Before, v.now), len("just now")), display.Pad(display.Shorten(harmless(calledIn(c)), logLongID), wide))
		said := harmless(cmp.Or(c.Summary, c.URL))
		if v.Width > 0 {
			said = display.ShortenEnd(said, v.Width-display.Columns(head))
		}
		fmt.Fprintln(v.out, head+said)
	}
}
