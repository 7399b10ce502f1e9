package delivery

import (
	"context"
	"sync"
	"time"

	"freshet/internal/freshet"
)

const (
	pageAge  = time.Second // for which a page of the log is reused as it was read
	maxPages = 64          // held at once
)

// A sharedLog lets followers that are at the same place share one read of the log: a
// thousand sinks can be woken by the same change.
//
// What follows a place stays the same, so a page can be reused, for a moment: a purge removes
// changes. An empty page is not reused, because the next change fills it.
type sharedLog struct {
	Archive
	mu    sync.Mutex
	pages map[freshet.Cursor]*logPage // by what they follow
}

// A logPage is what follows a place.
type logPage struct {
	begun   time.Time
	ready   chan struct{} // closed when the rest is there
	changes []freshet.Change
	err     error
}

// Changes implements [freshet.ChangeLog]. What it returns is not to be changed.
func (l *sharedLog) Changes(ctx context.Context, q freshet.ChangeQuery) ([]freshet.Change, error) {
	if q != (freshet.ChangeQuery{After: q.After, Limit: readLimit}) {
		return l.Archive.Changes(ctx, q)
	}
	now := time.Now()
	l.mu.Lock()
	p := l.pages[q.After]
	if p != nil && now.Sub(p.begun) < pageAge {
		l.mu.Unlock()
		<-p.ready
		if len(p.changes) == 0 && p.err == nil { // then there was nothing; now there may be
			return l.Archive.Changes(ctx, q)
		}
		return p.changes, p.err
	}
	p = &logPage{begun: now, ready: make(chan struct{})}
	if l.pages == nil || len(l.pages) >= maxPages {
		l.pages = map[freshet.Cursor]*logPage{}
	}
	l.pages[q.After] = p
	l.mu.Unlock()

	defer l.finish(q.After, p)                                          // even if reading panics, nobody waits for ever
	p.changes, p.err = l.Archive.Changes(context.WithoutCancel(ctx), q) // others wait for it, too
	return p.changes, p.err
}

// finish gives a page to those who wait for it, and forgets it if it is empty.
func (l *sharedLog) finish(after freshet.Cursor, p *logPage) {
	close(p.ready)
	if len(p.changes) > 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pages[after] == p {
		delete(l.pages, after)
	}
}
