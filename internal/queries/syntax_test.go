package queries_test

import (
	"strings"
	"testing"

	"freshet/internal/queries"
)

// Errors name the mistake and its position in plain words, without the terms of a parser.
func TestMistakesInPlainWords(t *testing.T) {
	for when, want := range map[string]string{
		`now.price <`:             "line 1, column 12: this is not a condition: it ends too early",
		`now.price < 100 &&`:      "this is not a condition: it ends too early",
		`now.price < 100)`:        `line 1, column 16: this is not a condition: ")" does not belong here`,
		`now.price # 100`:         `"#" cannot stand here`,
		`added.contains("sale"`:   "this is not a condition",
		`added.contains("sale)`:   "this is not a condition",
		`added < 5`:               "the types do not fit: < with a text and a number",
		`added.contains(5)`:       "contains does not work with a number",
		`5 in added`:              "the types do not fit: in with a number and a text",
		`now.price << 100`:        `"<" does not belong here`,
		`source.nmae == "kettle"`: `there is no "nmae" here`,
	} {
		_, err := queries.Check(queries.Query{Name: "q", When: when, Scope: queries.Scope{Tags: []string{"a"}}}, nil)
		if err == nil {
			t.Errorf("%s is a condition", when)
			continue
		}
		said := err.Error()
		if u, ok := err.(interface{ Unwrap() error }); ok {
			said = u.Unwrap().Error()
		}
		if !strings.Contains(said, want) {
			t.Errorf("%s: %s, want %s", when, said, want)
		}
		for _, word := range []string{"input", "token", "EOF", "expecting", "viable", "overload", "dyn", "Syntax"} {
			if strings.Contains(said, word) {
				t.Errorf("%s: %s has the word %s of a parser", when, said, word)
			}
		}
	}
}
