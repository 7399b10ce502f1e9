package web_test

import (
	"fmt"
	"strings"
	"testing"

	"freshet/client"
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
		r.do("POST", "/api/v1/sources", map[string]any{"id": s.id, "url": r.origin.URL + "/" + s.id, "tags": []string{s.tag}}).is(201)
		for n := range s.states {
			r.put("/"+s.id, "text/html", fmt.Sprintf("<title>Page %s</title><p>state %d</p>", strings.ToUpper(s.id), n))
			r.do("POST", "/api/v1/sources/"+s.id+"/poll", nil).is(200)
		}
		for range s.polls {
			r.do("POST", "/api/v1/sources/"+s.id+"/poll", nil).is(200)
		}
	}
	r.do("PATCH", "/api/v1/sources/d", map[string]any{"paused": true}).is(200)
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
		"state=unseen":                     "e f",
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
	}
	for _, wrong := range []string{"sort=moon", "state=lost", "sort=polls&after=b", "sort=changed&after=1"} {
		r.do("GET", "/api/v1/sources?"+wrong, nil).is(422)
	}
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
