package doubt_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/doubt"
)

// Words are compared line by line first; that comes to the same as comparing all.
func TestCompareWords(t *testing.T) {
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two", "Three", "4", "5", "日本", "é", "-"}), 0, 4).Draw(t, "words"), " ")
	})
	text := rapid.Map(rapid.SliceOfN(line, 0, 12), func(lines []string) []byte { return []byte(strings.Join(lines, "\n")) })
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		inA, inB, common := doubt.CompareWords(a, b)
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
