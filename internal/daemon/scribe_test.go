package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/lab/synth"
	"freshet/internal/learn"
	"freshet/internal/sched"
)

// A duet is a daemon, and a Warm that takes down in its place what was learnt.
type duet struct {
	*baton
	learner *learn.Learner
	ahead   atomic.Int64 // of the clock of the daemon

	mu     sync.Mutex
	asked  int
	offers int                     // that were the same as what the daemon would have taken down
	own    map[freshet.Cursor]bool // that the daemon saved itself
	tamper func(*daemon.Offer)     // may be nil
	during func()                  // while it is taken down; may be nil
}

// gentle limits leave moments in which all is told.
var gentle = sched.Limits{Budget: sched.Budget{Polls: 2, Per: time.Second}, Workers: 2}

// newDuet starts both on a store.
func newDuet(t *testing.T, store freshet.Store, w *synth.Web) *duet {
	d := &duet{baton: &baton{T: t, web: w, store: store}, own: map[freshet.Cursor]bool{}}
	d.log = &journal{Store: beneath(store), save: func(b freshet.Belief) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if strings.HasPrefix(b.Estimator, "learn") && b.Source != "" {
			d.own[b.Upto] = true
		}
		return nil
	}}
	d.start()
	d.warm = daemon.NewWarm(daemon.WarmConfig{Edited: d.log.edited, Origin: func(context.Context) (daemon.Basis, error) { return d.daemon.Origin(), nil }, Open: func(context.Context) (*daemon.Daemon, error) {
		auto, learner := newLearning(time.Second)
		unwritten := &forgetful{Store: store, save: func(freshet.Belief) error { return errors.New("whoever stands by writes nothing") }}
		return daemon.New(daemon.Config{Store: unwritten, Fetcher: w, Policy: auto, Learner: learner, Limits: gentle}), nil
	}})
	d.endWarm = d.run(d.warm.Run)
	return d
}

// start starts the daemon.
func (d *duet) start() {
	auto, learner := newLearning(time.Second)
	d.learner = learner
	d.daemon = daemon.New(daemon.Config{
		Store: d.log, Fetcher: d.web, Policy: auto, Learner: learner, Limits: gentle, SaveEvery: 7 * time.Second,
		Now:    func() time.Time { return time.Now().Add(time.Duration(d.ahead.Load())) },
		Scribe: &daemon.Scribe{Ask: d.ask, Bar: func(context.Context) error { return nil }},
	})
	d.endDaemon = d.run(func(ctx context.Context) {
		if err := d.daemon.Run(ctx); err != nil {
			d.Errorf("the daemon stopped: %v", err)
		}
	})
}

