package migrate_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/migrate"
	"freshet/internal/store/sqlite"
)

// Many sources and versions are moved to PostgreSQL and back, and the last store has the rows of
// the first. FRESHET_MOVE_VERSIONS says how many there are, with ten to a source: make
// move-large. It says how long each part took.
func moveThereAndBack(t *testing.T, y *yard) {
	versions, err := strconv.Atoi(os.Getenv("FRESHET_MOVE_VERSIONS"))
	if err != nil {
		versions = 700 // of more sources than are verified together
	}
	first, last, url := t.TempDir(), filepath.Join(t.TempDir(), "back"), y.fresh(t)
	step := time.Now()
	took := func(what string) {
		t.Logf("%s: %.1f s", what, time.Since(step).Seconds())
		step = time.Now()
	}
	fill(t, first, max(1, versions/10), 10)
	took(fmt.Sprintf("storing %d versions, %d MB", versions, size(t, first)>>20))
	want := digests(t, first)
	for _, leg := range [][2]string{{first, url}, {url, last}} {
		step = time.Now()
		part := ""
		moved, err := run(t, migrate.Config{From: leg[0], To: leg[1], Say: func(p store.Progress) {
			if p.Doing != part && part != "" {
				took(part)
			}
			part = p.Doing
		}})
		if err != nil {
			t.Fatal(err)
		}
		took(part)
		t.Logf("%d rows, %d bodies: copied in %.1f s, checked in %.1f s", moved.Rows, moved.Bodies, moved.Copying, moved.Checking)
		if least := int64(versions); moved.Bodies < 2*least || moved.Rows < 3*least {
			t.Errorf("%d rows and %d bodies were moved of %d versions with two bodies each", moved.Rows, moved.Bodies, versions)
		}
	}
	_, schema, _ := strings.Cut(url, "search_path=")
	var edits, told int
	if err := y.conn.QueryRow(t.Context(), "SELECT count(*), count(l.epoch) FROM "+schema+".edits e LEFT JOIN "+schema+".leases l ON l.epoch > 0 AND e.batch > 0 AND e.term > 0").Scan(&edits, &told); err != nil || edits != 1 || told != 1 {
		t.Errorf("of the edits of sources before the move %d are left, %d by a term: %v", edits, told, err)
	}
	t.Logf("the last store has %d MB", size(t, last)>>20)
	got := digests(t, last)
	for i, table := range store.NewSchema(features.All()).Tables() {
		if !got[i].Equals(&want[i]) {
			t.Errorf("of %d rows of %s %d came back, and they are not the same", want[i].Count, table.Name, got[i].Count)
		}
	}
}

// fill makes a store of sources with so many versions each.
func fill(t *testing.T, dir string, sources, each int) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir, CacheBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	inAll := func(do func(ctx context.Context, i int) error) {
		group, ctx := errgroup.WithContext(t.Context())
		group.SetLimit(256)
		for i := range sources {
			group.Go(func() error { return do(ctx, i) })
		}
		if err := group.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	id := func(i int) freshet.SourceID { return freshet.SourceID(fmt.Sprintf("page%06d", i)) }
	inAll(func(ctx context.Context, i int) error {
		_, err := s.AddSource(ctx, freshet.Source{ID: id(i), URL: fmt.Sprintf("https://host%d.example/%d", i%1000, i), Tags: []string{"news"}})
		return err
	})
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for n := range each {
		inAll(func(ctx context.Context, i int) error {
			text := fmt.Appendf(nil, "Page %d\n%sversion %d, %x of it\n", i, strings.Repeat(fmt.Sprintf("a line of page %d that stays as it is\n", i), 20), n, i*n)
			raw := fmt.Appendf(nil, "<html><body><pre>%s</pre></body></html>", text)
			began := at.Add(time.Duration(n)*time.Hour + time.Duration(i)*time.Microsecond)
			_, _, err := s.Commit(ctx, freshet.Record{
				Outcome: freshet.Outcome{Source: id(i), Began: began, Ended: began.Add(time.Second), Result: freshet.Changed, Status: 200, Requests: 1},
				Capture: &freshet.Capture{Raw: freshet.Raw{Status: 200, Body: raw}, Text: text, Hash: freshet.HashOf(text), Title: fmt.Sprint("Page ", i)},
			})
			return err
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// digests returns what the rows of each table of a directory come to.
func digests(t *testing.T, dir string) (list []store.Digest) {
	t.Helper()
	end, err := sqlite.OpenEnd(t.Context(), sqlite.Config{Features: features.All(), Dir: dir, ReadOnly: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer end.Close()
	w, err := end.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, table := range store.NewSchema(features.All()).Tables() {
		var d store.Digest
		err := w.Query("SELECT "+strings.Join(table.Columns, ", ")+" FROM "+table.Name, nil, func(row []driver.Value) error {
			d.Add(row)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

// size returns how many bytes the files of a directory have.
func size(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}
