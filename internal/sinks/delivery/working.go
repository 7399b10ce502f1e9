package delivery

import (
	"maps"
	"slices"
	"sync"

	"freshet/internal/sinks"
)

// working are the sinks that are delivered to at the moment, for whoever must not wait until they
// can be changed.
type working struct {
	mu  sync.Mutex
	all map[string]sinks.Sink
}

func (w *working) enter(s sinks.Sink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[string]sinks.Sink{}
	}
	w.all[s.Name] = s
}

func (w *working) leave(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, name)
}

// Working returns the sinks that are delivered to at the moment, in no order.
func (s *Sinks) Working() []sinks.Sink {
	s.working.mu.Lock()
	defer s.working.mu.Unlock()
	return slices.Collect(maps.Values(s.working.all))
}
