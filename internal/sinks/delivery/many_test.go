package delivery_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

// many returns sinks over the store of a rig, which write to files. Change makes them what
// they are.
func (r *rig) many(n int, observe func(delivery.Delivery), change func(i int, s *sinks.Sink)) *delivery.Sinks {
	r.t.Helper()
	r.files = r.t.TempDir()
	var listed []sinks.Sink
	for i := range n {
		s := sinks.Sink{Name: fmt.Sprintf("s%d", i), Kind: "file", URL: profile.Value(fmt.Sprintf("file://%s/%d.jsonl", r.files, i)), Origin: freshet.FromFile}
		change(i, &s)
		listed = append(listed, s)
	}
	all, err := delivery.NewSinks(r.t.Context(), delivery.SinksConfig{
		Store: r.over(r.store), Vault: secrets.Open(r.t.TempDir()), Observe: observe, Open: func(s sinks.Sink) (*sinks.Outlet, error) { return sinks.Open(sinks.Config{}, s) },
	}, listed)
	if err != nil {
		r.t.Fatal(err)
	}
	return all
}

// cpuTime returns what the process has used so far. On a busy machine the wall clock says
// little.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// To ask how all sinks are doing costs little more than to ask one.
func BenchmarkList(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("sinks=%d", n), func(b *testing.B) {
			r := newTeller(b, "a")
			defer r.close()
			r.match(true, "a")
			all := r.many(n, nil, func(i int, s *sinks.Sink) {
				if i%2 == 1 {
					s.Queries = []queries.ID{"a"}
				}
			})
			for i := range n {
				at := sinks.Position{Stream: sinks.Stream(i % 2), Cursor: 1}
				if err := r.store.Advance(b.Context(), fmt.Sprintf("s%d", i), at, []sinks.NewDelivery{{Cursor: 1, Event: "x", Body: make([]byte, 2000)}}); err != nil {
					b.Fatal(err)
				}
			}
			began := cpuTime(b)
			for b.Loop() {
				if got, err := all.List(b.Context()); err != nil || len(got) != n || got[n-1].Open != 1 {
					b.Fatal(len(got), err)
				}
			}
			b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// What a change costs grows with the sinks that want it, not with those that there are.
func BenchmarkWake(b *testing.B) {
	for _, n := range []struct{ sinks, wanting int }{{1, 1}, {100, 1}, {1000, 1}, {1000, 10}, {1000, 100}} {
		b.Run(fmt.Sprintf("sinks=%d/wanting=%d", n.sinks, n.wanting), func(b *testing.B) {
			r := newRig(b)
			defer r.close()
			delivered := make(chan struct{}, n.wanting)
			all := r.many(n.sinks, func(d delivery.Delivery) { delivered <- struct{}{} }, func(i int, s *sinks.Sink) {
				if s.Tags = []string{"news"}; i >= n.wanting {
					s.Tags = []string{fmt.Sprint("other", i)}
				}
			})
			if err := all.Run(b.Context(), func(err error) { b.Error(err) }); err != nil {
				b.Fatal(err)
			}
			defer all.Stop()
			tell := func() {
				r.capture(page)
				for range n.wanting {
					<-delivered
				}
			}
			tell() // all are at work then
			began := cpuTime(b)
			for b.Loop() {
				tell()
			}
			b.ReportMetric(float64((cpuTime(b)-began).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}