// ask has the Warm take down what was learnt, at a moment at which both have been told the same, and
// wants it to be what the daemon would have taken down.
func (d *duet) ask(ctx context.Context, t daemon.Turn) (o daemon.Offer, err error) {
	d.mu.Lock()
	d.asked++
	d.mu.Unlock()
	for range 100 {
		time.Sleep(37 * time.Millisecond)
		synctest.Wait()
		at := d.warm.Warmth()
		if !at.Ready || !slices.Contains(t.Bases, at.From) {
			continue
		}
		if at.Upto != d.learner.Upto() {
			continue
		}
		want := bitsOf(d.T, d.learner)
		var got []byte
		o, err = d.warm.TakeNotes(ctx, t.Copy, func(ctx context.Context, some []freshet.Belief) (int, error) {
			for _, b := range some {
				got = append(got, b.Memory[:len(b.Memory)-4]...)
			}
			d.mu.Lock()
			during := d.during
			d.mu.Unlock()
			if during != nil {
				during()
			}
			return len(some), beneath(d.store).SaveBeliefs(ctx, some)
		})
		if err != nil {
			return o, err
		}
		if got = append(o.Common[:len(o.Common)-4:len(o.Common)-4], got...); !bytes.Equal(got, want) {
			d.Errorf("at %d it took down %d bytes that differ from the %d of the daemon", o.Upto, len(got), len(want))
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.offers++; d.tamper != nil {
			d.tamper(&o)
		}
		return o, nil
	}
	return o, daemon.ErrNobody
}

// counts returns how often the Warm was asked, took it down, and the daemon did itself.
func (d *duet) counts() (asked, offers, own int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked, d.offers, len(d.own)
}

// end ends both, and wants a start to know what the log teaches. Unless the Warm took something down last,
// the daemon has saved at its end.
func (d *duet) end() {
	d.Helper()
	d.endDaemon()
	d.endWarm()
	kept, few := startLearning(d.T, d.store, d.web, time.Second, nil)
	anew, all := startLearning(d.T, d.store, d.web, time.Second, none)
	if !bytes.Equal(kept, anew) || few >= all {
		d.Errorf("a start from what was saved (%d outcomes read) differs from one from the log (%d)", few, all)
	}
}

// What a standby takes down is what the daemon would have, to the bit, and what a start then loads.
func TestStandbyTakesNotes(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := manyPages(12)
		store := filled(t, dir, w)
		defer store.Close()
		d := newDuet(t, store, w)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		asked, offers, own := d.counts()
		if own != 1 || offers < 5 || asked != offers {
			t.Errorf("the daemon took %d notes itself, and the standby %d of %d; want all but the first", own, offers, asked)
		}
		last, ok := d.daemon.Taken()
		if !ok || last.Upto == 0 || last.Sources != 12 {
			t.Errorf("of the last notes it is told: %+v", last)
		}
		newest := freshet.Cursor(0)
		for _, name := range []string{"learn", "learn-2"} {
			belief, err := store.Belief(t.Context(), name, "")
			d.must(err)
			newest = max(newest, belief.Upto)
		}
		if newest != last.Upto {
			t.Errorf("the last notes go up to %d, and what is saved up to %d", last.Upto, newest)
		}
		d.end()
	})
}

// What a copy does not say of a source, a start does not know as another start: the daemon takes down the
// first notes itself.
func TestDaemonTakesNotesAfterASourceCame(t *testing.T) {
	inBubble(t, func(t *testing.T, dir string) {
		w := manyPages(12)
		store := filled(t, dir, manyPages(11))
		defer store.Close()
		learnFor(t, store, manyPages(11), 50*time.Second, nil) // leaves notes
		_, err := store.AddSource(t.Context(), w.Sources()[11])
		if err != nil {
			t.Fatal(err)
		}
		d := newDuet(t, store, w)
		time.Sleep(10 * time.Second)
		if asked, _, own := d.counts(); asked != 0 || own != 1 {
			t.Errorf("the daemon took %d notes itself, and the standby was asked %d times", own, asked)
		}
		time.Sleep(time.Minute)
		if _, offers, own := d.counts(); offers == 0 || own != 1 {
			t.Errorf("after that the daemon took %d notes itself, and the standby %d", own, offers)
		}
		d.endDaemon()
		d.endWarm()
	})
}

