package freshet

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"freshet/internal/freshet/crawl"
	"freshet/internal/mask"
)

// ItemState is the key under which a store keeps which items a source has
// had.
const ItemState = "items"

// Details say what a change is about, beyond its text: which named values and which
// items are other than before, or that a page of a site came or went.
type Details struct {
	Fields []FieldChange   `json:"fields,omitempty"`
	Items  *ItemChanges    `json:"items,omitempty"`
	Page   crawl.PageEvent `json:"page,omitempty"` // what happened to a page of a site as a whole
	Text   *TextChange     `json:"text,omitempty"` // which lines are other, if that is known
}

// A TextChange says which lines of a text are other than before, so that a change can be
// told without its versions. Lists and lines are cut; the counts are not.
type TextChange struct {
	AddedCount   int      `json:"added_count"`
	RemovedCount int      `json:"removed_count"`
	Added        []string `json:"added,omitempty"`
	Removed      []string `json:"removed,omitempty"`
	Cut          bool     `json:"cut,omitempty"` // there is more than is told
}

// A FieldChange is a named value that is other than before. Nil is none.
type FieldChange struct {
	Name string `json:"name"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

// ItemChanges say which items of a source are other than before. Lists are cut;
// the counts are not.
type ItemChanges struct {
	AddedCount   int           `json:"added_count"`
	UpdatedCount int           `json:"updated_count"`
	GoneCount    int           `json:"gone_count"`
	BackCount    int           `json:"back_count,omitempty"`
	Added        []Item        `json:"added,omitempty"`   // never seen before
	Updated      []ItemChange  `json:"updated,omitempty"` // with other values
	Gone         []ItemMention `json:"gone,omitempty"`
	Back         []ItemMention `json:"back,omitempty"` // seen before, and gone since
}

// An ItemChange is an item with other values than before.
type ItemChange struct {
	Key    string   `json:"key"`
	Title  string   `json:"title,omitempty"`
	Fields []string `json:"fields"` // that are other: title, link, date, text or those with names

	// Values are what short ones of them were and are. One that was not known before has
	// no From.
	Values []FieldChange `json:"values,omitempty"`
}

// An ItemMention names an item.
type ItemMention struct {
	Key   string `json:"key"`
	Title string `json:"title,omitempty"`
}

// ChangesFrom returns which values are other than before, in the order of their
// names.
func (f Fields) ChangesFrom(before Fields) (changes []FieldChange) {
	names := map[string]bool{}
	for name := range f {
		names[name] = true
	}
	for name := range before {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if from, to := plainValue(before[name]), plainValue(f[name]); !reflect.DeepEqual(from, to) {
			changes = append(changes, FieldChange{name, from, to})
		}
	}
	return changes
}

// plainValue returns a value with one type for a list, whether or not it has been
// JSON in between.
func plainValue(v any) any {
	list, ok := v.([]string)
	if !ok {
		return v
	}
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// ShowValue returns a named value for people.
func ShowValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		all := make([]string, len(v))
		for i, x := range v {
			all[i] = ShowValue(x)
		}
		return strings.Join(all, ", ")
	case []string:
		return strings.Join(v, ", ")
	}
	return fmt.Sprint(v)
}

// Summary returns the details in a few words. Text says what became of the text: it
// stands behind the values, and gives way to the items.
func (d Details) Summary(text string) string {
	var parts []string
	for i, f := range d.Fields {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d more values", len(d.Fields)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s → %s", f.Name, mask.Shorten(ShowValue(f.From), 60), mask.Shorten(ShowValue(f.To), 60)))
	}
	if items := d.Items.summary(); items != "" {
		text = items
	}
	if len(parts) > 0 && strings.HasPrefix(text, "+0 -0") {
		text = ""
	}
	if text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// summary returns which items are other in a few words, "" if none is.
func (c *ItemChanges) summary() string {
	if c == nil {
		return ""
	}
	var parts []string
	count := func(n int, word, title string) {
		if n == 0 {
			return
		}
		part := fmt.Sprintf("%d %s", n, word)
		if title != "" && len(parts) == 0 {
			part += ": " + mask.Shorten(title, 80)
		}
		parts = append(parts, part)
	}
	title := ""
	if len(c.Added) > 0 {
		title = c.Added[0].Label()
	}
	count(c.AddedCount, plural(c.AddedCount, "new item"), title)
	title = ""
	if len(c.Updated) > 0 {
		title = fmt.Sprintf("%s (%s)", c.Updated[0].name(), strings.Join(c.Updated[0].Fields, ", "))
	}
	count(c.UpdatedCount, "updated", title)
	title = ""
	if len(c.Gone) > 0 {
		title = c.Gone[0].name()
	}
	count(c.GoneCount, "gone", title)
	count(c.BackCount, "back", "")
	return strings.Join(parts, ", ")
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func (c ItemChange) name() string {
	if c.Title != "" {
		return c.Title
	}
	return c.Key
}

func (m ItemMention) name() string {
	if m.Title != "" {
		return m.Title
	}
	return m.Key
}
