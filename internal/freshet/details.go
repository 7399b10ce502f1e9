package freshet

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/rendering"
	"freshet/internal/mask"
)

// ItemState is the key of the known items of a source.
const ItemState = "items"

// Details describe a change beyond its text: changed values and items, or a page of a site
// that appeared or disappeared.
type Details struct {
	Fields []FieldChange   `json:"fields,omitempty"`
	Items  *ItemChanges    `json:"items,omitempty"`
	Page   crawl.PageEvent `json:"page,omitempty"` // what happened to a page of a site as a whole
	Text   *TextChange     `json:"text,omitempty"` // which lines are other, if that is known

	Picture *PictureChange `json:"picture,omitempty"` // of a source whose pictures are compared
}

// A PictureChange says how much of a picture is other, and where. Its picture is made of those of
// the two versions when somebody wants to see it.
type PictureChange struct {
	Share   float64               `json:"share"`
	Count   int                   `json:"region_count"`
	Regions []rendering.Rectangle `json:"regions,omitempty"` // the first 20, from top to bottom
}

// words returns it in a few words.
func (p *PictureChange) words() string {
	percent := p.Share * 100
	digits := 1 - int(math.Floor(math.Log10(max(percent, 1e-6)))) // two that count
	return strconv.FormatFloat(percent, 'f', max(digits, 0), 64) + "% of the picture changed"
}

// A TextChange lists the changed lines of a text, so that a message needs no versions. Lists
// and lines are truncated; the counts are not.
type TextChange struct {
	AddedCount   int      `json:"added_count"`
	RemovedCount int      `json:"removed_count"`
	Added        []string `json:"added,omitempty"`
	Removed      []string `json:"removed,omitempty"`
	Cut          bool     `json:"cut,omitempty"` // lines or parts of lines are missing
}

// A FieldChange is a changed named value. Nil means no value.
type FieldChange struct {
	Name string `json:"name"`
	From any    `json:"from"`
	To   any    `json:"to"`
}

// ItemChanges list the changed items of a source. Lists are truncated; the counts are not.
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

// An ItemChange is an item with changed values.
type ItemChange struct {
	Key    string   `json:"key"`
	Title  string   `json:"title,omitempty"`
	Fields []string `json:"fields"` // that changed: title, link, date, text or named ones

	// Values are the old and new values of short fields. From is nil if the old value is
	// unknown.
	Values []FieldChange `json:"values,omitempty"`
}

// An ItemMention names an item.
type ItemMention struct {
	Key   string `json:"key"`
	Title string `json:"title,omitempty"`
}

// ChangesFrom returns the values that differ from before, sorted by name.
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

// Lack reports whether others have a name that these do not have.
func (f Fields) Lack(others Fields) bool {
	for name := range others {
		if _, ok := f[name]; !ok {
			return true
		}
	}
	return false
}

// plainValue returns a list as []any, as JSON decodes it, and other values unchanged.
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

// ShowValue formats a named value for people.
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

// Summary returns the details in a few words. Text is the summary of the text change: it
// follows the values, and item changes replace it.
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
	if d.Picture != nil {
		parts = append(parts, d.Picture.words())
	}
	if len(parts) > 0 && strings.HasPrefix(text, "+0 -0") {
		text = ""
	}
	if text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// summary returns the item changes in a few words; "" if there are none.
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
