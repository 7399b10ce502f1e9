package sched_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// BenchmarkTurn measures one turn of the loop: a choice, a poll and what it
// found, past the rush of sources never seen.
func BenchmarkTurn(b *testing.B) {
	for _, name := range policy.Names {
		for _, n := range []int{100, 10_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/sources=%d", name, n), func(b *testing.B) {
				p, err := policy.New(name, policy.Setting{})
				if err != nil {
					b.Fatal(err)
				}
				s := sched.New(p, sched.Limits{
					Budget: sched.Budget{Polls: 1000, Per: time.Second},
					Hosts:  sched.Politeness{Delay: time.Second},
				})
				now := start
				for i := range n {
					s.Put(now, freshet.SourceWithStatus{Source: freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/", i%5000)}})
				}
				turn := func() {
					p, wake, ok := s.Next(now)
					if !ok {
						now = wake
						return
					}
					s.Observe(now, freshet.Outcome{Source: p.Source.ID, Began: now, Ended: now, Requests: 1})
				}
				for range 2000 {
					turn()
				}
				b.ReportAllocs()
				for b.Loop() {
					turn()
				}
			})
		}
	}
}

// BenchmarkLoop measures what a poll costs the loop at a rate, in virtual time:
// polls end one by one, as they do in the daemon, and hosts that are owed a delay
// refuse some of what the policy offers. At ten times the rate, with ten times as
// many sources, a poll should cost no more.
func BenchmarkLoop(b *testing.B) {
	for _, name := range []string{"uniform", "auto"} {
		for _, rate := range []int{1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/polls=%d/s", name, rate), func(b *testing.B) { benchmarkLoop(b, name, rate) })
		}
	}
}

func benchmarkLoop(b *testing.B, name string, rate int) {
	p, err := policy.New(name, policy.Setting{Instant: time.Second, Tick: time.Second, Polls: float64(rate)})
	if err != nil {
		b.Fatal(err)
	}
	w := &world{now: start, s: sched.New(p, sched.Limits{
		Budget:  sched.Budget{Polls: float64(rate), Per: time.Second},
		Hosts:   sched.Politeness{Delay: time.Second},
		Workers: rate,
	})}
	made := 0
	w.latency = func(freshet.Poll) time.Duration {
		made++
		return 50*time.Millisecond + time.Duration(made%997)*50*time.Microsecond
	}
	w.answer = func(_ freshet.Poll, o *freshet.Outcome) { o.Result = freshet.Result(made % 7 / 6) }
	for i := range 3 * rate {
		w.s.Put(w.now, freshet.SourceWithStatus{
			Source: freshet.Source{ID: freshet.SourceID(fmt.Sprintf("s%06d", i)), URL: fmt.Sprintf("https://h%d.example/", i/2)},
			Status: freshet.Status{Seen: w.now.Add(-time.Hour)},
		})
	}
	w.run(4 * time.Second)
	made = 0
	b.ResetTimer()
	for b.Loop() {
		w.polls = w.polls[:0]
		w.run(200 * time.Millisecond)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(made), "ns/poll")
	b.ReportMetric(float64(made)/float64(b.N)*5, "polls/s")
}
