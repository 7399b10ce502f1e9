package learn_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
)

// A subscription is a source that changes every three hours or so, is polled every
// hour or two, and at once when somebody says that it has changed.
type subscription struct {
	*learn.Learner
	draw   *rand.Rand
	now    time.Time
	cursor freshet.Cursor
}

func newSubscription(seed uint64) *subscription {
	s := &subscription{Learner: learn.New(learn.Config{Start: monday, Tick: 5 * time.Minute, Polls: 1.0 / 12}), draw: rand.New(rand.NewPCG(seed, 1)), now: monday}
	s.Put(monday, 0, freshet.Source{ID: "a", URL: "https://a.example/feed"}, monday)
	return s
}

// poll polls the source at a moment.
func (s *subscription) poll(now time.Time, changed bool, pushed time.Time) {
	s.cursor++
	o := freshet.Outcome{Cursor: s.cursor, Source: "a", Began: now, Ended: now, Since: s.now, Pushed: pushed}
	if changed {
		o.Result = freshet.Changed
	}
	s.Observe(now, 0, o)
	s.now = now
}

// watch lets so many changes pass, of which a share is told, among false words.
func (s *subscription) watch(changes int, told, lies float64) {
	for range changes {
		change := s.now.Add(time.Duration(s.draw.ExpFloat64() * float64(3*time.Hour)))
		pending := false
		for {
			next := s.now.Add(time.Hour + time.Duration(s.draw.Float64()*float64(time.Hour)))
			switch {
			case !pending && !next.Before(change) && s.draw.Float64() < told:
				s.poll(change.Add(time.Minute), true, change)
			case !next.Before(change):
				s.poll(next, true, time.Time{})
			case s.draw.Float64() < lies:
				s.poll(next, false, next.Add(-time.Minute))
				continue
			default:
				s.poll(next, false, time.Time{})
				continue
			}
			break
		}
	}
}

// expects returns how many changes are expected three hours after the last poll.
func (s *subscription) expects() float64 {
	expected, gaps := []float64{0}, []float64{0}
	s.Likely(s.now.Add(3*time.Hour), 0, expected, gaps, nil)
	if out := s.Outlook(s.now.Add(3*time.Hour), 0); (out.Expected-expected[0])*(out.Expected-expected[0]) > 1e-12 {
		panic("the outlook expects something else")
	}
	return expected[0]
}

// While no push comes, hardly anything is expected of a source whose changes have been
// pushed. One that pushes some of them, or any odd time, is expected to change as before.
func TestQuietSubscriptions(t *testing.T) {
	for _, c := range []struct {
		what        string
		told, lies  float64
		least, most float64
	}{
		{"no pushes", 0, 0, 0.6, 20},
		{"a push for every change", 1, 0, 0, 0.1},
		{"a push for half of the changes", 0.5, 0, 0.25, 20},
		{"pushes without a change", 0, 0.8, 0.5, 20},
	} {
		for seed := range uint64(5) {
			s := newSubscription(seed)
			s.watch(60, c.told, c.lies)
			if x := s.expects(); x < c.least || x > c.most {
				t.Errorf("with %s %.3f changes are expected after three hours, want %v to %v", c.what, x, c.least, c.most)
			}
		}
	}
}

// A hub that has told of all changes and then of none is not believed for long.
func TestSubscriptionsThatEnd(t *testing.T) {
	s := newSubscription(3)
	s.watch(60, 1, 0)
	before := s.expects()
	s.watch(6, 0, 0)
	if x := s.expects(); before > 0.1 || x < 0.3 {
		t.Errorf("%.3f changes are expected while all are told, and %.3f after six that were not", before, x)
	}
}

// What is known of pushes is saved and restored to the bit.
func TestSavedSubscriptions(t *testing.T) {
	s := newSubscription(4)
	s.watch(20, 0.9, 0.1)
	parts := saved(t, s.Learner)
	again := newSubscription(4)
	for _, slot := range slices.Sorted(maps.Keys(parts)) {
		if err := again.Restore(slot, []byte(parts[slot])); err != nil {
			t.Fatal(err)
		}
	}
	again.now, again.cursor = s.now, s.cursor
	for _, x := range []*subscription{s, again} {
		x.draw = rand.New(rand.NewPCG(5, 6))
		x.watch(20, 0.9, 0.1)
	}
	if got, want := saved(t, again.Learner), saved(t, s.Learner); !maps.Equal(got, want) {
		t.Errorf("restored and told the rest, another is known: %s", differing(got, want))
	}
}
