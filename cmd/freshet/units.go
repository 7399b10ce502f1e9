package main

import (
	"fmt"
	"time"

	"freshet/internal/cli"
	"freshet/internal/units"
)

const day = units.Day

// roughDuration writes a length of time for people, in one unit or two.
func roughDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 2*day:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d/day))
}

// ago says for people how long before now something was.
func ago(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "never"
	case now.Sub(t) < time.Second:
		return "just now"
	}
	return roughDuration(now.Sub(t)) + " ago"
}

// each returns what becomes of the items of a list.
func each[T, R any](list []T, of func(T) R) []R {
	made := make([]R, 0, len(list))
	for _, v := range list {
		made = append(made, of(v))
	}
	return made
}

// clock writes a time of the day for people.
func clock(t time.Time) string { return t.Local().Format("15:04:05") }

// counted writes a number of things.
func counted(n int, thing string) string { return cli.Counted(n, thing) }
