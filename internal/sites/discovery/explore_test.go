package discovery_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/sites"
	"freshet/internal/sites/discovery"
	"freshet/internal/sites/frontier"
	"freshet/internal/test/tier"
)

// inBubble runs f with the time of a bubble and a directory of its own.
func inBubble(t *testing.T, f func(t *testing.T, dir string)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { f(t, dir) })
}

// pass lets time pass, and all that happens at its end happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// The pages of a site are found by links, as far as it says, and each is watched under
// one URL.
func TestPagesAreFoundByLinks(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{
			"/":        linking("home", "/a", "/b?utm_source=x", "https://other.example/", "/private/x", "/big.zip"),
			"/a":       linking("a", "/b", "/c", "/"),
			"/b":       linking("b", "/a#top"),
			"/c":       linking("c", "/d"),
			"/d":       linking("d", "/e"),
			"/e":       linking("e"),
			"/private": linking("private"),
		})
		r := begin(t, dir, w, docs(crawl.Settings{Exclude: []string{"/private/**"}, Depth: 3}))
		defer r.stop()
		pass(2 * time.Minute)
		got := r.pages(t, "docs")
		if at := slices.Sorted(maps.Keys(got)); !slices.Equal(at, []string{"/", "/a", "/b", "/c", "/d"}) {
			t.Errorf("the pages are %v", at)
		}
		for path, depth := range map[string]int{"/a": 1, "/b": 1, "/c": 2, "/d": 3} {
			if p := got[path]; p.State != crawl.PageWatched || p.Depth != depth || p.Found != crawl.ByLink || w.requests(path) == 0 {
				t.Errorf("the page %s is %+v, asked for %d times", path, p, w.requests(path))
			}
		}
		if p := got["/"]; p.State != crawl.PageCovered {
			t.Errorf("the first page of the site is %+v, want it covered by the site itself", p)
		}
		for _, path := range []string{"/e", "/big.zip", "/private/x", "/b?utm_source=x"} {
			if w.requests(path) > 0 {
				t.Errorf("%s was asked for", path)
			}
		}
	})
}

// The sitemaps that a robots.txt names are read, and so are those that they name. Pages
// that come later are told as new, those that go as gone, and those that come back are
// watched again with their history.
func TestPagesComeAndGo(t *testing.T) {
	tier.Slow(t, "it simulates days of polls")
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{
			"/":           linking("home"),
			"/robots.txt": "User-agent: *\nAllow: /\nSitemap: https://docs.example/all.xml\n",
			"/all.xml":    `<sitemapindex><sitemap><loc>https://docs.example/pages.xml</loc></sitemap></sitemapindex>`,
			"/pages.xml":  listing("/a 2000-01-01", "/b"),
			"/a":          linking("a"), "/b": linking("b"),
		})
		r := begin(t, dir, w, docs(crawl.Settings{}))
		defer r.stop()
		pass(2 * time.Minute)
		got := r.pages(t, "docs")
		if p := got["/a"]; p.State != crawl.PageWatched || p.Found != crawl.BySitemap || p.Date.IsZero() || p.Listed.IsZero() || p.New {
			t.Errorf("the page /a is %+v", p)
		}
		if events := r.told(t); len(events) > 0 {
			t.Errorf("of pages that were there from the start is told %v", events)
		}
		report, err := discovery.Describe(t.Context(), r.store, frontier.NewStore(r.store.DB()), "docs")
		if err != nil || report.Settled.IsZero() || len(report.Indexes) != 3 {
			t.Fatalf("the site is %+v, %v; want it settled, with three indexes", report, err)
		}

		w.set("/c", linking("c"))
		w.remove("/b")
		w.set("/pages.xml", listing("/a 2000-01-01", "/c"))
		pass(10 * time.Minute)
		if events := r.told(t); !slices.Equal(slices.Sorted(slices.Values(events)), []string{"gone /b", "new /c"}) {
			t.Errorf("told of pages is %v", events)
		}
		gone := r.pages(t, "docs")["/b"]
		if gone.State != crawl.PageGone {
			t.Errorf("the page that went is %+v", gone)
		}
		if _, err := r.store.RemovedSource(t.Context(), gone.Source); err != nil {
			t.Errorf("its history: %v", err)
		}

		w.set("/b", linking("b again"))
		w.set("/pages.xml", listing("/a 2000-01-01", "/c", "/b"))
		pass(10 * time.Minute)
		if p := r.pages(t, "docs")["/b"]; p.State != crawl.PageWatched || p.Source != gone.Source {
			t.Errorf("the page that came back is %+v, want it watched as %s", p, gone.Source)
		}
	})
}

