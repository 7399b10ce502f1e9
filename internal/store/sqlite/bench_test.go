//go:build unix

package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// concurrently runs work b.N times from so many goroutines and reports the
// processor time of each.
func concurrently(b *testing.B, callers int, work func(i int) error) {
	b.Helper()
	b.ResetTimer()
	began := cpuTime()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for {
				i := int(next.Add(1))
				if i > b.N {
					return
				}
				if err := work(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

// watch opens a store with so many sources, each with a first version.
func watch(b *testing.B, n int) (*sqlite.Store, []freshet.Source) {
	b.Helper()
	s := open(b, sqlite.Config{Dir: b.TempDir()})
	b.Cleanup(func() { s.Close() })
	sources := make([]freshet.Source, n)
	var wg sync.WaitGroup
	for w := range 64 {
		wg.Go(func() {
			for i := w; i < n; i += 64 {
				src, err := s.AddSource(b.Context(), freshet.Source{URL: fmt.Sprintf("https://%d.example/", i)})
				if err != nil {
					b.Error(err)
				}
				sources[i] = src
			}
		})
	}
	wg.Wait()
	return s, sources
}

// BenchmarkPoll is a Begin and a Commit of a poll that found nothing new,
// beside bare loops that insert a row each: in a transaction of its own, and
// in transactions of 64.
func BenchmarkPoll(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("unchanged/callers=%d", callers), func(b *testing.B) {
			s, sources := watch(b, 10_000)
			concurrently(b, callers, func(i int) error {
				src, at := sources[i*7919%len(sources)], time.Now()
				if _, err := s.Begin(context.Background(), freshet.Poll{Source: src, At: at}); err != nil {
					return err
				}
				_, _, err := s.Commit(context.Background(), freshet.Record{Outcome: freshet.Outcome{
					Source: src.ID, Since: at.Add(-time.Minute), Began: at, Ended: at.Add(20 * time.Millisecond), Result: freshet.Unchanged,
					Status: 304, Requests: 1,
				}})
				return err
			})
		})
	}
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("bare/rows=%d", size), func(b *testing.B) {
			db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_journal_mode=WAL&_synchronous=FULL")
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(1)
			if _, err := db.Exec("CREATE TABLE polls (id INTEGER PRIMARY KEY, source INTEGER, began INTEGER, ended INTEGER, result INTEGER)"); err != nil {
				b.Fatal(err)
			}
			began := cpuTime()
			b.ResetTimer()
			for done := 0; done < b.N; {
				tx, err := db.Begin()
				if err != nil {
					b.Fatal(err)
				}
				insert, err := tx.Prepare("INSERT INTO polls (source, began, ended, result) VALUES (?, ?, ?, ?)")
				if err != nil {
					b.Fatal(err)
				}
				for range size {
					now := time.Now().UnixNano()
					if _, err := insert.Exec(done%10_000, now, now+1e7, 0); err != nil {
						b.Fatal(err)
					}
					done++
				}
				if err := tx.Commit(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkChange is a Begin and a Commit of a poll that found a page of 20 KB
// changed in a few places.
func BenchmarkChange(b *testing.B) {
	for _, callers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s, sources := watch(b, 1000)
			rnd := rand.New(rand.NewPCG(1, 2))
			words := make([]string, 3000)
			for i := range words {
				words[i] = fmt.Sprintf("<b>%c%x</b>", 'a'+i%26, rnd.IntN(1<<12))
			}
			page := strings.Join(words, "\n")[:20_000]
			hash := freshet.HashOf([]byte(page)) // of none of them; the store takes the caller's word
			concurrently(b, callers, func(i int) error {
				src, at := sources[i*7919%len(sources)], time.Now()
				if _, err := s.Begin(context.Background(), freshet.Poll{Source: src, At: at}); err != nil {
					return err
				}
				raw := []byte(page)
				copy(raw[100:], fmt.Sprintf("%09d", i))
				copy(raw[12_345:], fmt.Sprintf("%09d", i*31))
				hash := hash
				hash[0], hash[1], hash[2] = byte(i), byte(i>>8), byte(i>>16)
				text := raw[:8000]
				_, _, err := s.Commit(context.Background(), freshet.Record{
					Outcome: freshet.Outcome{Source: src.ID, Began: at, Ended: at.Add(20 * time.Millisecond), Result: freshet.Changed, Status: 200, Requests: 1, Bytes: int64(len(raw))},
					Capture: &freshet.Capture{Text: text, Hash: hash, Raw: freshet.Raw{Status: 200, Body: raw}, Summary: "+1 -1"},
				})
				return err
			})
			size, err := s.Size(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(size.Bodies)/float64(b.N), "stored-B/op")
		})
	}
}
