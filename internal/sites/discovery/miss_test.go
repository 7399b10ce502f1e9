package discovery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/freshet/crawl"
)

// One poll that finds nothing does not make a page go, whether it was there before or not.
// The second in a row does.
func TestPageGoesAfterTwoMisses(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{"/": linking("home", "/a", "/never"), "/a": linking("a")})
		r := begin(t, dir, w, docs(crawl.Settings{}))
		defer r.stop()
		missed := func(path string, since int) {
			t.Helper()
			for deadline := time.Now().Add(time.Hour); w.requests(path) == since; pass(time.Second) {
				if time.Now().After(deadline) {
					t.Fatalf("%s was not polled for an hour", path)
				}
			}
			pass(500 * time.Millisecond)
		}
		missed("/never", 0)
		if p := r.pages(t, "docs")["/never"]; p.State != crawl.PageWatched {
			t.Errorf("after one 404 the page that never was is %q, want it watched", p.State)
		}
		missed("/never", 1)
		if p := r.pages(t, "docs")["/never"]; p.State != crawl.PageGone {
			t.Errorf("after two 404s the page that never was is %q, want it gone", p.State)
		}

		w.remove("/a")
		before := w.requests("/a")
		missed("/a", before)
		if p := r.pages(t, "docs")["/a"]; p.State != crawl.PageWatched || len(r.told(t)) > 0 {
			t.Errorf("after one 404 the page is %q and %v is told, want it watched", p.State, r.told(t))
		}
		missed("/a", before+1)
		if p := r.pages(t, "docs")["/a"]; p.State != crawl.PageGone || !slices.Equal(r.told(t), []string{"gone /a"}) {
			t.Errorf("after two 404s the page is %q and %v is told, want it gone", p.State, r.told(t))
		}
	})
}

// At a poll a second, no more than a minute's worth of pages wait for their first poll.
func TestStockHoldsAMinuteOfPolls(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		var links []string
		pages := map[string]string{}
		for i := range 150 {
			at := fmt.Sprintf("/page/%c%c", 'a'+i/26, 'a'+i%26)
			links = append(links, at)
			pages[at] = linking(at)
		}
		pages["/"] = linking("home", links...)
		w := newWeb(pages)
		r := begin(t, dir, w, docs(crawl.Settings{Share: 1}))
		defer r.stop()
		most := 0
		for range 45 {
			pass(time.Second)
			waiting := 0
			for path, p := range r.pages(t, "docs") {
				if strings.HasPrefix(path, "/page/") && p.State == crawl.PageWatched && w.requests(path) == 0 {
					waiting++
				}
			}
			most = max(most, waiting)
		}
		if most < 30 || most > 60 {
			t.Errorf("up to %d pages waited for their first poll, want up to 60", most)
		}
	})
}
