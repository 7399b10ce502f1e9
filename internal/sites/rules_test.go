package sites_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"freshet/internal/sites"
)

func TestGrowingURLs(t *testing.T) {
	tests := []struct {
		path string
		want sites.Kind // empty if it passes
	}{
		{"/a/b/c", ""},
		{"/2026/01/01/", ""},
		{"/1/1/1/1", ""},
		{"/docs/api/docs/api/", ""},
		{"/news/news/", ""},
		{"/org/acme/x/acme/y/acme/", ""},
		{"/news/news/news/", sites.Path},
		{"/x/y/x/y/x/y/", sites.Path},
		{"/a/en/b/de/c/a/en/b/de/c/a/en/b/de/c/", ""}, // five in turn are no loop yet
		{"/menu/a/menu/b/menu/c/menu/d/menu/e/menu/", sites.Path},
		{"/" + strings.Repeat("p/", 2) + strings.Join(count(19, func(n int) string { return fmt.Sprint("s", n) }), "/"), sites.Path},
		{"/" + strings.Join(count(20, func(n int) string { return fmt.Sprint("s", n) }), "/"), ""},
		{"/a?back=%252Fb", ""},
		{"/a?back=%25252Fb", sites.Path},
		{"/a?" + strings.Join(count(10, func(n int) string { return fmt.Sprintf("p%d=1", n) }), "&"), ""},
		{"/a?" + strings.Join(count(11, func(n int) string { return fmt.Sprintf("p%d=1", n) }), "&"), sites.Filters},
		{"/" + strings.Repeat("long", 250), sites.Path},
		{"/" + strings.Repeat("long", 200), ""},
	}
	for _, tt := range tests {
		url, err := sites.Normalise(worldRoot, tt.path)
		if err != nil {
			t.Fatal(err)
		}
		var traps sites.Traps
		ok, why := traps.Judge(url, worldRoot)
		if ok != (tt.want == "") {
			t.Errorf("%s: passes %v (%s), want %q", tt.path, ok, why, tt.want)
			continue
		}
		if !ok && (traps.Report()[0].Kind != tt.want || traps.Report()[0].Example != url || why == "") {
			t.Errorf("%s: report %+v", tt.path, traps.Report())
		}
		if ok, _ := traps.Judge(url, ""); !ok {
			t.Errorf("%s is cut although the site lists it", tt.path)
		}
	}
}

// TestPostsOfABlog has posts that differ in numbers alone, under the name of a page of a
// list.
func TestPostsOfABlog(t *testing.T) {
	var traps sites.Traps
	for n := range 100 {
		url := fmt.Sprintf("%s?p=%d", worldRoot, n)
		if ok, why := traps.Judge(url, worldRoot); !ok {
			t.Fatalf("%s: %s", url, why)
		}
		traps.Tell(url, sites.Sum(fmt.Appendf(nil, "Photo %d", n)))
	}
}

// TestWordsInAnyOrder finds the same words in every order in the contents of a book. It
// is the links from each page one level deeper that make a site endless.
func TestWordsInAnyOrder(t *testing.T) {
	list := strings.Fields("red blue small large wool silk new used")
	var paths []string
	for _, a := range list {
		for _, b := range list {
			for _, c := range list {
				for _, d := range list {
					if a != b && a != c && a != d && b != c && b != d && c != d {
						paths = append(paths, "shop/"+a+"/"+b+"/"+c+"/"+d)
					}
				}
			}
		}
	}
	cut := func(from func(p string) string) (n int) {
		var traps sites.Traps
		for _, p := range paths {
			if ok, _ := traps.Judge(worldRoot+p, from(worldRoot+p)); !ok {
				n++
			}
		}
		return n
	}
	if n := cut(func(string) string { return worldRoot + "contents/all.html" }); n > 0 {
		t.Errorf("%d of %d paths are cut on the contents", n, len(paths))
	}
	if n := cut(func(p string) string { return p[:strings.LastIndexByte(p, '/')] }); n < len(paths)/2 {
		t.Errorf("%d of %d paths are cut one level deeper", n, len(paths))
	}
}

// TestDaysStay has a calendar on which nothing happens on most days. The date is no
// session: something may happen on the next.
func TestDaysStay(t *testing.T) {
	var traps sites.Traps
	urls := slices.Concat(
		count(60, func(n int) string { return fmt.Sprintf("%sday?date=2026-%02d-%02d", worldRoot, n/28+1, n%28+1) }),
		count(60, func(n int) string { return fmt.Sprintf("%sday?year=%d", worldRoot, 1950+n) }),
		count(9, func(n int) string { return fmt.Sprintf("%sday?page=%d", worldRoot, n) }))
	for _, url := range urls {
		traps.Tell(url, sites.Sum([]byte("Nothing.")))
		if clean := traps.Clean(url); clean != url {
			t.Fatalf("%s became %s", url, clean)
		}
	}
}

// TestIdleParameters tells which parameters make no other page, each by itself.
func TestIdleParameters(t *testing.T) {
	var traps sites.Traps
	for n := range 60 {
		for ref := range 3 {
			traps.Tell(fmt.Sprintf("%sproduct?id=%d&ref=box%d", worldRoot, n, ref), sites.Sum([]byte(words(fmt.Sprint(n), 20))))
		}
	}
	for url, want := range map[string]string{
		"product?id=7&ref=menu":   "product?id=7",
		"product?id=999&ref=menu": "product?id=999",
		"product?ref":             "product",
		"product?id=7":            "product?id=7",
		"other?id=7&ref=menu":     "other?id=7&ref=menu", // it may mean something there
	} {
		if got := traps.Clean(worldRoot + url); got != worldRoot+want {
			t.Errorf("Clean(%s) = %s, want %s", url, got, want)
		}
	}
	report := traps.Report()
	if len(report) != 1 || report[0].Kind != sites.Session || report[0].Cut != 3 {
		t.Errorf("report %+v; want one session that was left out three times", report)
	}
}

// TestNamedThings has one program for a list, which can be filtered, and for things that
// have numbers. The list is cut, the things are not.
func TestNamedThings(t *testing.T) {
	var traps sites.Traps
	home := worldRoot + "shop"
	for n := range 250 {
		filtered := fmt.Sprintf("%s?sort=%s", home, nth(fmt.Sprint(n%12)))
		if n%2 == 0 {
			filtered = fmt.Sprintf("%s?view=%s", home, nth(fmt.Sprint("v", n%9)))
		}
		thing := fmt.Sprintf("%s?item=%d", home, n)
		traps.Judge(filtered, home)
		traps.Judge(thing, home)
		traps.Tell(fmt.Sprintf("%s&shown=%d", filtered, n), sites.Sum([]byte(words(fmt.Sprint("list", n), 20))))
		traps.Tell(thing, sites.Sum([]byte(words(thing, 20))))
	}
	if ok, why := traps.Judge(home+"?item=7&sort="+nth("3"), home); !ok {
		t.Errorf("a thing is cut: %s", why)
	}
	if ok, _ := traps.Judge(home+"?sort="+nth("3")+"&x=1", home); ok {
		t.Error("the list is not cut")
	}
}
