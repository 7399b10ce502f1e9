package main

import (
	"fmt"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/extract"
)

// sidesWidth is how wide two texts side by side are if the screen has no limit.
const sidesWidth = 160

// A side is what one text has beside the other; nil is nothing.
type side *client.Line

// sides prints a diff with the old text on the left and the new one on the right.
func (v *diffView) sides(d client.Diff) {
	if v.width == 0 {
		v.width = sidesWidth
	}
	wide := (v.width - 3) / 2
	name := func(n client.Version) string {
		return shorten(fmt.Sprintf("%s version %d, %s", d.Source, n.Number, n.SeenAt.Local().Format(time.DateTime)), wide)
	}
	v.row(v.bold(name(d.From)), v.bold(name(d.To)), wide)
	if d.Coarse {
		fmt.Fprintln(v.out, harmless(d.Summary))
	}
	for _, h := range d.Hunks {
		fmt.Fprintln(v.out, v.cyan(fmt.Sprintf("lines %s and %s", extract.LineRange(h.OldStart, h.OldLines), extract.LineRange(h.NewStart, h.NewLines))))
		lines := takenApart(h.Lines)
		for i := 0; i < len(lines); {
			removed := runOf(lines[i:], "-")
			added := runOf(lines[i+removed:], "+")
			if removed+added == 0 {
				v.beside(&lines[i], &lines[i], wide)
				i++
				continue
			}
			for k := range max(removed, added) {
				var left, right side
				if k < removed {
					left = &lines[i+k]
				}
				if k < added {
					right = &lines[i+removed+k]
				}
				v.beside(left, right, wide)
			}
			i += removed + added
		}
	}
}

// beside prints a line of each text, one beside the other.
func (v *diffView) beside(left, right side, wide int) {
	old, new := v.cells(left, wide), v.cells(right, wide)
	for i := range max(len(old), len(new)) {
		at := func(cells []string) string {
			if i < len(cells) {
				return cells[i]
			}
			return ""
		}
		v.row(at(old), at(new), wide)
	}
}

// cells returns a line broken into parts that fit one side.
func (v *diffView) cells(l side, wide int) (cells []string) {
	if l == nil {
		return nil
	}
	if l.Op == skipped {
		return []string{v.dim(" " + l.Text)}
	}
	for i, part := range folded(l.Text, wide-1) {
		sign := l.Op
		if i > 0 {
			sign = " "
		}
		cells = append(cells, v.painted(sign, l.Op, l.Text, part, l.Mark))
	}
	return cells
}

// row prints one row of both sides.
func (v *diffView) row(left, right string, wide int) {
	fmt.Fprintln(v.out, strings.TrimRight(pad(left, wide)+" "+v.dim("│")+" "+right, " "))
}
