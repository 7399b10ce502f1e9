package queries_test

import (
	"testing"

	"freshet/internal/queries"
)

// TestShortForms reads what people say, writes it again from the query, and compiles all of it.
func TestShortForms(t *testing.T) {
	for _, tt := range []struct{ text, when, words string }{
		{"", "", "anything changes"},
		{"anything  changes", "", "anything changes"},
		{"price < 100", "now.price < 100", "price goes below 100"},
		{"price<100", "now.price < 100", "price goes below 100"},
		{"now.price < 99.5", "now.price < 99.5", "price goes below 99.5"},
		{"price falls below €100", "now.price < 100", "price goes below 100"},
		{"Price above 5 EUR", "now.Price > 5", "Price goes above 5"},
		{"stock >= 1", "now.stock >= 1", "stock >= 1"},
		{"status != 'green'", `now.status != "green"`, `status != "green"`},
		{"price changes by 5%", "math.abs(percent(before.price, now.price)) >= 5", "price changes by 5%"},
		{"price falls by more than 10 %", "percent(before.price, now.price) <= -10", "price falls by 10%"},
		{"price changes", "now.price != before.price", "price changes"},
		{`"sold out" appears`, `mentions(text, "sold out")`, `"sold out" appears`},
		{`word 'sold out' disappears`, `!mentions(text, "sold out")`, `"sold out" disappears`},
		{"back in stock", `now.availability == "in stock"`, "it is back in stock"},
		{"new items", "size(items.added) > 0", "new items appear"},
		{"it stops working", "poll.failures >= 3", "it stops working"},
		{`added.contains("x") && now.price < 3`, `added.contains("x") && now.price < 3`, ""},
	} {
		s := queries.ParseShortForm(tt.text)
		if s.When != tt.when || s.Words != tt.words {
			t.Errorf("%q is %q (%s), want %q (%s)", tt.text, s.When, s.Words, tt.when, tt.words)
		}
		q := queries.Query{Name: "q", When: s.When, Trigger: s.Trigger, Value: s.Value}
		if _, err := queries.Check(q, nil); err != nil {
			t.Errorf("%q: %v", tt.text, err)
		}
		if got := queries.ShortFormOf(q); got != tt.words {
			t.Errorf("%s is told as %q, want %q", s.When, got, tt.words)
		}
		if again := queries.ParseShortForm(tt.words); tt.words != "" && again != s {
			t.Errorf("%q is read as %+v, want %+v", tt.words, again, s)
		}
	}
}
