//go:build unix

package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// listed opens a store with so many sources that have been polled, with names and tags.
func listed(b *testing.B, dir string, n int) *sqlite.Store {
	b.Helper()
	s := open(b, sqlite.Config{Dir: dir})
	var wg sync.WaitGroup
	for w := range 256 {
		wg.Go(func() {
			for i := w; i < n; i += 256 {
				id := freshet.SourceID(fmt.Sprintf("p%06d", i))
				_, err := s.AddSource(b.Context(), freshet.Source{
					ID: id, URL: fmt.Sprintf("https://host-%d.example/section/%d/page-%d", i%500, i%97, i), Name: fmt.Sprintf("Page %d of section %d", i, i%97),
					Tags: []string{fmt.Sprintf("section-%d", i%97), []string{"news", "docs"}[i%2]},
				})
				if err == nil {
					at := noon.Add(time.Duration(i*7919%1_000_003) * time.Second)
					_, _, err = s.Commit(b.Context(), freshet.Record{Outcome: freshet.Outcome{Source: id, Began: at, Ended: at, Result: freshet.Unchanged, Status: 200, Requests: 1}})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return s
}

// BenchmarkList asks for lists of 100,000 sources in processor time, beside the bare query
// that finds the rows of the first.
func BenchmarkList(b *testing.B) {
	const sources = 100_000
	dir := b.TempDir()
	before := heap()
	s := listed(b, dir, sources)
	defer func() { s.Close() }()
	perSource := float64(heap()-before) / sources
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "freshet.db")+"?mode=ro")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for name, q := range map[string]freshet.SourceQuery{
		"id":              {Limit: 200, Offset: 50_000},
		"seen":            {Limit: 200, Offset: 50_000, By: freshet.BySeen},
		"tag":             {Limit: 200, SourceFilter: freshet.SourceFilter{Tag: "section-13"}},
		"text":            {Limit: 200, SourceFilter: freshet.SourceFilter{Text: "page 777"}},
		"failing, none":   {Limit: 200, SourceFilter: freshet.SourceFilter{In: freshet.IsFailing}},
		"seen, few shown": {Limit: 3, Offset: 50_000, By: freshet.BySeen},
	} {
		b.Run(name, func(b *testing.B) {
			concurrently(b, 1, func(int) error {
				_, err := s.ListSources(b.Context(), q)
				return err
			})
			b.ReportMetric(perSource, "heap-B/source")
		})
	}
	b.Run("counts", func(b *testing.B) {
		concurrently(b, 1, func(int) error {
			_, err := s.CountSources(b.Context())
			return err
		})
	})
	b.Run("bare query by seen", func(b *testing.B) {
		concurrently(b, 1, func(int) error {
			rows, err := db.QueryContext(b.Context(), "SELECT s.id, s.url, s.definition, t.polls, t.changes, t.seen FROM sources s JOIN standings t ON t.source = s.key WHERE s.removed = 0 ORDER BY t.seen, s.id LIMIT 200 OFFSET 50000")
			if err != nil {
				return err
			}
			defer rows.Close()
			for rows.Next() {
			}
			return rows.Err()
		})
	})
}
