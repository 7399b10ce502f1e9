package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
	"freshet/internal/test/tier"
)

// slowNotes is a store that takes its time to save what was learnt of sources.
type slowNotes struct {
	freshet.Store
	piece  func(n int) // is told of each that was saved; may be nil
	pieces int
	upto   freshet.Cursor // of the last that was saved
}

func (s *slowNotes) SaveState(ctx context.Context, beliefs []freshet.State) error {
	err := s.Store.SaveState(ctx, beliefs)
	if len(beliefs) > 0 && beliefs[0].Source != "" && beliefs[0].Key == "learn" {
		s.pieces++
		s.upto = beliefs[0].Upto
		if s.piece != nil {
			s.piece(s.pieces)
		}
		time.Sleep(300 * time.Millisecond)
	}
	return err
}

// brisk limits let all of a few thousand sources be polled within seconds.
var brisk = sched.Limits{Budget: sched.Budget{Polls: 250, Per: time.Second}, Workers: 100}

// Polls end between the pieces of what is saved, and it is what the log teaches up to where
// it began nevertheless.
func TestPollsEndBetweenNotes(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it polls 2,300 pages")
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := manyPages(2300)
		store := filled(t, dir, w)
		defer store.Close()
		auto, learner := newLearning(time.Second)
		slow := &slowNotes{Store: store}
		cfg := daemon.Config{Store: slow, Fetcher: w, Policy: auto, Learner: learner, Limits: brisk, Start: daemon.StartConfig{SaveEvery: 7 * time.Second}}
		var last freshet.Cursor
		slow.piece = func(n int) { last, _ = store.LastOutcome(t.Context()) }
		watchFor(t, cfg, 9*time.Second)
		if slow.pieces != 3 || last < slow.upto+50 {
			t.Fatalf("%d pieces were saved of what was learnt up to outcome %d, the last of them after outcome %d: want 3, and polls between", slow.pieces, slow.upto, last)
		}
		kept, few := startLearning(t, store, w, time.Second, nil)
		anew, all := startLearning(t, store, w, time.Second, none)
		if !bytes.Equal(kept, anew) {
			t.Errorf("what was kept (from %d outcomes read) differs from what is learnt anew from the log (%d)", few, all)
		}
		if few >= all {
			t.Errorf("%d outcomes were read to take up what was kept, and %d to learn anew; want fewer", few, all)
		}
	})
}

// What is saved of a source that is removed meanwhile is not taken for that of the one which
// comes in its place.
func TestNotesOfARemovedSource(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it polls 1,300 pages")
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := manyPages(1300)
		store := filled(t, dir, w)
		defer store.Close()
		auto, learner := newLearning(time.Second)
		slow := &slowNotes{Store: store}
		d := daemon.New(daemon.Config{Store: slow, Fetcher: w, Policy: auto, Learner: learner, Limits: brisk, Start: daemon.StartConfig{SaveEvery: 7 * time.Second}})
		slow.piece = func(n int) {
			if n > 1 {
				return
			}
			gone, come := w.Sources()[1200], w.Sources()[1200]
			come.ID, come.URL = "late", come.URL+"?late"
			if err := d.RemoveSource(t.Context(), gone.ID, false); err != nil {
				t.Errorf("a source cannot be removed: %v", err)
			}
			time.Sleep(time.Second) // a poll of it may be under way
			if _, err := d.AddSource(t.Context(), come); err != nil {
				t.Errorf("a source cannot be added: %v", err)
			}
		}
		ctx, stop := context.WithTimeout(t.Context(), 9*time.Second)
		defer stop()
		if err := d.Run(ctx); err != nil {
			t.Fatalf("the daemon stopped: %v", err)
		}
		if slow.pieces != 2 {
			t.Fatalf("%d pieces were saved, want 2", slow.pieces)
		}
		if b, err := store.State(t.Context(), "learn", "late"); !errors.Is(err, freshet.ErrNotFound) {
			t.Errorf("of a source that came later it is kept what was thought up to outcome %d (%v)", b.Upto, err)
		}
		if _, err := store.State(t.Context(), "learn", w.Sources()[1201].ID); err != nil {
			t.Errorf("of the source next to it nothing is kept: %v", err)
		}
	})
}
