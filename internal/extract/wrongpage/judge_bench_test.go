package wrongpage_test

import (
	"testing"

	"freshet/internal/extract/wrongpage"
)

// BenchmarkJudge measures what it costs to judge a page that has changed.
func BenchmarkJudge(b *testing.B) {
	var t testing.T
	c := pages(&t, "pages.json")
	for _, bb := range []struct{ name, before, now string }{
		{"edit", c.Bases["news"], c.Edits[1].Page}, {"redesign", c.Bases["news"], c.Edits[5].Page}, {"wall", c.Bases["news"], c.Suspects[0].Page},
	} {
		was, is := read(&t, bb.before), read(&t, bb.now)
		past := &wrongpage.Past{Text: was.Text, Body: func() []byte { return was.Body }}
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				wrongpage.Judge(is, past)
			}
		})
	}
}
