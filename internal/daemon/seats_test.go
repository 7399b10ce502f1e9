package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
)

// A meddler edits sources of a duet at random.
type meddler struct {
	*duet
	draw *rand.Rand
}

// meddle makes an edit. One that cannot be made, because two sources would have the same page, is none.
func (m *meddler) meddle() {
	ctx := context.Background()
	one := m.web.Sources()[m.draw.IntN(len(m.web.Sources()))]
	var err error
	switch m.draw.IntN(8) {
	case 0, 1:
		_, err = m.daemon.AddSource(ctx, one)
	case 2:
		err = m.daemon.RemoveSource(ctx, one.ID, false)
	case 3:
		err = m.daemon.RemoveSource(ctx, one.ID, true)
	case 4:
		to := m.web.Sources()[m.draw.IntN(len(m.web.Sources()))]
		err = m.edit(ctx, one.ID, func(s *freshet.Source) { s.URL = to.URL })
	case 5:
		tags := [][]string{nil, {"x"}, {"y"}, {"x", "y"}}[m.draw.IntN(4)]
		err = m.edit(ctx, one.ID, func(s *freshet.Source) { s.Tags = tags })
	case 6:
		err = m.edit(ctx, one.ID, func(s *freshet.Source) { s.Index = !s.Index })
	case 7:
		err = m.edit(ctx, one.ID, func(s *freshet.Source) { s.Paused = !s.Paused })
	}
	if err != nil && !errors.Is(err, freshet.ErrNotFound) && !errors.Is(err, freshet.ErrConflict) {
		m.Errorf("editing %s: %v", one.ID, err)
	}
}

// However sources came, went and moved, and whoever was saving then, the daemon saves once itself when that is
// over, and then the standby does, to the bit what the daemon would. A start goes on from there to the bit.
func TestStandbyTakesNotesThroughEdits(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := manyPages(18)
				store := filled(t, dir, manyPages(9))
				defer store.Close()
				d := newDuet(t, store, w)
				m := &meddler{d, rand.New(rand.NewPCG(seed, 1))}
				for range 12 {
					time.Sleep(time.Duration(m.draw.IntN(9000)) * time.Millisecond)
					for range m.draw.IntN(4) {
						m.meddle()
					}
					d.mu.Lock()
					d.during = nil
					if m.draw.IntN(3) == 0 {
						d.during = func() {
							m.meddle()
							time.Sleep(10 * time.Millisecond)
						}
					}
					d.mu.Unlock()
				}
				d.mu.Lock()
				d.during = nil
				d.mu.Unlock()
				for range 3 { // what is left has to be polled often enough
					for _, s := range w.Sources()[:6] {
						_, err := d.daemon.AddSource(t.Context(), s)
						if err != nil && !errors.Is(err, freshet.ErrConflict) {
							t.Error(err)
						}
					}
				}
				time.Sleep(40 * time.Second)
				_, offers, own := d.counts()
				time.Sleep(40 * time.Second)
				_, more, self := d.counts()
				if more-offers < 3 || self != own {
					t.Errorf("when edits were over the standby took %d notes, and the daemon %d", more-offers, self-own)
				}
				synctest.Wait()
				d.endDaemon()
				d.endWarm()
				want := bitsOf(t, d.learner)
				if got, _ := startLearning(t, store, w, time.Second, nil); !bytes.Equal(got, want) {
					t.Errorf("a start knows %d bytes that differ from the %d of the daemon", len(got), len(want))
				}
			})
		})
	}
}

// An outcome from which nothing was learnt, because its source was gone, teaches nobody when the source is back.
func TestOutcomesOfSourcesThatWereGone(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := manyPages(12)
		store := filled(t, dir, w)
		defer store.Close()
		d := newDuet(t, store, w)
		for i := range 60 {
			time.Sleep(time.Second)
			s := w.Sources()[i%12]
			d.must(d.daemon.RemoveSource(t.Context(), s.ID, false))
			time.Sleep(time.Duration(i) * time.Millisecond)
			_, err := d.daemon.AddSource(t.Context(), s)
			d.must(err)
		}
		time.Sleep(30 * time.Second)
		if _, offers, _ := d.counts(); offers == 0 {
			t.Error("the standby took no notes")
		}
		d.endDaemon()
		d.endWarm()
	})
}

