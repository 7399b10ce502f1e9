package app

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/daemon"
	"freshet/internal/queries"
)

// A loader loads the sources of the file while the API is served and polls are made.
type loader struct {
	daemon *daemon.Daemon
	cancel context.CancelFunc
	loaded chan struct{} // closed when it has ended
}

// startLoader begins to load the queries and sources of the file. If that fails it calls
// failed.
func startLoader(ctx context.Context, n *Node, settings config.Settings, failed func(error)) *loader {
	ctx, cancel := context.WithCancel(ctx)
	l := &loader{daemon: n.Daemon, cancel: cancel, loaded: make(chan struct{})}
	go func() {
		defer close(l.loaded)
		defer cancel()
		err := n.syncQueries(ctx, settings) // first: they are few, and see every change
		if err == nil {
			err = n.syncSources(ctx, settings)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}()
	return l
}

// stop ends the loading, if it has not ended yet.
func (l *loader) stop() {
	l.cancel()
	<-l.loaded
}

// ready returns how far the loading is, if it has not ended yet.
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

// waitBriefly waits a moment for something to be done, and reports whether it is.
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

// syncSources makes the sources of the file those of the store. Without a file it
// leaves them as they are.
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

// syncQueries makes the queries of the file those of the store, as syncSources does with sources.
func (n *Node) syncQueries(ctx context.Context, to config.Settings) error {
	if to.File == "" || n.queries == nil {
		return nil
	}
	done, err := n.queries.Sync(ctx, to.Queries)
	if err != nil {
		return fmt.Errorf("load the queries of %s: %w", to.File, err)
	}
	for _, doubt := range to.Doubts {
		n.log.Warn("the configuration file probably says what is not meant", "file", to.File, "doubt", doubt)
	}
	n.Daemon.QueriesEdited()
	if done != (queries.Synced{}) {
		n.log.Info("queries of the configuration file loaded", "file", to.File, "added", done.Added, "changed", done.Changed, "removed", done.Removed, "kept", done.Kept)
	}
	return nil
}
