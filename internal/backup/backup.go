// Package backup copies the data directory of a running daemon, and puts copies back. A backup in a directory is
// incremental: files are cut into chunks that are stored under the hashes of their contents, so that a backup writes
// only what no earlier one has, and one that was interrupted goes on. A backup in a single file is a plain tar archive.
package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/sqlite"
)

// A Source is what is backed up.
type Source struct {
	Data     string          // the data directory
	Files    bool            // only the files beside the database, which is elsewhere
	Features []store.Feature // as in [sqlite.Config]
	Program  string          // the version of freshet
	Now      func() time.Time
	Say      func(done, of int64) // bytes of the database; may be nil
}

// A Manifest says what a backup consists of.
type Manifest struct {
	Format  int       `json:"format"`
	Program string    `json:"program,omitempty"`
	Begun   time.Time `json:"begun"`
	Files   []File    `json:"files"`
}

// A File is a file of a backup.
type File struct {
	Name   string   `json:"name"` // with slashes, in the data directory
	Size   int64    `json:"size"`
	SHA256 string   `json:"sha256"`
	Chunks []string `json:"chunks,omitempty"` // the names of its parts; none in an archive
}

// manifestFormat is the format that this program writes, and the newest that it reads.
const manifestFormat = 1

// Size returns the size of all files.
func (m *Manifest) Size() (bytes int64) {
	for _, f := range m.Files {
		bytes += f.Size
	}
	return bytes
}

// A sink takes the files of a backup.
type sink interface {
	// begin begins a file, write takes its contents, and end ends it.
	begin(name string, size int64) error
	write(part []byte) error
	end() (chunks []string, err error)
}

// copyTo copies everything to a sink, the database last: it is the largest, and its moment is then the latest.
func (s *Source) copyTo(ctx context.Context, to sink) (m Manifest, err error) {
	m = Manifest{Format: manifestFormat, Program: s.Program, Begun: s.Now().UTC()}
	names, err := s.files()
	if err != nil {
		return m, err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(s.Data, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) { // deleted meanwhile
			continue
		}
		if err != nil {
			return m, err
		}
		w := summer{to: to, file: File{Name: name}, sum: sha256.New()}
		if err := errors.Join(w.begin(int64(len(text))), w.write(text), w.end()); err != nil {
			return m, fmt.Errorf("backup of %s: %w", name, err)
		}
		m.Files = append(m.Files, w.file)
	}
	if s.Files {
		return m, nil
	}
	w := summer{to: to, file: File{Name: sqlite.FileName}, sum: sha256.New()}
	size := int64(0)
	err = sqlite.Pages(ctx, sqlite.Config{Dir: s.Data, Features: s.Features}, func(all int64) error {
		size = all
		return w.begin(all)
	}, func(page []byte) error {
		if s.Say != nil {
			s.Say(w.file.Size, size)
		}
		return w.write(page)
	})
	if err == nil {
		err = w.end()
	}
	if err == nil && w.file.Size != size {
		err = fmt.Errorf("%d bytes of the database were read, and it has %d", w.file.Size, size)
	}
	if err != nil {
		return m, fmt.Errorf("backup of %s: %w", filepath.Join(s.Data, sqlite.FileName), err)
	}
	m.Files = append(m.Files, w.file)
	return m, nil
}

// left are the files that a backup omits, because the daemon creates them.
var left = []string{"freshet.db", "search.db", ".lock", ".addr", ".part", ".probe-", keptPrefix, stagePrefix}

// files returns the files of the data directory besides the database and what is made of it, by name.
func (s *Source) files() (names []string, err error) {
	err = filepath.WalkDir(s.Data, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == s.Data {
			return err
		}
		name := e.Name()
		if slices.ContainsFunc(left, func(part string) bool {
			return strings.HasPrefix(name, part) || strings.HasPrefix(part, ".") && strings.HasSuffix(name, part)
		}) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if e.Type().IsRegular() {
			rel, err := filepath.Rel(s.Data, path)
			names = append(names, filepath.ToSlash(rel))
			return err
		}
		return nil
	})
	return names, err
}

// A summer passes a file on to a sink, and sums it up.
type summer struct {
	to   sink
	file File
	sum  hash.Hash
}

func (w *summer) begin(size int64) error { return w.to.begin(w.file.Name, size) }

func (w *summer) write(part []byte) error {
	w.file.Size += int64(len(part))
	w.sum.Write(part) // never fails
	return w.to.write(part)
}

func (w *summer) end() (err error) {
	w.file.Chunks, err = w.to.end()
	w.file.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	return err
}

// readManifest reads and judges a manifest.
func readManifest(from io.Reader) (m Manifest, err error) {
	text, err := io.ReadAll(io.LimitReader(from, 1<<30))
	if err != nil {
		return m, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if m.Format != manifestFormat {
		return m, freshet.WithHint(fmt.Errorf("the backup has format %d, and this version of freshet reads only %d", m.Format, manifestFormat), "use the version of freshet that wrote it: "+m.Program)
	}
	for _, f := range m.Files {
		if err := localName(f.Name); err != nil {
			return m, err
		}
	}
	return m, nil
}

var errDamaged = fmt.Errorf("the backup is damaged: %w", freshet.ErrDamaged)

// localName refuses the name of a file that would lie elsewhere than in the data directory.
func localName(name string) error {
	if !fs.ValidPath(name) || name == "." || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("%w: it has a file named %q", errDamaged, name)
	}
	return nil
}