// A site without a robots.txt may have a sitemap in the usual place. What is not there
// is not asked for again and again.
func TestUsualSitemap(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{"/": linking("home"), "/sitemap.xml": listing("/a"), "/a": linking("a")})
		r := begin(t, dir, w, docs(crawl.Settings{}))
		defer r.stop()
		pass(5 * time.Minute)
		if p := r.pages(t, "docs")["/a"]; p.State != crawl.PageWatched {
			t.Errorf("the page is %+v", p)
		}
		if n := w.requests("/robots.txt"); n != 1 {
			t.Errorf("a robots.txt that is not there was asked for %d times", n)
		}
	})
}

// A page says what is to become of it: another URL is the right one, it is not to be
// kept, or its links are not to be followed.
func TestWishesOfPages(t *testing.T) {
	head := func(tags, body string) string {
		return "<html><head>" + tags + "</head><body>" + body + "</body></html>"
	}
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{
			"/":         linking("home", "/print/a", "/none", "/shut"),
			"/print/a":  head(`<link rel="canonical" href="/a">`, "the text of a"),
			"/a":        linking("a"),
			"/none":     head(`<meta name="robots" content="noindex">`, "nothing to keep here"),
			"/shut":     head(`<meta name="robots" content="nofollow">`, `<a href="/hidden">hidden</a>`),
			"/hidden":   linking("hidden"),
			"/sitemap.": "",
		})
		r := begin(t, dir, w, docs(crawl.Settings{}))
		defer r.stop()
		pass(5 * time.Minute)
		got := r.pages(t, "docs")
		for path, want := range map[string]crawl.PageState{"/print/a": crawl.PageCovered, "/a": crawl.PageWatched, "/none": crawl.PageRefused, "/shut": crawl.PageWatched} {
			if got[path].State != want {
				t.Errorf("the page %s is %q, want %q", path, got[path].State, want)
			}
		}
		if _, ok := got["/hidden"]; ok {
			t.Error("a link that is not to be followed was")
		}
	})
}

// No more pages are watched than the limit allows, and the site says how many are left
// out.
func TestLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		var links []string
		pages := map[string]string{}
		for i := range 50 {
			at := fmt.Sprintf("/page/%d", i)
			links = append(links, at)
			pages[at] = linking(at)
		}
		pages["/"] = linking("home", links...)
		r := begin(t, dir, newWeb(pages), docs(crawl.Settings{Limit: 20}))
		defer r.stop()
		pass(5 * time.Minute)
		report, err := discovery.Describe(t.Context(), r.store, frontier.NewStore(r.store.DB()), "docs")
		if err != nil || report.Pages.Known() != 20 || report.Over != 30 {
			t.Errorf("of 50 pages the site knows %d and leaves out %d, %v; want 20 and 30", report.Pages.Known(), report.Over, err)
		}
	})
}

// Named pages get their polls while a site is fetched for the first time.
func TestSiteLeavesTheOthersTheirShare(t *testing.T) {
	tier.Slow(t, "it simulates hours of polls")
	inBubble(t, func(t *testing.T, dir string) {
		var links []string
		pages := map[string]string{}
		for i := range 500 {
			at := fmt.Sprintf("/page/%d", i)
			links = append(links, at)
			pages[at] = linking(at)
		}
		pages["/"] = linking("home", links...)
		w := newWeb(pages)
		sources := []freshet.Source{docs(crawl.Settings{Share: 0.3})}
		for i := range 5 {
			at := fmt.Sprintf("/page/%d?named", i)
			w.set(at, linking(at))
			sources = append(sources, freshet.Source{ID: freshet.SourceID(fmt.Sprintf("n%d", i)), URL: "https://docs.example" + at})
		}
		r := begin(t, dir, w, sources...)
		defer r.stop()
		pass(10 * time.Minute)
		named := 0
		for i := range 5 {
			named += w.requests(fmt.Sprintf("/page/%d?named", i))
		}
		if part := float64(named) / float64(w.all()); part < 0.65 || part > 0.75 {
			t.Errorf("the named pages had %.2f of %d requests, want about 0.7", part, w.all())
		}
	})
}

