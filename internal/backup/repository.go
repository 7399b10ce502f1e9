package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"freshet/internal/filelock"
	"freshet/internal/freshet"
)

// chunkSize is how long the parts of a file are. A smaller one copies less of a database of which little has changed,
// and makes more files.
const chunkSize = 128 << 10

// The parts of the directory of backups.
const (
	chunksDir    = "chunks"
	snapshotsDir = "snapshots"
	lockName     = "lock"
	timeFormat   = "20060102T150405.000Z"
)

// A Repository is a directory with backups.
type Repository struct {
	dir  string
	lock *os.File
	pack *zstd.Encoder
	open *zstd.Decoder

	Written int64 // bytes of chunks that were added
	name    string
	part    []byte
	chunks  []string
	added   []string
}

// OpenRepository opens the directory with backups for this process alone. If fresh is set, it is made if there is none.
func OpenRepository(dir string, fresh bool) (_ *Repository, err error) {
	if _, err := os.Stat(filepath.Join(dir, snapshotsDir)); err != nil {
		if entries, missing := os.ReadDir(dir); !fresh || missing == nil && len(entries) > 0 {
			return nil, freshet.WithHint(fmt.Errorf("%s: %w: it is not a directory with backups", dir, freshet.ErrNotFound), "name a directory that freshet backup has written, or a new one to write to")
		}
	}
	for _, part := range []string{chunksDir, snapshotsDir} {
		if err := os.MkdirAll(filepath.Join(dir, part), 0o700); err != nil {
			return nil, err
		}
	}
	r := &Repository{dir: dir}
	if r.lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.lock.Close())
		}
	}()
	ours, err := filelock.Try(r.lock)
	if err == nil && !ours {
		err = fmt.Errorf("backups in %s: %w", dir, freshet.ErrBusy)
	}
	if err != nil {
		return nil, err
	}
	if r.pack, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)); err != nil {
		return nil, err
	}
	r.open, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(16*chunkSize))
	return r, err
}

// Close closes the directory.
func (r *Repository) Close() error {
	r.open.Close()
	return r.lock.Close()
}

// Backup adds a backup, and returns its name.
func (r *Repository) Backup(ctx context.Context, s *Source) (name string, m Manifest, err error) {
	r.Written, r.added = 0, nil
	if m, err = s.copyTo(ctx, r); err != nil {
		return "", m, err
	}
	for _, chunk := range r.added { // what was written is read again
		if _, err := r.chunk(chunk); err != nil {
			return "", m, err
		}
	}
	if err := r.syncDirs(); err != nil {
		return "", m, err
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return "", m, err
	}
	name = m.Begun.Format(timeFormat)
	return name, m, writeWhole(filepath.Join(r.dir, snapshotsDir, name+".json"), text)
}

// begin implements sink.
func (r *Repository) begin(name string, _ int64) error {
	r.name, r.part, r.chunks = name, r.part[:0], nil
	return nil
}

// write implements sink.
func (r *Repository) write(part []byte) error {
	for len(part) > 0 {
		n := min(len(part), chunkSize-len(r.part))
		r.part, part = append(r.part, part[:n]...), part[n:]
		if len(r.part) == chunkSize {
			if err := r.keep(); err != nil {
				return err
			}
		}
	}
	return nil
}

// end implements sink.
func (r *Repository) end() ([]string, error) {
	if len(r.part) > 0 {
		if err := r.keep(); err != nil {
			return nil, err
		}
	}
	return r.chunks, nil
}

// keep stores the part of a file that was read, unless it is there.
func (r *Repository) keep() error {
	sum := sha256.Sum256(r.part)
	name := hex.EncodeToString(sum[:])
	r.chunks = append(r.chunks, name)
	path := r.path(name)
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		packed := r.pack.EncodeAll(r.part, nil)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		err = writeWhole(path, packed)
		r.Written += int64(len(packed))
		r.added = append(r.added, name)
	}
	r.part = r.part[:0]
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (r *Repository) path(chunk string) string {
	return filepath.Join(r.dir, chunksDir, chunk[:2], chunk)
}

