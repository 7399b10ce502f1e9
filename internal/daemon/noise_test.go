package daemon_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/extract/noise"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

// A clocked page shows the time and a fee.
type clocked struct{ fee atomic.Int64 }

// Fetch implements [freshet.Fetcher].
func (c *clocked) Fetch(ctx context.Context, r freshet.Request) (freshet.Response, error) {
	if err := r.Leave(ctx, freshet.Hop{URL: r.URL}); err != nil {
		return freshet.Response{}, err
	}
	body := fmt.Sprintf("<h1>Terms</h1><p>The fee is %d EUR.<p>Last checked %s", c.fee.Load(), time.Now().UTC().Format(time.TimeOnly))
	return freshet.Response{Status: 200, URL: r.URL, Header: http.Header{}, MediaType: "text/html", Requests: 1, Body: []byte(body)}, nil
}

// With noise: auto a page with a clock is told as changed until the clock is known,
// and after that when something else changes. What was learnt survives a restart.
func TestNoisySource(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		w := &clocked{}
		run := func() *bench {
			sources := numbered(1, "https://s%d.example/terms")
			sources[0].Noise = freshet.NoiseAuto
			return begin(t, dir, daemon.Config{Fetcher: w, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Minute}}}, sources...)
		}
		changes := func(b *bench) int {
			t.Helper()
			synctest.Wait() // for a poll of this very moment
			found, err := b.store.Changes(t.Context(), freshet.ChangeQuery{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			return len(found)
		}
		b := run()
		time.Sleep(30 * time.Minute)
		learning := changes(b)
		if learning == 0 || learning > 8 {
			t.Errorf("%d changes were told while the clock was learnt, want a few", learning)
		}
		b.stop()
		b = run()
		time.Sleep(30 * time.Minute)
		if n := changes(b); n != learning {
			t.Errorf("%d changes were told when the clock was known, want none", n-learning)
		}
		w.fee.Add(1)
		time.Sleep(10 * time.Minute)
		if n := changes(b); n != learning+1 {
			t.Errorf("%d changes were told of a fee, want one", n-learning)
		}
		s, err := b.store.Source(t.Context(), "s0")
		if err != nil || s.Status.Changes != learning+1 || s.Status.Quiets.Noise < 40 || s.Status.Head.Number != learning+2+s.Status.Quiets.Noise {
			t.Errorf("the source stands as %+v (%v), want every version stored and few told", s.Status, err)
		}
		belief, err := b.store.State(t.Context(), freshet.NoiseState, "s0")
		var m noise.Memory
		if err != nil || m.UnmarshalBinary(belief.Value) != nil {
			t.Fatalf("what is known of the noise cannot be read: %v", err)
		}
		if r := m.Report(); len(r.Places) != 1 || r.Places[0].Pattern != "Last checked <time>" || r.Noise != s.Status.Quiets.Noise {
			t.Errorf("the report is %+v", r)
		}
		b.stop()
	})
}

// A source that is switched to noise: auto is spared its clock from the next poll on:
// the versions that are stored tell of it. That holds also if it was switched back and
// forth before.
func TestNoiseIsKnownWhenAutoIsSet(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		b := begin(t, dir, daemon.Config{Fetcher: &clocked{}, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Minute}}}, numbered(1, "https://s%d.example/terms")...)
		quiets := func(setting freshet.NoiseSetting) (told, quiet int) {
			t.Helper()
			before, err := b.store.Source(t.Context(), "s0")
			if err != nil {
				t.Fatal(err)
			}
			before.Noise = setting
			if _, err := b.UpdateSource(t.Context(), before.Source); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Minute)
			synctest.Wait()
			after, err := b.store.Source(t.Context(), "s0")
			if err != nil {
				t.Fatal(err)
			}
			return after.Status.Changes - before.Status.Changes, after.Status.Quiets.Noise - before.Status.Quiets.Noise
		}
		for round := range 2 {
			if told, quiet := quiets(freshet.NoiseReport); told < 19 || quiet != 0 {
				t.Errorf("round %d: with report %d changes were told and %d not, want all told", round, told, quiet)
			}
			if told, quiet := quiets(freshet.NoiseAuto); told != 0 || quiet < 19 {
				t.Errorf("round %d: with auto %d changes were told and %d not, want none told", round, told, quiet)
			}
		}
		b.stop()
	})
}