// Edits of a site hold for its pages, and a site that is removed takes them with it.
func TestEditAndRemoveSite(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{"/": linking("home", "/a", "/b"), "/a": linking("a"), "/b": linking("b")})
		r := begin(t, dir, w, docs(crawl.Settings{}))
		defer r.stop()
		pass(2 * time.Minute)
		s, err := r.store.Source(t.Context(), "docs")
		if err != nil {
			t.Fatal(err)
		}
		s.Source.Weight = 7
		if _, err := r.UpdateSource(t.Context(), s.Source); err != nil {
			t.Fatal(err)
		}
		a := r.pages(t, "docs")["/a"].Source
		if page, err := r.store.Source(t.Context(), a); err != nil || page.Weight != 7 {
			t.Errorf("after an edit of the site its page is %+v, %v", page.Source, err)
		}
		if s, err = r.store.Source(t.Context(), "docs"); err != nil {
			t.Fatal(err)
		}
		site := s.Site
		for range 2 { // off and on again
			if s.Source.Site == nil {
				s.Source.Site = site
			} else {
				s.Source.Site = nil
			}
			s.Source.Revision = 0
			if _, err := r.UpdateSource(t.Context(), s.Source); err != nil {
				t.Fatal(err)
			}
			before := w.requests("/a") + w.requests("/b")
			pass(time.Minute)
			if n := w.requests("/a") + w.requests("/b") - before; s.Source.Site == nil && n > 0 || s.Source.Site != nil && n == 0 {
				t.Errorf("the pages of a source whose site is %v were asked for %d times", s.Source.Site, n)
			}
			if status := r.Status(); int(status.Sources) != len(r.watched(t)) {
				t.Errorf("%d sources are counted, and there are %d", status.Sources, len(r.watched(t)))
			}
		}
		if err := r.RemoveSource(t.Context(), "docs", false); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		before := w.all()
		pass(5 * time.Minute)
		if n := w.all() - before; n > 0 {
			t.Errorf("%d requests were made for a site that is removed", n)
		}
		if _, err := r.store.Source(t.Context(), a); err == nil {
			t.Error("a page of a site that is removed is watched")
		}
		if _, err := r.store.RemovedSource(t.Context(), a); err != nil {
			t.Errorf("the history of a page of a site that is removed: %v", err)
		}
	})
}

// A site that is purged leaves nothing behind, and nothing of the budget is lost with the
// polls that are under way.
func TestPurgeSite(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{"/": linking("home", "/a", "/b"), "/a": linking("a"), "/b": linking("b"), "/named?named": linking("named")})
		r := begin(t, dir, w, docs(crawl.Settings{}), freshet.Source{ID: "named", URL: "https://docs.example/named?named"})
		defer r.stop()
		pass(time.Minute)
		a := r.pages(t, "docs")["/a"].Source
		if err := r.RemoveSource(t.Context(), "docs", true); err != nil {
			t.Fatal(err)
		}
		if _, err := r.store.RemovedSource(t.Context(), a); err == nil {
			t.Error("a page of a site that was purged has a history")
		}
		pass(time.Minute)
		before := w.requests("/named?named")
		pass(time.Minute)
		if n := w.requests("/named?named") - before; n < 59 {
			t.Errorf("the other page was asked for %d times in a minute, want 60", n)
		}
	})
}

// What was found before a restart is not found again, and the rest is.
func TestExploreAcrossRestarts(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		var links []string
		pages := map[string]string{}
		for i := range 60 {
			at := fmt.Sprintf("/page/%d", i)
			links = append(links, at)
			pages[at] = linking(at, fmt.Sprintf("/more/%d", i))
			pages[fmt.Sprintf("/more/%d", i)] = linking("more")
		}
		pages["/"] = linking("home", links...)
		w := newWeb(pages)
		for range 8 {
			r := begin(t, dir, w, docs(crawl.Settings{}))
			pass(17 * time.Second)
			r.stop()
		}
		r := begin(t, dir, w, docs(crawl.Settings{}))
		defer r.stop()
		pass(3 * time.Minute)
		report, err := discovery.Describe(t.Context(), r.store, frontier.NewStore(r.store.DB()), "docs")
		if err != nil || report.Pages.Known() != 120 || report.Pages.Watched != 120 {
			t.Errorf("after eight restarts the pages are %+v, %v; want 120 that are watched", report.Pages, err)
		}
	})
}

