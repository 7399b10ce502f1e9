package app

import (
	"context"

	"freshet/internal/app/config"
	"freshet/internal/freshet"
)

// wait returns when ctx is done. Until then it reloads when it is asked to, by
// a signal or over the API. It returns before if what was to be done once is done.
func (s *service) wait(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			s.Log.Info("stopping; running polls can finish")
			return
		case <-s.Once:
			if err := s.node.Daemon.Prune(ctx); err != nil && ctx.Err() == nil {
				s.Log.Error("prune", "err", err)
			}
			return
		case <-s.Hangups:
			if err := s.reload(ctx); err != nil {
				s.Log.Error("reload failed; nothing has changed", "err", err, "hint", freshet.HintOf(err))
			}
		case ask := <-s.asks:
			ask.answer <- ask.do(ctx)
		}
	}
}

// An ask is a function to run between two reloads.
type ask struct {
	do     func(context.Context) error
	answer chan<- error
}

// between runs a function between two reloads, and returns its error.
func (s *service) between(ctx context.Context, do func(context.Context) error) error {
	answer := make(chan error, 1)
	select {
	case s.asks <- ask{do, answer}:
		return <-answer
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// apply applies the settings that can change while polls go on.
func (s *service) apply(to config.Settings) {
	s.node.limits.set(s.node.Daemon, fitFiles(to, openFiles()).Limits)
	s.node.Daemon.SetLevels(to.Wanted())
	s.node.Daemon.SetStrategies(to.Strategies)
	s.node.Daemon.SetKeep(to.Retention.Keep, to.Retention.Logs)
	if s.Reloaded != nil {
		s.Reloaded(s.settings, to)
	}
	s.settings = to
	s.inForce.Store(&to)
}

// reload takes on the settings again. If anything is wrong with them all stays
// as it was.
func (s *service) reload(ctx context.Context) error {
	to, err := s.Load()
	if err == nil {
		to, err = s.withSaved(ctx, to)
	}
	if err != nil {
		return err
	}
	to.Fetch.Self = s.settings.Fetch.Self
	to.Data = s.settings.Data
	open := outlets(s.node.sendsBy(to), s.Now)
	if err := checkSinks(to.AllSinks(), open); err != nil {
		return err
	}
	s.node.access.SetProfiles(to.Requests)
	s.loader.stop() // this list counts now
	if err := s.node.syncSources(ctx, to); err != nil {
		return err
	}
	if err := s.sinks.Reload(ctx, to.AllSinks(), open); err != nil {
		return err
	}
	// After the sinks, which are owed by now what the queries that go have told.
	if err := s.node.syncQueries(ctx, to); err != nil {
		return err
	}
	s.apply(to)
	s.Log.Info("settings reloaded", "budget", to.Limits.Budget.String(), "sources", len(to.Sources))
	return nil
}
