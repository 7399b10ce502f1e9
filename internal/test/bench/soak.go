package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"freshet/client"
	"freshet/internal/sched"
)

// A Soak runs a daemon as a process of its own for long, with a stream, a
// webhook, edits and prunes beside its polls, and samples it from outside, to
// see whether anything grows.
type Soak struct {
	Plan   Plan
	Daemon []string // the command that starts one: it is given serve and --config
	Length time.Duration
	Every  time.Duration // between two samples
	Budget sched.Budget
	Report func(SoakSample) error
}

// warmUp is the share of a soak in which caches may fill up.
const warmUp = 0.25

// Run soaks until the time is over or ctx is done, and judges what there is.
func (s *Soak) Run(ctx context.Context) (_ SoakVerdict, err error) {
	origin, err := s.Plan.start(ctx)
	if err != nil {
		return SoakVerdict{}, err
	}
	defer func() { err = errors.Join(err, origin.stop()) }()
	dir, err := os.MkdirTemp(s.Plan.Dir, "freshet-soak-")
	if err != nil {
		return SoakVerdict{}, fmt.Errorf("create a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sink, err := newSoakSink()
	if err != nil {
		return SoakVerdict{}, err
	}
	defer sink.close()
	var sources []client.NewSource
	for i, url := range origin.URLs {
		sources = append(sources, client.NewSource{ID: sourceID(i), URL: url, Keep: client.Keep{Versions: soakKeep}})
	}
	settings := fmt.Appendf(s.Plan.settings(s.Budget), "webhooks: [{name: soak, url: %q, unsigned: true}]\n", sink.url())
	d, err := launch(ctx, s.Daemon, dir, settings, sources)
	if err != nil {
		return SoakVerdict{}, err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	return s.watch(ctx, d, origin.URLs, sink)
}

// watch samples the daemon while others use it.
func (s *Soak) watch(ctx context.Context, d *daemon, urls []string, sink *soakSink) (SoakVerdict, error) {
	beside, stop := context.WithCancel(ctx)
	group, beside := errgroup.WithContext(beside)
	group.Go(func() error { return sink.follow(beside, d.api) })
	group.Go(func() error { return edit(beside, d.api, urls) })
	samples, err := s.sample(ctx, d, sink)
	stop()
	if e := group.Wait(); err == nil && ctx.Err() == nil {
		err = e
	}
	return JudgeSoak(samples), err
}

// sample takes samples until the time is over.
func (s *Soak) sample(ctx context.Context, d *daemon, sink *soakSink) (samples []SoakSample, err error) {
	began := time.Now()
	var last SoakSample
	for time.Since(began) < s.Length {
		worst, err := d.wait(ctx, min(s.Every, s.Length-time.Since(began)))
		if ctx.Err() != nil {
			return samples, nil // interrupted: judge by what there is
		}
		if err != nil {
			return samples, err
		}
		now, err := d.sample(ctx)
		if err != nil {
			return samples, err
		}
		now.Seconds, now.MostLate = time.Since(began).Seconds(), worst.Seconds()
		now.Delivered, now.Streamed = sink.delivered.Load(), sink.streamed.Load()
		now.rates(last)
		samples = append(samples, now)
		last = now
		if err := s.Report(now); err != nil {
			return samples, err
		}
	}
	return samples, nil
}

// edit renames, pauses, removes, purges and adds sources, a few a second, for as
// long as ctx is not done. What each does follows from the one before.
func edit(ctx context.Context, api *client.Client, urls []string) error {
	chance := rand.New(rand.NewPCG(1, 0))
	for n := 0; ; n++ {
		if pause(ctx, 200*time.Millisecond) != nil {
			return nil
		}
		i := chance.IntN(len(urls))
		id := sourceID(i)
		name := fmt.Sprintf("page %d, edit %d", i, n)
		var err error
		switch n % 4 {
		case 0, 1:
			_, err = api.Sources.Edit(ctx, id, client.Patch{"name": name}, 0)
		case 2:
			paused := true
			if _, err = api.Sources.Edit(ctx, id, client.Patch{"paused": paused}, 0); err == nil {
				paused = false
				_, err = api.Sources.Edit(ctx, id, client.Patch{"paused": paused}, 0)
			}
		case 3:
			if err = api.Sources.Remove(ctx, id, chance.IntN(2) == 0); err == nil {
				_, err = api.Sources.Add(ctx, client.NewSource{ID: id, URL: urls[i], Keep: client.Keep{Versions: soakKeep}})
			}
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("edit %s: %w", id, err)
		}
	}
}

// soakKeep is how many versions of each source are kept, so that older ones are
// pruned all the time.
const soakKeep = 5
