package daemon_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A shutter is a policy that keeps the loop waiting while it is shut.
type shutter struct {
	*policy.Auto
	shut   atomic.Bool
	opened chan struct{}
}

func (s *shutter) Choose(now time.Time, n int, take func(freshet.Slot, float64) bool) time.Time {
	if s.shut.Load() {
		<-s.opened
	}
	return s.Auto.Choose(now, n, take)
}

func idsOf(w *synth.Web) (ids []freshet.SourceID) {
	for _, s := range w.Sources() {
		ids = append(ids, s.ID)
	}
	return ids
}

// Whoever sorts by next polls again and again goes by what was said a moment ago: polls that
// were made since are known, also after nobody asked for long.
func TestForeseenPollsAreRenewed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := poissonWeb(time.Minute, 2*time.Minute, 3*time.Minute, 4*time.Minute, 5*time.Minute)
		b := begin(t, dir, learning(w, sched.Budget{Polls: 5, Per: time.Minute}), w.Sources()...)
		defer b.stop()
		time.Sleep(time.Hour)
		ids := idsOf(w)
		for range 3 {
			for range 100 {
				time.Sleep(3 * time.Second)
				synctest.Wait()
				next, err := b.Foreseen(t.Context(), ids)
				if err != nil {
					t.Fatal(err)
				}
				for i, at := range next {
					if late := time.Since(at); late > 15*time.Second {
						t.Fatalf("the next poll of %s is said to have been expected %v ago", ids[i], late)
					}
					log, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{Source: ids[i], Newest: true, Limit: 1})
					if err != nil {
						t.Fatal(err)
					}
					if was := log[0].Began; time.Since(was) > 3*time.Second && !at.After(was) {
						t.Fatalf("the next poll of %s is expected at %v, which was before that at %v", ids[i], at, was)
					}
				}
			}
			time.Sleep(10 * time.Minute)
		}
	})
}

// What was said of sources that are not polled is renewed, too: here because there is less to
// spend than when it was said. That the loop has no time for minutes does not end it.
func TestForeseenPollsHearOfTheBudget(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := poissonWeb(time.Minute, 2*time.Minute, 3*time.Minute, 4*time.Minute, 5*time.Minute)
		cfg := learning(w, sched.Budget{Polls: 5, Per: time.Minute})
		s := &shutter{Auto: cfg.Policy.(*policy.Auto), opened: make(chan struct{})}
		cfg.Policy = s
		b := begin(t, dir, cfg, w.Sources()...)
		defer b.stop()
		time.Sleep(time.Hour)
		ids := idsOf(w)
		foreseen := func() []time.Time {
			next, err := b.Foreseen(t.Context(), ids)
			if err != nil {
				t.Fatal(err)
			}
			return next
		}
		if _, err := b.NextPolls(t.Context(), ids); err != nil { // somebody who does not sort
			t.Fatal(err)
		}
		foreseen()
		s.shut.Store(true)
		for range 6 {
			time.Sleep(30 * time.Second)
			foreseen()
		}
		l := b.Limits()
		l.Budget = sched.Budget{Polls: 1, Per: 24 * time.Hour}
		b.SetLimits(l)
		s.shut.Store(false)
		close(s.opened)
		time.Sleep(time.Minute)
		synctest.Wait()
		for i, at := range foreseen() {
			if in := time.Until(at); in < time.Hour {
				t.Errorf("with one poll a day, the next of %s is still expected in %v", ids[i], in)
			}
		}
	})
}

// What was said before is told without waiting for a loop that has no time.
func TestNobodyWaitsForABusyLoop(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := poissonWeb(time.Minute, 2*time.Minute, 3*time.Minute)
		cfg := learning(w, sched.Budget{Polls: 5, Per: time.Minute})
		s := &shutter{Auto: cfg.Policy.(*policy.Auto), opened: make(chan struct{})}
		cfg.Policy = s
		b := begin(t, dir, cfg, w.Sources()...)
		defer b.stop()
		time.Sleep(time.Hour)
		ids := idsOf(w)
		ask := func() (next, overall, fresh error) {
			brief, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, next = b.Foreseen(brief, ids)
			_, overall = b.Overall(brief)
			_, fresh = b.NextPolls(brief, ids)
			return next, overall, fresh
		}
		if next, overall, fresh := ask(); next != nil || overall != nil || fresh != nil {
			t.Fatal(next, overall, fresh)
		}
		s.shut.Store(true)
		time.Sleep(30 * time.Second)
		next, overall, fresh := ask()
		if next != nil || overall != nil {
			t.Errorf("while the loop is busy, next polls give %v, and numbers %v", next, overall)
		}
		if fresh == nil {
			t.Error("the loop was not busy")
		}
		s.shut.Store(false)
		close(s.opened)
		time.Sleep(30 * time.Second)
		if next, overall, fresh := ask(); next != nil || overall != nil || fresh != nil {
			t.Error("when the loop has time again:", next, overall, fresh)
		}
	})
}
