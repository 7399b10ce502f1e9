package sites_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/sites"
)

func frontier(t testing.TB, b sites.Bounds) *sites.Frontier {
	t.Helper()
	scope, err := sites.NewScope(b)
	if err != nil {
		t.Fatal(err)
	}
	return sites.NewFrontier(scope, &sites.Traps{})
}

func TestFrontierGoesByDepth(t *testing.T) {
	f := frontier(t, sites.Bounds{Root: "https://example.com/"})
	at := func(p string) string { return "https://example.com" + p }
	for _, found := range []sites.Found{{at("/"), "", 0}, {at("/c"), at("/"), 2}, {at("/a"), at("/"), 1}, {at("/d"), at("/"), 2}, {at("/b"), at("/"), 1}} {
		if _, fate, why := f.Add(found); fate != sites.Waiting {
			t.Fatalf("%s is %v: %s", found.URL, fate, why)
		}
	}
	if url, fate, _ := f.Add(sites.Found{URL: at("/a"), From: at("/c"), Depth: 3}); fate != sites.Known || url != at("/a") {
		t.Errorf("found again: %v", fate)
	}
	var got []string
	for {
		step, ok := f.Next()
		if !ok {
			break
		}
		got = append(got, fmt.Sprint(step.Depth, step.URL[len("https://example.com"):]))
	}
	if diff := cmp.Diff([]string{"0/", "1/a", "1/b", "2/c", "2/d"}, got); diff != "" {
		t.Errorf("order differs (-want +got):\n%s", diff)
	}
	if f.Len() != 0 || f.Pages() != 5 {
		t.Errorf("%d wait of %d pages; want 0 of 5", f.Len(), f.Pages())
	}
}

func TestFrontierIsBounded(t *testing.T) {
	f := frontier(t, sites.Bounds{Root: "https://example.com/docs/", Exclude: []string{"*.pdf"}, Depth: 2, Limit: 3})
	tests := []struct {
		found sites.Found
		want  sites.Fate
	}{
		{sites.Found{URL: "https://example.com/docs/", Depth: 0}, sites.Waiting},
		{sites.Found{URL: "https://example.com/docs/a", From: "https://example.com/docs/", Depth: 1}, sites.Waiting},
		{sites.Found{URL: "https://example.com/docs/a", From: "https://example.com/docs/", Depth: 1}, sites.Known},
		{sites.Found{URL: "https://example.com/", From: "https://example.com/docs/", Depth: 1}, sites.Outside},
		{sites.Found{URL: "https://example.com/docs/a.pdf", From: "https://example.com/docs/", Depth: 1}, sites.Outside},
		{sites.Found{URL: "https://example.com/docs/b", From: "https://example.com/docs/a", Depth: 3}, sites.TooDeep},
		{sites.Found{URL: "https://example.com/docs/x/y/x/y/x/y/", From: "https://example.com/docs/a", Depth: 2}, sites.Trapped},
		{sites.Found{URL: "https://example.com/docs/b", From: "https://example.com/docs/a", Depth: 2}, sites.Waiting},
		{sites.Found{URL: "https://example.com/docs/c", From: "https://example.com/docs/a", Depth: 2}, sites.Full},
	}
	for _, tt := range tests {
		if _, fate, why := f.Add(tt.found); fate != tt.want {
			t.Errorf("%s at %d is %v (%s), want %v", tt.found.URL, tt.found.Depth, fate, why, tt.want)
		}
	}
}

// TestListedPagesAreNotCut lists pages that all say the same. What was listed is fetched
// all the same; what was only linked to is not.
func TestListedPagesAreNotCut(t *testing.T) {
	scope, err := sites.NewScope(sites.Bounds{Root: "https://example.com/"})
	if err != nil {
		t.Fatal(err)
	}
	traps := &sites.Traps{}
	f := sites.NewFrontier(scope, traps)
	for n := range 200 {
		found := sites.Found{URL: fmt.Sprintf("https://example.com/x/%d", n), Depth: 1}
		if n%2 == 1 {
			found.From = "https://example.com/"
		}
		f.Add(found)
	}
	dropped := 0
	for {
		step, ok := f.Next()
		if !ok {
			break
		}
		if step.Dropped == "" {
			traps.Tell(step.URL, sites.Sum([]byte("the same")))
			continue
		}
		if dropped++; step.URL[len(step.URL)-1]%2 == 0 {
			t.Errorf("%s was listed and is dropped: %s", step.URL, step.Dropped)
		}
	}
	if dropped < 60 || f.Pages() != 200-dropped {
		t.Errorf("%d of 100 links dropped, %d pages; want most of them, and the rest", dropped, f.Pages())
	}
}

