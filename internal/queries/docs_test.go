package queries_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"freshet/internal/queries"
)

// examples returns the queries of docs/reference/queries.md by their names.
func examples(t *testing.T) map[string]queries.Query {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]queries.Query{}
	for _, block := range strings.Split(string(page), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		var raw []map[string]any
		var file struct{ Queries []map[string]any }
		if yaml.Unmarshal([]byte(text), &file) == nil && len(file.Queries) > 0 {
			raw = file.Queries
		} else if err := yaml.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for _, one := range raw {
			asJSON, err := json.Marshal(one)
			if err != nil {
				t.Fatal(err)
			}
			var q queries.Query
			if err := json.Unmarshal(asJSON, &q); err != nil {
				t.Fatalf("%s: %v", asJSON, err)
			}
			if q, err = q.Validate(); err != nil {
				t.Fatalf("%s: %v", asJSON, err)
			}
			all[q.Name] = q
		}
	}
	return all
}

// TestExamples can be run, and those of the other tests are as the page has them.
func TestExamples(t *testing.T) {
	all := examples(t)
	for name, q := range all {
		if _, err := queries.Check(q, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, tt := range tenQueries() {
		want := tt.query
		want.Name = tt.name
		want, err := want.Validate()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, all[tt.name]); diff != "" {
			t.Errorf("%s:\n%s", tt.name, diff)
		}
	}
}

// The documentation names every name, member and function of conditions, and the editor completes them.
func TestVocabularyIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/queries.md")
	if err != nil {
		t.Fatal(err)
	}
	editor, err := os.ReadFile("../../ui/src/condition.tsx")
	if err != nil {
		t.Fatal(err)
	}
	all := queries.Vocabulary()
	if len(all) < 40 {
		t.Fatalf("only %d words are known", len(all))
	}
	for _, word := range all {
		if !regexp.MustCompile("`[^`\n]*\\b" + word + "\\b[^`\n]*`").Match(page) {
			t.Errorf("docs/reference/queries.md does not name %q", word)
		}
		if !regexp.MustCompile(`[ '.]` + word + `\b`).Match(editor) {
			t.Errorf("ui/src/condition.tsx does not complete %q", word)
		}
	}
}
