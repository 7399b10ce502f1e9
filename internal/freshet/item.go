package freshet

import (
	"freshet/internal/mask"
	"freshet/internal/strictjson"
)

// Fields are named values: texts, numbers (float64), true or false, lists of
// texts, or nil where nothing was found. A date is a text.
type Fields map[string]any

// An Item is one of several things that a response tells: an entry of a feed, an
// element of a list, a row of a table, an entry of a calendar.
type Item struct {
	Key    string `json:"key"` // by which it is known when it comes back
	Title  string `json:"title,omitempty"`
	Link   string `json:"link,omitempty"`
	Date   string `json:"date,omitempty"`
	Text   string `json:"text,omitempty"`
	Fields Fields `json:"fields,omitempty"`
}

// Label returns what an item is called for people.
func (i Item) Label() string {
	for _, s := range []string{i.Title, i.Text, i.Link} {
		if s != "" {
			return mask.Shorten(s, 200)
		}
	}
	return mask.Shorten(strictjson.MarshalCanonical(i.Fields), 200)
}
