package client_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/client"
	"freshet/internal/freshet"
)

// everything has a value other than the default for every field of a definition.
const everything = `{
	"id": "a", "url": "https://example.com/", "name": "A", "tags": ["t"],
	"request": {"method": "POST", "headers": {"X-A": "1"}}, "expect": {"match": "ok"},
	"select": {"css": "p", "jsonpath": "$.a", "kind": "html"}, "read": ["text", {"css": "p"}], "noise": "auto",
	"extract": {"price": {"css": ".price", "as": "number"}}, "items": {"css": "li"}, "render": {"wait_for": ".price"},
	"weight": 2, "life": "append", "urgency": "window:10m", "cost": 3, "paused": true, "min_gap": "1m", "max_gap": "1h",
	"strategy": "hour {5, 35}", "active": "mon-fri 09:00-17:00", "level": "90% within 10m", "aim": "age", "next_change": "next_update Europe/Berlin", "from": "eu",
	"suspect": "mark", "robots": "obey", "site": {"limit": 5}, "keep": {"age": "48h", "versions": 5, "bytes": 1000}
}`

// The definition of the API has every field of a source: "of" and "index" are not for users
// to say, and a dial is shown as what it stands for.
func TestNewSourceOf(t *testing.T) {
	s, err := freshet.ParseDefinition([]byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	object := func(text []byte) (fields map[string]any) {
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		return fields
	}
	want := object(s.Definition())
	for _, f := range freshet.SourceFields() {
		if len(f.Show(&s)) == 0 && f.Name != "of" && f.Name != "index" && f.Name != "dial" {
			t.Errorf("the test does not set %s", f.Name)
		}
	}
	text, err := json.Marshal(client.NewSourceOf(s))
	if err != nil {
		t.Fatal(err)
	}
	got := object(text)
	for _, length := range []string{"min_gap", "max_gap"} { // which can be written in several ways
		delete(got, length)
		delete(want, length)
	}
	delete(got["keep"].(map[string]any), "age")
	delete(want["keep"].(map[string]any), "age")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the definition of the API differs from that of the source (-want +got):\n%s", diff)
	}
	back, err := client.NewSourceOf(s).Defined()
	if err != nil || string(back.Definition()) != string(s.Definition()) {
		t.Errorf("a definition comes back as %s, %v; want %s", back.Definition(), err, s.Definition())
	}
}
