package queries_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/queries"
)

var schema = &queries.Schema{
	Fields: map[string]reading.ValueType{"price": reading.AsNumber, "name": reading.AsText, "sizes": reading.AsList, "ok": reading.AsBool},
	Items:  map[string]reading.ValueType{"price": reading.AsNumber},
}

// TestMistakes says where a condition is wrong, and what to do.
func TestMistakes(t *testing.T) {
	tests := []struct {
		query queries.Query
		want  string // the error
		hint  string // part of it
	}{
		{queries.Query{When: `now.price <`}, "when:1:12: this is not a condition", "now.price < 10"},
		{queries.Query{When: "added.contains(\"x\")\n  && nwo.price > 1"}, `when:2:6: there is no name or function "nwo"`, "did you mean now?"},
		{queries.Query{When: `price < 10`}, `when:1:1: there is no name or function "price"`, "now.price and before.price"},
		{queries.Query{When: `source.ide == "x"`}, `when:1:7: there is no "ide" here`, "did you mean id?"},
		{queries.Query{When: `now.name < 5`}, `when:1:10: the types do not fit: < with a text and a number`, "double(x)"},
		{queries.Query{When: `now.sizes.contains("x")`}, `when:1:19: the types do not fit`, ""},
		{queries.Query{When: `contains(added, "x")`}, `when:1:9: `, ""},
		{queries.Query{When: `added`}, "when:1:1: is a string and not true or false", "compare"},
		{queries.Query{When: `added.matches("(")`}, "when:1:15: ", ""},
		{queries.Query{When: `items.added.exists(i, items.removed.exists(j, items.added.exists(k, i.title.contains(j.title + k.title))))`}, "when:1:1: could cost up to", "beside each other"},
		{queries.Query{When: `true`, Value: `now.`}, "value:1:5: ", ""},
		{queries.Query{When: `true`, Window: queries.Window{By: "nwo.price"}}, "window.by:1:1: ", "did you mean now?"},
		{queries.Query{When: `count() > 3`}, "when:1:6: how far back count looks is not said", "window.over"},
		{queries.Query{When: `count("soon") > 3`}, `when:1:7: "soon" is not a length of time`, `"1h"`},
		{queries.Query{When: `lowest(now.price, now.name) > 3`}, "when:1:22: how far back to look must stand there", `"1h"`},
		{queries.Query{When: `items.added.exists(i, first(i.title))`}, "when:1:28: first cannot look back at a variable of a loop", "unseen"},
		{queries.Query{When: `lowest(highest(now.price, "1h"), "1h") > 3`}, "when:1:15: highest cannot stand inside lowest", ""},
		{queries.Query{When: `poll.ok && added.contains("x")`}, "when:1:1: a condition on polls cannot look at changes", "two queries"},
		{queries.Query{When: `poll.ok`, Window: queries.Window{By: "all"}}, "when:1:1: polls are counted for each source alone", "window.by"},
		{queries.Query{When: `poll.ok`, Value: `count("1h")`}, "value:1:1: a query about polls cannot look back", "poll.failures"},
		{queries.Query{When: `slot0__ == 1`}, `when:1:1: there is no name or function "slot0__"`, ""},
		{queries.Query{When: strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100)}, "when:1:", ""},
		{queries.Query{When: "true" + strings.Repeat(" || true", 300)}, "when:1:", ""},
	}
	for _, tt := range tests {
		tt.query.Name = "q"
		_, err := queries.Check(tt.query, schema)
		m, ok := errors.AsType[*queries.Mistake](err)
		if !ok || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.query.When, err, tt.want)
			continue
		}
		if !strings.Contains(freshet.HintOf(err), tt.hint) {
			t.Errorf("%s: the hint is %q, want %q", tt.query.When, freshet.HintOf(err), tt.hint)
		}
		if field, _ := invalid.FieldOf(err); field != m.Field {
			t.Errorf("%s: the field is %q, want %q", tt.query.When, field, m.Field)
		}
	}
}

// TestWholeNumbers lets people write 5 where a number is meant.
func TestWholeNumbers(t *testing.T) {
	for _, when := range []string{
		`now.price == 5`, `5 == now.price`, `now.price * 2 == 10`, `2 * now.price + 1 > 10`, `now.price - before.price == 1`,
		`percent(4, now.price) == 25`, `now.price in [1.0, 5.0]`, `now.price / 2 == 2.5`, `math.abs(now.price - 7) == 2`, `(now.price > 1 ? 3 : 4) == 3`,
		`items.added.exists(i, i.price * 2 == 6 && i.price == 3)`, `now.price + size(items.added) == 6`,
	} {
		for _, known := range []*queries.Schema{nil, schema} {
			if _, err := queries.Check(queries.Query{Name: "q", When: when}, known); err != nil {
				t.Errorf("%s: %v", when, err)
			}
		}
		e := newEngine(t, queries.Query{ID: "q", Name: "q", When: when, Trigger: queries.Each})
		c := price(5, 4)
		c.Items = &queries.Items{Added: []freshet.Item{{Fields: freshet.Fields{"price": 3.0}}}}
		if got := len(e.Observe(new(story).change("a", 0, c).events[0].(queries.Event))); got != 1 {
			t.Errorf("%s: %d matches", when, got)
		}
	}
}