// A source that was taught, went and came back has not been taught when the daemon saves, and has been after a start. A
// standby then does not take itself for the daemon's equal.
func TestLessonsOfASourceThatCameBack(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := manyPages(12)
		store := filled(t, dir, w)
		defer store.Close()
		d := newDuet(t, store, w)
		time.Sleep(20 * time.Second)
		told := []freshet.UpdateTime{{After: start, Until: start.Add(time.Second)}, {After: start.Add(time.Second), Until: start.Add(2 * time.Second)}}
		_, _, err := d.daemon.Teach(t.Context(), "p003", told)
		d.must(err)
		d.must(d.daemon.RemoveSource(t.Context(), "p003", false))
		_, err = d.daemon.AddSource(t.Context(), w.Sources()[3])
		d.must(err)
		time.Sleep(time.Minute)
		d.endDaemon()
		d.start() // which teaches it again
		time.Sleep(20 * time.Second)
		_, offers, _ := d.counts()
		time.Sleep(time.Minute)
		if _, more, _ := d.counts(); more == offers {
			t.Error("the standby takes no notes after another start")
		}
		d.endDaemon()
		d.endWarm()
	})
}

// What was learnt with another tick is of no use, and where sources lay neither: they are polled where they lie now.
func TestSeatsOfAForeignState(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := manyPages(12)
		store := filled(t, dir, w)
		defer store.Close()
		d := newDuet(t, store, w)
		time.Sleep(10 * time.Second)
		for _, s := range w.Sources()[:9] {
			d.must(d.daemon.RemoveSource(t.Context(), s.ID, false))
		}
		time.Sleep(30 * time.Second)
		d.endDaemon()
		d.endWarm()
		learner := learn.New(learn.Config{Tick: 3 * time.Second})
		before := len(w.Requests())
		watchFor(t, daemon.Config{Store: store, Fetcher: w, Policy: &policy.RoundRobin{}, Learner: learner, Limits: gentle}, 30*time.Second)
		if n, _ := learn.SlotsOf(bitsOf(t, learner)); n != 3 {
			t.Errorf("after a start there are %d slots, want 3", n)
		}
		if made := len(w.Requests()) - before; made < 30 {
			t.Errorf("%d polls were made", made)
		}
	})
}

// A daemon that starts where most slots are empty puts sources close together; one that follows another leaves
// them where they are.
func TestStartMovesTogether(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		const many, few = 1300, 40
		w := manyPages(many)
		store := filled(t, dir, w)
		defer store.Close()
		fast := sched.Limits{Budget: sched.Budget{Polls: 200, Per: time.Second}, Workers: 100}
		auto, learner := newLearning(time.Second)
		d := daemon.New(daemon.Config{Store: store, Fetcher: w, Policy: auto, Learner: learner, Limits: fast, SaveEvery: 7 * time.Second})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- d.Run(ctx) }()
		time.Sleep(20 * time.Second)
		for _, s := range w.Sources()[few:] {
			if err := d.RemoveSource(ctx, s.ID, false); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		saved := bitsOf(t, learner)
		if n, _ := learn.SlotsOf(saved); n != many {
			t.Errorf("the daemon had %d slots, want %d", n, many)
		}
		kept, _ := startLearning(t, store, w, time.Second, nil)
		if n, _ := learn.SlotsOf(kept); n != few {
			t.Errorf("after a start there are %d slots, want %d", n, few)
		}
		auto, learner = newLearning(time.Second)
		again := daemon.New(daemon.Config{Store: store, Fetcher: w, Policy: auto, Learner: learner, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: 24 * time.Hour}}})
		ctx, stop = context.WithCancel(t.Context())
		go func() { ended <- again.Run(ctx) }()
		time.Sleep(time.Second)
		if from := again.Origin(); from.Upto != 0 {
			t.Errorf("a daemon that has moved sources says that what it knows follows from %+v", from)
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		auto, learner = newLearning(time.Second)
		warm := daemon.NewWarm(daemon.WarmConfig{
			Edited: func(context.Context) ([]freshet.SourceID, bool, error) { return nil, true, nil },
			Open: func(context.Context) (*daemon.Daemon, error) {
				return daemon.New(daemon.Config{Store: store, Fetcher: w, Policy: auto, Learner: learner, Limits: fast}), nil
			},
		})
		ctx, stop = context.WithCancel(t.Context())
		go func() { warm.Run(ctx); ended <- nil }()
		time.Sleep(3 * time.Second)
		if at := warm.Warmth(); !at.Ready || at.From.Upto == 0 {
			t.Errorf("who follows is at %+v", at)
		}
		stop()
		<-ended
		if got := bitsOf(t, learner); !slices.Equal(got, saved) {
			t.Errorf("who follows knows %d bytes that differ from the %d of the daemon", len(got), len(saved))
		}
	})
}
