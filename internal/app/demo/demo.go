package demo

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/lab/synth"
	"freshet/internal/sched"
)

// A Demo is a daemon that watches a web whose truth is known, under a tight
// budget. Its data is gone when it ends.
type Demo struct {
	Settings config.Settings
	Seed     uint64    // of the web
	Started  time.Time // when all of it began
	Extract  []string  // as in app.Config
}

// Age is how long the web has been there when the demo begins, so that its pages
// are in the midst of their rhythms.
const Age = time.Minute

// loopback is where the synthetic webs live.
var loopback = netip.MustParsePrefix("127.0.0.0/8")

// Run starts a web and a daemon that watches it. When every page has been looked
// at once it sets the limits of the demo and calls show. The context running is
// done when what runs beside show ends. That is after show, so that an
// interrupted demo still can say how it ended.
func (d *Demo) Run(ctx context.Context, show func(ctx, running context.Context, s *Stage) error) (err error) {
	s := d.Settings
	if s.Data, err = os.MkdirTemp("", "freshet-demo-"); err != nil {
		return fmt.Errorf("create a temporary directory: %w", err)
	}
	defer os.RemoveAll(s.Data)
	s.Fetch.Allow = []netip.Prefix{loopback}
	s.Limits.Hosts.Delay = 200 * time.Millisecond
	s.Limits.SourceGap, s.Limits.SourceShare, s.Limits.Hosts.Share = 0, 0, 0 // its pages are ours, and live fast
	limits := s.Limits
	s.Limits.Budget = haste

	w := synth.Demo(d.Seed, d.Started.Add(-Age))
	server, err := w.Listen(ctx)
	if err != nil {
		return err
	}
	n, err := app.Open(ctx, app.Config{Settings: s, Extract: d.Extract, Budget: limits.Budget, Expect: len(w.Pages())})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for _, s := range server.Sources() {
		if _, err := n.Store.AddSource(ctx, s); err != nil {
			return err
		}
	}
	group, failing := errgroup.WithContext(context.WithoutCancel(ctx))
	running, stop := context.WithCancel(failing)
	group.Go(func() error { return server.Run(running) })
	group.Go(func() error { return n.Daemon.Run(running) })
	group.Go(func() error {
		defer stop()
		if !firstLook(ctx, running, n, len(w.Pages())) {
			return nil
		}
		n.Daemon.SetLimits(limits)
		return show(ctx, running, New(n.Store, w, s.Policy, limits, d.Started, len(w.Requests())))
	})
	return group.Wait()
}

// haste is the budget of the first look at all pages. What has been spent stays
// spent, but only for as long as the budget says: one of many short stretches
// leaves next to nothing to the first minute of the demo.
var haste = sched.Budget{Polls: 6, Per: 50 * time.Millisecond, Instant: 50 * time.Millisecond}

// firstLook waits until every page has been looked at once, and reports whether
// that came to be.
func firstLook(ctx, running context.Context, n *app.Node, pages int) bool {
	for n.Daemon.Status().Polls < int64(pages) {
		select {
		case <-ctx.Done():
			return false
		case <-running.Done():
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return true
}
