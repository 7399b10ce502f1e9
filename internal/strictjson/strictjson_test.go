package strictjson_test

import (
	"encoding/json"
	"testing"

	"freshet/internal/strictjson"
)

type limits struct {
	Name  string         `json:"name"`
	Max   int            `json:"max"`
	On    bool           `json:"on"`
	Tags  []string       `json:"tags"`
	Inner map[string]any `json:"inner"`
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"name": "a", "max": 3, "on": true, "tags": ["x"], "inner": {"y": 1}}`, ""},
		{`{"nam": "a"}`, `unknown key "nam"`},
		{`{"name": 3}`, `name: expected text, but found: number`},
		{`{"max": "3"}`, `max: expected a number, but found: string`},
		{`{"on": "yes"}`, `on: expected true or false, but found: string`},
		{`{"tags": "x"}`, `tags: expected a list, but found: string`},
		{`{"inner": []}`, `inner: expected keys and values, but found: array`},
		{`{"name": "a"} {}`, `there is something after the value`},
		{`{"name":`, `is not valid JSON: unexpected EOF`},
	} {
		_, err := strictjson.Parse[limits](c.text)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Parse(%s) = %q, want %q", c.text, got, c.want)
		}
	}
}

// The cases are those of RFC 7396, appendix A, whose target and patch are objects.
func TestMerge(t *testing.T) {
	for _, c := range []struct{ into, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		var into, patch map[string]any
		if err := strictjson.DecodeObject([]byte(c.into), &into); err != nil {
			t.Fatal(err)
		}
		if err := strictjson.DecodeObject([]byte(c.patch), &patch); err != nil {
			t.Fatal(err)
		}
		strictjson.Merge(into, patch)
		if got := strictjson.MarshalCanonical(into); got != c.want {
			t.Errorf("%s patched with %s = %s, want %s", c.into, c.patch, got, c.want)
		}
	}
}

func TestCanonicalize(t *testing.T) {
	const text = ` { "b" : 1.0, "a": "<x>", "n": 12345678901234567890 } `
	got, err := strictjson.Canonicalize([]byte(text))
	if want := `{"a":"<x>","b":1.0,"n":12345678901234567890}`; err != nil || got != want {
		t.Errorf("Canonicalize(%s) = %s, %v, want %s", text, got, err, want)
	}
	if again, err := strictjson.Canonicalize([]byte(got)); err != nil || again != got || !json.Valid([]byte(got)) {
		t.Errorf("Canonicalize is not idempotent: %s, %v", again, err)
	}
}