// TestUnknownFields warns of values that no source has.
func TestUnknownFields(t *testing.T) {
	rep, err := queries.Check(queries.Query{Name: "q", When: `now.prize < 5 && before.prize > 5 && now.price > 1`}, schema)
	if err != nil {
		t.Fatal(err)
	}
	want := `when:1:4: no source in scope extracts "prize" (did you mean "price"?)`
	if len(rep.Warnings) != 1 || !strings.HasPrefix(rep.Warnings[0], want) {
		t.Errorf("warnings %q, want %q", rep.Warnings, want)
	}
	e := newEngine(t, queries.Query{ID: "q", Name: "q", When: `now.prize < 5 || added.contains("x")`})
	s := new(story).change("a", 0, price(1, 1)).change("a", time.Hour, queries.Content{Added: "x"})
	for i, want := range []int{0, 1} {
		if got := len(tell(e, s.events[i])); got != want {
			t.Errorf("event %d: %d matches, want %d", i, got, want)
		}
	}
	if tally := e.Tally("q"); tally.Missing != 1 || tally.Matches != 1 {
		t.Errorf("tally %+v", tally)
	}
}

// TestNeeds asks only for what some query in scope looks at.
func TestNeeds(t *testing.T) {
	e := newEngine(t,
		queries.Query{ID: "diff", Name: "q", When: `added.contains("x")`, Scope: queries.Scope{Sources: []freshet.SourceID{"diff"}}},
		queries.Query{ID: "text", Name: "q", When: `text.contains("x")`, Scope: queries.Scope{Tags: []string{"text"}}},
		queries.Query{ID: "value", Name: "q", When: `true`, Value: `now.price`, Scope: queries.Scope{Sites: []freshet.SourceID{"site"}}},
		queries.Query{ID: "items", Name: "q", When: `items.updated.exists(i, i.price < 1)`, Scope: queries.Scope{Sources: []freshet.SourceID{"items"}}},
		queries.Query{ID: "titles", Name: "q", When: `items.added.exists(i, i.title == "x")`, Scope: queries.Scope{Sources: []freshet.SourceID{"titles"}}},
		queries.Query{ID: "polls", Name: "q", When: `!poll.ok`, Scope: queries.Scope{Sources: []freshet.SourceID{"polls"}}},
	)
	for _, tt := range []struct {
		of   queries.Subject
		want queries.Need
	}{
		{queries.Subject{ID: "other"}, 0},
		{queries.Subject{ID: "diff", Label: freshet.Label{Tags: []string{"text"}}}, queries.NeedDiff | queries.NeedText | queries.NeedTextBefore},
		{queries.Subject{ID: "page", Site: "site"}, queries.NeedFields},
		{queries.Subject{ID: "items"}, queries.NeedItems},
		{queries.Subject{ID: "titles"}, 0},
		{queries.Subject{ID: "polls"}, queries.NeedPolls},
	} {
		if got := e.Needs(tt.of); got != tt.want {
			t.Errorf("%s needs %b, want %b", tt.of.ID, got, tt.want)
		}
	}
	e.Remove("diff")
	if got := e.Needs(queries.Subject{ID: "diff"}); got != 0 {
		t.Errorf("after its query was removed, diff needs %b", got)
	}
}

// TestCostly gives up conditions that cost too much when they are evaluated, and goes on.
func TestCostly(t *testing.T) {
	e := newEngine(t, queries.Query{ID: "q", Name: "q", When: `items.added.exists(i, i.text.matches("[x-z]one"))`})
	many, long := items(), strings.Repeat("some text ", 10_000)
	for range 1000 {
		many.Items.Added = append(many.Items.Added, freshet.Item{Text: long})
	}
	one := items("one")
	one.Items.Added[0].Text = "has zone"
	s := new(story).change("a", 0, many).change("a", time.Hour, one)
	if got := tell(e, s.events[0]); len(got) != 0 || e.Tally("q").Costly != 1 {
		t.Errorf("%v, tally %+v", got, e.Tally("q"))
	}
	if got := tell(e, s.events[1]); len(got) != 1 {
		t.Errorf("after a costly one: %v", got)
	}
	e = newEngine(t, queries.Query{ID: "q", Name: "q", When: `text.matches("(?:.?){500}z")`})
	s = new(story).change("a", 0, queries.Content{Text: strings.Repeat("a", 1<<20)}).change("a", 0, queries.Content{Text: "xyz"})
	if got := tell(e, s.events[0]); len(got) != 0 || e.Tally("q").Costly != 1 {
		t.Errorf("a hostile pattern: %v, tally %+v", got, e.Tally("q"))
	}
	if got := tell(e, s.events[1]); len(got) != 1 {
		t.Errorf("the same pattern on a short text: %v", got)
	}
}
