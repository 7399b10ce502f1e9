package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
)

const rhythmHelp = `Draw when a source is expected to change: how often, and in which hours of the week
and minutes of the hour. Darker cells expect more changes. Hours are in your time
zone, or in that of --zone.

A source with few polls is shown with the rhythm of its site. --json also has what
polls found in each hour, weekday and five minutes.`

func rhythmVerb(p *program) *cobra.Command {
	var asJSON, plain bool
	var zone string
	cmd := &cobra.Command{
		Use:     "rhythm SOURCE",
		Short:   "Draw at which hours a source changes",
		Long:    rhythmHelp,
		Example: "  freshet learning rhythm news\n  freshet learning rhythm news --zone Europe/Berlin\n  freshet learning rhythm --json https://example.com/",
		Args:    takes(1, 1),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&zone, "zone", "", "time zone of the hours, such as Europe/Berlin or UTC (default: yours)")
	cmd.Flags().BoolVar(&plain, "plain", false, "draw with ASCII characters only")
	return completed(p, clientVerb(p, cmd, false, func(ctx context.Context, c *connection, args []string) error {
		loc := time.Local
		if zone != "" {
			var err error
			if loc, err = time.LoadLocation(zone); err != nil {
				return wrongFlag("zone", fmt.Errorf("%q is not a time zone; use a name such as Europe/Berlin", zone))
			}
		}
		s, err := c.watched(ctx, args[0])
		if err != nil {
			return err
		}
		r, err := c.Sources.Rhythm(ctx, s.ID)
		if err != nil {
			return err
		}
		if asJSON {
			return p.printJSON(r)
		}
		return drawRhythm(p.out, r, loc, time.Now(), plain)
	}), 1)
}

// Shades from few to many.
const (
	shades      = " ░▒▓█"
	plainShades = " .:*#"
)

// shade returns the character for x of most.
func shade(x, most float64, plain bool) string {
	scale := []rune(shades)
	if plain {
		scale = []rune(plainShades)
	}
	if !(most > 0) || !(x > 0) {
		return string(scale[0])
	}
	return string(scale[min(len(scale)-1, int(x/most*float64(len(scale))))])
}

// drawRhythm writes a rhythm for people.
func drawRhythm(out io.Writer, r client.Rhythm, zone *time.Location, now time.Time, plain bool) error {
	var b strings.Builder
	fmt.Fprintln(&b, r.Words(zone, now))
	if r.Rate.IsKnown() {
		week := r.In(zone, now)
		most := client.Most(week)
		fmt.Fprintf(&b, "\n     0     3     6     9     12    15    18    21    (%s)\n", now.In(zone).Format("MST"))
		for day, name := range []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"} {
			fmt.Fprintf(&b, "%s  ", name)
			for _, x := range week[day] {
				b.WriteString(strings.Repeat(shade(x, most, plain), 2))
			}
			b.WriteByte('\n')
		}
		drawMinutes(&b, r.Minutes, plain)
		whose := "its site's: it has too few polls of its own"
		if r.Own {
			whose = "its own"
		}
		fmt.Fprintf(&b, "\nThe rhythm is %s.", whose)
		if r.Watched > 0 {
			fmt.Fprintf(&b, " About %.0f changes in %s.", r.Changes, roughDuration(time.Duration(r.Watched)))
		}
		if r.Taught > 0 {
			fmt.Fprintf(&b, " %s %s imported.", counted(r.Taught, "change"), map[bool]string{true: "was", false: "were"}[r.Taught == 1])
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// drawMinutes draws the hour.
func drawMinutes(b *strings.Builder, minutes []client.RhythmBin, plain bool) {
	if len(minutes) == 0 {
		return
	}
	most := 0.0
	for _, m := range minutes {
		most = max(most, m.Factor)
	}
	b.WriteString("\n     :00         :15         :30         :45\nhour ")
	for _, m := range minutes {
		b.WriteString(strings.Repeat(shade(m.Factor, most, plain), 4))
	}
	b.WriteByte('\n')
}
