package display

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/client"
	"freshet/internal/extract"
)

// TestLongLineTakenApart holds that a small edit of a line of 48 KB is small on a
// screen, and that a pipe gets the lines as they are.
func TestLongLineTakenApart(t *testing.T) {
	for name, part := range map[string]string{
		"prose":  "This is sentence %d of a long line. ",
		"markup": "<li><a href=/item/%d>item</a></li>",
		"words":  "word%d ",
	} {
		text := func(edit string) []byte {
			var b strings.Builder
			for i := 0; b.Len() < 48_000; i++ {
				if i == 500 {
					b.WriteString(edit)
				}
				fmt.Fprintf(&b, part, i)
			}
			return []byte("before\n" + b.String() + "\nafter\n")
		}
		old, new := text("The price is 12 crowns today. "), text("The price is 14 crowns today. ")
		hunks := HunksOf(extract.Diff(old, new))
		var screenful, pipe strings.Builder
		(&DiffView{Screen{Width: 80}, &screenful}).Hunks(hunks)
		(&DiffView{Screen{}, &pipe}).Hunks(hunks)
		if got := screenful.String(); len(got) > 3000 || !strings.Contains(got, "12 crowns") || !strings.Contains(got, "14 crowns") {
			t.Errorf("%s: an edit of one number in %d bytes takes %d bytes on a screen:\n%.2000s", name, len(old), len(got), got)
		}
		if want := extract.Diff(old, new).Unified("", ""); !strings.HasSuffix(want, pipe.String()) {
			t.Errorf("%s: a pipe gets another diff than that of the API", name)
		}
	}
}

// TestFolded holds that a folded line loses nothing, fits, and breaks between words
// where it can.
func TestFolded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z後 ]{0,200}`).Draw(t, "text")
		most := rapid.IntRange(5, 80).Draw(t, "most")
		at := 0
		for _, part := range folded(text, most) {
			if part[0] != at || Columns(text[part[0]:part[1]]) > most {
				t.Fatalf("%q in %d columns: part %v after %d", text, most, part, at)
			}
			at = part[1]
			within := at < len(text) && at > 0 && text[at-1] != ' '
			if within && strings.Contains(text[part[0]:at], " ") {
				t.Fatalf("%q in %d columns: a word is broken at %d", text, most, at)
			}
		}
		if at != len(text) {
			t.Fatalf("%q in %d columns ends at %d", text, most, at)
		}
	})
}

// TestMarksSurvivePainting holds that a painted line says what the line says.
func TestMarksSurvivePainting(t *testing.T) {
	l := client.Line{Op: "-", Text: "the red kettle of the north", Mark: &client.Mark{From: 4, To: 14}}
	var b strings.Builder
	(&DiffView{Screen{Palette: true, Width: 12}, &b}).line(l)
	if got := strings.ReplaceAll(regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(b.String(), ""), "\n ", ""); got != "-the red kettle of the north\n" {
		t.Errorf("painted it says %q", got)
	}
	if want := "\x1b[31;7mred \x1b[0m"; !strings.Contains(b.String(), want) {
		t.Errorf("%q does not mark what differs", b.String())
	}
}

// TestDiffNotes holds that values and items stand out on a screen, that hostile names
// move no cursor, and that a pipe gets lines which patch passes over.
func TestDiffNotes(t *testing.T) {
	d := client.Diff{
		Fields: []client.FieldChange{{Name: "price", From: 10.0, To: "12\x1b[2J"}},
		Items: &client.ItemChanges{
			AddedCount: 1, Added: []client.Item{{Key: "a", Title: "New"}}, BackCount: 1, Back: []client.ItemMention{{Key: "b"}},
			UpdatedCount: 1, Updated: []client.ItemChange{{Key: "c", Fields: []string{"title"}}}, GoneCount: 60, Gone: []client.ItemMention{{Key: "d"}},
		},
	}
	var colour, wide, pipe strings.Builder
	(&DiffView{Screen{Width: 80, Palette: true}, &colour}).Notes(d)
	(&DiffView{Screen{Width: 80}, &wide}).Notes(d)
	(&DiffView{Screen{}, &pipe}).Notes(d)
	for _, want := range []string{"\x1b[32m+ New\x1b[", "\x1b[33m~ c: title\x1b[", "\x1b[31m- d\x1b["} {
		if !strings.Contains(colour.String(), want) {
			t.Errorf("there is no %q in colour:\n%q", want, colour.String())
		}
	}
	if strings.Contains(colour.String()+pipe.String(), "\x1b[2J") {
		t.Errorf("a value clears the screen:\n%q", colour.String())
	}
	if !strings.HasSuffix(wide.String(), "\n+ New\n+ b (back)\n~ c: title\n- d\n- 59 more gone\n") {
		t.Errorf("on a screen there is\n%s", wide.String())
	}
	for line := range strings.Lines(pipe.String()) {
		if !strings.HasPrefix(line, "# ") {
			t.Errorf("a pipe gets %q", line)
		}
	}
}
