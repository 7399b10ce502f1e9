package policy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn/estimate"
	"freshet/internal/sched/policy"
)

// sink keeps the compiler from leaving out what nobody reads.
var sink float64

// BenchmarkWIC lets instants pass: chances, accrual, and the eight best polled.
// It reports nanoseconds a page and instant, and how many times as long that is
// as a plain pass that adds up two numbers a page.
func BenchmarkWIC(b *testing.B) {
	kernels := []struct{ name, life, urgency string }{
		{"overwrite-exp", "overwrite", "exp:0.9"},
		{"append-uniform", "append", "uniform"},
		{"mixed", "", "uniform"},
		{"last3-exp", "last:3", "exp:0.9"},
		{"overwrite-window", "overwrite", "window:10"},
	}
	for _, k := range kernels {
		for _, pages := range []int{7_550, 1_000_000} {
			b.Run(fmt.Sprintf("%s/pages=%d", k.name, pages), func(b *testing.B) {
				w := policy.NewWIC(policy.WICConfig{Start: noon, Estimator: &estimate.Poisson{}})
				benchWIC(b, w, pages, k.life, k.urgency)
			})
		}
	}
}

// BenchmarkWICExact is WIC on a history that is known, where most chances are 0.
func BenchmarkWICExact(b *testing.B) {
	for _, pages := range []int{7_550, 1_000_000} {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			draw := rand.New(rand.NewPCG(1, 2))
			w := policy.NewWIC(policy.WICConfig{Start: noon, Estimator: estimate.NewExact(estimate.Truth{
				Start: noon, Instants: 1440, Changes: func(freshet.SourceID) []int32 { return []int32{1 + draw.Int32N(1440)} },
			})})
			benchWIC(b, w, pages, "overwrite", "exp:0.9")
		})
	}
}

// BenchmarkWICAlike is WIC on sources that all seem alike, so that most of them
// are worth the same.
func BenchmarkWICAlike(b *testing.B) {
	for _, pages := range []int{7_550, 1_000_000} {
		b.Run(fmt.Sprintf("pages=%d", pages), func(b *testing.B) {
			w := policy.NewWIC(policy.WICConfig{Start: noon, Estimator: &estimate.Constant{}})
			benchWIC(b, w, pages, "append", "uniform")
		})
	}
}

func benchWIC(b *testing.B, w *policy.WIC, pages int, life, urgency string) {
	u, err := objective.ParseUrgencyIn(time.Minute, urgency)
	if err != nil {
		b.Fatal(err)
	}
	draw := rand.New(rand.NewPCG(3, 4))
	for i := range pages {
		s := freshet.Source{ID: freshet.SourceID(fmt.Sprintf("%07d", i)), Urgency: u}
		if life == "" {
			s.Life.Kind = objective.VisibilityKind(i % 2)
		} else if s.Life, err = objective.ParseVisibilityIn(time.Minute, life); err != nil {
			b.Fatal(err)
		}
		w.Put(noon, freshet.Slot(i), s, time.Time{})
		if i%16 == 0 { // rates that differ
			w.Observe(noon, freshet.Slot(i), freshet.Outcome{Began: noon, Since: noon.Add(-time.Duration(draw.Int64N(int64(24 * time.Hour)))), Result: freshet.Changed})
		}
	}
	now := noon
	polled := make([]freshet.Slot, 0, 8)
	take := func(s freshet.Slot, _ float64) bool { polled = append(polled, s); return true }
	instant := func() {
		now = now.Add(time.Minute)
		polled = polled[:0]
		w.Choose(now, 8, take)
		for _, s := range polled {
			w.Observe(now, s, freshet.Outcome{Began: now, Ended: now})
		}
	}
	for range 20 {
		instant()
	}
	plainState, plainChance := make([]float64, pages), make([]float64, pages)
	for i := range pages {
		plainState[i], plainChance[i] = draw.Float64(), draw.Float64()
	}
	// The fastest of each: whatever else the machine does only adds.
	ours, plain := time.Hour, time.Hour
	b.ReportAllocs()
	for b.Loop() {
		t0 := time.Now()
		instant()
		t1 := time.Now()
		sink += plainPass(plainState, plainChance)
		plain = min(plain, time.Since(t1))
		ours = min(ours, t1.Sub(t0))
	}
	b.ReportMetric(float64(ours.Nanoseconds())/float64(pages), "ns/page")
	b.ReportMetric(float64(ours)/float64(plain), "x-plain-pass")
}

// plainPass reads two numbers a page and adds them up.
func plainPass(state, chance []float64) (sum float64) {
	chance = chance[:len(state)]
	for i, x := range state {
		sum += x + chance[i]
	}
	return sum
}
