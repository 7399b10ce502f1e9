package main

import (
	"fmt"
	"time"

	"freshet/client"
)

// printChange prints the head of a change: the name of the source, more about
// it if there is any and there is room, when it changed, and how.
func printChange(p *program, c client.Change, name, about string) {
	s := p.screen()
	when := moment(c.Before, p.now())
	if !c.After.IsZero() {
		when += fmt.Sprintf(" (up to %s before)", roughDuration(c.Before.Sub(c.After)))
	}
	name, about = harmless(name), harmless(about)
	if s.width > 0 {
		name = shorten(name, max(leastWidth/2, s.width-columns(when)-1))
		about = shorten(about, max(0, s.width-columns(name)-columns(when)-2))
	}
	if about != "" && about != "…" {
		name = s.bold(name) + " " + about
	} else {
		name = s.bold(name)
	}
	fmt.Fprintf(p.out, "%s %s\n%s\n", name, s.dim(when), s.prose("  "+harmless(c.Summary), "  "))
	if c.Items != nil {
		printItemChanges(p, c.Items)
	}
	if c.Suspect != nil {
		fmt.Fprintln(p.out, s.prose("  suspect: "+harmless(c.Suspect.String()), "  "))
	}
}

// moment writes a time for people: of the day, with the date if that is not today.
func moment(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format(time.TimeOnly)
	}
	return t.Format(time.DateTime)
}
