package sched_test

import (
	"fmt"
	"maps"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// However what is known of robots.txt files is taken down by and by, and whatever is told between, in the
// end it is what is known, no host comes twice in one go without news of it, and none without news at all.
func TestMannersByAndBy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sched.New(&policy.RoundRobin{}, sched.Limits{Hosts: sched.Politeness{CrawlDelay: time.Minute}})
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		taken, news := map[string]sched.RobotsRead{}, map[string]bool{}
		take := func(most int) int {
			told := s.TakeRobots(most)
			if len(told) != min(most, len(news)) {
				t.Fatalf("%d hosts were taken of the %d with news, and %d could be", len(told), len(news), most)
			}
			for _, m := range told {
				if !news[m.Host] {
					t.Fatalf("%s was taken without news of it", m.Host)
				}
				delete(news, m.Host)
				taken[m.Host] = m
			}
			return len(told)
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Second)
			if rapid.Bool().Draw(t, "take") {
				take(rapid.IntRange(1, 5).Draw(t, "most"))
				continue
			}
			m := sched.RobotsRead{Host: fmt.Sprintf("h%d.example", rapid.IntRange(0, 12).Draw(t, "host"))}
			switch rapid.IntRange(0, 2).Draw(t, "how") {
			case 0:
				m.Unread = true
			case 1:
				m.Read = now.Add(-time.Hour)
				fallthrough
			default:
				m.Delay = time.Duration(rapid.IntRange(0, 3).Draw(t, "delay")) * time.Second
			}
			s.Apply(now, m)
			news[m.Host] = true
		}
		for take(3) > 0 {
		}
		known := map[string]sched.RobotsRead{}
		for _, m := range sched.AllRobots(s) {
			known[m.Host] = m
		}
		if !maps.Equal(taken, known) {
			t.Fatalf("taken down is %v, known is %v", taken, known)
		}
	})
}

// BenchmarkManners has what is known of many hosts taken down: of all at once, and of those with news by and by.
// It tells for how long nothing begins at a time, in the round that other programs disturbed least.
func BenchmarkManners(b *testing.B) {
	const hosts, slice = 200_000, 500
	s := sched.New(&policy.RoundRobin{}, sched.Limits{})
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	names := make([]string, hosts)
	for i := range names {
		names[i] = fmt.Sprintf("h%d.example", i)
	}
	tell := func() {
		for _, name := range names {
			s.Apply(now, sched.RobotsRead{Host: name, Delay: time.Second})
		}
	}
	rounds := func(b *testing.B, turn func() (more bool)) {
		best := time.Duration(math.MaxInt64)
		for b.Loop() {
			b.StopTimer()
			tell()
			b.StartTimer()
			var longest time.Duration
			for more := true; more; {
				began := time.Now()
				more = turn()
				longest = max(longest, time.Since(began))
			}
			best = min(best, longest)
		}
		b.ReportMetric(float64(best.Microseconds()), "us/longest-turn")
	}
	b.Run("all", func(b *testing.B) {
		rounds(b, func() bool { sched.AllRobots(s); return false })
	})
	b.Run("slices", func(b *testing.B) {
		rounds(b, func() bool { return len(s.TakeRobots(slice)) == slice })
	})
}
