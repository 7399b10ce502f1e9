package sqlite_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sites/frontier"
	"freshet/internal/store/sqlite"
)

// somePages returns pages with URLs as long as those of most sites, as a sitemap lists
// them.
func somePages(from, to int) []frontier.Page {
	pages := make([]frontier.Page, 0, to-from)
	for i := from; i < to; i++ {
		pages = append(pages, frontier.Page{
			URL: fmt.Sprintf("https://docs.example/guide/section-%03d/a-page-of-it-%06d", i%300, i), Found: crawl.BySitemap,
			Date: noon.Add(-time.Duration(i) * time.Minute), Listed: noon, Seen: noon,
		})
	}
	return pages
}

// shelved opens a store with a site and so many pages that wait.
func shelved(b *testing.B, dir string, n int) *sqlite.Store {
	b.Helper()
	s := open(b, sqlite.Config{Dir: dir})
	if _, err := s.AddSource(b.Context(), freshet.Source{ID: "docs", URL: "https://docs.example/", Site: &crawl.Settings{Limit: crawl.MaxPages}}); err != nil {
		b.Fatal(err)
	}
	for from := 0; from < n; from += 50_000 {
		if _, _, err := frontier.NewStore(s.DB()).AddPages(b.Context(), "docs", somePages(from, min(n, from+50_000))); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// heap returns the bytes of the heap that are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkAddPage puts pages on a shelf, 50,000 at a time. An operation is one page;
// run it with -benchtime=100000x. It reports what a page that waits takes on disk and
// in memory, and how long it takes to open the store with all of them.
func BenchmarkAddPage(b *testing.B) {
	dir := b.TempDir()
	before := heap()
	s := shelved(b, dir, b.N)
	b.StopTimer()
	b.ReportMetric(float64(heap()-before)/float64(b.N), "heap-B/page")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	bytes := count(b, dir, "SELECT sum(pgsize) FROM dbstat WHERE name IN ('pages', 'pages_by_state', 'pages_waiting')")
	b.ReportMetric(float64(bytes)/float64(b.N), "disk-B/page")
	began := time.Now()
	s = open(b, sqlite.Config{Dir: dir})
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "open-ms")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkKnownPage adds pages that are known, as every look at a sitemap does.
func BenchmarkKnownPage(b *testing.B) {
	s := shelved(b, b.TempDir(), 100_000)
	defer s.Close()
	pages := somePages(0, 100_000)
	b.ResetTimer()
	for from := 0; from < b.N; from += len(pages) {
		if _, _, err := frontier.NewStore(s.DB()).AddPages(b.Context(), "docs", pages[:min(len(pages), b.N-from)]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTakePages takes 100 pages of 100,000 and more.
func BenchmarkPromotePages(b *testing.B) {
	s := shelved(b, b.TempDir(), 100_000+100*b.N)
	defer s.Close()
	b.ResetTimer()
	for range b.N {
		if taken, err := frontier.NewStore(s.DB()).PromotePages(b.Context(), "docs", 100); err != nil || len(taken) != 100 {
			b.Fatalf("%d pages were taken: %v", len(taken), err)
		}
	}
}

// BenchmarkPollBesideAddPages is how long a poll waits while 50,000 pages are added.
func BenchmarkPollBesideAddPages(b *testing.B) {
	s := shelved(b, b.TempDir(), 0)
	defer s.Close()
	src, err := s.AddSource(b.Context(), freshet.Source{ID: "a", URL: "https://a.example/"})
	if err != nil {
		b.Fatal(err)
	}
	var took []time.Duration
	for n := range b.N {
		added := make(chan error, 1)
		go func() {
			_, _, err := frontier.NewStore(s.DB()).AddPages(b.Context(), "docs", somePages(n*50_000, (n+1)*50_000))
			added <- err
		}()
		for done := false; !done; {
			began := time.Now()
			if _, err := s.Begin(b.Context(), freshet.Poll{Source: src, At: noon}); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
			select {
			case err := <-added:
				if done = true; err != nil {
					b.Fatal(err)
				}
			default:
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "median-ms")
	b.ReportMetric(float64(took[len(took)-1].Milliseconds()), "longest-ms")
}
