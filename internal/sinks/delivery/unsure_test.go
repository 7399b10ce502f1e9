package delivery_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

// What a node does not send because another may decide by now is no attempt: it is sent in a moment,
// and the receiver does not count as failing.
func TestUnsureNodeMakesNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.close()
		began := time.Now()
		r.answers(func(client.Event) error {
			if time.Since(began) < 10*time.Second {
				return fmt.Errorf("post: %w", &freshet.FetchError{Class: failure.LocalHand, Err: errors.New("not sent")})
			}
			return nil
		})
		stop := r.follow(nil)
		r.capture(page)
		time.Sleep(9500 * time.Millisecond)
		debts, _, err := r.store.DueDeliveries(t.Context(), "sink", time.Now().Add(time.Hour), 10)
		if err != nil || len(debts) != 1 || debts[0].Attempts != 0 || debts[0].Err != "" {
			t.Errorf("%+v is owed: %v", debts, err)
		}
		time.Sleep(2 * time.Second)
		if got := r.accepted(); len(got) != 1 {
			t.Errorf("%v was accepted", got)
		}
		if n := len(r.sendings()); n < 5 || n > 12 {
			t.Errorf("it was tried %d times in 10 s", n)
		}
		stop()
	})
}
