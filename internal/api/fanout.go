package api

import (
	"sync"
	"time"

	"freshet/internal/freshet"
)

const (
	pageAge  = time.Second // for which a page is told as it was read
	maxPages = 64          // held at once
)

// A fanout lets streams that are at the same place share the reading and the
// encoding of what comes next: with a thousand clients on one log, a change is
// read once and not a thousand times.
//
// What follows a place in the log stays the same, so a page can be told again.
// Only an empty one cannot, because the next change fills it.
type fanout struct {
	mu    sync.Mutex
	pages map[place]*eventPage
}

// A place is where a stream goes on.
type place struct {
	at    freshet.Cursor
	which ChangeFilter
}

// An eventPage is what follows a place, encoded as server-sent events.
type eventPage struct {
	begun time.Time
	ready chan struct{} // closed when the rest is there

	events []byte
	n      int            // events
	to     freshet.Cursor // everything up to here is in them
	err    error
}

// page returns what follows a place. Of several callers at once one loads it.
func (f *fanout) page(at place, load func(*eventPage)) *eventPage {
	now := time.Now()
	f.mu.Lock()
	p := f.pages[at]
	if p != nil && now.Sub(p.begun) < pageAge {
		f.mu.Unlock()
		<-p.ready
		return p
	}
	p = &eventPage{begun: now, ready: make(chan struct{})}
	if f.pages == nil || len(f.pages) >= maxPages {
		f.pages = map[place]*eventPage{}
	}
	f.pages[at] = p
	f.mu.Unlock()

	defer f.finish(at, p) // even if loading panics, nobody waits for ever
	load(p)
	return p
}

// finish gives a page to those who wait for it, and forgets it if it is empty.
func (f *fanout) finish(at place, p *eventPage) {
	close(p.ready)
	if p.n > 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pages[at] == p {
		delete(f.pages, at)
	}
}
