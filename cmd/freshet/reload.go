package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"freshet"
)

// wait returns when ctx is done. Until then it reloads when it is asked to, by
// a signal or over the API.
func (s *serving) wait(ctx context.Context) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-ctx.Done():
			s.log.Info("stopping: polls under way may finish")
			return
		case <-hup:
			if err := s.reload(ctx); err != nil {
				s.log.Error("nothing was reloaded", "err", err, "hint", freshet.HintOf(err))
			}
		case answer := <-s.asks:
			answer <- s.reload(ctx)
		}
	}
}

// askReload has the settings reloaded and returns what is wrong with them.
func (s *serving) askReload(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case s.asks <- answer:
		return <-answer
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sync makes the sources of the file those of the store. Without a file it
// leaves them as they are.
func (s *serving) sync(ctx context.Context, to settings) error {
	if to.file == "" {
		return nil
	}
	done, err := s.node.daemon.Sync(ctx, to.sources)
	if err != nil {
		return fmt.Errorf("take on the sources of %s: %w", to.file, err)
	}
	s.log.Info("sources of the file taken on", "file", to.file, "added", done.Added, "changed", done.Changed, "removed", done.Removed, "kept", done.Kept)
	return nil
}

// reload takes on the settings anew. If anything is wrong with them all stays
// as it was.
func (s *serving) reload(ctx context.Context) error {
	to, err := s.again()
	if err != nil {
		return err
	}
	to.fetch.Self = s.now.fetch.Self
	if err := s.receivers.check(to.webhooks); err != nil {
		return err
	}
	if err := s.sync(ctx, to); err != nil {
		return err
	}
	if err := s.receivers.replace(ctx, to.webhooks); err != nil {
		return err
	}
	s.node.daemon.SetLimits(to.limits)
	s.node.daemon.SetLevels(to.levels)
	s.level.Set(levelOf(to.logLevel))
	if later := s.now.needRestart(to); len(later) > 0 {
		s.log.Warn("some settings have changed that only a restart takes on", "settings", later)
	}
	s.now = to
	s.log.Info("settings reloaded", "budget", to.limits.Budget.String(), "sources", len(to.sources))
	return nil
}

// needRestart returns the options that differ in to and are read only at the
// start.
func (s settings) needRestart(to settings) (keys []string) {
	for _, o := range options {
		if !o.live && fmt.Sprint(o.show(s)) != fmt.Sprint(o.show(to)) {
			keys = append(keys, o.key)
		}
	}
	return keys
}
