package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// wordDiff writes spans as git does with --word-diff.
func wordDiff(spans []extract.Span) string {
	var b strings.Builder
	for _, s := range spans {
		switch s.Op {
		case extract.Keep:
			b.WriteString(s.Text)
		case extract.Remove:
			b.WriteString("[-" + s.Text + "-]")
		case extract.Add:
			b.WriteString("{+" + s.Text + "+}")
		}
	}
	return b.String()
}

func TestWords(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{"", "", ""},
		{"", "new", "{+new+}"},
		{"old", "", "[-old-]"},
		{"the price is 12 euros", "the price is 14 euros", "the price is [-12-]{+14+} euros"},
		{"a quick brown fox", "a slow red fox", "a [-quick brown-]{+slow red+} fox"},
		{"one two", "one two three", "one two{+ three+}"},
		{"größe 1", "größe 2", "größe [-1-]{+2+}"},
		{"don't", "won't", "[-don-]{+won+}'t"},
		{`{"a":1,"b":2}`, `{"a":1,"b":3}`, `{"a":1,"b":[-2-]{+3+}}`},
		{"one\ntwo\n", "one\nthree\n", "one\n[-two-]{+three+}\n"},
	} {
		if got := wordDiff(extract.Words(tt.old, tt.new)); got != tt.want {
			t.Errorf("%q to %q is %q, want %q", tt.old, tt.new, got, tt.want)
		}
	}
}

// sides puts the two texts together again from spans.
func sides(spans []extract.Span) (old, new string) {
	for _, s := range spans {
		if s.Op != extract.Add {
			old += s.Text
		}
		if s.Op != extract.Remove {
			new += s.Text
		}
	}
	return old, new
}

func TestWordsMakeUpBothTexts(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", " ", "  ", "\n", "}", "größe", "\u0301"}), 0, 40).Draw(t, "words"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "old"), text.Draw(t, "new")
		if old, new := sides(extract.Words(a, b)); old != a || new != b {
			t.Fatalf("%q and %q become %q and %q", a, b, old, new)
		}
	})
}

func FuzzWords(f *testing.F) {
	f.Add("the price is 12", "the price is 14")
	f.Fuzz(func(t *testing.T, a, b string) {
		if old, new := sides(extract.Words(a, b)); old != a || new != b {
			t.Fatalf("%q and %q become %q and %q", a, b, old, new)
		}
	})
}

// TestManyWords are not compared: one text has replaced the other.
func TestManyWords(t *testing.T) {
	a, b := strings.Repeat("a b ", 50_000), strings.Repeat("b a ", 50_000)
	if spans := extract.Words(a, b); len(spans) != 2 {
		t.Errorf("%d pieces, want 2", len(spans))
	}
}

// block is some lines that say enough to be known again.
func block(name string, n int) (text string) {
	for i := range n {
		text += fmt.Sprintf("The %s paragraph says something in line %d.\n", name, i)
	}
	return text
}

func TestMovedBlocks(t *testing.T) {
	one, two, three := block("first", 3), block("second", 9), block("third", 12)
	for _, tt := range []struct {
		name, old, new string
		moved          int
	}{
		{"nothing", one + two, one + two, 0},
		{"one block to the end", one + two + three, two + three + one, 3},
		{"one block to the front", two + three + one, one + two + three, 3},
		{"a block that was edited", one + two, two + block("fourth", 3), 0},
		{"short lines, which repeat by chance", "}\n" + two + "x\n", "x\n" + two + "}\n", 0},
		{"part of a block", one + two + three, two + three + strings.Join(strings.SplitAfter(one, "\n")[:2], ""), 2},
		{"copied and not moved", one + two, one + two + one, 0},
		{"lines that are apart now", "one of the two\nand the other\n" + two, two[:5*len(two)/9] + "one of the two\n" + two[5*len(two)/9:] + "and the other\n", 0},
		{"a long line", "A line that is long enough to be known again.\n" + two, two + "A line that is long enough to be known again.\n", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := extract.Diff([]byte(tt.old), []byte(tt.new))
			if d.Moved != tt.moved {
				t.Fatalf("%d lines were moved, want %d:\n%s", d.Moved, tt.moved, d.Unified("a", "b"))
			}
			checkMoved(t, d, tt.old, tt.new)
		})
	}
}

// checkMoved holds moved lines to what they say.
func checkMoved(t interface{ Errorf(string, ...any) }, d extract.Delta, old, new string) {
	a, b := strings.Split(old, "\n"), strings.Split(new, "\n")
	left, came := 0, 0
	for _, h := range d.Hunks {
		for _, l := range h.Lines {
			switch {
			case l.Moved == 0:
			case l.Op == extract.Remove && b[l.Moved-1] == l.Text:
				left++
			case l.Op == extract.Add && a[l.Moved-1] == l.Text:
				came++
			default:
				t.Errorf("the line %+v was not moved there", l)
			}
		}
	}
	if left != d.Moved || came != d.Moved {
		t.Errorf("%d lines left and %d came, but %d were moved", left, came, d.Moved)
	}
}

func TestMovedLinesAreThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a line that is long enough to be known", "another line that is long enough", "}", "", "x"})
		a := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "old"), "\n")
		b := strings.Join(rapid.SliceOfN(line, 0, 20).Draw(t, "new"), "\n")
		checkMoved(t, extract.Diff([]byte(a), []byte(b)), a, b)
	})
}

// elements are all that a page with a diff may have.
const elements = " html head meta title style body h1 p table colgroup col tbody tr td ins del em bdi ul li "

// checkDiffPage holds a page to having no element or attribute that a text brought.
func checkDiffPage(t interface{ Errorf(string, ...any) }, page string) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Errorf("the page does not parse: %v", err)
		return
	}
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && !strings.Contains(elements, " "+n.Data+" ") || n.Type == html.CommentNode {
			t.Errorf("the page has an element <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if !strings.Contains(" lang charset http-equiv content name class title ", " "+a.Key+" ") {
				t.Errorf("the page has an attribute %s of <%s>", a.Key, n.Data)
			}
		}
	}
}

func TestDiffPageIsTame(t *testing.T) {
	old := "one\n</td></table><script>alert(1)</script>\n<img src=x onerror=alert(2)>\n\u202egnp.exe\n"
	new := "one\n</style><script>alert(3)</script>\n<img src=y onerror=alert(2)>\n&lt;b&gt;\x1b[31m\n<!-- x -->\n"
	d := extract.Diff([]byte(old), []byte(new))
	page := d.HTML(`"><script>a</script>`, "b")
	checkDiffPage(t, page)
	if strings.ContainsAny(page, "\x1b\u202e") {
		t.Error("the page has control characters")
	}
	if !strings.Contains(page, "onerror=alert(2)&gt;") || !strings.Contains(page, "<ins>") {
		t.Errorf("the page does not show the texts:\n%s", page)
	}
}

func TestDiffsTellOfValuesAndItems(t *testing.T) {
	d := extract.Diff([]byte("one\n"), []byte("two\n"))
	d.Details = freshet.Details{
		Fields: []freshet.FieldChange{{Name: "price", From: "<1>", To: 2.5}},
		Items:  &freshet.ItemChanges{BackCount: 1, Back: []freshet.ItemMention{{Key: "k", Title: "Some <b>"}}},
	}
	for name, tt := range map[string]struct{ text, want string }{
		"unified":   {d.Unified("a", "b"), "# price <1> → 2.5\n# + Some <b> (back)\n--- a\n"},
		"word":      {d.WordDiff("a", "b"), "# price <1> → 2.5\n# + Some <b> (back)\n--- a\n"},
		"html":      {d.HTML("a", "b"), "<li><bdi>price</bdi> <del><bdi>&lt;1&gt;</bdi></del> <ins><bdi>2.5</bdi></ins></li>\n<li><ins>+ <bdi>Some &lt;b&gt; (back)</bdi></ins></li>"},
		"no change": {extract.Delta{Details: d.Details}.Unified("a", "b"), "# price <1> → 2.5\n# + Some <b> (back)\n"},
	} {
		if !strings.Contains(tt.text, tt.want) {
			t.Errorf("the diff as %s has no %q:\n%s", name, tt.want, tt.text)
		}
	}
	checkDiffPage(t, d.HTML("a", "b"))
}

func FuzzDiffHTML(f *testing.F) {
	f.Add("<b>one</b>\n", "<script>two</script>\n", "name")
	f.Fuzz(func(t *testing.T, a, b, name string) {
		d := extract.Diff([]byte(a), []byte(b))
		d.Details = freshet.Details{
			Fields: []freshet.FieldChange{{Name: name, From: a, To: []string{b}}},
			Items: &freshet.ItemChanges{
				AddedCount: 1, Added: []freshet.Item{{Key: a, Title: b, Link: name}},
				UpdatedCount: 2, Updated: []freshet.ItemChange{{Key: b, Fields: []string{name}}},
				GoneCount: 1, Gone: []freshet.ItemMention{{Key: name, Title: a}},
			},
		}
		checkDiffPage(t, d.HTML(name, name))
		for line := range strings.Lines(strings.TrimSuffix(d.Unified("old", "new"), extract.Diff([]byte(a), []byte(b)).Unified("old", "new"))) {
			if !strings.HasPrefix(line, "# ") {
				t.Errorf("%q stands before the diff", line)
			}
		}
	})
}
