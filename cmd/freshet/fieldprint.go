package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet"
	"freshet/client"
)

// printFieldChanges prints which named values are other than before.
func printFieldChanges(p *program, changes []client.FieldChange) {
	paint := p.screen()
	for _, c := range changes {
		fmt.Fprintf(p.out, "%s %s → %s\n", paint.bold(harmless(c.Name)), paint.red(harmless(freshet.ShowValue(c.From))), paint.green(harmless(freshet.ShowValue(c.To))))
	}
}

// fewItems is how many items of a change are printed.
const fewItems = 5

// printItemChanges prints which items are new, which are other and which are gone.
func printItemChanges(p *program, c *client.ItemChanges) {
	s := p.screen()
	print := func(mark, text string) {
		fmt.Fprintln(p.out, s.prose("  "+mark+" "+harmless(text), "    "))
	}
	for i, item := range c.Added {
		if i == fewItems {
			print("+", fmt.Sprintf("%d more", c.AddedCount-i))
			break
		}
		text := freshet.Item(item).Label()
		if item.Link != "" && item.Link != text {
			text += " " + item.Link
		}
		print("+", text)
	}
	for i, u := range c.Updated {
		if i == fewItems {
			print("~", fmt.Sprintf("%d more", c.UpdatedCount-i))
			break
		}
		name := u.Title
		if name == "" {
			name = u.Key
		}
		print("~", fmt.Sprintf("%s: %s", name, strings.Join(u.Fields, ", ")))
	}
	for i, g := range c.Gone {
		if i == fewItems {
			print("-", fmt.Sprintf("%d more", c.GoneCount-i))
			break
		}
		name := g.Title
		if name == "" {
			name = g.Key
		}
		print("-", name)
	}
}

// printField prints the history of a named value, those that follow an equal one
// left out.
func printField(ctx context.Context, p *program, c *connection, s client.Source, name string, limit int, asJSON bool) error {
	values, err := c.Field(ctx, s.ID, name, limit)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(values)
	}
	if len(values) == 0 {
		p.remark("%s has no value of %s yet", label(s), name)
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
