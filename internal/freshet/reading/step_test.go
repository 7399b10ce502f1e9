package reading_test

import (
	"encoding/json"
	"strings"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

func TestStepAsWritten(t *testing.T) {
	for _, tt := range []struct{ text, name, arg, again string }{
		{`"text"`, "text", "", `"text"`},
		{`{"css": "a > b"}`, "css", `"a > b"`, `{"css":"a > b"}`},
		{`{"lines": {"sort": true, "keep": "x"}}`, "lines", `{"keep":"x","sort":true}`, `{"lines":{"keep":"x","sort":true}}`},
		{`{"text": null}`, "text", "", `"text"`},
	} {
		var s reading.Step
		if err := json.Unmarshal([]byte(tt.text), &s); err != nil {
			t.Errorf("%s: %v", tt.text, err)
		}
		again, err := json.Marshal(s)
		if s.Name != tt.name || s.Arg != tt.arg || err != nil || string(again) != strings.ReplaceAll(tt.again, ">", `\u003e`) {
			t.Errorf("%s is read as %+v and written as %s (%v)", tt.text, s, again, err)
		}
	}
	for _, text := range []string{`1`, `[]`, `{}`, `{"a": 1, "b": 2}`, `null`} {
		var s reading.Step
		if err := json.Unmarshal([]byte(text), &s); err == nil && text != "null" {
			t.Errorf("%s is read as %+v", text, s)
		}
	}
}

func TestStructuredFields(t *testing.T) {
	s, err := freshet.ParseDefinition([]byte(`{"url": "https://a.example/", "read": ["text", {"css": "p"}]}`))
	if err != nil || len(s.Recipe.Read) != 2 {
		t.Fatalf("the definition is read as %+v: %v", s.Recipe, err)
	}
	if again, err := freshet.ParseDefinition(s.Definition()); err != nil || again.Recipe.Key() != s.Recipe.Key() {
		t.Errorf("%s is read as %+v: %v", s.Definition(), again.Recipe, err)
	}
	for text, want := range map[string]string{
		`{"read": {"css": "p"}}`: "read: expected a list, but found: object",
		`{"read": [1]}`:          "read: a step is a name",
	} {
		if _, err := freshet.ParseDefinition([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
