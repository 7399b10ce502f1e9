package importer

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // urlwatch names its jobs by it
	"database/sql"
	"encoding/hex"
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
	_ "modernc.org/sqlite" // reads the database of urlwatch
)

// A Snapshot is a version that another program captured: its text, or the response.
type Snapshot struct {
	At        time.Time
	Text      string
	Body      []byte
	MediaType string
}

// A History returns what another program captured of an entry, the oldest first.
type History func(ctx context.Context, e Entry) ([]Snapshot, error)

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
	return func(_ context.Context, e Entry) (all []Snapshot, err error) {
		list := lists[e.Path]
		if list == "" {
			return nil, nil
		}
		text, err := fs.ReadFile(folder, list)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			at, file, _ := strings.Cut(strings.TrimSpace(line), ",")
			seconds, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				continue
			}
			name := path.Join(path.Dir(list), path.Base(strings.ReplaceAll(file, `\`, "/")))
			text, err := readFile(folder, name)
			if err != nil {
				return nil, err
			}
			all = append(all, Snapshot{At: time.Unix(seconds, 0), Text: text})
		}
		return all, nil
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

// UrlwatchHistory returns the history in the database of urlwatch, cache.db.
func UrlwatchHistory(file string) (History, error) {
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: file}).EscapedPath(), RawQuery: "mode=ro"}).String())
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec("SELECT guid, timestamp, data FROM CacheEntry LIMIT 1"); err != nil {
		return nil, fmt.Errorf("%s is not the database of urlwatch: %w", file, err)
	}
	return func(ctx context.Context, e Entry) (all []Snapshot, err error) {
		sum := sha1.Sum([]byte(e.location)) //nolint:gosec // it is no secret
		rows, err := db.QueryContext(ctx, "SELECT timestamp, data FROM CacheEntry WHERE guid = ? AND data IS NOT NULL ORDER BY timestamp", hex.EncodeToString(sum[:]))
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		defer rows.Close()
		for rows.Next() {
			var seconds float64
			var s Snapshot
			if err := rows.Scan(&seconds, &s.Text); err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			s.At = time.UnixMilli(int64(seconds * 1000))
			all = append(all, s)
		}
		return all, rows.Err()
	}, nil
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
	return func(ctx context.Context, _ Entry) (all []Snapshot, err error) {
		log, err := git(ctx, "log", "--reverse", "--diff-filter=AMRT", "--format=%H %ct", "--", file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(log)) {
			commit, at, _ := strings.Cut(strings.TrimSpace(line), " ")
			seconds, err := strconv.ParseInt(at, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("git log: %w", err)
			}
			body, err := git(ctx, "show", commit+":./"+file)
			if err != nil {
				return nil, err
			}
			all = append(all, Snapshot{At: time.Unix(seconds, 0), Body: body})
		}
		return all, nil
	}
}
