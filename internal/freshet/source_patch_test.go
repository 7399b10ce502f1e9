package freshet_test

import (
	"encoding/json"
	"errors"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/strictjson"
)

// A patch sets what it names, null sets back, and parts of a field are patched alike.
func TestPatch(t *testing.T) {
	const before = `{"extract":{"a":"css .a","b":"css .b"},"id":"s","keep":{"age":"1d","versions":5},"life":"append","name":"N","request":{"headers":{"X-A":"1","X-B":"2"}},"tags":["x"],"url":"https://example.com/","weight":2}`
	for _, tt := range []struct{ name, patch, want, wrong string }{
		{"nothing", `{}`, before, ""},
		{"a number", `{"weight": 3.5}`, `{"weight":3.5}`, ""},
		{"back to the default", `{"weight": null, "name": null, "keep": null}`, `{"weight":null,"name":null,"keep":null}`, ""},
		{"zero and empty are the default", `{"weight": 0, "name": "", "tags": []}`, `{"weight":null,"name":null,"tags":null}`, ""},
		{"a part", `{"keep": {"age": null, "bytes": 10}}`, `{"keep":{"age":null,"bytes":10}}`, ""},
		{"part of an object", `{"request": {"headers": {"X-A": null, "X-C": "3"}}}`, `{"request":{"headers":{"X-A":null,"X-C":"3"}}}`, ""},
		{"the last part of an object", `{"extract": {"a": null, "b": null}}`, `{"extract":null}`, ""},
		{"a dial", `{"dial": "front page"}`, `{"life":null}`, ""},
		{"a dial beside a life", `{"dial": "news list", "life": "window:10m"}`, `{"life":"window:10m","urgency":"exp:0.5/1h"}`, ""},
		{"not a number", `{"weight": -1}`, "", "weight"},
		{"an unknown key", `{"request": {"headerz": {}}}`, "", "request"},
		{"no such dial", `{"dial": "nothing"}`, "", "dial"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := freshet.ParseDefinition([]byte(before))
			if err != nil {
				t.Fatal(err)
			}
			var patch map[string]any
			if err := json.Unmarshal([]byte(tt.patch), &patch); err != nil {
				t.Fatal(err)
			}
			patched, err := s.Patch(patch)
			if tt.wrong != "" {
				if f, ok := errors.AsType[*invalid.Error](err); !ok || f.Field != tt.wrong {
					t.Fatalf("the error is %v, want one of the field %s", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var whole, edit map[string]any
			if err := json.Unmarshal(s.Definition(), &whole); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.want), &edit); err != nil {
				t.Fatal(err)
			}
			strictjson.Merge(whole, edit)
			text, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(err)
			}
			want, err := freshet.ParseDefinition(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(patched.Definition()); got != string(want.Definition()) {
				t.Errorf("the patch %s gives %s, want %s", tt.patch, got, want.Definition())
			}
		})
	}
}

// An edit of a page of a site leaves it in its site.
func TestPatchKeepsThePageOfASite(t *testing.T) {
	page := freshet.Source{ID: "page", URL: "https://example.com/a", Of: "site", Index: true}
	patched, err := page.Patch(map[string]any{"weight": 3.0})
	if err != nil {
		t.Fatal(err)
	}
	if patched.Of != "site" || !patched.Index || patched.Weight != 3 {
		t.Errorf("the patched page is %+v, want it in its site with the weight 3", patched)
	}
}
