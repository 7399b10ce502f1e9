package daemon_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/store/sqlite"
)

// BenchmarkNotes measures what it takes to save what was learnt of many sources,
// to take it down within the loop, and to learn it anew.
func BenchmarkNotes(b *testing.B) {
	const sources = 20_000
	l := learn.New(learn.Config{Tick: time.Second, Polls: 100})
	store, err := sqlite.Open(b.Context(), sqlite.Config{Dir: b.TempDir(), Features: features.All()})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	for i := range sources {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%06d", i)), URL: fmt.Sprintf("https://h%d.example/%d", i/20, i)}
		l.Put(start, freshet.Slot(i), s, time.Time{})
	}
	n := 0
	observe := func() {
		at := start.Add(time.Duration(n) * 10 * time.Millisecond)
		o := freshet.Outcome{Cursor: freshet.Cursor(n + 1), Began: at, Ended: at, Result: freshet.Result(n * 7919 % 11 / 10)}
		l.Observe(at, freshet.Slot(n%sources), o)
		n++
	}
	for range 2 * sources {
		observe()
	}
	b.Run("take down", func(b *testing.B) {
		var size int
		for b.Loop() {
			size = 0
			var all []byte
			l.Save(func(_ freshet.Slot, memory []byte) error {
				all = append(all, memory...)
				size += len(memory)
				return nil
			})
		}
		b.ReportMetric(float64(size)/sources, "bytes/source")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/sources, "ns/source")
	})
	b.Run("write", func(b *testing.B) {
		var beliefs []freshet.State
		l.Save(func(slot freshet.Slot, memory []byte) error {
			if slot >= 0 {
				beliefs = append(beliefs, freshet.State{Source: freshet.SourceID(fmt.Sprintf("s%06d", slot)), Key: "learn", Upto: 1, Value: append([]byte(nil), memory...)})
			}
			return nil
		})
		for i := range sources {
			if _, err := store.AddSource(b.Context(), freshet.Source{ID: beliefs[i].Source, URL: fmt.Sprintf("https://h%d.example/%d", i/20, i)}); err != nil {
				b.Fatal(err)
			}
		}
		b.ResetTimer()
		for b.Loop() {
			if err := store.SaveState(b.Context(), beliefs); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/sources, "ns/source")
	})
	b.Run("learn anew", func(b *testing.B) {
		for b.Loop() {
			observe()
		}
	})
}
