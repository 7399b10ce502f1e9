package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
	"freshet/internal/units"
)

// A chances is one run of the verb "forecast".
type chances struct {
	*program
	rate  string
	hold  time.Duration
	until string
	add   bool
	clear bool
	json  bool
}

func forecastVerb(p *program) *cobra.Command {
	v := chances{program: p}
	cmd := &cobra.Command{
		Use:   "forecast SOURCE [FILE]",
		Short: "Set or show the forecast of when a source changes",
		Long: `Set the forecast of when a source changes, from a calendar or from a program that
predicts it. While the forecast is valid, the policies auto and wic use it in place of
what they have learned.

The file is CSV with the column "time" and optionally "chance" (from 0 to 1, or 90%;
default 1), "until" (the latest time of the change; default a minute later) and
"expected" (a number of changes in place of a chance). Times are RFC 3339 or Unix
seconds. JSON has the form that the API takes. "-" reads standard input. --rate sets how
often the source changes at any other time (default never). With --add the forecast is
added to what is learned.

The forecast is valid until the last of its times, or as long as --for or --until say. It
replaces an earlier one. Without FILE and --rate, the current forecast is shown.`,
		Example: "  freshet learning forecast weather calendar.csv\n" +
			"  freshet learning forecast weather --rate 4/h --for 2d\n" +
			"  ./model | freshet learning forecast auction - --until 2026-11-17T20:00:00Z\n" +
			"  freshet learning forecast weather --json\n  freshet learning forecast weather --clear",
		Args: takes(1, 2),
	}
	flags := cmd.Flags()
	flags.StringVar(&v.rate, "rate", "", "changes to expect at any other time, such as 4/h or 0.5/day")
	flags.Var((*lengthFlag)(&v.hold), "for", "how long the forecast is valid, from now on")
	flags.StringVar(&v.until, "until", "", "until when the forecast is valid, such as 2026-11-17T20:00:00Z")
	flags.BoolVar(&v.add, "add", false, "add the forecast to what Freshet has learned, instead of replacing it")
	flags.BoolVar(&v.clear, "clear", false, "remove the forecast")
	jsonFlag(cmd, &v.json)
	return completed(p, clientVerb(p, cmd, false, v.run), 1)
}

func (v *chances) run(ctx context.Context, c *connection, args []string) error {
	gives := len(args) == 2 || v.rate != ""
	if v.clear && (gives || v.hold != 0 || v.until != "" || v.add) {
		return usagef("forecast: --clear goes with nothing else")
	}
	if !gives && (v.hold != 0 || v.until != "" || v.add) {
		return usagef("forecast: there is neither a FILE nor a --rate to hold")
	}
	var given imported.Forecast
	if gives {
		var err error
		if given, err = v.read(args[1:]); err != nil {
			return err
		}
	}
	s, err := c.watched(ctx, args[0])
	if err != nil {
		return err
	}
	switch {
	case v.clear:
		if err := c.Sources.ClearForecast(ctx, s.ID); err != nil {
			return err
		}
		return sayDone(v.program, "took back the chances of", s)
	case gives:
		if given, err = c.Sources.SetForecast(ctx, s.ID, given); err != nil {
			return fmt.Errorf("chances of %s: %w", s.ID, err)
		}
	default:
		if given, err = c.Sources.Forecast(ctx, s.ID); err != nil {
			return err
		}
	}
	if v.json {
		return v.printJSON(given)
	}
	return v.show(s, given, gives)
}

// read returns the chances that are to be given.
func (v *chances) read(file []string) (c imported.Forecast, err error) {
	if len(file) == 1 {
		in, name := v.in, "standard input"
		if file[0] != "-" {
			opened, err := os.Open(file[0])
			if err != nil {
				return c, err
			}
			defer opened.Close()
			in, name = opened, file[0]
		}
		if c, err = imported.ReadForecast(in); err != nil {
			return c, usagef("%s: %w", name, err)
		}
	}
	c.Add = c.Add || v.add
	if v.rate != "" {
		rate, err := perDay(v.rate)
		if err != nil {
			return c, wrongFlag("rate", err)
		}
		c.Rate = &rate
	}
	switch {
	case v.hold != 0 && v.until != "":
		return c, usagef("forecast: --for and --until say the same; give one of them")
	case v.hold != 0:
		c.Until = v.now().Add(v.hold)
	case v.until != "":
		if c.Until, err = freshet.ParseTime(v.until, v.now(), time.Local); err != nil {
			return c, wrongFlag("until", err)
		}
	}
	return c, nil
}

// perDay reads a rate such as 4/h, as changes a day.
func perDay(s string) (float64, error) {
	number, unit, _ := strings.Cut(s, "/")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	per, wrong := units.ParsePer(strings.TrimSpace(cmp.Or(unit, "day")))
	if err != nil || wrong != nil {
		return 0, fmt.Errorf("%q is not a rate such as 4/h or 0.5/day", s)
	}
	return n * float64(units.Day) / float64(per), nil
}

// show prints chances for people; those that were just given only in short.
func (v *chances) show(s client.Source, c imported.Forecast, short bool) error {
	at := func(t time.Time) string { return t.Local().Format(time.DateTime) }
	text := fmt.Sprintf("%s: %s, from %s to %s", label(s), counted(len(c.Times), "time"), at(c.From), at(c.Until))
	if c.Rate != nil {
		text += fmt.Sprintf("; %s changes a day at any time", strconv.FormatFloat(*c.Rate, 'g', 4, 64))
	}
	if c.Add {
		text += "; on top of what Freshet has learned"
	}
	if !c.Until.After(v.now()) {
		text += "; it is over"
	}
	if _, err := fmt.Fprintln(v.out, text); err != nil || short {
		return err
	}
	for _, x := range c.Times {
		line := at(x.At)
		if !x.Until.IsZero() {
			line += " to " + at(x.Until)
		}
		if x.Expected != nil {
			line += fmt.Sprintf("  %s changes", strconv.FormatFloat(*x.Expected, 'g', 4, 64))
		} else {
			line += fmt.Sprintf("  %.3g%%", 100*x.Likely())
		}
		if _, err := fmt.Fprintln(v.out, line); err != nil {
			return err
		}
	}
	return nil
}
