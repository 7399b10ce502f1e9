package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/learn/imported"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
)

// An auctionHouse is a page that shows something for five minutes now and then, at times
// that no rhythm tells, beside others that change all the time.
type auctionHouse struct {
	airports
	shows  []time.Time
	limits sched.Limits
}

func newAuctionHouse(began time.Time, length time.Duration) *auctionHouse {
	h := &auctionHouse{airports: airports{}, limits: sched.Limits{Budget: sched.Budget{Polls: 20, Per: time.Hour}, Workers: 4}}
	draw := rand.New(rand.NewPCG(3, 1))
	for at := began; ; {
		at = at.Add(time.Duration(40+draw.IntN(100))*time.Minute + time.Duration(draw.IntN(60))*time.Second)
		if !at.Before(began.Add(length)) {
			break
		}
		h.shows = append(h.shows, at)
		h.airports["sale.example"] = append(h.airports["sale.example"], at, at.Add(5*time.Minute))
	}
	for i := range 11 {
		host := fmt.Sprintf("other%d.example", i)
		for at := began; at.Before(began.Add(length)); at = at.Add(time.Duration(draw.ExpFloat64() * float64(20*time.Minute))) {
			h.airports[host] = append(h.airports[host], at)
		}
	}
	return h
}

// open opens a store with all pages in it.
func (h *auctionHouse) open(t *testing.T, dir string) freshet.Store {
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, Features: features.All()})
	if err != nil {
		t.Fatal(err)
	}
	for host := range h.airports {
		if _, err := store.AddSource(t.Context(), freshet.Source{ID: freshet.SourceID(host), URL: "http://" + host + "/"}); err != nil && !errors.Is(err, freshet.ErrConflict) {
			t.Fatal(err)
		}
	}
	return store
}

// run lets a daemon poll for some time, and returns its polls of the sale.
func (h *auctionHouse) run(t *testing.T, store freshet.Store, name string, length time.Duration, do func(d *daemon.Daemon)) (polls []freshet.Outcome) {
	p, learner, err := policy.Wire(name, policy.InDaemon(name, h.limits.Budget, len(h.airports)))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	d := daemon.New(daemon.Config{Store: store, Fetcher: h, Policy: p, Learner: learner, Limits: h.limits, Observe: func(_ freshet.Source, o freshet.Outcome) {
		mu.Lock()
		defer mu.Unlock()
		if o.Source == "sale.example" {
			polls = append(polls, o)
		}
	}})
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Run(ctx); err != nil {
			t.Errorf("the daemon stopped: %v", err)
		}
	})
	<-d.Started()
	if do != nil {
		do(d)
	}
	running.Wait()
	return polls
}

// caught returns how many shows between two moments a poll has seen, and how many there
// were.
func (h *auctionHouse) caught(polls []freshet.Outcome, from, to time.Time) (caught, all int) {
	for _, at := range h.shows {
		if at.Before(from) || !at.Before(to) {
			continue
		}
		all++
		if slices.ContainsFunc(polls, func(o freshet.Outcome) bool {
			return !o.Began.Before(at) && o.Began.Before(at.Add(5*time.Minute))
		}) {
			caught++
		}
	}
	return caught, all
}

// A source of which chances are given is polled by them while they hold, through a restart
// too, and captures what it would not otherwise; then it is polled as before.
func TestGivenChances(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it simulates days of polls")
	const half, whole = 15 * time.Hour, 30 * time.Hour
	for _, name := range []string{"wic", "auto"} {
		t.Run(name, func(t *testing.T) {
			dir, plain := t.TempDir(), t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				h := newAuctionHouse(began, whole)
				store, without := h.open(t, dir), h.open(t, plain)
				defer store.Close()
				defer without.Close()
				var given imported.Forecast
				for _, at := range h.shows {
					if at.Before(began.Add(half)) {
						given.Times = append(given.Times, imported.Chance{At: at})
					}
				}
				given.Until = began.Add(half)
				var unaided []freshet.Outcome
				var beside sync.WaitGroup
				beside.Go(func() { unaided = h.run(t, without, name, whole, nil) })
				polls := h.run(t, store, name, half/3, func(d *daemon.Daemon) {
					if _, err := d.SetChances(t.Context(), "sale.example", given); err != nil {
						t.Fatal(err)
					}
				})
				polls = append(polls, h.run(t, store, name, whole-half/3, func(d *daemon.Daemon) {
					why, err := d.Why(t.Context(), "sale.example")
					if err != nil || why.Chances == nil || !why.Chances.Used || !why.Chances.Until.Equal(given.Until) {
						t.Errorf("after a restart the chances are %+v (%v)", why.Chances, err)
					}
				})...)
				beside.Wait()
				with, shows := h.caught(polls, began.Add(time.Minute), began.Add(half))
				bare, _ := h.caught(unaided, began.Add(time.Minute), began.Add(half))
				after, later := h.caught(polls, began.Add(half+time.Hour), began.Add(whole))
				bareAfter, _ := h.caught(unaided, began.Add(half+time.Hour), began.Add(whole))
				t.Logf("%d of %d with chances, %d without; then %d and %d of %d; %d polls and %d", with, shows, bare, after, bareAfter, later, len(polls), len(unaided))
				if with*4 < shows*3 || bare*2 > shows {
					t.Errorf("%d of %d shows are caught with chances, and %d without", with, shows, bare)
				}
				if after*2 > later {
					t.Errorf("when the chances are over %d of %d shows are caught, and %d by one that had none", after, later, bareAfter)
				}
			})
		})
	}
}
