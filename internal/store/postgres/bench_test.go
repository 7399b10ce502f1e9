package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
	"freshet/internal/store/sqlite"
)

// BenchmarkPoll is a poll that found nothing new, from Begin to Commit, by 256 that poll at
// once: with a transaction for each, with as many in one as there are, and in SQLite.
func BenchmarkPoll(b *testing.B) {
	shed := newShed(b)
	for _, kind := range []struct {
		name string
		open func(b *testing.B) freshet.Store
	}{
		{"postgres/alone", func(b *testing.B) freshet.Store {
			return open(b, postgres.Config{URL: shed.url(b, b.TempDir()), Batch: 1})
		}},
		{"postgres/together", func(b *testing.B) freshet.Store {
			return open(b, postgres.Config{URL: shed.url(b, b.TempDir())})
		}},
		{"sqlite/together", func(b *testing.B) freshet.Store {
			s, err := sqlite.Open(b.Context(), sqlite.Config{Features: features.All(), Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			return s
		}},
	} {
		b.Run(kind.name, func(b *testing.B) {
			s := kind.open(b)
			defer s.Close()
			pollAtOnce(b, s, 256)
		})
	}
}

// pollAtOnce makes b.N polls by so many at once.
func pollAtOnce(b *testing.B, s freshet.Store, at int) {
	for i := range at {
		add(b, s, freshet.SourceID(fmt.Sprintf("s%d", i)))
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var polling sync.WaitGroup
	b.ResetTimer()
	for i := range at {
		source := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%d", i))}
		polling.Go(func() {
			for n := 0; left.Add(-1) >= 0; n++ {
				began := noon.Add(time.Duration(n) * time.Minute)
				_, err := s.Begin(context.Background(), freshet.Poll{Source: source, At: began})
				if err == nil {
					_, _, err = s.Commit(context.Background(), freshet.Record{Outcome: freshet.Outcome{Source: source.ID, Began: began, Ended: began.Add(time.Second), Status: 200, Requests: 1}})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	polling.Wait()
}
