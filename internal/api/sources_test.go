package api_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/client"
	"freshet/internal/freshet"
)

func TestListSources(t *testing.T) {
	r := newRig(t)
	for i, tags := range [][]string{{"a"}, {"a", "b"}, {"b"}, nil, {"a"}} {
		r.do("POST", "/api/v1/sources", map[string]any{
			"id": fmt.Sprint("s", i), "url": fmt.Sprintf("%s/page-%d", r.Origin.URL, i), "name": fmt.Sprint("Page Number ", i), "tags": tags,
		}).is(201)
	}
	tests := []struct{ query, want string }{
		{"", "s0 s1 s2 s3 s4"},
		{"?tag=a", "s0 s1 s4"},
		{"?tag=c", ""},
		{"?q=NUMBER+3", "s3"},
		{"?q=page-2", "s2"},
		{"?q=s1", "s1"},
		{"?tag=a&q=number", "s0 s1 s4"},
		{"?after=s2", "s3 s4"},
		{"?limit=5", "s0 s1 s2 s3 s4"},
		{"?limit=100000", "s0 s1 s2 s3 s4"},
	}
	for _, tt := range tests {
		var p client.SourcePage
		r.do("GET", "/api/v1/sources"+tt.query, nil).is(200).into(&p)
		var ids []string
		for _, s := range p.Items {
			ids = append(ids, string(s.ID))
		}
		if got := strings.Join(ids, " "); got != tt.want {
			t.Errorf("%s lists %q, want %q", tt.query, got, tt.want)
		}
		if p.Next != nil {
			t.Errorf("%s has a next page after %s", tt.query, *p.Next)
		}
	}
	var ids []string
	for after := ""; ; {
		var p client.SourcePage
		r.do("GET", "/api/v1/sources?tag=a&limit=2&after="+after, nil).is(200).into(&p)
		for _, s := range p.Items {
			ids = append(ids, string(s.ID))
		}
		if p.Next == nil {
			break
		}
		after = *p.Next
	}
	if want := []string{"s0", "s1", "s4"}; !slices.Equal(ids, want) {
		t.Errorf("the pages list %v, want %v", ids, want)
	}
}

func TestEditSource(t *testing.T) {
	r := newRig(t)
	r.do("POST", "/api/v1/sources", map[string]any{
		"id": "page", "url": r.Origin.URL + "/page", "name": "Page", "tags": []string{"a"},
		"select": map[string]string{"css": "p"}, "weight": 3, "min_gap": "1m", "max_gap": "1h", "keep": map[string]any{"versions": 5, "bytes": 1 << 53},
	}).is(201)
	tests := []struct {
		patch string
		check func(client.Source) bool
	}{
		{`{}`, func(s client.Source) bool { return s.Name == "Page" && s.Keep.Bytes == 1<<53 }},
		{`{"name": "Other"}`, func(s client.Source) bool { return s.Name == "Other" && s.Weight == 3 }},
		{`{"name": null}`, func(s client.Source) bool { return s.Name == "" }},
		{`{"paused": true}`, func(s client.Source) bool { return s.Paused }},
		{`{"paused": false}`, func(s client.Source) bool { return !s.Paused }},
		{`{"tags": ["z", "y"]}`, func(s client.Source) bool { return slices.Equal(s.Tags, []string{"y", "z"}) }},
		{`{"tags": null}`, func(s client.Source) bool { return len(s.Tags) == 0 }},
		{`{"weight": null}`, func(s client.Source) bool { return s.Weight == 1 }},
		{`{"select": {"kind": "html"}}`, func(s client.Source) bool { return s.Select == client.Select{CSS: "p", Kind: "html"} }},
		{`{"select": {"css": null, "kind": null, "jsonpath": "$.a"}}`, func(s client.Source) bool { return s.Select == client.Select{JSONPath: "$.a"} }},
		{`{"select": null}`, func(s client.Source) bool { return s.Select == client.Select{} }},
		{`{"min_gap": "2d", "max_gap": null}`, func(s client.Source) bool {
			return s.MinGap == client.Duration(48*time.Hour) && s.MaxGap == 0
		}},
		{`{"keep": {"age": "1w", "bytes": null}}`, func(s client.Source) bool {
			return s.Keep == client.Keep{Age: client.Duration(7 * 24 * time.Hour), Versions: 5}
		}},
		{`{"keep": null}`, func(s client.Source) bool { return s.Keep == client.Keep{} }},
		{`{"url": "` + r.Origin.URL + `/moved#part"}`, func(s client.Source) bool { return strings.HasSuffix(s.URL, "/moved") }},
	}
	for _, tt := range tests {
		var s client.Source
		a := r.do("PATCH", "/api/v1/sources/page", tt.patch).is(200)
		a.into(&s)
		if s.ID != "page" || s.Origin != freshet.FromAPI || s.CreatedAt.IsZero() || !tt.check(s) {
			t.Errorf("after %s the source is %s", tt.patch, a.Body)
		}
	}
}

