package app

import (
	"context"
	"fmt"

	"freshet/internal/app/config"
	"freshet/internal/freshet"
	"freshet/internal/queries"
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

// askReload has the settings reloaded and returns what is wrong with them.
func (s *service) askReload(ctx context.Context) error { return s.between(ctx, s.reload) }

// apply applies the settings that can change while polls go on.
func (s *service) apply(to config.Settings) {
	s.node.limits.set(s.node.Daemon, fitFiles(to, openFiles()).Limits)
	s.node.Daemon.SetLevels(to.Wanted())
	s.node.Daemon.SetStrategies(to.Strategies)
	s.node.Daemon.SetKeep(to.Keep, to.Logs)
	if s.Reloaded != nil {
		s.Reloaded(s.settings, to)
	}
	s.settings = to
	s.inForce.Store(&to)
}

// sync makes the sources of the file those of the store. Without a file it
// leaves them as they are.
func (s *service) sync(ctx context.Context, to config.Settings) error {
	if to.File == "" {
		return nil
	}
	done, err := s.node.Daemon.Sync(ctx, to.Sources)
	if err != nil {
		return fmt.Errorf("load the sources of %s: %w", to.File, err)
	}
	s.Log.Info("sources of the configuration file loaded", "file", to.File, "added", done.Added, "changed", done.Changed, "removed", done.Removed, "kept", done.Kept)
	return nil
}

// syncQueries makes the queries of the file those of the store, as sync does with sources.
func (s *service) syncQueries(ctx context.Context, to config.Settings) error {
	if to.File == "" || s.node.queries == nil {
		return nil
	}
	done, err := s.node.queries.Sync(ctx, to.Queries)
	if err != nil {
		return fmt.Errorf("load the queries of %s: %w", to.File, err)
	}
	for _, doubt := range to.Doubts {
		s.Log.Warn("the configuration file probably says what is not meant", "file", to.File, "doubt", doubt)
	}
	s.node.Daemon.QueriesEdited()
	if done != (queries.Synced{}) {
		s.Log.Info("queries of the configuration file loaded", "file", to.File, "added", done.Added, "changed", done.Changed, "removed", done.Removed, "kept", done.Kept)
	}
	return nil
}

// reload takes on the settings anew. If anything is wrong with them all stays
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
	if err := s.sync(ctx, to); err != nil {
		return err
	}
	if err := s.sinks.Reload(ctx, to.AllSinks(), open); err != nil {
		return err
	}
	// After the sinks, which are owed by now what the queries that go have told.
	if err := s.syncQueries(ctx, to); err != nil {
		return err
	}
	s.apply(to)
	s.Log.Info("settings reloaded", "budget", to.Limits.Budget.String(), "sources", len(to.Sources))
	return nil
}
