package sched_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/sched"
)

// A ceiling in buckets never counts less than one that keeps every request, and counts
// no request for longer than a bucket more.
func TestCeilingInBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := sched.Budget{Polls: float64(rapid.IntRange(4097, 9000).Draw(t, "polls")), Per: time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second}
		exact, rough := sched.NewHardLimit(b, true), sched.NewHardLimit(b, false)
		bucket := b.Per / 4096
		now := start
		back := func(most int) time.Duration {
			return b.Per * time.Duration(rapid.IntRange(0, most).Draw(t, "back")) / 1000
		}
		var ends []time.Time
		for range rapid.IntRange(0, 50).Draw(t, "remembered") {
			ends = append(ends, now.Add(-back(1200)), now.Add(-b.Per+bucket*time.Duration(rapid.IntRange(0, 40).Draw(t, "near"))/4))
		}
		exact.Remember(ends)
		rough.Remember(ends)
		flying := 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch burst := rapid.IntRange(1, 400).Draw(t, "burst"); rapid.IntRange(0, 2).Draw(t, "step") {
			case 0: // a request begins if the rough one has room
				for range burst {
					if rough.Begin(now) {
						flying++
						if !exact.Begin(now) {
							t.Fatal("a request is allowed that a ceiling that keeps every request refuses")
						}
					}
				}
			case 1:
				for range min(burst, flying) {
					flying--
					exact.End(now)
					rough.End(now)
					now = now.Add(bucket * time.Duration(rapid.IntRange(0, 3).Draw(t, "quarters")) / 4)
				}
			default:
				now = now.Add(back(300))
			}
			less, more := exact.Used(now), rough.Used(now)
			if more < less {
				t.Fatalf("%d requests are counted, and there were %d", more, less)
			}
			now = now.Add(bucket)
			if later := rough.Used(now); later > less {
				t.Fatalf("a bucket later %d requests are counted, and there were %d: they count for too long", later, less)
			}
			if opens := rough.Opens(); !opens.IsZero() && !opens.After(now) {
				t.Fatalf("it opens at %v, which is past", opens)
			}
		}
	})
}

// What a ceiling keeps does not grow with the budget, and a small one is kept exactly.
func TestCeilingStaysSmall(t *testing.T) {
	b := sched.Budget{Polls: 1e6, Per: time.Second}
	c, now := sched.NewHardLimit(b, false), start
	for range 3_000_000 {
		if !c.Begin(now) {
			t.Fatal("within its budget a request is refused")
		}
		c.End(now)
		now = now.Add(time.Second/1_000_000 + time.Nanosecond) // what the last bucket counts too long
	}
	if c.Kept() > 4*4096 {
		t.Errorf("%d entries are kept of a budget of a million requests, want no more than four a bucket", c.Kept())
	}
	small := sched.Budget{Polls: 4096, Per: time.Hour}
	exact, used := sched.NewHardLimit(small, true), sched.NewHardLimit(small, false)
	for i := range 9000 {
		now = now.Add(time.Duration(i%7) * 100 * time.Millisecond)
		if a, b := exact.Begin(now), used.Begin(now); a != b {
			t.Fatalf("request %d is allowed: %v if each is kept, %v in use", i, a, b)
		} else if a {
			exact.End(now)
			used.End(now)
		}
		if !exact.Opens().Equal(used.Opens()) {
			t.Fatalf("after request %d it opens at %v if each is kept, and at %v in use", i, exact.Opens(), used.Opens())
		}
	}
}
