package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"freshet/internal/filelock"
	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/sqlite"
)

const (
	stagePrefix = "restoring-" // of the directory that a backup is read to
	keptPrefix  = "replaced-"  // of the directory with the files that a restore has replaced
)

// A Restore puts a backup back.
type Restore struct {
	Data     string // the data directory
	Replace  bool   // files that are there are moved away
	Features []store.Feature
	Now      func() time.Time
	Say      func(sqlite.Progress) // while the data is checked; may be nil
}

// A Restored is what was restored.
type Restored struct {
	Manifest
	Rows, Bodies int64  // that were checked
	Kept         string // the directory with what was there before; "" if nothing was
}

// FromRepository restores a backup of a directory; "" names the newest.
func (r *Restore) FromRepository(ctx context.Context, from *Repository, name string) (Restored, error) {
	_, m, err := from.Manifest(name)
	if err != nil {
		return Restored{}, err
	}
	return r.run(ctx, func(dir string) (Manifest, error) { return m, from.extractAll(ctx, m, dir) })
}

// FromArchive restores a backup that is one file.
func (r *Restore) FromArchive(ctx context.Context, from io.Reader) (Restored, error) {
	return r.run(ctx, func(dir string) (Manifest, error) { return extractArchive(ctx, from, dir) })
}

// extractArchive writes the files of an archive to a directory.
func extractArchive(ctx context.Context, from io.Reader, dir string) (Manifest, error) {
	return readArchive(ctx, from, func(name string, content io.Reader) error {
		return create(filepath.Join(dir, filepath.FromSlash(name)), func(to io.Writer) error {
			_, err := io.Copy(to, content)
			return err
		})
	})
}

// extractAll writes the files of a backup to a directory.
func (r *Repository) extractAll(ctx context.Context, m Manifest, dir string) error {
	for _, f := range m.Files {
		if err := r.extract(ctx, f, filepath.Join(dir, filepath.FromSlash(f.Name))); err != nil {
			return err
		}
	}
	return nil
}

// extract writes a file of a backup.
func (r *Repository) extract(ctx context.Context, f File, path string) error {
	return create(path, func(to io.Writer) error {
		sum, size := sha256.New(), int64(0)
		for _, chunk := range f.Chunks {
			if err := ctx.Err(); err != nil {
				return err
			}
			part, err := r.chunk(chunk)
			if err != nil {
				return err
			}
			sum.Write(part) // never fails
			size += int64(len(part))
			if _, err := to.Write(part); err != nil {
				return err
			}
		}
		if size != f.Size || hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
			return fmt.Errorf("%w: %s is not what was written", errDamaged, f.Name)
		}
		return nil
	})
}

// create writes a file that must not be there, and makes it safe.
func create(path string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	return errors.Join(err, f.Sync(), f.Close())
}

// run reads a backup beside the data, checks all of it, and puts it in place. Until then nothing of the data is touched.
func (r *Restore) run(ctx context.Context, read func(dir string) (Manifest, error)) (done Restored, err error) {
	if err := os.MkdirAll(r.Data, 0o700); err != nil {
		return done, err
	}
	lock, err := os.OpenFile(filepath.Join(r.Data, "freshet.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	ours, err := filelock.Try(lock)
	switch {
	case err != nil:
		return done, err
	case !ours:
		return done, freshet.WithHint(fmt.Errorf("data directory %s: %w", r.Data, freshet.ErrBusy), "stop the daemon, and start it again after the restore")
	}
	if _, err := os.Stat(filepath.Join(r.Data, sqlite.FileName)); err == nil && !r.Replace {
		return done, freshet.WithHint(fmt.Errorf("%s has data: %w", r.Data, freshet.ErrConflict), "restore into a new directory, or add --replace: what is there is kept in a directory beside it")
	}
	stage, err := os.MkdirTemp(r.Data, stagePrefix)
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(stage)) }()
	if done.Manifest, err = read(stage); err != nil {
		return done, err
	}
	if done.Rows, done.Bodies, err = check(ctx, stage, r.Features, r.Say); err != nil {
		return done, err
	}
	done.Kept, err = r.replace(stage, done.Files)
	return done, err
}

