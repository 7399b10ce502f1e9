package daemon_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
)

// A push has the source polled at once, and the log says so. Pushes that bring no change
// lose that, and get it back when they are true again; until then the next poll tells.
// What became of them is known from the log, after a restart too.
func TestPush(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &shown{bodies: map[string]string{}}
		run := func() *bench {
			b := begin(t, dir, daemon.Config{Fetcher: w, Limits: byHand, Policy: &idle{}}, watchedPages("a")...)
			time.Sleep(time.Second)
			return b
		}
		b := run()
		last := func() freshet.Outcome {
			t.Helper()
			synctest.Wait()
			found, err := b.store.Outcomes(t.Context(), freshet.OutcomeQuery{Source: "a", Newest: true, Limit: 1})
			if err != nil || len(found) == 0 {
				t.Fatalf("the log has %v (%v)", found, err)
			}
			return found[0]
		}
		b.polled(t, "a")
		edition := 0
		push := func(change, polled bool) {
			t.Helper()
			if change {
				edition++
				w.show("a", fmt.Sprint(edition))
			}
			time.Sleep(time.Minute)
			before, at := last(), time.Now()
			if err := b.Push(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			o := last()
			if got := o.Cursor > before.Cursor; got != polled {
				t.Errorf("a push at %v leads to a poll: %v, want %v", at, got, polled)
			}
			if polled {
				if o.Cause != freshet.ByPush || !o.Pushed.Equal(at) || (o.Result == freshet.Changed) != change {
					t.Errorf("the poll after a push at %v is %+v", at, o)
				}
				return
			}
			why, err := b.Why(t.Context(), "a")
			if err != nil || !why.Hold.Pushed.Equal(at) || why.Hold.Asked {
				t.Errorf("why says %+v (%v)", why.Hold, err)
			}
			b.polled(t, "a")
			if o = last(); o.Cause != freshet.ByHand || !o.Pushed.Equal(at) {
				t.Errorf("the next poll after a push at %v is %+v", at, o)
			}
		}
		for range 5 {
			push(false, true)
		}
		push(false, false)
		b.stop()
		b = run()
		push(false, false)
		push(true, false)
		push(true, true)
		if why, err := b.Why(t.Context(), "a"); err != nil || !why.Hold.Pushed.IsZero() {
			t.Errorf("when the page was seen, why says %+v (%v)", why.Hold, err)
		}
		b.stop()
	})
}
