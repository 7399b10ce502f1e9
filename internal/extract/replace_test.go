package extract_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/extract"
)

// A replacement that stays within bounds is that of package regexp.
func TestReplacedIsReplaceAll(t *testing.T) {
	pieces := func(of ...string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(of), 0, 8).Draw(t, "pieces"), "")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		re, err := regexp.Compile(pieces("a", "b", "(a)", "(?P<n>b+)", "x*", "^", "$", `\b`, "(", ")", "|", ".", "é").Draw(t, "pattern"))
		if err != nil {
			t.Skip("no pattern")
		}
		text := []byte(pieces("a", "b", "ab", " ", "\n", "é", "").Draw(t, "text"))
		with := []byte(pieces("$", "$$", "$1", "${1}", "${n}", "$n", "$nx", "$0", "c", "{", "}", " ").Draw(t, "with"))
		got, err := extract.Replaced(re, text, with)
		if want := re.ReplaceAll(text, with); err != nil || string(got) != string(want) {
			t.Fatalf("%q in %q by %q is %q, %v, want %q", re, text, with, got, err, want)
		}
	})
}
