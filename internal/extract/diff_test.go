package extract_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"freshet/internal/extract"
)

// applied returns what a delta makes of old, checking on the way that the
// delta's line numbers and counts are right.
func applied(t interface{ Errorf(string, ...any) }, d extract.Delta, old []byte) []byte {
	lines := bytes.SplitAfter(old, []byte("\n"))
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	var out []byte
	at, made, added, removed := 0, 0, 0, 0
	for _, h := range d.Hunks {
		for ; at < h.OldStart-1; at++ {
			out = append(out, lines[at]...)
			made++
		}
		if made != h.NewStart-1 {
			t.Errorf("a hunk starts at new line %d, want %d", h.NewStart, made+1)
		}
		fromOld, fromNew := at, made
		for _, l := range h.Lines {
			text := l.Text + "\n"
			if l.Unended {
				text = l.Text
			}
			if l.Mark != nil && (l.Op == extract.Keep || l.Mark.From < 0 || l.Mark.To < l.Mark.From || l.Mark.To > len(l.Text)) {
				t.Errorf("the line %q is marked %v", l.Text, *l.Mark)
			}
			if l.Op != extract.Add {
				if at >= len(lines) || string(lines[at]) != text || l.Old != at+1 {
					t.Errorf("line %d of the old text is not %q", l.Old, text)
					return nil
				}
				at++
			}
			if l.Op != extract.Remove {
				out = append(out, text...)
				if made++; l.New != made {
					t.Errorf("a line is numbered %d in the new text, want %d", l.New, made)
				}
			}
			switch l.Op {
			case extract.Add:
				added++
			case extract.Remove:
				removed++
			}
		}
		if at-fromOld != h.OldLines || made-fromNew != h.NewLines {
			t.Errorf("a hunk has %d old and %d new lines, and says %d and %d", at-fromOld, made-fromNew, h.OldLines, h.NewLines)
		}
	}
	for ; at < len(lines); at++ {
		out = append(out, lines[at]...)
	}
	if added != d.Added || removed != d.Removed {
		t.Errorf("the delta counts +%d -%d lines but has +%d -%d", d.Added, d.Removed, added, removed)
	}
	return out
}

func checkDiff(t interface{ Errorf(string, ...any) }, old, new []byte) {
	d := extract.Diff(old, new)
	if got := applied(t, d, old); !d.Coarse && !bytes.Equal(got, new) {
		t.Errorf("the delta from %q leads to %q, want %q", old, got, new)
	}
	s := d.Summary()
	if utf8.RuneCountInString(s) > 120 || strings.ContainsFunc(s, unicode.IsControl) {
		t.Errorf("the summary %q is too long or has control characters", s)
	}
	if (s == "") != bytes.Equal(old, new) {
		t.Errorf("the summary is %q for %q and %q", s, old, new)
	}
}

func TestDiffApplies(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) []byte {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "}", "d e"}), 0, 30).Draw(t, "lines"), "\n")
		return []byte(s + rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end"))
	})
	rapid.Check(t, func(t *rapid.T) {
		checkDiff(t, text.Draw(t, "old"), text.Draw(t, "new"))
	})
}

// Edits of a long text that are far apart make several hunks, and each must
// know how far those before it have shifted the new text.
func TestDiffOfDistantEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var old, new bytes.Buffer
		for i := range 200 {
			line := fmt.Sprintf("line %d\n", i)
			old.WriteString(line)
			switch rapid.IntRange(0, 40).Draw(t, "edit") {
			case 0: // removed
			case 1:
				new.WriteString("inserted\n" + line)
			case 2:
				new.WriteString("replaced\n")
			default:
				new.WriteString(line)
			}
		}
		checkDiff(t, old.Bytes(), new.Bytes())
	})
}

