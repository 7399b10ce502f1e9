package importer

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // urlwatch and webchanges name their jobs by it
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/vmihailenco/msgpack/v5"
	_ "modernc.org/sqlite" // reads the databases of urlwatch and webchanges
)

// A Snapshot is a version that another program captured: its text, or the response.
type Snapshot struct {
	At        time.Time
	Text      string
	Body      []byte
	MediaType string
	Header    []string // such as Server: nginx; nil if not all headers are known
	Missing   bool     // its file is not there, or cannot be decoded
}

// A History calls yield for what another program captured of an entry after a moment, the oldest first, until yield
// returns an error.
type History func(ctx context.Context, e Entry, after time.Time, yield func(Snapshot) error) error

// longestSnapshot is the size of the longest snapshot that is imported.
const longestSnapshot = 16 << 20

// cdHistory returns the history in the data folder of changedetection.io: each watch has a folder with
// snapshots, and a list of them.
func cdHistory(folder fs.FS, names []string) History {
	lists := map[string]string{} // by watch
	for _, name := range names {
		if path.Base(name) == "history.txt" {
			lists["watching."+path.Base(path.Dir(name))] = name
		}
	}
	if len(lists) == 0 {
		return nil
	}
	return func(_ context.Context, e Entry, after time.Time, yield func(Snapshot) error) error {
		list := lists[e.Path]
		if list == "" {
			return nil
		}
		text, err := fs.ReadFile(folder, list)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			at, file, _ := strings.Cut(strings.TrimSpace(line), ",")
			seconds, err := strconv.ParseInt(at, 10, 64)
			if err != nil || !time.Unix(seconds, 0).After(after) {
				continue
			}
			name := path.Join(path.Dir(list), path.Base(strings.ReplaceAll(file, `\`, "/")))
			text, err := readFile(folder, name)
			missing := errors.Is(err, fs.ErrNotExist)
			if err != nil && !missing {
				return err
			}
			if err := yield(Snapshot{At: time.Unix(seconds, 0), Text: text, Missing: missing}); err != nil {
				return err
			}
		}
		return nil
	}
}

// readFile reads a snapshot in a file that may be compressed.
func readFile(folder fs.FS, name string) (string, error) {
	f, err := folder.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".br") {
		r = brotli.NewReader(f)
	}
	text, err := readSnapshot(r)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	return string(text), nil
}

// SnapshotHistory returns the history in the database of urlwatch (cache.db) or webchanges (snapshots.db).
func SnapshotHistory(file string) (History, error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: "mode=ro"}).String())
	if err != nil {
		return nil, err
	}
	const ofUrlwatch = "SELECT timestamp, data FROM CacheEntry WHERE guid = ? AND data IS NOT NULL AND coalesce(tries, 0) = 0 ORDER BY timestamp"
	const ofWebchanges = "SELECT timestamp, msgpack_data FROM webchanges WHERE uuid = ? ORDER BY timestamp"
	query, read := ofUrlwatch, func(data []byte) (Snapshot, bool, error) { return Snapshot{Text: string(data)}, true, nil }
	if rows, err := db.Query(query, ""); err == nil {
		_ = rows.Close()
	} else if rows, err2 := db.Query(ofWebchanges, ""); err2 == nil {
		_ = rows.Close()
		query, read = ofWebchanges, unpacked
	} else {
		return nil, fmt.Errorf("%s is not the database of urlwatch or webchanges: %w", file, err)
	}
	return func(ctx context.Context, e Entry, after time.Time, yield func(Snapshot) error) error {
		sum := sha1.Sum([]byte(e.location)) //nolint:gosec // it is no secret
		rows, err := db.QueryContext(ctx, query, hex.EncodeToString(sum[:]))
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		defer rows.Close()
		for rows.Next() {
			var seconds float64
			var data []byte
			if err := rows.Scan(&seconds, &data); err != nil {
				return fmt.Errorf("read %s: %w", file, err)
			}
			s, ok, err := read(data)
			if err != nil {
				return fmt.Errorf("read %s: the snapshot of %s: %w", file, e.location, err)
			}
			if s.At = time.UnixMilli(int64(seconds * 1000)); !ok || !s.At.After(after) {
				continue
			}
			if err := yield(s); err != nil {
				return err
			}
		}
		return rows.Err()
	}, nil
}

// unpacked returns a snapshot of webchanges, unless it repeats the one before because the job failed.
func unpacked(packed []byte) (s Snapshot, ok bool, err error) {
	var m struct {
		Data  any `msgpack:"d"`
		Tries int `msgpack:"t"`
	}
	if err := msgpack.Unmarshal(packed, &m); err != nil {
		return s, false, err
	}
	switch data := m.Data.(type) {
	case string:
		s.Text = data
	case []byte:
		s.Text = string(data)
	default:
		return s, false, nil
	}
	return s, m.Tries == 0, nil
}

// GitHistory returns the history of a file of a git repository: each commit that changed it is a
// version of the response at its URL.
func GitHistory(repository, file string) History {
	git := func(ctx context.Context, args ...string) ([]byte, error) {
		var trouble bytes.Buffer
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", repository}, args...)...)
		cmd.Stderr = &trouble
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(trouble.String()))
		}
		return out, nil
	}
	return func(ctx context.Context, _ Entry, after time.Time, yield func(Snapshot) error) error {
		log, err := git(ctx, "log", "--reverse", "--diff-filter=AMRT", "--format=%H %ct", "--", file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(log)) {
			commit, at, _ := strings.Cut(strings.TrimSpace(line), " ")
			seconds, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				return fmt.Errorf("git log: %w", err)
			}
			if !time.Unix(seconds, 0).After(after) {
				continue
			}
			body, err := git(ctx, "show", commit+":./"+file)
			if err != nil {
				return err
			}
			if err := yield(Snapshot{At: time.Unix(seconds, 0), Body: body}); err != nil {
				return err
			}
		}
		return nil
	}
}
