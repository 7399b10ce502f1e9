package app

import (
	"context"
	"fmt"
	"time"

	"freshet/internal/daemon"
)

// A loader takes on the sources of the file while the API is served and polls are
// made.
type loader struct {
	daemon *daemon.Daemon
	cancel context.CancelFunc
	loaded chan struct{} // closed when it has ended
}

// load begins to take on the sources of the file. The channel is closed when that
// has ended. If it fails it tells so.
func (s *service) load(ctx context.Context, failed func(error)) <-chan struct{} {
	ctx, cancel := context.WithCancel(ctx)
	loaded, settings := make(chan struct{}), s.settings // a reload changes those
	s.loader = loader{daemon: s.node.Daemon, cancel: cancel, loaded: loaded}
	go func() {
		defer close(loaded)
		defer cancel()
		err := s.syncQueries(ctx, settings) // first: they are few, and hear of every change
		if err == nil {
			err = s.sync(ctx, settings)
		}
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}()
	return loaded
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
func (s *service) waitBriefly(ctx context.Context, done <-chan struct{}) bool {
	const moment = time.Second
	select {
	case <-done:
		return true
	case <-ctx.Done():
	case <-time.After(moment):
	}
	return false
}
