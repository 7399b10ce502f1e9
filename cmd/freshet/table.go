package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A table lines its cells up in columns. Where it is wider than the screen it
// shortens the cells of some columns, leaves out others, and wraps the last.
type table struct {
	head []string
	rows [][]cell

	// short has the columns whose cells may be shortened, and to how much at
	// most. Drop names those that are left out where there is no room, the least
	// important first.
	short map[string]int
	drop  []string
}

// A cell is a text and how to paint it; nil leaves it plain.
type cell struct {
	text  string
	paint func(string) string
}

func plain(text string) cell { return cell{text: text} }

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// gap is how many columns lie between two cells.
const gap = 2

// leastLast is the narrowest that the last column gets before others are left
// out.
const leastLast = 16

// write prints the table. The last column is not padded.
func (t *table) write(w io.Writer, s screen) error {
	shown, widths := t.fit(s.width)
	var b strings.Builder
	line := func(at func(i int) cell) {
		last := shown[len(shown)-1]
		lines := wrap(at(last).text, widths[last], "")
		before := 0
		var row strings.Builder
		for _, i := range shown {
			if i != last {
				text := shorten(at(i).text, widths[i])
				row.WriteString(painted(at(i), text) + strings.Repeat(" ", widths[i]-columns(text)+gap))
				before += widths[i] + gap
			}
		}
		for n, text := range lines {
			if n > 0 {
				row.WriteString(strings.Repeat(" ", before))
			}
			row.WriteString(painted(at(last), text))
			b.WriteString(strings.TrimRight(row.String(), " ") + "\n")
			row.Reset()
		}
	}
	line(func(i int) cell { return cell{t.head[i], s.dim} })
	for _, row := range t.rows {
		line(func(i int) cell { return row[i] })
	}
	_, err := fmt.Fprint(w, b.String())
	return err
}

// painted returns a text in the colour of a cell.
func painted(c cell, text string) string {
	if c.paint == nil {
		return text
	}
	return c.paint(text)
}

// fit returns which columns are shown, and how wide each is.
func (t *table) fit(most int) (shown []int, widths []int) {
	natural := t.natural()
	for i := range t.head {
		shown = append(shown, i)
	}
	if most <= 0 {
		return shown, natural
	}
	for _, name := range append([]string{""}, t.drop...) {
		shown = slices.DeleteFunc(shown, func(i int) bool { return t.head[i] == name })
		if widths, ok := t.squeeze(shown, natural, most); ok {
			return shown, widths
		}
	}
	// All that may go is gone: what is left shares what there is.
	widths = slices.Clone(natural)
	room := max(len(shown), most-gap*(len(shown)-1))
	for excess(shown, widths, room) > 0 {
		widest := slices.MaxFunc(shown, func(a, b int) int { return widths[a] - widths[b] })
		widths[widest]--
	}
	return shown, widths
}

// natural returns how wide the columns would like to be.
func (t *table) natural() []int {
	widths := make([]int, len(t.head))
	for i, h := range t.head {
		widths[i] = columns(h)
		for _, row := range t.rows {
			widths[i] = max(widths[i], columns(row[i].text))
		}
	}
	return widths
}

// squeeze fits columns into a width by shortening some and wrapping the last,
// and reports whether that is enough.
func (t *table) squeeze(shown, natural []int, most int) (widths []int, ok bool) {
	widths = slices.Clone(natural)
	room := most - gap*(len(shown)-1)
	last := shown[len(shown)-1]
	for over := excess(shown, widths, room); over > 0; over-- {
		narrow := -1 // the column that has most to give
		spare := 0
		for _, i := range shown {
			least, may := t.short[t.head[i]]
			if i == last && !may {
				least, may = leastLast, true
			}
			if give := widths[i] - max(least, columns(t.head[i])); may && give > spare {
				narrow, spare = i, give
			}
		}
		if narrow < 0 {
			return nil, false
		}
		widths[narrow]--
	}
	return widths, true
}

// excess returns by how much columns are wider than the room for them.
func excess(shown, widths []int, room int) int {
	sum := 0
	for _, i := range shown {
		sum += widths[i]
	}
	return sum - room
}
