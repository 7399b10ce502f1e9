//go:build unix

package torture

import (
	"context"
	"path/filepath"
	"time"

	"freshet/internal/freshet"
)

// A backup is a copy of the data, and what was known when it was made.
type backup struct {
	dir       string
	chronicle *chronicle
	guests    map[freshet.SourceID]guest
}

// restore makes a copy of the data the first time, and the next time puts it
// back. What was told in between is gone with good reason, but none of its ids
// may come again for something else.
func (e *episode) restore(ctx context.Context) bool {
	if e.backup == nil {
		return e.makeBackup(ctx)
	}
	e.term()
	if err := copyData(e.backup.dir, e.settings.data); err != nil {
		e.violate("campaign", "%v", err)
		return false
	}
	e.checkTraffic()
	e.hidden = append(e.hidden, time.Now())
	e.editor.mu.Lock()
	e.chronicle.restore(e.backup.chronicle)
	for id, g := range e.backup.guests {
		g.changed = time.Now()
		e.editor.guests[id] = &g
	}
	e.receivers[2].forget()
	e.goneBy = time.Time{}
	e.editor.mu.Unlock()
	e.backup = nil
	return true
}

// makeBackup copies the data of a daemon that has ended.
func (e *episode) makeBackup(ctx context.Context) bool {
	e.check(ctx)
	if e.chance.IntN(2) == 0 {
		e.term()
	} else {
		e.kill()
	}
	b := &backup{dir: filepath.Join(e.dir, "backup"), guests: map[freshet.SourceID]guest{}}
	if err := copyData(e.settings.data, b.dir); err != nil {
		e.violate("campaign", "%v", err)
		return false
	}
	b.chronicle = e.chronicle.copy()
	for id, g := range e.editor.guests {
		b.guests[id] = *g
	}
	e.backup = b
	return true
}