func TestRemoveAndComeBack(t *testing.T) {
	r := newRig(t).run()
	r.Origin.Put("/page", "text/plain", "one\n")
	r.add("page", "/page")
	r.poll("page")
	r.do("DELETE", "/api/v1/sources/page", nil).is(204)
	r.do("DELETE", "/api/v1/sources/page", nil).is(404)
	var s client.Source
	r.do("POST", "/api/v1/sources", map[string]string{"url": r.Origin.URL + "/page"}).is(201).into(&s)
	if s.ID != "page" || s.Standing.Version != 1 {
		t.Errorf("the source came back as %s with version %d, want page with its history", s.ID, s.Standing.Version)
	}
	r.do("DELETE", "/api/v1/sources/page?purge=true", nil).is(204)
	r.do("GET", "/api/v1/sources/page/versions", nil).is(404)
}

func TestFailedPoll(t *testing.T) {
	r := newRig(t).run()
	r.add("page", "/missing")
	if o := r.poll("page"); o.Result != "failed" || o.Failure != "http.404" || o.Error == "" || o.Status != 404 {
		t.Errorf("a poll of a missing page ended as %+v", o)
	}
	var s client.Source
	r.do("GET", "/api/v1/sources/page", nil).is(200).into(&s)
	if e := s.Standing.LastError; s.Standing.Failures != 1 || e == nil || e.Class != "http.404" {
		t.Errorf("the source stands as %+v", s.Standing)
	}
}

func TestPollWithoutWaiting(t *testing.T) {
	r := newRig(t).run()
	r.Origin.Put("/page", "text/plain", "one\n")
	r.add("page", "/page")
	var p client.PollAnswer
	r.do("POST", "/api/v1/sources/page/poll?wait=0", nil).is(202).into(&p)
	if !p.Queued || p.Outcome != nil {
		t.Errorf("a poll that nobody waits for answered %+v", p)
	}
	// The next poll is told apart from the queued one by its version only.
	if o := r.poll("page"); o.Version != 1 {
		t.Errorf("the poll saw %+v", o)
	}
}

func TestVersionPages(t *testing.T) {
	r := newRig(t)
	r.watch("page")
	for i := range 6 {
		r.capture("page", i+1)
	}
	var numbers []int
	for before := 0; ; {
		var p client.VersionPage
		r.do("GET", fmt.Sprintf("/api/v1/sources/page/versions?limit=3&before=%d", before), nil).is(200).into(&p)
		for _, v := range p.Items {
			numbers = append(numbers, v.Number)
		}
		if p.Next == nil {
			break
		}
		before = *p.Next
	}
	if want := []int{7, 6, 5, 4, 3, 2, 1}; !slices.Equal(numbers, want) {
		t.Errorf("the pages list versions %v, want %v", numbers, want)
	}
	var cursors []freshet.Cursor
	for before := (freshet.Place{}); ; {
		var p client.OutcomeHistory
		r.do("GET", fmt.Sprintf("/api/v1/sources/page/outcomes?limit=3&before=%s", before), nil).is(200).into(&p)
		for _, o := range p.Items {
			cursors = append(cursors, o.Cursor.Cursor)
		}
		if p.Next == nil {
			break
		}
		before = *p.Next
	}
	if len(cursors) != 7 || !slices.IsSortedFunc(cursors, func(a, b freshet.Cursor) int { return int(b - a) }) {
		t.Errorf("the pages list outcomes %v, want 7 from the newest", cursors)
	}
}

