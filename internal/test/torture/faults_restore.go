//go:build unix

package torture

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	archive "freshet/internal/backup"
	"freshet/internal/features"
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
	if err := putBack(ctx, e.backup.dir, e.settings.data); err != nil {
		e.violate("restore", "%v", err)
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
	if err := backUp(ctx, e.settings.data, b.dir); err != nil {
		e.violate("restore", "%v", err)
		return false
	}
	b.chronicle = e.chronicle.copy()
	for id, g := range e.editor.guests {
		b.guests[id] = *g
	}
	e.backup = b
	return true
}

// backUp makes a backup as freshet backup does, and checks it as freshet backup --verify does.
func backUp(ctx context.Context, data, dir string) (err error) {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	r, err := archive.OpenRepository(dir, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if _, _, err = r.Backup(ctx, &archive.Source{Data: data, Features: features.All(), Now: time.Now}); err != nil {
		return err
	}
	_, err = r.Verify(ctx)
	return err
}

// putBack restores a backup as freshet backup restore does.
func putBack(ctx context.Context, dir, data string) (err error) {
	r, err := archive.OpenRepository(dir, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	into := archive.Restore{Data: data, Replace: true, Features: features.All(), Now: time.Now}
	done, err := into.FromRepository(ctx, r, "")
	if err != nil || done.Kept == "" {
		return err
	}
	return os.RemoveAll(done.Kept)
}
