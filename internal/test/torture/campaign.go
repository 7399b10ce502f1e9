//go:build unix

package torture

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// A Config says what a campaign does. Freshet and Inside are needed.
type Config struct {
	Seed     uint64        // of the first episode; the next has the next
	For      time.Duration // begin no episode, and no round, after so long; zero means no such end
	Faults   int           // the same after so many faults
	Episodes int           // the same after so many episodes
	Rounds   int           // of an episode; zero means 30
	Workers  int           // episodes at once; zero means 1
	Only     []Kind        // kinds of faults; none means all

	Dir     string   // where data goes; "" means the system's place for such things
	Freshet []string // the shipped program
	Inside  []string // a program that calls [Inside]

	Progress func(string) // prints progress; may be nil
}

// Run runs a campaign until one of its ends is reached or ctx is done. The
// report says what was broken and whether every promise held; the error is only
// of the campaign itself.
func Run(ctx context.Context, c Config) (*Report, error) {
	if c.Rounds == 0 {
		c.Rounds = 30
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	r := newReport(c)
	dir, err := os.MkdirTemp(c.Dir, "freshet-torture-")
	if err != nil {
		return r, fmt.Errorf("make a place to work: %w", err)
	}
	defer os.RemoveAll(dir)
	campaign := &campaign{Config: c, report: r, dir: dir, began: time.Now()}
	var running sync.WaitGroup
	errs := make(chan error, max(c.Workers, 1))
	for range max(c.Workers, 1) {
		running.Go(func() { errs <- campaign.work(ctx) })
	}
	running.Wait()
	close(errs)
	for e := range errs {
		if err == nil {
			err = e
		}
	}
	r.took(time.Since(campaign.began))
	return r, err
}

// A campaign is one run of Run.
type campaign struct {
	Config
	report *Report
	dir    string
	began  time.Time

	mu     sync.Mutex
	number int // episodes begun
}

// work runs one episode after another.
func (c *campaign) work(ctx context.Context) error {
	for {
		seed, ok := c.next(ctx)
		if !ok {
			return nil
		}
		e, err := newEpisode(ctx, c, seed, filepath.Join(c.dir, fmt.Sprint(seed)))
		if err != nil {
			return fmt.Errorf("prepare the episode of seed %d: %w", seed, err)
		}
		e.run(ctx)
		if err := e.close(); err != nil {
			return fmt.Errorf("end the episode of seed %d: %w", seed, err)
		}
		c.report.episode(e)
		c.Progress(c.report.line(time.Since(c.began)))
	}
}

// next returns the seed of the next episode, if there is to be one.
func (c *campaign) next(ctx context.Context) (seed uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over(ctx) || c.Episodes > 0 && c.number >= c.Episodes {
		return 0, false
	}
	c.number++
	return c.Seed + uint64(c.number) - 1, true
}

// over reports whether an end of the campaign is reached.
func (c *campaign) over(ctx context.Context) bool {
	return ctx.Err() != nil || c.For > 0 && time.Since(c.began) >= c.For || c.Faults > 0 && c.report.count() >= c.Faults
}
