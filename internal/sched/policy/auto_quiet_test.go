package policy_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A page that never changes is polled less and less, however much budget there is,
// also where the chance of a change that makes a poll worth a request is small.
func TestAutoLeavesAQuietPageAlone(t *testing.T) {
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	p, err := policy.New("auto", policy.InDaemon("auto", sched.DefaultLimits().Budget, 1))
	if err != nil {
		t.Fatal(err)
	}
	p.Put(start, 0, freshet.Source{ID: "a", URL: "https://a.example/"}, start)
	var days [3]int
	seen := start
	for minute := range len(days) * 24 * 60 {
		now := start.Add(time.Duration(minute+1) * time.Minute)
		polled := false
		p.Choose(now, 1, func(freshet.Slot, float64) bool {
			polled = true
			return true
		})
		if polled {
			days[minute/(24*60)]++
			p.Observe(now, 0, freshet.Outcome{Since: seen, Began: now, Ended: now, Result: freshet.Unchanged})
			seen = now
		}
	}
	t.Logf("polled %v times a day", days)
	if days[0] > 90 || days[1] > 20 || days[2] > days[1] || days[2] == 0 {
		t.Errorf("a page that never changes was polled %v times a day, want fewer and fewer", days)
	}
}
