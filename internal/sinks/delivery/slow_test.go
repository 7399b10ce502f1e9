package delivery_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

// Where rendering takes long, each message is sent before the next is made, and what is not relevant
// is passed over, also after a restart.
func TestFollowerOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		made := map[freshet.SourceID]int{}
		slow := func(c *delivery.FollowerConfig) {
			c.OneByOne = true
			c.Render = func(ctx context.Context, c freshet.Change) ([]byte, error) {
				time.Sleep(10 * time.Second)
				if made[c.Source]++; c.Seq == 2 {
					return nil, sinks.ErrIrrelevant
				}
				return render(ctx, c)
			}
		}
		stop := r.follow(slow)
		if err := stop(); err != nil { // so that it finds all of them at once
			t.Error(err)
		}
		first := r.capture(page)
		r.capture(page)
		other := r.captureNew()
		third := r.capture(page)
		began := time.Now()
		stop = r.follow(slow)
		time.Sleep(15 * time.Second)
		if got := r.accepted(); len(got) != 1 || got[0] != first.ID() {
			t.Errorf("when the second message is being made, the sink has %v", got)
		}
		time.Sleep(time.Minute)
		if err := stop(); err != nil {
			t.Error(err)
		}
		got := r.accepted()
		if len(got) != 3 || got[1] != other.ID() || got[2] != third.ID() {
			t.Errorf("the sink has %v after %v", got, time.Since(began))
		}
		r.owes(0, 0)
		stop = r.follow(slow)
		time.Sleep(time.Hour)
		if err := stop(); err != nil || made[page] != 3 {
			t.Errorf("after a restart, messages have been made of %d changes of the page, want 3: %v", made[page], err)
		}
		r.close()
	})
}
