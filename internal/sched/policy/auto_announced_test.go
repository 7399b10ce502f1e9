package policy_test

import (
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/sched/policy"
)

// A page that has told the truth about when it changes next is expected to be polled then,
// and is not polled before, even where there are polls to spare.
func TestAutoWaitsForAnnouncedChanges(t *testing.T) {
	r := newAutoRun(time.Minute, 3000, 1)
	r.auto = policy.NewAuto(policy.AutoConfig{Start: noon, Instant: time.Minute, Polls: 1, LeastChance: 0.1})
	id := r.add(freshet.Source{}, 0.02)
	next := func(after time.Time) time.Time {
		for _, at := range r.changes[id] {
			if at.After(after) {
				return at
			}
		}
		return r.end.Add(time.Hour)
	}
	r.Answer = func(_ freshet.Poll, o *freshet.Outcome) {
		if o.Result.Captured() {
			o.Foretold = &evidence.Announcement{Next: []evidence.Next{{By: evidence.NextByText, At: next(o.Began)}}}
		}
	}
	early, late, changes := 0, 0, 0
	r.run(t, func(o freshet.Outcome) {
		if o.Began.Before(r.end.Add(-1000 * time.Minute)) {
			return
		}
		switch {
		case o.Result != freshet.Changed:
			early++
		case o.Began.Sub(next(o.Since)) > 2*time.Minute:
			late++
			fallthrough
		default:
			changes++
		}
	})
	t.Logf("%d changes, %d of them late; %d polls in vain", changes, late, early)
	if changes < 10 || late > 0 || early > changes/2 {
		t.Errorf("of %d changes %d were seen late, and %d polls found nothing", changes, late, early)
	}
	out := r.auto.Outlook(r.end, 0)
	if f := out.Foretold; f.Believed && f.At.After(r.end) && out.Price > 0 && out.Due.Before(f.At) && f.At.Sub(r.end) < 12*time.Hour {
		t.Errorf("it changes next at %v by its word, and a poll is expected at %v", f.At, out.Due)
	}
}
