package app

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/daemon"
	"freshet/internal/queries"
)

// A loader loads the sources of the configuration file in the background.
type loader struct {
	daemon *daemon.Daemon
	cancel context.CancelFunc
	loaded chan struct{} // closed at the end
}

// startLoader starts to load the queries and sources of the file. It calls failed with any error.
func startLoader(ctx context.Context, n *Node, settings config.Settings, failed func(error)) *loader {
	ctx, cancel := context.WithCancel(ctx)
	l := &loader{daemon: n.Daemon, cancel: cancel, loaded: make(chan struct{})}
	go func() {
		defer close(l.loaded)
		defer cancel()
		err := n.syncQueries(ctx, settings) // first: they are few and must see every change
		if err == nil {
			err = n.syncSources(ctx, settings)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}()
	return l
}

// stop cancels the loading and waits for its end.
func (l *loader) stop() {
	l.cancel()
	<-l.loaded
}

// ready returns an error with the progress while the loading goes on.
func (l *loader) ready() error {
	select {
	case <-l.loaded:
		return nil
	default:
	}
	st := l.daemon.Status()
	if st.Listed == 0 {
		return fmt.Errorf("loading sources")
	}
	return fmt.Errorf("loading sources: %d of %d", st.Loaded, st.Listed)
}

// waitBriefly waits at most a second for done, and reports whether it is closed.
func waitBriefly(ctx context.Context, done <-chan struct{}) bool {
	const moment = time.Second
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-time.After(moment):
	}
	return false
}

// syncSources replaces the sources of the file in the store. Without a file it does nothing.
func (n *Node) syncSources(ctx context.Context, to config.Settings) error {
	if to.File == "" {
		return nil
	}
	done, err := n.Daemon.Sync(ctx, to.Sources)
	if err != nil {
		return fmt.Errorf("load the sources of %s: %w", to.File, err)
	}
	n.log.Info("sources of the configuration file loaded", "file", to.File, "added", done.Added, "changed", done.Changed, "removed", done.Removed, "kept", done.Kept)
	return nil
}

// syncQueries replaces the queries of the file in the store. Without a file it does nothing.
func (n *Node) syncQueries(ctx context.Context, to config.Settings) error {
	if to.File == "" || n.queries == nil {
		return nil
	}
	done, err := n.queries.Sync(ctx, to.Queries)
	if err != nil {
		return fmt.Errorf("load the queries of %s: %w", to.File, err)
	}
	for _, doubt := range to.Doubts {
		n.log.Warn("suspicious setting in the configuration file", "file", to.File, "doubt", doubt)
	}
	n.Daemon.QueriesEdited()
	if done != (queries.Synced{}) {
		n.log.Info("queries of the configuration file loaded", "file", to.File, "added", done.Added, "changed", done.Changed, "removed", done.Removed, "kept", done.Kept)
	}
	return nil
}