// A page that was watched already and becomes a site is read again, and so is all of a
// site whose bounds become wider.
func TestStoredPagesAreReadAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{
			"/": linking("home", "/guide/a", "/blog/b"), "/guide/a": linking("a", "/blog/c"), "/blog/b": linking("b"), "/blog/c": linking("c"),
		})
		r := begin(t, dir, w, freshet.Source{ID: "docs", URL: "https://docs.example/"})
		defer r.stop()
		pass(10 * time.Second)
		edit := func(site crawl.Settings) {
			s, err := r.store.Source(t.Context(), "docs")
			if err != nil {
				t.Fatal(err)
			}
			s.Source.Site = &site
			if _, err := r.UpdateSource(t.Context(), s.Source); err != nil {
				t.Fatal(err)
			}
			pass(time.Minute)
		}
		edit(crawl.Settings{Match: []string{"/guide/**"}})
		if at := slices.Sorted(maps.Keys(r.pages(t, "docs"))); !slices.Equal(at, []string{"/guide/a"}) {
			t.Errorf("the pages of the site are %v", at)
		}
		edit(crawl.Settings{})
		if at := slices.Sorted(maps.Keys(r.pages(t, "docs"))); !slices.Equal(at, []string{"/blog/b", "/blog/c", "/guide/a"}) {
			t.Errorf("with wider bounds its pages are %v", at)
		}
	})
}

// What a robots.txt disallows is not asked for, and the pages say so.
func TestRobotsAreObeyed(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{
			"/": linking("home", "/open", "/shut/a", "/shut/b"), "/robots.txt": "User-agent: *\nDisallow: /shut/\n",
			"/open": linking("open"), "/shut/a": linking("a"), "/shut/b": linking("b"),
		})
		r := begin(t, dir, w, docs(crawl.Settings{}))
		defer r.stop()
		pass(5 * time.Minute)
		got := r.pages(t, "docs")
		for path, want := range map[string]crawl.PageState{"/open": crawl.PageWatched, "/shut/a": crawl.PageRefused, "/shut/b": crawl.PageRefused} {
			if got[path].State != want {
				t.Errorf("the page %s is %q, want %q", path, got[path].State, want)
			}
		}
		if n := w.requests("/shut/a") + w.requests("/shut/b"); n > 0 {
			t.Errorf("what is disallowed was asked for %d times", n)
		}
	})
}

// A hostile site has a calendar without an end, links with a session each, a page with
// more links than anybody reads, and a sitemap that lists what is none of its business.
// It gets no more than its share, other pages get theirs, and the site says what is
// wrong.
func TestHostileSite(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		var many []string
		for i := range 12_000 {
			many = append(many, fmt.Sprintf("https://other.example/%d", i))
		}
		w := newWeb(map[string]string{
			"/":            linking("home", "/day/2000/1/1", "/shop?session=a81bc81bdead4e5dabff90865d1e13b1", "/many", "/loop/a"),
			"/many":        linking("many", many...),
			"/robots.txt":  "Sitemap: https://docs.example/bad.xml\n",
			"/bad.xml":     listing("/listed") + "<url><loc>http://10.0.0.1/secret</loc></url>",
			"/listed":      linking("listed"),
			"/named?named": linking("named"),
		})
		w.endless = func(path string) string {
			var y, m, d int
			if _, err := fmt.Sscanf(path, "/day/%d/%d/%d", &y, &m, &d); err == nil {
				next := time.Date(y, time.Month(m), d+1, 0, 0, 0, 0, time.UTC)
				return linking("events of "+next.Weekday().String(), next.Format("/day/2006/1/2"))
			}
			if strings.HasPrefix(path, "/shop?session=") {
				return linking("shop", fmt.Sprintf("/shop?session=%032x", xxhash.Sum64String(path)), fmt.Sprintf("/shop?session=%032x", ^xxhash.Sum64String(path)))
			}
			if strings.HasPrefix(path, "/loop/") && len(path) < 4000 {
				return linking("loop", path+"/a")
			}
			return ""
		}
		r := begin(t, dir, w, docs(crawl.Settings{Share: 0.4, Limit: 500, Depth: 100}), freshet.Source{ID: "named", URL: "https://docs.example/named?named"})
		defer r.stop()
		pass(30 * time.Minute)
		if part := float64(w.all()-w.requests("/named?named")) / (30 * 60); part > 0.42 {
			t.Errorf("the site had %.2f of the budget, want at most 0.4", part)
		}
		if n := w.requests("/named?named"); n < 900 {
			t.Errorf("the other page was asked for %d times, want it to have the rest of the budget", n)
		}
		report, err := discovery.Describe(t.Context(), r.store, frontier.NewStore(r.store.DB()), "docs")
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Traps) != 1 || report.Traps[0].Kind != sites.Path {
			t.Errorf("the traps are %+v, want the paths that go round in circles", report.Traps)
		}
		if n := report.Pages.Known(); n > 150 { // a hundred days of the calendar
			t.Errorf("%d pages of the site are known", n)
		}
		said := fmt.Sprint(report.Problems)
		if !strings.Contains(said, "more than 10000 links") || !strings.Contains(said, "on another host") {
			t.Errorf("the problems are %v, want the page with too many links and the sitemap with another host among them", said)
		}
		for path := range r.pages(t, "docs") {
			if strings.Contains(path, "10.0.0.1") {
				t.Errorf("%s is a page of the site", path)
			}
		}
	})
}