// TestFetchedAgain tells the same pages over and over, as a watch does. None is cut.
func TestFetchedAgain(t *testing.T) {
	var traps sites.Traps
	for range 50 {
		for n := range 100 {
			sorted, coloured := fmt.Sprintf("sort=%d", n%20), fmt.Sprintf("colour=%d", n%7)
			url := "https://example.com/list?" + []string{sorted, coloured, coloured + "&" + sorted}[n%3]
			if ok, why := traps.Judge(url, "https://example.com/"); !ok {
				t.Fatalf("%s: %s", url, why)
			}
			traps.Tell(fmt.Sprintf("https://example.com/p/%d", n), sites.Sum([]byte(words(fmt.Sprint(n), 30))))
			traps.Tell(fmt.Sprintf("https://example.com/news?page=%d", n), sites.Sum([]byte(words(fmt.Sprint("news", n), 30))))
		}
	}
	if report := traps.Report(); len(report) > 0 {
		t.Errorf("cut: %+v", report)
	}
	if ok, why := traps.Judge("https://example.com/p/1000", "https://example.com/"); !ok {
		t.Error(why)
	}
}

// A row is a page as a store holds it.
type row struct {
	url   string
	depth int
	state sites.State
}

// crawl goes on with a crawl for some steps. Rows are what a store would hold.
func crawl(f *sites.Frontier, traps *sites.Traps, w world, rows *[]row, steps int) {
	note := func(url string, depth int) { *rows = append(*rows, row{url: url, depth: depth}) }
	if len(*rows) == 0 {
		f.Add(sites.Found{URL: worldRoot})
		note(worldRoot, 0)
	}
	normalise := sites.FromBase(worldRoot)
	for range steps {
		step, ok := f.Next()
		if !ok {
			return
		}
		was := step.Was
		if was == "" {
			was = step.URL
		}
		i := slices.IndexFunc(*rows, func(r row) bool { return r.url == was && r.state == sites.Unread })
		if step.Dropped != "" {
			(*rows)[i].state = sites.Dropped
			continue
		}
		(*rows)[i].url, (*rows)[i].state = step.URL, sites.Read
		text, links := w(takeApart(step.URL))
		if text == "" {
			continue
		}
		traps.Tell(step.URL, sites.Sum([]byte(text)))
		for _, href := range links {
			to, err := normalise(href)
			if err != nil {
				continue
			}
			if url, fate, _ := f.Add(sites.Found{URL: to, From: step.URL, Depth: step.Depth + 1}); fate == sites.Waiting {
				note(url, step.Depth+1)
			}
		}
	}
}

