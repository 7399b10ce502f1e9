package main

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestPatchBetween patches as RFC 7396 has it: a part that goes is null, and only what
// differs is named.
func TestPatchBetween(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{`{"a": 1}`, `{"a": 1}`, `{}`},
		{`{"a": 1, "b": 2}`, `{"b": 3}`, `{"a": null, "b": 3}`},
		{`{"a": {"b": 1, "c": {"d": 2}}}`, `{"a": {"c": {"e": 3}}}`, `{"a": {"b": null, "c": {"d": null, "e": 3}}}`},
		{`{"a": true}`, `{"a": {"b": 1}}`, `{"a": {"b": 1}}`},
		{`{"a": {"b": 1}}`, `{"a": true}`, `{"a": true}`},
		{`{"a": [1, 2]}`, `{"a": [2]}`, `{"a": [2]}`},
	} {
		object := func(text string) (o map[string]any) {
			if err := json.Unmarshal([]byte(text), &o); err != nil {
				t.Fatal(err)
			}
			return o
		}
		if got := patchBetween(object(c.from), object(c.to)); !reflect.DeepEqual(got, object(c.want)) {
			t.Errorf("from %s to %s: %v, want %s", c.from, c.to, got, c.want)
		}
	}
}
