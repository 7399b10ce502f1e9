package reading_test

import (
	"testing"

	"freshet/internal/freshet/reading"
)

func TestSameText(t *testing.T) {
	price := reading.Extracts{"price": {CSS: "b"}}
	items := reading.Items{CSS: "li"}
	for _, c := range []struct {
		a, b reading.Recipe
		same bool
	}{
		{reading.Recipe{}, reading.Recipe{Extract: price}, true},
		{reading.Recipe{CSS: "p", Extract: price}, reading.Recipe{CSS: "p"}, true},
		{reading.Recipe{CSS: "p", Extract: price}, reading.Recipe{CSS: "h1", Extract: price}, false},
		{reading.Recipe{Extract: price}, reading.Recipe{Extract: price, Items: items}, false},
	} {
		if got := reading.SameText(c.a.Key()+"request", c.b.Key()+"request"); got != c.same {
			t.Errorf("%s and %s: %v", c.a.Key(), c.b.Key(), got)
		}
		if reading.SameText(c.a.Key()+"one", c.b.Key()+"two") {
			t.Errorf("the request after %s does not count", c.a.Key())
		}
	}
	if reading.SameText("?", "{}") || !reading.SameText("?", "?") {
		t.Error("a key of another version is not compared as it is")
	}
}
