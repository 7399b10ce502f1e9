package queries_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/queries"
	"freshet/internal/units"
)

// TestQueryJSON reads queries as people write them, and reads what it writes once more.
func TestQueryJSON(t *testing.T) {
	tests := []struct {
		text string
		want queries.Query
	}{
		{`{"name": "cheap", "when": "now.price < 10"}`, queries.Query{Name: "cheap", When: "now.price < 10"}},
		{
			`{"name": "a", "scope": {"tags": ["shop", "shop"], "sources": ["b", "a"], "sites": ["s"]}}`,
			queries.Query{Name: "a", Scope: queries.Scope{Tags: []string{"shop"}, Sources: []freshet.SourceID{"a", "b"}, Sites: []freshet.SourceID{"s"}}},
		},
		{`{"name": "a", "scope": {"all": true}, "window": "1h"}`, queries.Query{Name: "a", Window: queries.Window{Over: time.Hour}}},
		{`{"name": "a", "when": "noise", "window": {"by": "now.sku", "over": "30d", "for": "10m"}}`, queries.Query{Name: "a", When: "noise", Window: queries.Window{By: "now.sku", Over: 30 * units.Day, For: 10 * time.Minute}}},
		{`{"name": "a", "window": {"by": "source", "silent": "2x"}}`, queries.Query{Name: "a", Window: queries.Window{Silent: queries.Silence{Times: 2}}}},
		{`{"name": "a", "window": {"silent": "3d"}}`, queries.Query{Name: "a", Window: queries.Window{Silent: queries.Silence{For: 3 * units.Day}}}},
		{`{"name": "a", "digest": "hourly"}`, queries.Query{Name: "a", Digest: queries.Digest{Every: queries.DigestHour}}},
		{`{"name": "a", "digest": "daily 8:00 Europe/Berlin"}`, queries.Query{Name: "a", Digest: queries.Digest{Every: queries.DigestDay, At: 480, Zone: "Europe/Berlin"}}},
		{`{"name": "a", "digest": {"every": "week", "on": "fri", "at": "17:30", "count": 50}}`, queries.Query{Name: "a", Digest: queries.Digest{Every: queries.DigestWeek, On: "fri", At: 1050, Count: 50}}},
		{`{"name": "a", "importance": 3}`, queries.Query{Name: "a", Importance: 3}},
		{`{"name": "a", "importance": 1}`, queries.Query{Name: "a"}},
		{`{"name": "a", "digest": 20}`, queries.Query{Name: "a", Digest: queries.Digest{Count: 20}}},
		{`{"name": "a", "quiet": "22:00-07:00 Europe/Berlin", "rate": "10/h"}`, queries.Query{Name: "a", Quiet: queries.QuietHours{From: 1320, To: 420, Zone: "Europe/Berlin"}, Rate: queries.Rate{N: 10, Per: time.Hour}}},
		{`{"name": "a", "quiet": {"from": "0:00", "to": "0:00", "days": ["sat", "sun"]}}`, queries.Query{Name: "a", Quiet: queries.QuietHours{Days: []string{"sat", "sun"}}}},
	}
	for _, tt := range tests {
		var q queries.Query
		if err := json.Unmarshal([]byte(tt.text), &q); err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		q, err := q.Validate()
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, q); diff != "" {
			t.Errorf("%s:\n%s", tt.text, diff)
		}
		text, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		var again queries.Query
		if err := json.Unmarshal(text, &again); err != nil {
			t.Errorf("%s was written as %s: %v", tt.text, text, err)
		}
		if diff := cmp.Diff(q, again); diff != "" {
			t.Errorf("%s was written as %s:\n%s", tt.text, text, diff)
		}
	}
}

