package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"freshet/client"
)

// printQuery prints a query for people.
func (p *program) printQuery(q client.Query) error {
	paint := p.screen()
	var b strings.Builder
	row := func(name, format string, args ...any) {
		text := harmless(fmt.Sprintf(format, args...))
		fmt.Fprintf(&b, "%s %s\n", paint.dim(fmt.Sprintf("%-10s", name)), paint.prose(text, strings.Repeat(" ", 11)))
	}
	row("query", "%s  %s", q.ID, q.Name)
	row("scope", "%s", scopeText(q.Scope))
	if q.When != "" {
		row("when", "%s", oneLine(q.When))
	}
	if q.Value != "" {
		row("value", "%s", oneLine(q.Value))
	}
	if q.Importance != 0 {
		row("importance", "a match counts as %g changes", q.Importance)
	}
	for _, part := range []struct {
		name  string
		value any
	}{{"window", q.Window}, {"digest", q.Digest}, {"quiet", q.Quiet}} {
		if part.value != nil {
			row(part.name, "%s", partText(part.value))
		}
	}
	if q.Rate != "" {
		row("rate", "at most %s", q.Rate)
	}
	row("state", "%s", stateOfQuery(q))
	if w := q.Waiting; w != nil && !w.Until.IsZero() {
		row("told", "the next at %s", w.Until.Local().Format(time.DateTime))
	}
	row("matches", "%d since %s", q.Matches, q.CreatedAt.Local().Format(time.DateTime))
	_, err := p.out.Write([]byte(b.String()))
	return err
}

// partText returns a part of a query as it could be written.
func partText(part any) string {
	if text, ok := part.(string); ok {
		return text
	}
	text, err := json.Marshal(part)
	if err != nil {
		return fmt.Sprint(part)
	}
	return string(text)
}

// printMatch prints a match: what it is about, when it happened, and its value.
func printMatch(p *program, m client.Match) {
	about := string(m.Source)
	if m.Group != "" && m.Group != about {
		about = m.Group
	}
	if m.Value != nil {
		about += " = " + partText(m.Value)
	}
	if m.Change != nil {
		change := *m.Change
		printChange(p, change, fmt.Sprintf("#%d", m.Number), about)
		return
	}
	why := map[string]string{"silent": "no change fits any more", "held": "true for as long as was asked", "poll": "a poll made it true"}[string(m.Cause)]
	s := p.screen()
	fmt.Fprintf(p.out, "%s %s %s\n%s\n", s.bold(fmt.Sprintf("#%d", m.Number)), harmless(about), s.dim(moment(m.At, p.now())), s.prose("  "+why, "  "))
}
