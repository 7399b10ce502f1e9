package policy_test

import (
	"fmt"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sched/policy"
	"freshet/internal/units"
)

// batch has auto poll 200 of 2,000 pages of 20 sites at one moment. Half of the
// sites have changed, those of even numbers. It returns how many polls found that, and how
// many were made.
func batch(t *testing.T, n int, latency time.Duration) (changed, polls, rounds int) {
	t.Helper()
	a := policy.NewAuto(policy.AutoConfig{Instant: units.Day, Polls: 200})
	for slot := range freshet.Slot(2000) {
		id := fmt.Sprintf("site%02d/%02d", slot/100, slot%100)
		a.Put(noon, slot, freshet.Source{ID: freshet.SourceID(id), URL: "https://" + id}, noon)
	}
	now := noon.Add(36 * time.Hour)
	for polls < n && rounds < 2*n {
		rounds++
		var taken []freshet.Slot
		a.Choose(now, n-polls, func(slot freshet.Slot, _ float64) bool {
			taken = append(taken, slot)
			return true
		})
		began := now
		now = now.Add(latency)
		for _, slot := range taken {
			o := freshet.Outcome{Began: began, Ended: now, Since: noon}
			if slot/100%2 == 0 {
				o.Result = freshet.Changed
				changed++
			}
			a.Observe(now, slot, o)
		}
		polls += len(taken)
	}
	return changed, polls, rounds
}

// Where many pages are polled at one moment, the first polls say which sites have
// changed, and the others go there.
func TestAutoSamplesSitesWithinABatch(t *testing.T) {
	changed, polls, _ := batch(t, 200, 0)
	t.Logf("%d of %d polls found a change", changed, polls)
	if polls != 200 || changed < 150 {
		t.Errorf("%d of %d polls of 200 found a change, where half of the sites have changed: want most", changed, polls)
	}
}

// In a daemon time passes until an outcome is there: only the first few polls are
// waited for.
func TestAutoDoesNotWaitWhereOutcomesTakeTime(t *testing.T) {
	if _, polls, rounds := batch(t, 200, 300*time.Millisecond); polls != 200 || rounds > 2 {
		t.Errorf("%d polls of 200 were begun in %d rounds, want no more than two", polls, rounds)
	}
}

// A few polls at a time are chosen at once.
func TestAutoChoosesAFewAtOnce(t *testing.T) {
	if _, polls, rounds := batch(t, 15, 0); polls != 15 || rounds != 1 {
		t.Errorf("%d polls of 15 were begun in %d rounds, want one", polls, rounds)
	}
}
