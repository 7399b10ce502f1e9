//go:build unix

package sqlite_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// BenchmarkVerify looks through stores of more and more sources, each with ten
// polls and four versions. The time a source must not grow with their number.
func BenchmarkVerify(b *testing.B) {
	for _, sources := range []int{5000, 10000, 20000} {
		b.Run(fmt.Sprint("sources=", sources), func(b *testing.B) {
			dir := manySources(b, sources)
			began := cpuTime()
			for b.Loop() {
				r, err := sqlite.Verify(b.Context(), sqlite.Config{Features: features.All(), Dir: dir}, nil)
				if err != nil || len(r.Damages) > 0 {
					b.Fatal(err, r.Damages)
				}
				b.ReportMetric(float64(r.Rows), "rows")
			}
			b.ReportMetric(float64((cpuTime()-began).Microseconds())/float64(b.N)/float64(sources), "cpu-µs/source")
		})
	}
}

// manySources returns a directory with a closed store of so many sources.
func manySources(b *testing.B, sources int) string {
	b.Helper()
	dir := b.TempDir()
	s, err := sqlite.Open(b.Context(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	const writers = 64
	for w := range writers {
		wg.Go(func() {
			for i := w; i < sources; i += writers {
				fillSource(b, s, freshet.SourceID(fmt.Sprintf("s%06d", i)))
			}
		})
	}
	wg.Wait()
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return dir
}

// fillSource adds a source with ten polls and four versions.
func fillSource(b *testing.B, s *sqlite.Store, id freshet.SourceID) {
	if _, err := s.AddSource(b.Context(), freshet.Source{ID: id, URL: "https://" + string(id) + ".example/"}); err != nil {
		b.Error(err)
		return
	}
	for n := range 10 {
		at := noon.Add(time.Duration(n) * time.Minute)
		r := freshet.Record{Outcome: freshet.Outcome{Source: id, Began: at, Ended: at, Result: freshet.Unchanged, Requests: 1}}
		if n%3 == 0 {
			text := crashText(id, n+1)
			r.Outcome.Result = freshet.Changed
			r.Capture = &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Summary: "lines", Raw: freshet.Raw{Status: 200, Body: append([]byte("<p>"), text...)}}
		}
		if _, _, err := s.Commit(b.Context(), r); err != nil {
			b.Error(err)
			return
		}
	}
}