func TestHunks(t *testing.T) {
	numbered := func(from, to int) (s string) {
		for i := from; i <= to; i++ {
			s += fmt.Sprintf("%d\n", i)
		}
		return s
	}
	tests := []struct {
		name, old, new string
		want           []string // the headers of the hunks
	}{
		{"from nothing", "", "a\nb\n", []string{"-0,0 +1,2"}},
		{"to nothing", "a\nb\n", "", []string{"-1,2 +0,0"}},
		{"the one line", "a\n", "b\n", []string{"-1 +1"}},
		{"at the front", numbered(1, 20), "0\n" + numbered(1, 20), []string{"-1,3 +1,4"}},
		{"at the end", numbered(1, 20), numbered(1, 20) + "21\n", []string{"-18,3 +18,4"}},
		{"lines added, then one replaced", numbered(1, 40), "x\ny\n" + numbered(1, 29) + "z\n" + numbered(31, 40), []string{"-1,3 +1,5", "-27,7 +29,7"}},
		{"lines removed, then one added", numbered(1, 40), numbered(4, 30) + "x\n" + numbered(31, 40), []string{"-1,6 +1,3", "-28,6 +25,7"}},
		{"three hunks", numbered(1, 60), "x\n" + numbered(1, 29) + numbered(31, 58) + "y\n" + numbered(59, 60), []string{"-1,3 +1,4", "-27,7 +28,6", "-56,5 +56,6"}},
		{"two edits that share their context", numbered(1, 20), numbered(1, 5) + numbered(7, 12) + numbered(14, 20), []string{"-3,14 +3,12"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for line := range strings.Lines(extract.Diff([]byte(tt.old), []byte(tt.new)).Unified("a", "b")) {
				if header, ok := strings.CutPrefix(line, "@@ "); ok {
					got = append(got, strings.TrimSuffix(header, " @@\n"))
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("the hunks are %q, want %q", got, tt.want)
			}
			checkDiff(t, []byte(tt.old), []byte(tt.new))
		})
	}
}

func TestMarks(t *testing.T) {
	tests := []struct{ old, new, oldMark, newMark string }{
		{"the level is 210 cm today", "the level is 245 cm today", "210", "245"},
		{"the level is low", "the level is very low", "", "very "},
		{"the price is 10", "the price is 100", "10", "100"},
		{"the price is 100", "the price is 10", "100", "10"},
		{"10 is the price", "310 is the price", "10", "310"},
		{"abcd efghij", "abcd klmnop", "efghij", "klmnop"}, // a third in common is enough
		{"ab cdefghijk", "ab lmnopqrst", "-", "-"},         // a quarter is not
		{"größer als 3 m", "größer als 4 m", "3", "4"},
		{"Straße", "Strasse", "-", "-"},
		{"nothing in common", "quite another line", "-", "-"},
		{`"a": 1`, `"a": 1,`, "", ","},
		{"日本語のテキスト一", "日本語のテキスト二", "-", "-"},
	}
	for _, tt := range tests {
		d := extract.Diff([]byte("x\n"+tt.old+"\n"), []byte("x\n"+tt.new+"\n"))
		var got []string
		for _, l := range d.Hunks[0].Lines[1:] {
			if l.Mark == nil {
				got = append(got, "-")
			} else {
				got = append(got, l.Text[l.Mark.From:l.Mark.To])
			}
		}
		if len(got) != 2 || got[0] != tt.oldMark || got[1] != tt.newMark {
			t.Errorf("from %q to %q the marks are %q, want %q and %q", tt.old, tt.new, got, tt.oldMark, tt.newMark)
		}
	}
}

// Only runs of as many lines are compared line by line: which of two new lines
// an old one became is not known.
func TestMarksOnlyPairs(t *testing.T) {
	d := extract.Diff([]byte("x\nthe level is 210 cm\n"), []byte("x\nthe level is 245 cm\nthe level is 250 cm\n"))
	for _, l := range d.Hunks[0].Lines {
		if l.Mark != nil {
			t.Errorf("%q is marked %v", l.Text, *l.Mark)
		}
	}
	d = extract.Diff([]byte("a 1 b\na 2 b\n"), []byte("a 3 b\na 4 b\n"))
	for _, l := range d.Hunks[0].Lines {
		if l.Mark == nil || *l.Mark != (extract.Mark{From: 2, To: 3}) {
			t.Errorf("%q is marked %v, want its number", l.Text, l.Mark)
		}
	}
}

func TestDiffUnended(t *testing.T) {
	got := extract.Diff([]byte("a\nb"), []byte("a\nb\n")).Unified("old", "new")
	want := "--- old\n+++ new\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
	if got != want {
		t.Errorf("the unified diff is\n%s\nwant\n%s", got, want)
	}
}

func TestDiffTooLarge(t *testing.T) {
	old := bytes.Repeat([]byte("a line of text\n"), 150_000)
	tests := []struct {
		name     string
		old, new []byte
		want     string
	}{
		{"too many bytes", old, []byte("b\n"), "replaced, 150000 lines -> 1 line"},
		{"too many lines", bytes.Repeat([]byte("a\n"), 150_000), bytes.Repeat([]byte("b\n"), 150_000), "replaced, 150000 lines -> 150000 lines"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := extract.Diff(tt.old, tt.new)
			if !d.Coarse || d.Summary() != tt.want {
				t.Errorf("the summary is %q (coarse: %v), want %q", d.Summary(), d.Coarse, tt.want)
			}
			if got := d.Unified("a", "b"); got != "--- a\n+++ b\n# "+tt.want+"\n" {
				t.Errorf("the unified diff is %q", got)
			}
		})
	}
}

func TestSummaryIsTame(t *testing.T) {
	d := extract.Diff(nil, []byte("\x1b[31mred\x1b[0m \u202eturned\r\tand "+strings.Repeat("long ", 100)+"\n"))
	got := d.Summary()
	if !strings.HasPrefix(got, "+1 line: [31mred[0m turned and long long") || !strings.HasSuffix(got, "…") {
		t.Errorf("the summary is %q", got)
	}
}

// The summary of an edit far into a line shows the edit.
func TestSummaryShowsTheEdit(t *testing.T) {
	line := func(stock int) []byte {
		return []byte(strings.Repeat("a sentence of no weight. ", 2000) + fmt.Sprintf("There are %d kettles left. ", stock) + strings.Repeat("And more. ", 50) + "\n")
	}
	got := extract.Diff(line(12), line(11)).Summary()
	if want := "+1 -1 line: … sentence of no weight. There are 11 kettles left. And more. And more."; !strings.HasPrefix(got, want) {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}

func FuzzDiff(f *testing.F) {
	f.Add([]byte("a\nb\n"), []byte("b\nc"))
	f.Fuzz(func(t *testing.T, old, new []byte) { checkDiff(t, old, new) })
}
