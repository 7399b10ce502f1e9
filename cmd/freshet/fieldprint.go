package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// fewItems is how many items of a change are printed.
const fewItems = 5

// printItemChanges prints which items are new, which are other and which are gone.
func printItemChanges(p *program, c *client.ItemChanges) {
	s := p.screen()
	for _, n := range (freshet.Details{Items: c.Plain()}).Notes(fewItems) {
		fmt.Fprintln(p.out, s.prose("  "+harmless(n.String()), "    "))
	}
}

// printField prints the history of a named value, those that follow an equal one
// left out.
func printField(ctx context.Context, p *program, c *connection, s client.Source, name string, w window, asJSON bool) error {
	values, err := w.values(ctx, c, s.ID, name)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(values)
	}
	if len(values) == 0 && w.at.IsZero() && w.seen.IsZero() {
		p.remark("%s has no value of %s yet", label(s), name)
		return nil
	}
	if len(values) == 0 {
		p.remark("%s had no value of %s at that time", label(s), name)
		return nil
	}
	t := table{head: []string{"VERSION", "SEEN", "AGO", "VALUE"}, drop: []string{"AGO"}}
	for i, v := range values {
		text := freshet.ShowValue(v.Value)
		if i+1 < len(values) && freshet.ShowValue(values[i+1].Value) == text {
			continue
		}
		t.add(plain(strconv.Itoa(v.Version)), plain(v.SeenAt.Local().Format(time.DateTime)), plain(ago(v.SeenAt, p.now())), plain(harmless(text)))
	}
	return t.write(p.out, p.screen())
}

// fieldLines returns named values for people, one a line.
func fieldLines(fields map[string]any) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		lines = append(lines, fmt.Sprintf("%s %s", name, freshet.ShowValue(fields[name])))
	}
	return lines
}
