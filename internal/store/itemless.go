package store

import (
	"sync"

	"freshet/internal/freshet"
)

// An itemless is which sources are known to have no belief about their items. Most have
// none, and are asked for it with every change; a query would take as long as all that is
// written for the change.
type itemless struct {
	mu      sync.Mutex
	of      map[freshet.SourceID]bool
	written int // how often beliefs about items were committed
}

// mostItemless bounds how many sources are known.
const mostItemless = 100_000

// has reports whether a source is known to have none, and when it was asked.
func (i *itemless) has(id freshet.SourceID) (known bool, when int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.of[id], i.written
}

// add notes that a source has none, unless one was written since it was asked for.
func (i *itemless) add(id freshet.SourceID, when int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.written != when {
		return
	}
	if i.of == nil || len(i.of) >= mostItemless {
		i.of = map[freshet.SourceID]bool{}
	}
	i.of[id] = true
}

// remove notes that beliefs about the items of sources were committed.
func (i *itemless) remove(ids []freshet.SourceID) {
	if len(ids) == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.written++
	for _, id := range ids {
		delete(i.of, id)
	}
}