// TestCrawlSurvives stops a crawl at any step, throws the frontier away, and goes on with
// what a store would have: rows of pages, and what the traps learnt.
func TestCrawlSurvives(t *testing.T) {
	worlds := map[string]func() world{
		"filters":  func() world { return besides(filters, "/list/shoes") },
		"calendar": func() world { return besides(calendarByPath, "/calendar/2026/05/") },
		"lists":    func() world { return besides(endlessList, "/news?page=1") },
	}
	scope, err := sites.NewScope(sites.Bounds{Root: worldRoot, Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	for name, made := range worlds {
		t.Run(name, func(t *testing.T) {
			var whole []row
			traps := &sites.Traps{}
			crawl(sites.NewFrontier(scope, traps), traps, made(), &whole, 2000)
			rapid.Check(t, func(t *rapid.T) {
				var rows []row
				traps, w := &sites.Traps{}, made()
				f := sites.NewFrontier(scope, traps)
				for range rapid.IntRange(1, 3).Draw(t, "crashes") {
					crawl(f, traps, w, &rows, rapid.IntRange(1, 250).Draw(t, "steps"))
					data, err := traps.MarshalBinary()
					if err != nil {
						t.Fatal(err)
					}
					traps = &sites.Traps{}
					if err := traps.UnmarshalBinary(data); err != nil {
						t.Fatal(err)
					}
					f = sites.NewFrontier(scope, traps)
					for _, r := range rows {
						f.Restore(sites.Found{URL: r.url, From: worldRoot, Depth: r.depth}, r.state)
					}
				}
				crawl(f, traps, w, &rows, 2000)
				if !slices.Equal(rows, whole) {
					t.Fatalf("%d pages; without a crash %d", len(rows), len(whole))
				}
			})
		})
	}
}

func TestDamagedTraps(t *testing.T) {
	_, traps, _ := visit(t, besides(filters, "/list/shoes"), 5000)
	for n := range 250 { // some of everything
		traps.Judge(fmt.Sprintf("https://site.example/search?q=%s", nth(fmt.Sprint(n))), "https://site.example/search?q=x")
		traps.Judge(fmt.Sprintf("https://site.example/day/2026-05-%02d/", n%28+1), "https://site.example/")
		traps.Tell(fmt.Sprintf("https://site.example/v/a1b2c3d4e5f6a7b%d/x?page=%d", n, n), sites.Sum([]byte("x")))
	}
	data, err := traps.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var whole sites.Traps
	if err := whole.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	again, err := whole.MarshalBinary()
	if err != nil || !slices.Equal(again, data) {
		t.Errorf("what was read is written differently: %d and %d bytes, %v", len(data), len(again), err)
	}
	if diff := cmp.Diff(traps.Report(), whole.Report()); diff != "" {
		t.Errorf("report differs:\n%s", diff)
	}
	for n := range 100 { // both go on in the same way
		url, from := fmt.Sprintf("https://site.example/search?q=y%s", nth(fmt.Sprint(n))), "https://site.example/search?q=x"
		a, _ := traps.Judge(url, from)
		if b, _ := whole.Judge(url, from); a != b || n == 99 && a {
			t.Fatalf("%s: passes %v, as it was written %v", url, a, b)
		}
	}
	if err := whole.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, 1, len(data) / 2, len(data) - 1} {
		bad := slices.Clone(data)
		bad[at] ^= 1
		if err := whole.UnmarshalBinary(bad); err == nil {
			t.Errorf("byte %d is altered and it was not noticed", at)
		}
		if err := whole.UnmarshalBinary(data[:at]); err == nil {
			t.Errorf("cut to %d bytes and it was not noticed", at)
		}
	}
	if kept, _ := whole.MarshalBinary(); !slices.Equal(kept, data) {
		t.Error("reading damaged traps altered the good ones")
	}
}

// FuzzTraps reads anything, with a sum that is right, and puts it to use.
func FuzzTraps(f *testing.F) {
	var none sites.Traps
	data, _ := none.MarshalBinary()
	f.Add(data[:len(data)-4], "https://example.com/a/2026/05/?page=7&b=1", "x")
	_, traps, _ := visit(&testing.T{}, besides(filters, "/list/shoes"), 400)
	data, _ = traps.MarshalBinary()
	f.Add(data[:len(data)-4], "https://site.example/list/shoes?a=1", "y")
	f.Fuzz(func(t *testing.T, body []byte, url, text string) {
		var traps sites.Traps
		if err := traps.UnmarshalBinary(sites.WithSum(body)); err != nil {
			return
		}
		traps.Judge(url, "https://example.com/")
		traps.Judge(url, url)
		traps.Tell(url, sites.Sum([]byte(text)))
		traps.Again(traps.Clean(url))
		if _, err := traps.MarshalBinary(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestTrapsAreBounded shows one site everything that there could be.
func TestTrapsAreBounded(t *testing.T) {
	before := heap()
	traps := &sites.Traps{}
	for n := range 60_000 {
		s := nth(fmt.Sprint(n))
		url := fmt.Sprintf("https://example.com/%s/%s/%d-%02d-%02d/%s?%s=%d&%s=b%s&page=%d", s[:2], s[2:4], 1950+n%200, n%12+1, n%28+1, s, s[3:], n, s[:3], s, n)
		traps.Judge(url, fmt.Sprintf("https://example.com/%s?x=%d", s, n))
		traps.Tell(url, sites.Sum([]byte(s)))
	}
	grown := heap() - before
	data, err := traps.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d KB in memory, %d KB written", grown>>10, len(data)>>10)
	if grown > 2<<20 || len(data) > 1<<20 {
		t.Errorf("%d bytes in memory, %d written", grown, len(data))
	}
	runtime.KeepAlive(traps)
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