func TestDiff(t *testing.T) {
	r := newRig(t)
	r.watch("page")
	r.capture("page", 1)
	r.capture("page", 2)
	unified := func(query string, headers ...string) string {
		a := r.do("GET", "/api/v1/sources/page/diff"+query, nil, headers...).is(200)
		if got := a.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("a diff%s of type %q", query, got)
		}
		return string(a.Body)
	}
	for text, want := range map[string][]string{
		unified("?format=unified"):                                    {"-version 1\n", "+version 2\n", "version 3\t"},
		unified("?from=1&to=2&format=unified"):                        {"-version 0\n", "+version 1\n"},
		unified("?from=1", "Accept", "text/plain"):                    {"-version 0\n", "+version 2\n"},
		unified("?from=3&to=1", "Accept", "text/plain;q=1, */*;q=.1"): {"-version 2\n", "+version 0\n"},
	} {
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("the diff has no %q:\n%s", part, text)
			}
		}
	}
	var d client.Diff
	a := r.do("GET", "/api/v1/sources/page/diff?to=2&format=json", nil, "Accept", "text/plain").is(200)
	a.into(&d)
	hunks := `"hunks":[{"old_start":1,"old_lines":1,"new_start":1,"new_lines":1,"lines":[{"op":"-","old":1,"text":"version 0","mark":{"from":8,"to":9}},{"op":"+","new":1,"text":"version 1","mark":{"from":8,"to":9}}]}],"added":1,"removed":1`
	if !strings.Contains(string(a.Body), hunks) {
		t.Errorf("the diff is %s, want in it %s", a.Body, hunks)
	}
	if d.From.Number != 1 || d.To.Number != 2 || d.Added != 1 || d.Removed != 1 || len(d.Hunks) != 1 || d.Summary == "" {
		t.Errorf("the diff is %+v", d)
	}
	for query, want := range map[string][3]string{
		"?format=word":             {"text/plain; charset=utf-8", "version [-1-]{+2+}\n", "sandbox"},
		"?format=html":             {"text/html; charset=utf-8", "version <ins>2</ins>", "sandbox"},
		"?from=3&format=html":      {"text/html; charset=utf-8", "</html>", "style-src 'unsafe-inline'"},
		"?from=1&to=1&format=json": {"application/json", `"hunks":[]`, "default-src 'none'"},
	} {
		a := r.do("GET", "/api/v1/sources/page/diff"+query, nil).is(200)
		if got := a.Header.Get("Content-Type"); got != want[0] || !strings.Contains(string(a.Body), want[1]) {
			t.Errorf("a diff%s is of type %q, and has no %q:\n%s", query, got, want[1], a.Body)
		}
		if got := a.Header.Values("Content-Security-Policy"); len(got) != 1 || !strings.Contains(got[0], want[2]) {
			t.Errorf("a diff%s has the policy %q, want one with %q", query, got, want[2])
		}
	}
	r.tell("page", "version 2, dear\n", freshet.Fields{"price": 3.0}, &freshet.ItemChanges{UpdatedCount: 1, Updated: []freshet.ItemChange{{Key: "k", Fields: []string{"title"}}}})
	for query, want := range map[string]string{
		"?format=unified":          "# price none → 3\n# ~ k: title\n--- page version 3",
		"?format=word&from=1":      "# price none → 3\n# ~ k: title\n--- page version 1",
		"?format=html":             "<em>~ <bdi>k: title</bdi></em>",
		"?format=json":             `"updated":[{"key":"k","fields":["title"]}]`,
		"?format=json-patch":       `"path": "/fields"`,
		"?from=4&to=3":             `"fields":[{"name":"price","from":3,"to":null}]`,
		"?from=2&to=3&format=html": "</h1>\n<p><bdi>+1 -1 line: version 2</bdi></p>\n<table>",
	} {
		if a := r.do("GET", "/api/v1/sources/page/diff"+query, nil).is(200); !strings.Contains(string(a.Body), want) {
			t.Errorf("a diff%s has no %q:\n%s", query, want, a.Body)
		}
	}
	a = r.do("GET", "/api/v1/sources/page/diff?to=2&format=json-patch", nil).is(422)
	if !strings.Contains(string(a.Body), "not a JSON document") || !strings.Contains(string(a.Body), "query.format") {
		t.Errorf("a patch of texts ends with %s", a.Body)
	}
	r.do("GET", "/api/v1/sources/page/diff?to=1", nil).is(404)
	a = r.do("GET", "/api/v1/sources/page/diff?from=2&to=2", nil).is(200)
	if !strings.Contains(string(a.Body), `"hunks":[]`) {
		t.Errorf("a version differs from itself: %s", a.Body)
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "0": 0, "0s": 0, "1h30m": 90 * time.Minute, "1w1d1h": (8*24 + 1) * time.Hour, "1y": 365 * 24 * time.Hour} {
		var got client.Duration
		if err := got.UnmarshalText([]byte(text)); err != nil || time.Duration(got) != want {
			t.Errorf("%q reads as %v (%v), want %v", text, got, err, want)
		}
	}
	for want, d := range map[string]time.Duration{"0s": 0, "1h30m": 90 * time.Minute, "24h": 24 * time.Hour, "336h": 14 * 24 * time.Hour, "25h": 25 * time.Hour} {
		if got := client.Duration(d).String(); got != want {
			t.Errorf("%v is written %q, want %q", d, got, want)
		}
	}
	for _, text := range []string{"1", "-1s", "1x"} {
		var got client.Duration
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q reads as %v", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		want := client.Duration(rapid.Int64Min(0).Draw(t, "nanoseconds"))
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got client.Duration
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s reads as another duration: %s", text, diff)
		}
	})
}

