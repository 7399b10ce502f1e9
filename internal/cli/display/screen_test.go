package display

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "kettle": 6, "é": 1, "e\u0301": 1, "後で": 4, "\x1b[31mred\x1b[0m": 3, "…": 1, "░•": 2,
	} {
		if got := Columns(text); got != want {
			t.Errorf("%q takes %d columns, want %d", text, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, tt := range []struct {
		text string
		most int
		want string
	}{
		{"kettle", 6, "kettle"},
		{"https://shop.example/kettles/red.html", 24, "https://shop.exa…ed.html"},
		{"後で見るページ", 14, "後で見るページ"},
		{"後で見るページ", 9, "後で見…ジ"},
		{"kettle", 1, "…"},
		{"kettle", 0, ""},
	} {
		if got := Shorten(tt.text, tt.most); got != tt.want {
			t.Errorf("%q in %d columns is %q, want %q", tt.text, tt.most, got, tt.want)
		}
	}
}

// TestWrap holds that no line is too long, that no word is broken, and that
// nothing is lost but the middle of words that are longer than a line.
func TestWrap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z後]{1,30}`), 1, 30).Draw(t, "words")
		most := rapid.IntRange(LeastWidth/2, 100).Draw(t, "most")
		indent := rapid.SampledFrom([]string{"", "  "}).Draw(t, "indent")
		lines := Wrap(strings.Join(words, " "), most, indent)
		for i, word := range words {
			words[i] = Shorten(word, most)
		}
		for _, line := range lines {
			if Columns(line) > most {
				t.Fatalf("%q has %d columns, want %d at most", line, Columns(line), most)
			}
		}
		got := strings.Fields(strings.Join(lines, " "))
		if len(got) != len(words) {
			t.Fatalf("%d words became %d: %q", len(words), len(got), lines)
		}
		for i, word := range got {
			if word != words[i] && !strings.Contains(word, "…") {
				t.Fatalf("%q became %q", words[i], word)
			}
		}
	})
}

// TestTableFits holds that a table is never wider than the screen, and that its
// first column stays.
func TestTableFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.IntRange(LeastWidth, 160).Draw(t, "most")
		table := Table{
			Head: []string{"ID", "NAME", "URL", "SEEN", "STATE"}, Short: map[string]int{"ID": 10, "NAME": 12, "URL": 20}, Drop: []string{"SEEN", "URL"},
		}
		for range rapid.IntRange(0, 5).Draw(t, "rows") {
			row := make([]Cell, len(table.Head))
			for i := range row {
				row[i] = Plain(rapid.StringMatching(`[a-z後 ]{0,60}`).Draw(t, "cell"))
			}
			table.Add(row...)
		}
		var b strings.Builder
		if err := table.Write(&b, Screen{Width: most}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := Columns(strings.TrimSuffix(line, "\n")); n > most {
				t.Fatalf("a line has %d columns, want %d at most: %q", n, most, line)
			}
		}
		if !strings.HasPrefix(b.String(), "ID") {
			t.Fatalf("the ids are left out:\n%s", b.String())
		}
	})
}
