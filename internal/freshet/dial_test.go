package freshet_test

import (
	"testing"

	"freshet/internal/freshet"
)

func TestDials(t *testing.T) {
	for text, want := range map[string]string{
		`{"url": "http://a/", "dial": "stock ticker"}`:                     "overwrite exp:0.5/1m",
		`{"url": "http://a/", "dial": "Stock-Ticker"}`:                     "overwrite exp:0.5/1m",
		`{"url": "http://a/", "dial": "auction"}`:                          "overwrite exp:0.5/1m",
		`{"url": "http://a/", "dial": "front page"}`:                       "overwrite uniform",
		`{"url": "http://a/", "dial": "news_list"}`:                        "last:20 exp:0.5/1h",
		`{"url": "http://a/", "dial": "archive"}`:                          "append uniform",
		`{"url": "http://a/", "dial": "archive", "urgency": "window:10m"}`: "append window:10m",
		`{"url": "http://a/", "dial": "news list", "life": "last:5"}`:      "last:5 exp:0.5/1h",
	} {
		s, err := freshet.ParseDefinition([]byte(text))
		if got := s.Life.String() + " " + s.Urgency.String(); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", text, got, err, want)
		}
		again, err := freshet.ParseDefinition(s.Definition())
		if err != nil || again.Life != s.Life || again.Urgency.String() != s.Urgency.String() {
			t.Errorf("%s is kept as %s, which reads as %v %v (%v)", text, s.Definition(), again.Life, again.Urgency, err)
		}
	}
	// In a file, what is said first may be the more exact.
	var s freshet.Source
	for _, said := range [][2]string{{"life", "last:5"}, {"urgency", "window:10m"}, {"dial", "news list"}} {
		for _, f := range freshet.SourceFields() {
			if f.Name == said[0] {
				if err := f.Read(&s, said[1]); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if got := s.Life.String() + " " + s.Urgency.String(); got != "last:5 window:10m" {
		t.Errorf("a dial after life and urgency makes them %s", got)
	}
	if _, err := freshet.ParseDial("bonfire"); err == nil || err.Error() == "" {
		t.Error("a name that is none is taken")
	}
}