// A dial sets life and urgency, over what they were.
func TestDial(t *testing.T) {
	r := newRig(t)
	shown := func(a answer) string {
		var s client.Source
		if err := json.Unmarshal(a.Body, &s); err != nil {
			t.Fatal(err)
		}
		return s.Life + " " + s.Urgency
	}
	add := map[string]any{"id": "a", "url": r.Origin.URL + "/a", "dial": "news list"}
	if got := shown(r.do("POST", "/api/v1/sources", add).is(201)); got != "last:20 exp:0.5/1h" {
		t.Errorf("a news list is %s", got)
	}
	for _, edit := range []struct {
		patch map[string]any
		want  string
	}{
		{map[string]any{"name": "A"}, "last:20 exp:0.5/1h"},
		{map[string]any{"dial": "archive"}, "append uniform"},
		{map[string]any{"dial": "stock-ticker", "life": "last:3"}, "last:3 exp:0.5/1m"},
		{map[string]any{"dial": "news list", "life": "overwrite"}, "overwrite exp:0.5/1h"},
		{map[string]any{"dial": "news list", "urgency": "uniform"}, "last:20 uniform"},
		{map[string]any{"life": "last:3", "urgency": "window:10m"}, "last:3 window:10m"},
		{map[string]any{"dial": nil}, "last:3 window:10m"},
	} {
		if got := shown(r.do("PATCH", "/api/v1/sources/a", edit.patch).is(200)); got != edit.want {
			t.Errorf("after %v it is %s, want %s", edit.patch, got, edit.want)
		}
	}
	if a := r.do("PATCH", "/api/v1/sources/a", map[string]any{"dial": "bonfire"}).is(422); !strings.Contains(string(a.Body), "body.dial") {
		t.Errorf("an unknown dial answers %s", a.Body)
	}
}