// The dates of a sitemap are believed if they tell of changes, and not if they move by
// themselves or stay.
func TestDatesOfSitemaps(t *testing.T) {
	tier.Slow(t, "it simulates days of polls")
	for name, tt := range map[string]struct {
		dated, changed bool // at every edit, whether the date moves and whether the page changes
		want           bool
	}{
		"true":                 {true, true, true},
		"moving by themselves": {true, false, false},
		"staying as they were": {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				const pages = 10
				w := newWeb(map[string]string{"/": linking("home"), "/robots.txt": "Sitemap: https://docs.example/pages.xml\n"})
				dates := make([]string, pages)
				edit := func(i, edition int) {
					if tt.changed || edition == 0 {
						w.set(fmt.Sprintf("/p%d", i), linking(fmt.Sprintf("page %d edition %d", i, edition)))
					}
					if tt.dated || edition == 0 {
						dates[i] = time.Now().Format(time.RFC3339)
					}
					var list []string
					for i, date := range dates {
						list = append(list, fmt.Sprintf("/p%d %s", i, date))
					}
					w.set("/pages.xml", listing(list...))
				}
				for i := range pages {
					edit(i, 0)
				}
				r := begin(t, dir, w, docs(crawl.Settings{}))
				defer r.stop()
				for edition := range 40 {
					pass(30 * time.Second)
					edit(edition%pages, edition+1)
				}
				pass(time.Minute)
				trusts, err := r.IndexTrusts(t.Context(), "docs")
				if err != nil || len(trusts) != 1 {
					t.Fatalf("the trust in its indexes is %+v (%v)", trusts, err)
				}
				for id, trust := range trusts {
					if good := trust.Told > 0.5 && trust.BorneOut > 0.5; good != tt.want {
						t.Errorf("the trust in %s is %+v, want good: %v", id, trust, tt.want)
					}
				}
			})
		})
	}
}

// What the index of a site says of its pages is on record, watched or not: what is new,
// what is dated otherwise, and what is gone.
func TestIndexSpeaksForItsSite(t *testing.T) {
	tier.Slow(t, "it simulates hours of polls")
	inBubble(t, func(t *testing.T, dir string) {
		w := newWeb(map[string]string{
			"/": linking("home"), "/a": linking("a"), "/b": linking("b"), "/c": linking("c"),
			"/robots.txt": "Sitemap: https://docs.example/pages.xml\n",
			"/pages.xml":  listing("/a 1999-12-01", "/b 1999-12-02"),
		})
		r := begin(t, dir, w, docs(crawl.Settings{}))
		defer r.stop()
		pass(2 * time.Minute)
		w.set("/pages.xml", listing("/a 1999-12-01", "/c 1999-12-04"))
		pass(10 * time.Minute)
		names := map[crawl.PageKey]string{}
		for _, path := range []string{"/a", "/b", "/c"} {
			names[crawl.PageKeyOf("https://docs.example"+path)] = path
		}
		found, err := r.store.Outcomes(t.Context(), freshet.OutcomeQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, o := range found {
			if o.Word == nil {
				continue
			}
			if o.Word.Kind != evidence.SitemapIndex || !o.Word.From.IsZero() {
				t.Errorf("%s speaks as %+v", o.Source, o.Word)
			}
			for _, p := range o.Word.Pages {
				said = append(said, fmt.Sprintf("%s %s %v", names[p.Page], p.Date.Format(time.DateOnly), p.Gone))
			}
		}
		want := []string{"/a 1999-12-01 false", "/b 1999-12-02 false", "/c 1999-12-04 false", "/b 0001-01-01 true"}
		if !slices.Equal(said, want) {
			t.Errorf("the index says %q, want %q", said, want)
		}
	})
}
