package sched_test

import (
	"fmt"
	"testing"
	"time"

	"freshet"
	"freshet/policy"
	"freshet/sched"
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
					s.Put(now, freshet.Watched{Source: freshet.Source{ID: id(i), URL: fmt.Sprintf("https://h%d.example/", i%5000)}})
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