// check verifies everything in the database of a directory, if there is one.
func check(ctx context.Context, dir string, features []store.Feature, say func(sqlite.Progress)) (rows, bodies int64, err error) {
	if _, err := os.Stat(filepath.Join(dir, sqlite.FileName)); errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if say == nil {
		say = func(sqlite.Progress) {}
	}
	report, err := sqlite.Verify(ctx, sqlite.Config{Dir: dir, Features: features}, say)
	if n := len(report.Damages) + report.More; err == nil && n > 0 {
		err = fmt.Errorf("%w: %d problems found, such as: %s", errDamaged, n, report.Damages[0].What)
	}
	for _, made := range []string{"-wal", "-shm"} {
		err = errors.Join(err, removed(filepath.Join(dir, sqlite.FileName+made)))
	}
	return int64(report.Rows), int64(report.Bodies), err
}

// replace moves the files of a checked backup into the data directory. The old files are kept in a directory. The
// database comes last, in one step: until then the old one is there, and its log is kept with its copy.
func (r *Restore) replace(stage string, files []File) (kept string, err error) {
	aside := filepath.Join(r.Data, keptPrefix+r.Now().UTC().Format(timeFormat))
	names := []string{sqlite.FileName + "-wal", sqlite.FileName + "-shm", "search.db", "search.db-wal", "search.db-shm"}
	for _, f := range files {
		names = append(names, filepath.FromSlash(f.Name))
	}
	for _, name := range slices.Compact(names) {
		old := filepath.Join(r.Data, name)
		if _, err := os.Stat(old); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		kept = aside
		if err := os.MkdirAll(filepath.Dir(filepath.Join(aside, name)), 0o700); err != nil {
			return kept, err
		}
		if err := os.Link(old, filepath.Join(aside, name)); err != nil {
			if err := os.Rename(old, filepath.Join(aside, name)); err != nil { // a file system without links
				return kept, err
			}
		}
	}
	if kept != "" {
		if err := syncDir(aside); err != nil {
			return kept, err
		}
	}
	for _, name := range names[:5] {
		if err := removed(filepath.Join(r.Data, name)); err != nil {
			return kept, err
		}
	}
	for _, f := range files {
		name := filepath.FromSlash(f.Name)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(r.Data, name)), 0o700); err != nil {
			return kept, err
		}
		if err := os.Rename(filepath.Join(stage, name), filepath.Join(r.Data, name)); err != nil {
			return kept, err
		}
	}
	return kept, syncDir(r.Data)
}

// removed deletes a file that may not be there.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Drill reads the newest backup of a directory to a temporary one, checks everything in it, and deletes it.
func (r *Repository) Drill(ctx context.Context, features []store.Feature, say func(sqlite.Progress)) (done Restored, err error) {
	_, m, err := r.Manifest("")
	if err != nil {
		return done, err
	}
	return drill(ctx, features, say, func(dir string) (Manifest, error) { return m, r.extractAll(ctx, m, dir) })
}

// DrillArchive does so with a backup that is one file.
func DrillArchive(ctx context.Context, from io.Reader, features []store.Feature, say func(sqlite.Progress)) (Restored, error) {
	return drill(ctx, features, say, func(dir string) (Manifest, error) { return extractArchive(ctx, from, dir) })
}

func drill(ctx context.Context, features []store.Feature, say func(sqlite.Progress), read func(dir string) (Manifest, error)) (done Restored, err error) {
	dir, err := os.MkdirTemp("", "freshet-verify-")
	if err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if done.Manifest, err = read(dir); err != nil {
		return done, err
	}
	done.Rows, done.Bodies, err = check(ctx, dir, features, say)
	return done, err
}
