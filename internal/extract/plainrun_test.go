package extract_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// Text is set eight bytes at a time where that can be done, and comes out as if each were
// looked at alone: with one space where there is any, and nothing that does not show.
func TestTextIsSetTheSameInAnyPiece(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "word", "somewhatlonger", " ", "  ", "\t", "\n", "\x01", "\x7f", "~", "!", "é", "\u00a0", "\u200b", "日本", "\x1f", "0"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(word).Draw(t, "words"), "")
		whole := read(t, "<p>"+text+"</p>")
		var pieces strings.Builder
		for _, r := range text { // a tag that shows nothing between any two of them
			pieces.WriteString("<i></i>" + string(r))
		}
		if got := read(t, "<p>"+pieces.String()+"</p>"); got != whole {
			t.Errorf("%q is read as %q, and letter by letter as %q", text, whole, got)
		}
	})
}

func read(t *rapid.T, page string) string {
	r, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: "text/html", Body: []byte(page)})
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Text)
}
