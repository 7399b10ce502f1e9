package daemon

import (
	"log/slog"
	"sync"
	"time"

	"freshet/internal/freshet"
)

// A loading is how far a Sync is with the sources of the file. Sources that are
// still to be added can be removed meanwhile: then they are not added.
type loading struct {
	mu      sync.Mutex
	done    int
	of      int // zero if no sources are being taken on
	pending map[freshet.SourceID]*arrival
	log     *slog.Logger
	said    time.Time
}

// An arrival is a source that is still to be added.
type arrival struct {
	claimed bool          // it is being added just now
	done    chan struct{} // closed when it has been
}

// begin notes what is to be done, and that so many sources are as they should be.
func (l *loading) begin(steps []step, kept, listed int, log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done, l.of, l.log, l.said = kept, listed, log, time.Now()
	l.pending = map[freshet.SourceID]*arrival{}
	for _, s := range steps {
		if s.source.Revision == 0 && s.source.ID != "" {
			l.pending[s.source.ID] = &arrival{done: make(chan struct{})}
		}
	}
}

// end notes that nothing more is to be done.
func (l *loading) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done, l.of, l.pending = 0, 0, nil
}

// step notes that one more source has been dealt with, and now and then says how
// far it is.
func (l *loading) step() {
	const everySoOften = 2 * time.Second
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done = min(l.done+1, l.of)
	if now := time.Now(); now.Sub(l.said) > everySoOften {
		l.said = now
		l.log.Info("loading the sources of the configuration file", "done", l.done, "of", l.of)
	}
}

// progress returns how many sources have been taken on, of how many. Both are
// zero if none are being taken on.
func (l *loading) progress() (done, of int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done, l.of
}

// claim reports whether a source is still to be added. From then on a removal
// waits until it has been.
func (l *loading) claim(id freshet.SourceID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.pending[id]
	if id == "" || a == nil {
		return id == ""
	}
	a.claimed = true
	return true
}

// added notes that a source that was claimed has been added, or could not be.
func (l *loading) added(id freshet.SourceID, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.pending[id]
	if a == nil {
		return
	}
	close(a.done)
	if ok {
		delete(l.pending, id)
	} else {
		l.pending[id] = &arrival{done: make(chan struct{})}
	}
}

// drop keeps a source from being added, if it is still to be, and reports whether
// it did. One that is being added is waited for.
func (l *loading) drop(id freshet.SourceID) bool {
	for {
		l.mu.Lock()
		a := l.pending[id]
		if a == nil || !a.claimed {
			delete(l.pending, id)
			l.mu.Unlock()
			return a != nil
		}
		done := a.done
		l.mu.Unlock()
		<-done
	}
}
