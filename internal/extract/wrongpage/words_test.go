package wrongpage_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/extract"
	"freshet/internal/extract/wrongpage"
	"freshet/internal/freshet/reading"
)

// Words are compared line by line first; that comes to the same as comparing all.
func TestCompareWords(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two", "Three", "4", "5", "日本", "é", "-"}), 0, 4).Draw(t, "words"), " ")
	})
	text := rapid.Map(rapid.SliceOfN(line, 0, 12), func(lines []string) []byte { return []byte(strings.Join(lines, "\n")) })
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		inA, inB, common := wrongpage.CompareWords(a, b)
		of := map[string]int{}
		for _, w := range splitWords(b) {
			of[w]++
		}
		want := 0
		for _, w := range splitWords(a) {
			if of[w] > 0 {
				of[w]--
				want++
			}
		}
		if inA != len(splitWords(a)) || inB != len(splitWords(b)) || common != want {
			t.Errorf("%q and %q have %d and %d words and %d in common, want %d, %d and %d", a, b, inA, inB, common, len(splitWords(a)), len(splitWords(b)), want)
		}
	})
}

// splitWords returns the words of a text of the test: digits are all alike, and of
// Japanese each letter is a word.
func splitWords(text []byte) []string {
	plain := strings.NewReplacer("日本", "日 本", "4", "0", "5", "0", "-", " ").Replace(strings.ToLower(string(text)))
	return strings.Fields(plain)
}

// That lines are known to have stayed spares work, and changes no judgement.
func TestKeptChangesNothing(t *testing.T) {
	line := rapid.SampledFrom([]string{"one two three", "a line", "page not found", "x", "", " indented", "verify you are human", strings.Repeat("long ", 100), "日本"})
	text := rapid.Map(rapid.SliceOfN(line, 1, 12), func(lines []string) []byte { return []byte(strings.Join(lines, "\n")) })
	end := rapid.SampledFrom([]string{"", "\n", "\n\n", " \n"})
	rapid.Check(t, func(t *rapid.T) {
		head, tail := text.Draw(t, "head"), text.Draw(t, "tail")
		page := func(name string) []byte {
			return slices.Concat(head, []byte("\n"), text.Draw(t, name), []byte("\n"), tail, []byte(end.Draw(t, name+" end")))
		}
		was, is := page("was"), page("is")
		p := wrongpage.Page{Kind: reading.HTML, Text: is, Body: []byte(end.Draw(t, "markup"))}
		past := wrongpage.Past{Text: was, Body: func() []byte { return []byte("</html>") }}
		want := wrongpage.Judge(p, &past)
		past.Kept = extract.Diff(was, is).KeptBytes(was)
		if got := wrongpage.Judge(p, &past); got != want {
			t.Errorf("judged as %q, and as %q if the %d bytes that stayed are known", want, got, past.Kept)
		}
	})
}
