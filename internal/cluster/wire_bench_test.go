//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/worker"
)

// BenchmarkWire measures what a look over the wire costs both ends together, as CPU time: nothing is
// fetched and nothing is stored. One look in ten finds a change of 5 KB.
func BenchmarkWire(b *testing.B) {
	for _, workers := range []int{4, 50} {
		for name, alter := range map[string]func(*freshet.Source){
			"plain": func(*freshet.Source) {},
			"recipe": func(s *freshet.Source) {
				s.Recipe.CSS, s.Recipe.Read = "#"+string(s.ID), []reading.Step{{Name: "sort"}}
			},
		} {
			b.Run(fmt.Sprintf("%s-%d", name, workers), func(b *testing.B) { benchWire(b, workers, alter) })
		}
	}
}

func benchWire(b *testing.B, workers int, alter func(*freshet.Source)) {
	const at = 256
	looker, leave := join(b, shift{workers: workers})
	defer leave()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	orders := make([]worker.Task, at)
	for i := range orders {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", i)), URL: fmt.Sprintf("https://host%d.example/", i), Name: fmt.Sprint("source ", i), Tags: []string{"news"}}
		alter(&s)
		orders[i] = worker.Task{
			Source: s, At: began, Permit: func(context.Context, freshet.Hop) error { return nil },
			Head: freshet.Head{
				Number: 7, Hash: freshet.HashOf([]byte(s.ID)), Recipe: s.Key(), Validators: freshet.Validators{ETag: `"5f3c-62a8b"`},
				Asked: began.Add(-time.Hour), Sums: freshet.Sums{Known: true, Body: 1 << 60, Text: 1<<60 + 1}, Polls: 1000,
			},
		}
	}
	before := processCPU(b)
	var left atomic.Int64
	left.Store(int64(b.N))
	var looking sync.WaitGroup
	for i := range orders {
		looking.Go(func() {
			for left.Add(-1) >= 0 {
				if f := looker.Look(b.Context(), orders[i]); f.Err != "" {
					b.Error(f.Err)
				}
			}
		})
	}
	looking.Wait()
	b.ReportMetric(1e6*(processCPU(b)-before)/float64(b.N), "µs-CPU/look")
}

// processCPU returns the CPU seconds of this process.
func processCPU(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