// TestWrongQueries names the field that is wrong.
func TestWrongQueries(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                         "name: the query has no name",
		`{"name": "a", "id": "a b"}`: "id: ",
		`{"name": "a\u0007"}`:        "name: contains a control character",
		`{"name": "a", "scope": {"all": true, "tags": ["x"]}}`:                       "scope.all: ",
		`{"name": "a", "scope": {"sources": ["ok", "no/no"]}}`:                       "scope.sources[1]: ",
		`{"name": "a", "scope": {"tags": [" "]}}`:                                    "scope.tags[0]: must not be empty",
		`{"name": "a", "window": "soon"}`:                                            `window.over: "soon" is not a length of time`,
		`{"name": "a", "window": {"ower": "1h"}}`:                                    `window: unknown key "ower"`,
		`{"name": "a", "window": {"over": "1ms"}}`:                                   "window.over: ",
		`{"name": "a", "window": {"over": "9999d"}}`:                                 "window.over: is too long",
		`{"name": "a", "window": {"silent": "0.5x"}}`:                                "window.silent: ",
		`{"name": "a", "when": "noise", "window": {"silent": "2x", "for": "1h"}}`:    "window.silent: cannot be used together",
		`{"name": "a", "window": {"for": "1h"}}`:                                     "window.for: needs when",
		`{"name": "a", "importance": -1}`:                                            "importance: must be above 0",
		`{"name": "a", "importance": 1001}`:                                          "importance: must be above 0 and at most 1000",
		`{"name": "a", "digest": "often"}`:                                           "digest: ",
		`{"name": "a", "digest": {"every": "month"}}`:                                "digest.every: ",
		`{"name": "a", "digest": {"at": "8:00"}}`:                                    "digest.at: needs digest.every",
		`{"name": "a", "digest": "hourly 8:00"}`:                                     "digest.at: ",
		`{"name": "a", "digest": "daily 25:00"}`:                                     "digest.at: ",
		`{"name": "a", "digest": "daily 8:00 Berlin"}`:                               "digest.zone: ",
		`{"name": "a", "digest": "daily 8:00 Local"}`:                                "digest.zone: ",
		`{"name": "a", "digest": {"every": "day", "on": "mon"}}`:                     "digest.on: ",
		`{"name": "a", "digest": -1}`:                                                "digest.count: ",
		`{"name": "a", "quiet": "night"}`:                                            "quiet: ",
		`{"name": "a", "quiet": "22:00-7:0"}`:                                        "quiet.to: ",
		`{"name": "a", "quiet": {"from": "8:00", "to": "8:00"}}`:                     "quiet: would never end",
		`{"name": "a", "quiet": {"from": "8:00", "to": "9:00", "days": ["monday"]}}`: "quiet.days[0]: ",
		`{"name": "a", "rate": "many"}`:                                              `rate: "many" is not a rate`,
		`{"name": "a", "rate": "0/h"}`:                                               "rate: ",
		`{"name": "a", "rate": "5000/h"}`:                                            "rate: ",
	} {
		var q queries.Query
		err := json.Unmarshal([]byte(text), &q)
		if err == nil {
			_, err = q.Validate()
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
			continue
		}
		if _, ok := invalid.FieldOf(err); !ok {
			t.Errorf("%s: no field is named", text)
		}
	}
}

func TestScope(t *testing.T) {
	s := queries.Scope{Sources: []freshet.SourceID{"a"}, Tags: []string{"x"}, Sites: []freshet.SourceID{"site"}}
	for _, tt := range []struct {
		id   freshet.SourceID
		tags []string
		site freshet.SourceID
		want bool
	}{{"a", nil, "", true}, {"b", nil, "", false}, {"b", []string{"x", "y"}, "", true}, {"b", []string{"y"}, "site", true}, {"site", nil, "", true}, {"b", []string{"site"}, "other", false}} {
		if got := s.Has(tt.id, tt.tags, tt.site); got != tt.want {
			t.Errorf("%v: %v", tt, got)
		}
	}
	if !(queries.Scope{}).Has("any", nil, "") {
		t.Error("an empty scope does not have every source")
	}
}
