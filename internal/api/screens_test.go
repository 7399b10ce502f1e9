package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// readHere has stored responses read in this process.
func readHere(c *api.Config) {
	read := func(_ context.Context, recipe reading.Recipe, resp freshet.Response) (extract.Reading, error) {
		return extract.Extract(recipe, resp)
	}
	c.Sources.Read, c.Sources.Trace = read, read
}

// shelf has some sources with a history.
func (r *rig) shelf() {
	for _, s := range []struct {
		id    string
		tags  []string
		looks int
	}{{"a", []string{"x"}, 3}, {"b", []string{"x", "y"}, 2}, {"c", nil, 1}, {"d", []string{"y"}, 0}} {
		r.do("POST", "/api/v1/sources", map[string]any{"id": s.id, "url": r.Origin.URL + "/" + s.id, "tags": s.tags}).is(201)
		for n := range s.looks {
			r.Origin.Put("/"+s.id, "text/html", fmt.Sprintf("<main><p>state %d</p><p class=clock>%d</p></main><footer>foot</footer>", n/2, n))
			r.do("POST", "/api/v1/sources/"+s.id+"/poll", nil).is(200)
		}
	}
}

func readJSON[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	if err := json.Unmarshal(a.is(200).Body, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFacetsAndOffsets(t *testing.T) {
	r := newRig(t).run()
	r.shelf()
	r.do("PATCH", "/api/v1/sources/c", map[string]any{"paused": true}).is(200)
	f := readJSON[client.Facets](t, r.do("GET", "/api/v1/sources/facets", nil))
	if f.Total != 4 || f.States[client.Well] != 2 || f.States[client.Paused] != 1 || f.States[client.Unseen] != 1 {
		t.Errorf("the facets are %+v", f)
	}
	if fmt.Sprint(f.Tags) != "[{x 2} {y 2}]" || len(f.Hosts) != 1 || f.Hosts[0].Count != 4 {
		t.Errorf("tags %v, hosts %v", f.Tags, f.Hosts)
	}
	for query, want := range map[string]string{
		"offset=1&limit=2&total=true":              "b c of 4",
		"offset=3&limit=2&total=true":              "d of 4",
		"offset=9&total=true":                      " of 4",
		"sort=changes&offset=1&limit=1&total=true": "b of 4",
		"state=well&total=true":                    "a b of 2",
		"host=" + f.Hosts[0].Name + "&total=true":  "a b c d of 4",
		"host=elsewhere&total=true":                " of 0",
	} {
		page := readJSON[client.SourcePage](t, r.do("GET", "/api/v1/sources?"+query, nil))
		var ids []string
		for _, s := range page.Items {
			ids = append(ids, string(s.ID))
		}
		if got := fmt.Sprintf("%s of %d", strings.Join(ids, " "), *page.Total); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestNewestChanges(t *testing.T) {
	r := newRig(t).run()
	r.shelf()
	list := func(query string) (got string, next freshet.Place) {
		page := readJSON[client.ChangesPage](t, r.do("GET", "/api/v1/changes/newest?"+query, nil))
		for _, c := range page.Items {
			got += fmt.Sprintf("%s%d ", c.Source, c.Number)
		}
		return got, page.Next
	}
	for query, want := range map[string]string{"": "b2 a3 a2 ", "source=a": "a3 a2 ", "tag=y": "b2 ", "source=c": "",
		"q=%2F" + "a": "a3 a2 ", "q=nowhere": "", "since=1h": "b2 a3 a2 ", "until=2001-01-01": "", "source=a&since=2001-01-01&q=zzz": "", "site=a": "a3 a2 "} {
		if got, _ := list(query); got != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	for n := range 6 { // so that pages of a source begin in the middle of what is read at once
		r.Origin.Put("/a", "text/html", fmt.Sprintf("<p>later %d</p>", n))
		r.do("POST", "/api/v1/sources/a/poll", nil).is(200)
	}
	for _, source := range []string{"", "source=a&", "source=a&tag=x&", "tag=x&", "source=b&tag=none&"} {
		whole, _ := list(source)
		for limit := range 4 {
			joined, before := "", ""
			for range 12 {
				part, next := list(fmt.Sprintf("%slimit=%d%s", source, limit+1, before))
				joined += part
				if before = "&before=" + next.String(); next.Cursor == 0 {
					break
				}
			}
			if joined != whole {
				t.Errorf("%q in pages of %d: %q, want %q", source, limit+1, joined, whole)
			}
		}
	}
	r.do("GET", "/api/v1/changes/newest?source=none", nil).is(404)
	r.do("GET", "/api/v1/changes/newest?since=yesterday", nil).is(422)
	r.do("GET", "/api/v1/changes/newest?q=(", nil).is(422)
}

func TestBulkEdits(t *testing.T) {
	r := newRig(t).run()
	r.shelf()
	edit := func(e client.BulkEdit) client.BulkEdited {
		return readJSON[client.BulkEdited](t, r.do("POST", "/api/v1/sources/bulk", e))
	}
	tags := func(id string) string {
		return fmt.Sprint(readJSON[client.Source](t, r.do("GET", "/api/v1/sources/"+id, nil)).Tags)
	}
	filter := &client.BulkFilter{Tag: "x"}
	if got := edit(client.BulkEdit{Action: client.BulkTag, Tag: "y", Filter: filter, DryRun: true}); got != (client.BulkEdited{Matched: 2, Changed: 1}) {
		t.Errorf("a dry run says %+v", got)
	}
	if tags("a") != "[x]" {
		t.Error("a dry run changed something")
	}
	done := edit(client.BulkEdit{Action: client.BulkTag, Tag: "y", Filter: filter})
	if done.Changed != 1 || done.Undo == "" || tags("a") != "[x y]" {
		t.Errorf("the edit says %+v, and a has %s", done, tags("a"))
	}
	r.do("POST", "/api/v1/sources/bulk/"+done.Undo+"/undo", nil).is(200)
	if tags("a") != "[x]" || tags("b") != "[x y]" {
		t.Errorf("after the undo a has %s and b %s", tags("a"), tags("b"))
	}
	r.do("POST", "/api/v1/sources/bulk/"+done.Undo+"/undo", nil).is(404)

	gone := edit(client.BulkEdit{Action: client.BulkRemove, IDs: []freshet.SourceID{"a", "c"}})
	r.do("GET", "/api/v1/sources/a", nil).is(404)
	r.do("POST", "/api/v1/sources/bulk/"+gone.Undo+"/undo", nil).is(200)
	if s := readJSON[client.Source](t, r.do("GET", "/api/v1/sources/a", nil)); s.Standing.Version != 3 {
		t.Errorf("a source that came back has version %d, want 3", s.Standing.Version)
	}

	// What somebody else edited since stays.
	paused := edit(client.BulkEdit{Action: client.BulkPause, IDs: []freshet.SourceID{"a", "b"}})
	r.do("PATCH", "/api/v1/sources/b", map[string]any{"name": "mine"}).is(200)
	undone := readJSON[client.BulkEdited](t, r.do("POST", "/api/v1/sources/bulk/"+paused.Undo+"/undo", nil))
	if b := readJSON[client.Source](t, r.do("GET", "/api/v1/sources/b", nil)); undone.Changed != 1 || !b.Paused || b.Name != "mine" {
		t.Errorf("the undo says %+v, and b is %+v", undone, b)
	}
	editMany(t, r, edit)
	for wrong, want := range map[string]string{
		`{"action": "level", "ids": ["a"], "level": "soon"}`:        "body.level",
		`{"action": "read", "ids": ["a"], "read": [{"css": "<<"}]}`: "body.read[0].css",
		`{"action": "tag", "ids": ["a"]}`:                           "body.tag",
		`{"action": "pause"}`:                                       "body",
		`{"action": "pause", "ids": ["a"], "filter": {}}`:           "body",
		`{"action": "fly", "ids": ["a"]}`:                           "body.action",
	} {
		if a := r.do("POST", "/api/v1/sources/bulk", wrong, "Content-Type", "application/json").is(422); !strings.Contains(string(a.Body), `"`+want+`"`) {
			t.Errorf("%s: %s", wrong, a.Body)
		}
	}
}

// editMany changes the level of sources and what of them is compared, and takes it back.
func editMany(t *testing.T, r *rig, edit func(client.BulkEdit) client.BulkEdited) {
	t.Helper()
	all := []freshet.SourceID{"a", "b"}
	show := func(id string) client.Source {
		return readJSON[client.Source](t, r.do("GET", "/api/v1/sources/"+id, nil))
	}
	before := show("a")
	level := edit(client.BulkEdit{Action: client.BulkLevel, Level: "90% within 10m", IDs: all})
	if a := show("a"); level.Changed != 2 || a.Level != "90% within 10m" || a.URL != before.URL || fmt.Sprint(a.Tags) != fmt.Sprint(before.Tags) {
		t.Errorf("the edit says %+v, and a is %+v", level, a)
	}
	if again := edit(client.BulkEdit{Action: client.BulkLevel, Level: "90% within 10m", IDs: all, DryRun: true}); again.Changed != 0 {
		t.Errorf("the same level again changes %d", again.Changed)
	}
	steps := []any{map[string]any{"css": "main"}}
	read := edit(client.BulkEdit{Action: client.BulkRead, Read: steps, IDs: all})
	if a := show("a"); read.Changed != 2 || fmt.Sprint(a.Read) != fmt.Sprint(steps) || a.Level != "90% within 10m" {
		t.Errorf("the edit says %+v, and a is read by %v", read, a.Read)
	}
	r.do("POST", "/api/v1/sources/bulk/"+read.Undo+"/undo", nil).is(200)
	r.do("POST", "/api/v1/sources/bulk/"+level.Undo+"/undo", nil).is(200) // its revision has moved on: it stays
	if a := show("a"); len(a.Read) != len(before.Read) {
		t.Errorf("after the undo a is read by %v", a.Read)
	}
	if none := edit(client.BulkEdit{Action: client.BulkLevel, IDs: all}); none.Changed != 2 || show("a").Level != "" {
		t.Errorf("without a level: %+v", none)
	}
}

func TestSourceTrials(t *testing.T) {
	r := newRig(t, readHere).run()
	r.shelf()
	trial := readJSON[client.SourceTrial](t, r.do("POST", "/api/v1/sources/a/test?history=10", map[string]any{"read": []any{map[string]any{"css": "main"}, map[string]any{"drop": ".clock"}}}))
	if strings.TrimSpace(trial.Text) != "state 1" || trial.Version != 3 {
		t.Errorf("the trial read %q of version %d", trial.Text, trial.Version)
	}
	if h := trial.History; h == nil || h.Changes != 1 || h.Spared != 1 || len(h.Items) != 3 || !h.Items[2].Change {
		t.Errorf("over the history it says %+v", trial.History)
	}
	if s := readJSON[client.Source](t, r.do("GET", "/api/v1/sources/a", nil)); len(s.Read) != 0 {
		t.Errorf("a trial changed the source: %v", s.Read)
	}
	r.do("POST", "/api/v1/sources/a/test", map[string]any{"read": []any{map[string]any{"css": "["}}}).is(422)
	r.do("POST", "/api/v1/sources/d/test", map[string]any{}).is(404) // it was never seen

	r.Origin.Put("/a", "text/html", "<title>T</title><ul>"+strings.Repeat("<li><a href=/x>An item with words</a></li>", 12)+"</ul>")
	r.do("POST", "/api/v1/sources/a/poll", nil).is(200)
	found := readJSON[client.Suggestions](t, r.do("GET", "/api/v1/sources/a/suggestions", nil))
	if len(found.Items) == 0 || found.Version != 4 {
		t.Fatalf("the suggestions are %+v", found)
	}
	for _, s := range found.Items {
		if s.What == "list" && (s.Count == 0 || s.Items == nil) {
			t.Errorf("the list is %+v", s)
		}
	}
}

// A rendered version has nothing that runs, loads or leads anywhere.
func TestRendered(t *testing.T) {
	r := newRig(t).run()
	r.Origin.Put("/p", "text/html; charset=iso-8859-1", `<base href="http://x.example/"><script>a()</script><p onclick="a()" class=k style="color:red">caf`+"\xe9"+`</p>
<a href="javascript:a()">l</a><img src="http://x.example/i.png" alt=pic><style>p{background:url(//x.example/b)}</style><style>p{color:blue}</style>
<p style="background:URL(x)">q</p><svg onload=a()><a href="//x.example"/></svg><form action=/f><input></form><meta http-equiv=refresh content="0;url=//x.example"><!-- c -->`)
	r.Origin.Put("/t", "text/plain", "<b>plain & simple</b>")
	for _, id := range []string{"p", "t"} {
		r.do("POST", "/api/v1/sources", map[string]any{"id": id, "url": r.Origin.URL + "/" + id}).is(201)
		r.do("POST", "/api/v1/sources/"+id+"/poll", nil).is(200)
	}
	a := r.do("GET", "/api/v1/sources/p/versions/1/rendered", nil).is(200)
	page := string(a.Body)
	for _, bad := range []string{"script", "onclick", "onload", "javascript", "x.example", "<base", "<svg", "<form", "<input", "<meta", "<!--", "href", "src=", "URL("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page still has %s:\n%s", bad, page)
		}
	}
	for _, good := range []string{"café", `class="k"`, "color:red", "color:blue", `alt="pic"`} {
		if !strings.Contains(page, good) {
			t.Errorf("the page has lost %s:\n%s", good, page)
		}
	}
	if policy := a.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "sandbox") {
		t.Errorf("the policy is %s", policy)
	}
	if a := r.do("GET", "/api/v1/sources/t/versions/latest/rendered", nil).is(200); !strings.Contains(string(a.Body), "&lt;b&gt;plain &amp; simple") {
		t.Errorf("a text is rendered as %s", a.Body)
	}
}

// The flow counts what was stored before anybody looked, and what came since.
func TestFlow(t *testing.T) {
	r := newRig(t).run()
	r.shelf()
	sum := func() (polls, changes, failed int) {
		f := readJSON[client.Flow](t, r.do("GET", "/api/v1/flow?hours=1", nil))
		if len(f.Items) != 6 {
			t.Fatalf("an hour has %d stretches", len(f.Items))
		}
		for _, s := range f.Items {
			polls, changes, failed = polls+s.Polls, changes+s.Changes, failed+s.Failed
		}
		return polls, changes, failed
	}
	if polls, changes, failed := sum(); polls != 6 || changes != 3 || failed != 0 {
		t.Errorf("at first %d polls, %d changes, %d failed; want 6, 3, 0", polls, changes, failed)
	}
	r.do("POST", "/api/v1/sources/d/poll", nil).is(200) // there is no such page
	r.Origin.Put("/a", "text/html", "other")
	r.do("POST", "/api/v1/sources/a/poll", nil).is(200)
	for range 2 { // looking counts nothing twice
		if polls, changes, failed := sum(); polls != 8 || changes != 4 || failed != 1 {
			t.Errorf("then %d polls, %d changes, %d failed; want 8, 4, 1", polls, changes, failed)
		}
	}
}
