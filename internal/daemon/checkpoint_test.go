package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/test/tier"
)

// A forgetful store counts the outcomes that are read from it, and does with
// beliefs what the test wants.
type forgetful struct {
	freshet.Store
	read  int
	amend func(*freshet.State) bool // false leaves it out; may be nil
	save  func(freshet.State) error // may be nil
}

func (s *forgetful) Outcomes(ctx context.Context, q freshet.OutcomeQuery) ([]freshet.Outcome, error) {
	found, err := s.Store.Outcomes(ctx, q)
	s.read += len(found)
	return found, err
}

func (s *forgetful) States(ctx context.Context, estimator string) iter.Seq2[freshet.State, error] {
	return func(yield func(freshet.State, error) bool) {
		for b, err := range s.Store.States(ctx, estimator) {
			if s.amend != nil && !s.amend(&b) {
				continue
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

func (s *forgetful) SaveState(ctx context.Context, beliefs []freshet.State) error {
	for _, b := range beliefs {
		if s.save != nil {
			if err := s.save(b); err != nil {
				return err
			}
		}
	}
	return s.Store.SaveState(ctx, beliefs)
}

// newLearning returns the policy auto and its learner.
func newLearning(tick time.Duration) (*policy.Auto, *learn.Learner) {
	auto := policy.NewAuto(policy.AutoConfig{Instant: time.Second, Tick: tick, Polls: 40})
	return auto, auto.Learner()
}

// startLearning lets a daemon with a learner that knows nothing start on a store
// and stop before its first poll, and returns what the learner then thinks, and
// how many outcomes were read for that.
func startLearning(t *testing.T, store freshet.Store, w *synth.Web, tick time.Duration, amend func(*freshet.State) bool) (mind []byte, read int) {
	t.Helper()
	auto, learner := newLearning(tick)
	counting := &forgetful{Store: store, amend: amend, save: func(freshet.State) error { return errors.New("nothing is to be saved here") }}
	watchFor(t, daemon.Config{
		Store: counting, Queries: queriesOf(store), Fetcher: w, Policy: auto, Learner: learner,
		Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: 24 * time.Hour}},
	}, time.Second)
	return bitsOf(t, learner), counting.read
}

// bitsOf returns all that a learner thinks.
func bitsOf(t *testing.T, l *learn.Learner) (bits []byte) {
	t.Helper()
	err := l.Save(func(_ freshet.Slot, memory []byte) error {
		bits = append(bits, memory...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bits
}

// learnFor lets a daemon learn under load for a while. Save is called for every
// belief that is saved.
func learnFor(t *testing.T, store freshet.Store, w *synth.Web, length time.Duration, save func(freshet.State) error) {
	t.Helper()
	auto, learner := newLearning(time.Second)
	tardy := &tardyStore{Store: &forgetful{Store: store, save: save}, chance: rand.New(rand.NewPCG(4, 5))}
	watchFor(t, daemon.Config{Store: tardy, Fetcher: w, Policy: auto, Learner: learner, Limits: crowded, Start: daemon.StartConfig{SaveEvery: 7 * time.Second}}, length)
}

// none is a store that has lost all beliefs.
func none(*freshet.State) bool { return false }

// What was learnt is the same to the bit whether it is taken up from where it
// was saved or learnt anew from the log, after any number of starts, and after
// crashes at the worst moments.
func TestWhatWasLearntSurvives(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates thousands of polls")
	crash := errors.New("the machine lost its power")
	var saves int
	type lives struct {
		name string
		each []func(freshet.State) error // what becomes of each save; nil saves
	}
	for _, tt := range tier.Cases(3, []lives{
		{"three lives", []func(freshet.State) error{nil, nil, nil}},
		{"cut off before the end of each copy", []func(freshet.State) error{nil, func(b freshet.State) error {
			if b.Source == "" {
				return crash
			}
			return nil
		}, nil}},
		{"cut off in the midst of the third copy", []func(freshet.State) error{func(b freshet.State) error {
			if b.Source == "" {
				saves++
			}
			if saves > 2 {
				return crash
			}
			return nil
		}}},
		{"one life", []func(freshet.State) error{nil}},
		{"cut off before anything is saved", []func(freshet.State) error{func(freshet.State) error { return crash }, nil}},
	}) {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := manyPages(60)
				store := filled(t, dir, w)
				defer store.Close()
				for _, save := range tt.each {
					learnFor(t, store, w, 50*time.Second, save)
				}
				kept, few := startLearning(t, store, w, time.Second, nil)
				anew, all := startLearning(t, store, w, time.Second, none)
				if !bytes.Equal(kept, anew) {
					t.Errorf("what was kept (from %d outcomes read) differs from what is learnt anew from the log (%d)", few, all)
				}
				if few >= all || all < 1000 {
					t.Errorf("%d outcomes were read to take up what was kept, and %d to learn anew; want fewer, and many", few, all)
				}
			})
		})
	}
}

// Copies that are damaged, of another kind, or of a longer log are passed over.
func TestBadCopiesAreLearntAnew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tick  time.Duration
		amend func(*freshet.State) bool
	}{
		"another tick": {2 * time.Second, nil},
		"damaged": {time.Second, func(b *freshet.State) bool {
			b.Value = slices.Clone(b.Value)
			b.Value[len(b.Value)/2] ^= 4
			return true
		}},
		"cut short":       {time.Second, func(b *freshet.State) bool { b.Value = b.Value[:min(len(b.Value), 3)]; return true }},
		"without common":  {time.Second, func(b *freshet.State) bool { return b.Source != "" }},
		"of a longer log": {time.Second, func(b *freshet.State) bool { b.Upto += 1 << 40; return true }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := manyPages(20)
				store := filled(t, dir, w)
				defer store.Close()
				learnFor(t, store, w, 20*time.Second, nil)
				got, _ := startLearning(t, store, w, c.tick, c.amend)
				want, _ := startLearning(t, store, w, c.tick, none)
				if !bytes.Equal(got, want) {
					t.Error("what is thought then differs from what is learnt anew from the log")
				}
			})
		})
	}
}