// chunk returns a stored part of a file.
func (r *Repository) chunk(name string) ([]byte, error) {
	if len(name) != 2*sha256.Size || strings.ContainsAny(name, `/\.`) {
		return nil, fmt.Errorf("%w: %.80q is not the name of a chunk", errDamaged, name)
	}
	packed, err := os.ReadFile(r.path(name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	part, err := r.open.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", errDamaged, r.path(name), err)
	}
	if sum := sha256.Sum256(part); hex.EncodeToString(sum[:]) != name {
		return nil, fmt.Errorf("%w: %s is not what was written", errDamaged, r.path(name))
	}
	return part, nil
}

// List returns the names of the backups, the oldest first.
func (r *Repository) List() (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(r.dir, snapshotsDir, "*.json"))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".json"))
	}
	slices.Sort(names)
	return names, err
}

// Manifest returns what a backup consists of; "" names the newest.
func (r *Repository) Manifest(name string) (string, Manifest, error) {
	names, err := r.List()
	if err != nil {
		return name, Manifest{}, err
	}
	if name == "" && len(names) > 0 {
		name = names[len(names)-1]
	}
	if len(names) == 0 {
		return name, Manifest{}, freshet.WithHint(fmt.Errorf("%s has no finished backup: %w", r.dir, freshet.ErrNotFound), fmt.Sprintf("freshet backup %s makes one", r.dir))
	}
	if !slices.Contains(names, name) {
		return name, Manifest{}, freshet.WithHint(fmt.Errorf("backup %q in %s: %w", name, r.dir, freshet.ErrNotFound), fmt.Sprintf("there are %s", strings.Join(names, ", ")))
	}
	f, err := os.Open(filepath.Join(r.dir, snapshotsDir, name+".json"))
	if err != nil {
		return name, Manifest{}, err
	}
	defer f.Close()
	m, err := readManifest(f)
	if err != nil {
		err = fmt.Errorf("backup %s: %w", name, err)
	}
	return name, m, err
}

// Verify reads all parts of all backups, and returns how many there are.
func (r *Repository) Verify(ctx context.Context) (chunks int, err error) {
	names, err := r.List()
	if err != nil {
		return 0, err
	}
	seen := map[string]bool{}
	for _, name := range names {
		_, m, err := r.Manifest(name)
		if err != nil {
			return 0, err
		}
		for _, f := range m.Files {
			for _, chunk := range f.Chunks {
				if seen[chunk] {
					continue
				}
				if _, err := r.chunk(chunk); err != nil {
					return 0, fmt.Errorf("backup %s: %s: %w", name, f.Name, err)
				}
				seen[chunk] = true
				if err := ctx.Err(); err != nil {
					return 0, err
				}
			}
		}
	}
	return len(seen), nil
}

// Forget deletes all backups but the newest few, and the parts that no other has. It returns how many backups.
func (r *Repository) Forget(keep int) (n int, err error) {
	names, err := r.List()
	if err != nil || len(names) <= keep {
		return 0, err
	}
	wanted := map[string]bool{}
	for _, name := range names[len(names)-keep:] {
		_, m, err := r.Manifest(name)
		if err != nil {
			return 0, err // nothing is deleted that a backup could need
		}
		for _, f := range m.Files {
			for _, chunk := range f.Chunks {
				wanted[chunk] = true
			}
		}
	}
	for _, name := range names[:len(names)-keep] {
		if err := os.Remove(filepath.Join(r.dir, snapshotsDir, name+".json")); err != nil {
			return n, err
		}
		n++
	}
	return n, filepath.WalkDir(filepath.Join(r.dir, chunksDir), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || wanted[e.Name()] {
			return err
		}
		return os.Remove(path)
	})
}

// syncDirs makes the names of the chunks safe.
func (r *Repository) syncDirs() error {
	dirs := map[string]bool{filepath.Join(r.dir, chunksDir): true}
	for _, chunk := range r.added {
		dirs[filepath.Dir(r.path(chunk))] = true
	}
	for dir := range dirs {
		if err := syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// writeWhole writes a file, whole or not at all, and makes it safe.
func writeWhole(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = bytes.NewReader(text).WriteTo(f)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

// syncDir makes the names in a directory safe. Windows has no such thing.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
