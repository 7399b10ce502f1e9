package freshet

import (
	"fmt"
	"strings"

	"freshet/internal/mask"
)

// A Note describes the change of a named value or an item in one line.
type Note struct {
	Mark string // "+" for an item that is new or back, "~" for one with other values, "-" for one that is gone; "" for a value
	Text string
}

// String returns the note with its mark.
func (n Note) String() string {
	if n.Mark == "" {
		return n.Text
	}
	return n.Mark + " " + n.Text
}

// Notes returns the details line by line, values first. It names at most a number of items
// of each kind and counts the rest.
func (d Details) Notes(most int) (notes []Note) {
	for _, f := range d.Fields {
		notes = append(notes, Note{"", fmt.Sprintf("%s %s → %s", noteText(f.Name), noteText(ShowValue(f.From)), noteText(ShowValue(f.To)))})
	}
	if d.Picture != nil {
		notes = append(notes, Note{"", d.Picture.Where()})
	}
	if d.Items != nil {
		notes = append(notes, d.Items.notes(most)...)
	}
	return notes
}

// Where says how much of a picture is other, and where.
func (p *PictureChange) Where() string {
	text := p.words()
	for i, r := range p.Regions[:min(len(p.Regions), 3)] {
		text += []string{", at ", ", "}[min(i, 1)] + r.String()
	}
	if p.Count > 3 {
		text += fmt.Sprintf(" and %d more places", p.Count-3)
	}
	return text
}

func (c *ItemChanges) notes(most int) (notes []Note) {
	list := func(mark, what string, named, count int, text func(int) string) {
		for i := range min(named, most) {
			notes = append(notes, Note{mark, noteText(text(i))})
		}
		if more := count - min(named, most); more > 0 {
			notes = append(notes, Note{mark, fmt.Sprintf("%d more %s", more, what)})
		}
	}
	list("+", "new", len(c.Added), c.AddedCount, func(i int) string {
		text := c.Added[i].Label()
		if link := c.Added[i].Link; link != "" && link != text {
			text += " " + link
		}
		return text
	})
	list("+", "back", len(c.Back), c.BackCount, func(i int) string { return c.Back[i].name() + " (back)" })
	list("~", "updated", len(c.Updated), c.UpdatedCount, func(i int) string {
		return c.Updated[i].name() + ": " + strings.Join(c.Updated[i].Fields, ", ")
	})
	list("-", "gone", len(c.Gone), c.GoneCount, func(i int) string { return c.Gone[i].name() })
	return notes
}

// noteText returns a text in one line.
func noteText(s string) string { return mask.Shorten(strings.Join(strings.Fields(s), " "), 500) }
