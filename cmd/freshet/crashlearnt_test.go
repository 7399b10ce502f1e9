//go:build unix

package main

import (
	"bytes"
	"context"
	"iter"
	"syscall"
	"testing"
	"time"

	"freshet"
	"freshet/live"
	"freshet/policy"
	"freshet/sched"
)

// stop stops the daemon the gentle way, so that it saves what it has learnt.
func (d *crashDaemon) stop(t *testing.T) {
	t.Helper()
	d.rig.acks.part()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-d.read
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the daemon did not stop gently: %v\n%s", err, d.log.String())
	}
	d.rig.stops++
}

// A blankStore has lost all beliefs.
type blankStore struct{ freshet.Store }

func (blankStore) Beliefs(context.Context, string) iter.Seq2[freshet.Belief, error] {
	return func(func(freshet.Belief, error) bool) {}
}

// checkLearnt holds what the daemon would take up at its next start against
// what the log of outcomes alone teaches.
func (c *crashChecks) checkLearnt(t *testing.T) {
	copies := 0
	for _, name := range []string{"learn", "learn-2"} {
		for _, err := range c.store.Beliefs(t.Context(), name) {
			if err != nil {
				t.Fatal(err)
			}
			copies++
			break
		}
	}
	kept, anew := c.learnt(t, c.store), c.learnt(t, blankStore{c.store})
	if !bytes.Equal(kept, anew) || len(kept) == 0 {
		t.Errorf("what was learnt and kept (%d bytes in %d copies) is not what the log teaches (%d bytes)", len(kept), copies, len(anew))
	}
	if c.stops > 1 && copies < 2 {
		t.Errorf("there are %d copies of what was learnt after %d gentle stops, want 2", copies, c.stops)
	}
}

// learnt returns what a daemon thinks that starts on a store and stops before
// its first poll. It is set as those of the campaign were.
func (c *crashChecks) learnt(t *testing.T, store freshet.Store) (bits []byte) {
	chosen, learner, err := policy.Wire("auto", policy.InDaemon("auto", crashBudget, len(c.web.Pages())))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	d := live.New(live.Config{Store: store, Policy: chosen, Learner: learner, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: 24 * time.Hour}}})
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	<-d.Started()
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	err = learner.Save(func(_ freshet.Slot, memory []byte) error {
		bits = append(bits, memory...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bits
}
