package display

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Table lines its cells up in columns. Where it is wider than the screen it
// shortens the cells of some columns, leaves out others, and wraps the last.
type Table struct {
	Head []string
	Rows [][]Cell

	// short has the columns whose cells may be shortened, and to how much at
	// most. Drop names those that are left out where there is no room, the least
	// important first.
	Short map[string]int
	Drop  []string
}

// A Cell is a text and how to paint it; nil leaves it plain.
type Cell struct {
	Text  string
	Paint func(string) string
}

// Plain returns a cell in no colour.
func Plain(text string) Cell { return Cell{Text: text} }

// Painted returns a cell in a colour.
func Painted(text string, paint func(string) string) Cell { return Cell{text, paint} }

// Add adds a row.
func (t *Table) Add(cells ...Cell) { t.Rows = append(t.Rows, cells) }

// gap is how many columns lie between two cells.
const gap = 2

// leastLast is the narrowest that the last column gets before others are left
// out.
const leastLast = 16

// Write prints the table. The last column is not padded.
func (t *Table) Write(w io.Writer, s Screen) error {
	shown, widths := t.Fit(s.Width)
	var b strings.Builder
	line := func(at func(i int) Cell) {
		last := shown[len(shown)-1]
		lines := Wrap(at(last).Text, widths[last], "")
		before := 0
		var row strings.Builder
		for _, i := range shown {
			if i != last {
				text := Shorten(at(i).Text, widths[i])
				row.WriteString(painted(at(i), text) + strings.Repeat(" ", widths[i]-Columns(text)+gap))
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
	line(func(i int) Cell { return Cell{t.Head[i], s.Dim} })
	for _, row := range t.Rows {
		line(func(i int) Cell { return row[i] })
	}
	_, err := fmt.Fprint(w, b.String())
	return err
}

// painted returns a text in the colour of a cell.
func painted(c Cell, text string) string {
	if c.Paint == nil {
		return text
	}
	return c.Paint(text)
}

// Fit returns which columns are shown, and how wide each is.
func (t *Table) Fit(most int) (shown []int, widths []int) {
	natural := t.natural()
	for i := range t.Head {
		shown = append(shown, i)
	}
	if most <= 0 {
		return shown, natural
	}
	for _, name := range append([]string{""}, t.Drop...) {
		shown = slices.DeleteFunc(shown, func(i int) bool { return t.Head[i] == name })
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
func (t *Table) natural() []int {
	widths := make([]int, len(t.Head))
	for i, h := range t.Head {
		widths[i] = Columns(h)
		for _, row := range t.Rows {
			widths[i] = max(widths[i], Columns(row[i].Text))
		}
	}
	return widths
}

// squeeze fits columns into a width by shortening some and wrapping the last,
// and reports whether that is enough.
func (t *Table) squeeze(shown, natural []int, most int) (widths []int, ok bool) {
	widths = slices.Clone(natural)
	room := most - gap*(len(shown)-1)
	last := shown[len(shown)-1]
	for over := excess(shown, widths, room); over > 0; over-- {
		narrow := -1 // the column that has most to give
		spare := 0
		for _, i := range shown {
			least, may := t.Short[t.Head[i]]
			if i == last && !may {
				least, may = leastLast, true
			}
			if give := widths[i] - max(least, Columns(t.Head[i])); may && give > spare {
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
