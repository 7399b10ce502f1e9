package policy_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
)

// BenchmarkAuto makes one decision and learns from its outcomes, for as many
// sources as a large portfolio has. A tick is a minute; a thousandth of the
// sources is polled in it.
func BenchmarkAuto(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		for _, perHost := range []int{1, 20} {
			b.Run(fmt.Sprintf("sources=%d/host=%d", n, perHost), func(b *testing.B) { benchmarkAuto(b, n, perHost) })
		}
	}
}

func benchmarkAuto(b *testing.B, n, perHost int) {
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	polls := n / 1000
	before := heap()
	a := policy.NewAuto(policy.AutoConfig{Start: start, Instant: time.Minute, Polls: float64(polls)})
	since := make([]time.Time, n)
	for i := range n {
		since[i] = start
		a.Put(start, freshet.Slot(i), freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%07d", i)), URL: fmt.Sprintf("https://h%d.example/%d", i/perHost, i)}, start)
	}
	draw := rand.New(rand.NewPCG(1, 2))
	now, cursor := start, freshet.Cursor(0)
	var taken []freshet.Slot
	tick := func() {
		now = now.Add(time.Minute)
		taken = taken[:0]
		a.Choose(now, polls, func(slot freshet.Slot, _ float64) bool {
			taken = append(taken, slot)
			return true
		})
		for _, slot := range taken {
			cursor++
			o := freshet.Outcome{Cursor: cursor, Since: since[slot], Began: now, Ended: now, Result: freshet.Result(draw.IntN(2))}
			since[slot] = now
			a.Observe(now, slot, o)
		}
	}
	for range 20 {
		tick()
	}
	held := heap() - before
	b.ResetTimer()
	for b.Loop() {
		tick()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/source")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(polls), "µs/poll")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/tick")
	b.ReportMetric(float64(held)/float64(n), "B/source")
	runtime.KeepAlive(a)
}

// heap returns how much memory is held.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
