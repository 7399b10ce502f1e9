package wrongpage_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/extract/wrongpage"
)

// Signs are found in one pass, and are those that looking for one after the other finds.
func TestFindSigns(t *testing.T) {
	signs := wrongpage.SignTexts()
	piece := rapid.OneOf(rapid.SampledFrom(signs), rapid.StringN(0, 8, -1), rapid.SampledFrom([]string{" ", "\n", "a", "not found", "4040", "pagepage not"}))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces"), "")
		text = text[rapid.IntRange(0, len(text)).Draw(t, "from"):]
		found := wrongpage.FindSigns([]byte(text))
		for _, s := range signs {
			if found[s] != strings.Contains(text, s) {
				t.Fatalf("%q is found: %v, in %q", s, found[s], text)
			}
		}
	})
}

// A text is made plain in one pass, too.
func TestPlain(t *testing.T) {
	letters := []rune("aZé’‘`´\u00a0… \t\n\v\f\r\u0085\u2003ÄİK.日\ufffd\x00")
	text := rapid.OneOf(rapid.StringOf(rapid.SampledFrom(letters)), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
	apostrophes := strings.NewReplacer("’", "'", "‘", "'", "`", "'", "´", "'", "…", "...")
	rapid.Check(t, func(t *rapid.T) {
		text := text.Draw(t, "text")
		want := strings.Join(strings.Fields(apostrophes.Replace(strings.ToLower(text))), " ")
		if got := wrongpage.Plain(text); got != want {
			t.Errorf("%q is made %q, want %q", text, got, want)
		}
	})
}
