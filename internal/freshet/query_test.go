package freshet_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
)

// TestQueryJSON reads queries as people write them, and reads what it writes once more.
func TestQueryJSON(t *testing.T) {
	tests := []struct {
		text string
		want freshet.Query
	}{
		{`{"name": "cheap", "when": "now.price < 10"}`, freshet.Query{Name: "cheap", When: "now.price < 10"}},
		{
			`{"name": "a", "scope": {"tags": ["shop", "shop"], "sources": ["b", "a"], "sites": ["s"]}}`,
			freshet.Query{Name: "a", Scope: freshet.Scope{Tags: []string{"shop"}, Sources: []freshet.SourceID{"a", "b"}, Sites: []freshet.SourceID{"s"}}},
		},
		{`{"name": "a", "scope": {"all": true}, "window": "1h"}`, freshet.Query{Name: "a", Window: freshet.Window{Over: time.Hour}}},
		{`{"name": "a", "when": "noise", "window": {"by": "now.sku", "over": "30d", "for": "10m"}}`, freshet.Query{Name: "a", When: "noise", Window: freshet.Window{By: "now.sku", Over: 30 * freshet.Day, For: 10 * time.Minute}}},
		{`{"name": "a", "window": {"by": "source", "silent": "2x"}}`, freshet.Query{Name: "a", Window: freshet.Window{Silent: freshet.Silence{Times: 2}}}},
		{`{"name": "a", "window": {"silent": "3d"}}`, freshet.Query{Name: "a", Window: freshet.Window{Silent: freshet.Silence{For: 3 * freshet.Day}}}},
		{`{"name": "a", "digest": "hourly"}`, freshet.Query{Name: "a", Digest: freshet.Digest{Every: freshet.DigestHour}}},
		{`{"name": "a", "digest": "daily 8:00 Europe/Berlin"}`, freshet.Query{Name: "a", Digest: freshet.Digest{Every: freshet.DigestDay, At: 480, Zone: "Europe/Berlin"}}},
		{`{"name": "a", "digest": {"every": "week", "on": "fri", "at": "17:30", "count": 50}}`, freshet.Query{Name: "a", Digest: freshet.Digest{Every: freshet.DigestWeek, On: "fri", At: 1050, Count: 50}}},
		{`{"name": "a", "importance": 3}`, freshet.Query{Name: "a", Importance: 3}},
		{`{"name": "a", "importance": 1}`, freshet.Query{Name: "a"}},
		{`{"name": "a", "digest": 20}`, freshet.Query{Name: "a", Digest: freshet.Digest{Count: 20}}},
		{`{"name": "a", "quiet": "22:00-07:00 Europe/Berlin", "rate": "10/h"}`, freshet.Query{Name: "a", Quiet: freshet.QuietHours{From: 1320, To: 420, Zone: "Europe/Berlin"}, Rate: freshet.MatchRate{N: 10, Per: time.Hour}}},
		{`{"name": "a", "quiet": {"from": "0:00", "to": "0:00", "days": ["sat", "sun"]}}`, freshet.Query{Name: "a", Quiet: freshet.QuietHours{Days: []string{"sat", "sun"}}}},
	}
	for _, tt := range tests {
		var q freshet.Query
		if err := json.Unmarshal([]byte(tt.text), &q); err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		q, err := q.Check()
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
		var again freshet.Query
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
		var q freshet.Query
		err := json.Unmarshal([]byte(text), &q)
		if err == nil {
			_, err = q.Check()
		}
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
			continue
		}
		if _, ok := freshet.FieldOf(err); !ok {
			t.Errorf("%s: no field is named", text)
		}
	}
}

func TestScope(t *testing.T) {
	s := freshet.Scope{Sources: []freshet.SourceID{"a"}, Tags: []string{"x"}, Sites: []freshet.SourceID{"site"}}
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
	if !(freshet.Scope{}).Has("any", nil, "") {
		t.Error("an empty scope does not have every source")
	}
}

// TestChangeAt counts a change under the time that the source gives, if it can be true.
func TestChangeAt(t *testing.T) {
	after := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	before := after.Add(time.Hour)
	for _, tt := range []struct{ modified, want time.Time }{
		{time.Time{}, before}, {after, before}, {after.Add(time.Minute), after.Add(time.Minute)}, {before, before}, {before.Add(time.Second), before},
	} {
		if got := (freshet.Change{After: after, Before: before, Modified: tt.modified}).At(); !got.Equal(tt.want) {
			t.Errorf("modified %v: %v, want %v", tt.modified, got, tt.want)
		}
	}
}
