package freshet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
)

// changed makes a change of items: + is new, < is back, ~ is updated in a field, and -
// is gone.
func changed(what string) *freshet.ItemChanges {
	c := &freshet.ItemChanges{}
	for _, w := range strings.Fields(what) {
		key, field, _ := strings.Cut(w[1:], ":")
		switch w[0] {
		case '+':
			c.Added = append(c.Added, freshet.Item{Key: key, Title: strings.ToUpper(key)})
		case '<':
			c.Back = append(c.Back, freshet.ItemMention{Key: key, Title: strings.ToUpper(key)})
		case '~':
			c.Updated = append(c.Updated, freshet.ItemChange{Key: key, Title: strings.ToUpper(key), Fields: []string{field}})
		case '-':
			c.Gone = append(c.Gone, freshet.ItemMention{Key: key, Title: strings.ToUpper(key)})
		}
	}
	c.AddedCount, c.BackCount, c.UpdatedCount, c.GoneCount = len(c.Added), len(c.Back), len(c.Updated), len(c.Gone)
	return c
}

func TestChangesOfItemsAreJoined(t *testing.T) {
	tests := []struct{ name, steps, want string }{
		{"one", "+a -b", "+ A\n- B"},
		{"nothing to tell", "", ""},
		{"came and went", "+a; -a", ""},
		{"came, went and came back", "+a; -a; <a", "+ A"},
		{"went and came back", "-a; <a", ""},
		{"came back and was updated", "<a; ~a:price", "+ A (back)"},
		{"came and was updated", "+a; ~a:price", "+ A"},
		{"updated twice", "~a:price; ~a:date", "~ A: date, price"},
		{"updated in the same field twice", "~a:price; ~a:price", "~ A: price"},
		{"updated and gone", "~a:price; -a", "- A"},
		{"came back and went", "<a; -a", ""},
		{"several", "+a ~c:text; +b; -c", "+ A\n+ B\n- C"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var steps []*freshet.ItemChanges
			for _, s := range strings.Split(tt.steps, ";") {
				steps = append(steps, nil) // of a change that told of none
				if s != "" {
					steps = append(steps, changed(s))
				}
			}
			var lines []string
			for _, n := range (freshet.Details{Items: freshet.JoinItemChanges(steps)}).Notes(10) {
				lines = append(lines, n.String())
			}
			if diff := cmp.Diff(tt.want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("together they say something else:\n%s", diff)
			}
		})
	}
}

func TestJoinedChangesCountWhatTheyDoNotName(t *testing.T) {
	one, two := changed("+a +b ~x:t"), changed("-a -y")
	one.AddedCount, two.GoneCount = 7, 4
	got := freshet.JoinItemChanges([]*freshet.ItemChanges{one, two})
	counts := [4]int{got.AddedCount, got.UpdatedCount, got.GoneCount, got.BackCount}
	if want := [4]int{1 + 5, 1, 1 + 2, 0}; counts != want {
		t.Errorf("new, updated, gone and back are %v, want %v", counts, want)
	}
}

func TestNotesAreLinesAndFew(t *testing.T) {
	d := freshet.Details{
		Fields: []freshet.FieldChange{{Name: "price", From: 10.0, To: nil}, {Name: "text", From: "a\nb", To: []any{"c", "d"}}},
		Items:  changed("+a +b +c <d ~e:title ~f:text -g"),
	}
	d.Items.Added[0].Link = "https://a.example/"
	d.Items.GoneCount = 9
	var lines []string
	for _, n := range d.Notes(2) {
		lines = append(lines, n.String())
	}
	want := []string{
		"price 10 → none", "text a b → c, d",
		"+ A https://a.example/", "+ B", "+ 1 more new", "+ D (back)", "~ E: title", "~ F: text", "- G", "- 8 more gone",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("the notes are other:\n%s", diff)
	}
}
