package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
)

// TestSortedList holds every order and filter of the list of sources, read whole
// and in pages.
func TestSortedList(t *testing.T) {
	r := newRig(t).run()
	for _, s := range []struct {
		id     string
		states int // of the page: the source changes with each but the first
		polls  int // of a page that has no further states
		tag    string
	}{
		{"a", 1, 0, "x"}, {"b", 3, 0, "x"}, {"c", 2, 3, "y"}, {"d", 1, 0, "y"}, {"e", 0, 0, "x"}, {"f", 0, 2, "y"},
	} {
		r.do("POST", "/api/v1/sources", map[string]any{"id": s.id, "url": r.Origin.URL + "/" + s.id, "tags": []string{s.tag}}).is(201)
		for n := range s.states {
			r.Origin.Put("/"+s.id, "text/html", fmt.Sprintf("<title>Page %s</title><p>state %d</p>", strings.ToUpper(s.id), n))
			r.do("POST", "/api/v1/sources/"+s.id+"/poll", nil).is(200)
		}
		for range s.polls {
			r.do("POST", "/api/v1/sources/"+s.id+"/poll", nil).is(200)
		}
	}
	r.do("PATCH", "/api/v1/sources/d", map[string]any{"paused": true}).is(200)
	var changes client.ChangesPage // of sources without names
	if r.do("GET", "/api/v1/changes/newest?limit=1", nil).is(200).into(&changes); len(changes.Items) != 1 || changes.Items[0].Title != "Page C" {
		t.Errorf("the newest change: %+v, want the title of its page", changes.Items)
	}
	var found client.QueryFinding
	if r.do("POST", "/api/v1/queries/test", map[string]any{"limit": 1}).is(200).into(&found); len(found.Items) != 1 || found.Items[0].Change.Title != "Page C" {
		t.Errorf("the newest match: %+v, want the title of its page", found.Items)
	}
	if feed := r.do("GET", "/api/v1/feed.atom", nil).is(200).Body; !strings.Contains(string(feed), "<title>Page C") {
		t.Errorf("the feed does not call a source by the title of its page:\n%s", feed)
	}
	for query, want := range map[string]string{
		"sort=id":                          "a b c d e f",
		"sort=id&reverse=true":             "f e d c b a",
		"sort=changed":                     "c b a d e f",
		"sort=changes":                     "b c a d e f",
		"sort=changes&reverse=true":        "f e d a c b",
		"sort=polls":                       "c b f a d e",
		"sort=seen":                        "e f a b c d",
		"sort=next":                        "a b c d e f", // nothing is known of any
		"state=failing":                    "f",
		"state=paused":                     "d",
		"state=unseen":                     "e",
		"state=paused,failing":             "d f",
		"state=unseen&tag=x":               "e",
		"sort=changes&tag=x&state=failing": "",
		"q=page+c":                         "c",
	} {
		for _, limit := range []int{1, 2, 100} {
			if got := r.listed(query, limit); got != want {
				t.Errorf("%s in pages of %d: %q, want %q", query, limit, got, want)
			}
		}
		if got := r.sortedHere(query); got != want {
			t.Errorf("%s, all of them, sorted by the client: %q, want %q", query, got, want)
		}
	}
	for _, wrong := range []string{"sort=moon", "state=lost", "sort=polls&after=b", "sort=changed&after=1"} {
		r.do("GET", "/api/v1/sources?"+wrong, nil).is(422)
	}
}

// sortedHere returns the ids of a list as the client sorts it.
func (r *rig) sortedHere(query string) string {
	r.t.Helper()
	asked, err := url.ParseQuery(query)
	if err != nil {
		r.t.Fatal(err)
	}
	q := client.SourceQuery{Tag: asked.Get("tag"), Text: asked.Get("q"), Sort: asked.Get("sort"), Reverse: asked.Has("reverse")}
	for _, s := range strings.FieldsFunc(asked.Get("state"), func(r rune) bool { return r == ',' }) {
		q.States = append(q.States, client.State(s))
	}
	all, err := client.New(r.API.URL, http.DefaultClient.Do).Sources.List(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	var ids []string
	for _, s := range all {
		ids = append(ids, string(s.ID))
	}
	return strings.Join(ids, " ")
}

// listed returns the ids of a list that is read in pages.
func (r *rig) listed(query string, limit int) string {
	r.t.Helper()
	var ids []string
	for after := ""; ; {
		var p client.SourcePage
		r.do("GET", fmt.Sprintf("/api/v1/sources?%s&limit=%d&after=%s", query, limit, after), nil).is(200).into(&p)
		for _, s := range p.Items {
			ids = append(ids, string(s.ID))
		}
		if p.Next == nil {
			return strings.Join(ids, " ")
		}
		after = *p.Next
	}
}

// stuck is a policy that does not let go of the loop until it is let.
type stuck struct {
	kit.Idle
	let <-chan struct{}
}

func (s stuck) Choose(time.Time, int, func(freshet.Slot, float64) bool) time.Time {
	<-s.let
	return time.Time{}
}

// A list is answered although the loop is busy: without the next polls or, if it is
// sorted by them and whoever asked has gone, with an error.
func TestListWhileTheLoopIsBusy(t *testing.T) {
	let := make(chan struct{})
	r := newRigWith(t, func(c *daemon.Config) { c.Policy = stuck{let: let} })
	for i := range 3 {
		if _, err := r.Store.AddSource(t.Context(), freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", i)), URL: fmt.Sprintf("https://h%d.example/", i)}); err != nil {
			t.Fatal(err)
		}
	}
	r.run()
	t.Cleanup(func() { close(let) })
	if got := r.listed("next=true", 1); got != "s0 s1 s2" { // it waits for the loop at the first page only
		t.Errorf("the list has %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	answer := httptest.NewRecorder()
	r.API.Config.Handler.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, "GET", r.API.URL+"/api/v1/sources?sort=next", nil))
	if answer.Code < 400 {
		t.Errorf("a list by next polls that nobody knows is answered with %d: %s", answer.Code, answer.Body)
	}
}