// What a standby may not have been told as the daemon was, the daemon takes down itself.
func TestDaemonTakesNotesAfterAnEdit(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		edit  func(d *duet) error
		own   int  // notes that the daemon takes itself after that
		again bool // the standby takes the next ones
	}{
		"what learning does not go by": {edit: func(d *duet) error { return d.edit(ctx, "p003", func(s *freshet.Source) { s.Name = "another" }) }, again: true},
		"a pause":                      {edit: func(d *duet) error { return d.edit(ctx, "p003", func(s *freshet.Source) { s.Paused = true }) }, own: 1, again: true},
		"a lesson": {edit: func(d *duet) error {
			told := []freshet.UpdateTime{{After: start, Until: start.Add(time.Second)}, {After: start.Add(time.Second), Until: start.Add(2 * time.Second)}}
			_, _, err := d.daemon.Teach(ctx, "p003", told)
			return err
		}, own: 1, again: true},
		"a tag":     {edit: func(d *duet) error { return d.edit(ctx, "p003", func(s *freshet.Source) { s.Tags = []string{"x"} }) }, own: 1, again: true},
		"a source":  {edit: func(d *duet) error { _, err := d.daemon.AddSource(ctx, d.web.Sources()[12]); return err }, own: 1, again: true},
		"a removal": {edit: func(d *duet) error { return d.daemon.RemoveSource(ctx, "p003", false) }, own: 1, again: true},
		"a purge":   {edit: func(d *duet) error { return d.daemon.RemoveSource(ctx, "p003", true) }, own: 1, again: true},
		"a move": {edit: func(d *duet) error {
			return d.edit(ctx, "p003", func(s *freshet.Source) { s.URL = d.web.Sources()[12].URL })
		}, own: 1, again: true},
		"one that comes back": {edit: func(d *duet) error {
			if err := d.daemon.RemoveSource(ctx, "p003", false); err != nil {
				return err
			}
			_, err := d.daemon.AddSource(ctx, d.web.Sources()[3])
			return err
		}, own: 1, again: true},
		"a clock": {edit: func(d *duet) error { d.ahead.Store(int64(30 * time.Second)); return nil }, own: 3},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := manyPages(13)
				store := filled(t, dir, manyPages(12))
				defer store.Close()
				d := newDuet(t, store, w)
				time.Sleep(42 * time.Second)
				_, offers, own := d.counts()
				if offers == 0 || own != 1 {
					t.Errorf("at first the daemon took %d notes, and the standby %d", own, offers)
				}
				d.must(c.edit(d))
				time.Sleep(time.Minute)
				_, more, self := d.counts()
				if self-own < c.own || c.again && self-own > c.own {
					t.Errorf("the daemon took %d notes itself after that; want %d", self-own, c.own)
				}
				if c.again != (more > offers) {
					t.Errorf("the standby took %d notes after that", more-offers)
				}
				d.endDaemon()
				d.endWarm()
			})
		})
	}
}

// edit changes a source.
func (d *duet) edit(ctx context.Context, id freshet.SourceID, change func(*freshet.Source)) error {
	s, err := d.store.Source(ctx, id)
	if err != nil {
		return err
	}
	edited := s.Source
	change(&edited)
	edited.Revision = 0
	return d.daemon.UpdateSource(ctx, edited)
}

// What is not what the daemon would have taken down does not count, and the daemon takes it down itself.
func TestOffersAreRefused(t *testing.T) {
	for name, happens := range map[string]func(d *duet){
		"of another beginning": func(d *duet) { d.tamper = func(o *daemon.Offer) { o.From.Sum++ } },
		"no newer": func(d *duet) {
			before, _ := d.daemon.Taken()
			d.tamper = func(o *daemon.Offer) { o.Upto = before.Upto }
		},
		"ahead of the log": func(d *duet) { d.tamper = func(o *daemon.Offer) { o.Upto = d.learner.Upto() + 1 } },
		"not all sources":  func(d *duet) { d.tamper = func(o *daemon.Offer) { o.Sources-- } },
		"of other sources": func(d *duet) { d.tamper = func(o *daemon.Offer) { o.Traits++ } },
		"damaged":          func(d *duet) { d.tamper = func(o *daemon.Offer) { o.Common[5] ^= 1 } },
		"edited meanwhile": func(d *duet) {
			once := sync.OnceFunc(func() {
				d.must(d.edit(context.Background(), "p002", func(s *freshet.Source) { s.Paused = true }))
				time.Sleep(10 * time.Millisecond)
			})
			d.during = once
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, dir string) {
				w := manyPages(12)
				store := filled(t, dir, w)
				defer store.Close()
				d := newDuet(t, store, w)
				time.Sleep(30 * time.Second)
				_, offers, own := d.counts()
				if offers == 0 {
					t.Fatal("the standby took no notes")
				}
				happens(d)
				time.Sleep(10 * time.Second)
				_, _, self := d.counts()
				if self == own {
					t.Error("the daemon did not take notes itself")
				}
				if last, _ := d.daemon.Taken(); last.By != "" || !d.own[last.Upto] {
					t.Errorf("what counts is %+v, which the daemon did not take down", last)
				}
				d.endDaemon()
				d.endWarm()
			})
		})
	}
}
