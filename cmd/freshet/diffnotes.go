package main

import (
	"fmt"

	"freshet/client"
	"freshet/internal/freshet"
)

// diffItems is how many items of one kind a diff names.
const diffItems = 50

// notes prints what became of named values and items: in colour for people, and else as
// lines that programs which read diffs pass over.
func (v *diffView) notes(d client.Diff) {
	details := d.Details()
	if !v.people() {
		for _, n := range details.Notes(diffItems) {
			fmt.Fprintln(v.out, "# "+harmless(n.String()))
		}
		return
	}
	value := func(x any) string { return harmless(shorten(freshet.ShowValue(x), longLine)) }
	for _, f := range details.Fields {
		fmt.Fprintf(v.out, "%s %s → %s\n", v.bold(harmless(f.Name)), v.red(value(f.From)), v.green(value(f.To)))
	}
	code := map[string]string{"+": "32", "-": "31", "~": "33"}
	for _, n := range (freshet.Details{Items: details.Items}).Notes(diffItems) {
		fmt.Fprintln(v.out, v.paint(code[n.Mark], v.prose(harmless(n.String()), "  ")))
	}
}
