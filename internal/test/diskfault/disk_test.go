package diskfault_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	_ "modernc.org/sqlite"

	"freshet/internal/test/diskfault"
)

// path is where the database lies on a disk in memory.
const path = "/data/test.db"

// open opens a database as the store does.
func open(t *testing.T, vfs, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?vfs="+vfs+"&_journal_mode=WAL&_synchronous=FULL&_busy_timeout=1000")
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// start begins a process and opens the database.
func start(t *testing.T, m *diskfault.Memory) *sql.DB {
	t.Helper()
	vfs, err := m.Start()
	if err != nil {
		t.Fatal(err)
	}
	return open(t, vfs, path)
}

// memory returns a disk that is closed at the end of the test.
func memory(t *testing.T, seed uint64) *diskfault.Memory {
	t.Helper()
	m := diskfault.NewMemory(rand.New(rand.NewPCG(seed, 0)))
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// exec runs statements and stops at the first error.
func exec(db *sql.DB, statements ...string) error {
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// rows returns how many rows there are, after a look at every page.
func rows(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	var state string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&state); err != nil || state != "ok" {
		t.Fatalf("integrity_check says %q, %v", state, err)
	}
	if err := db.QueryRow("SELECT count(*) FROM t").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// closed closes a database of a process that has ended, which may fail.
func closed(db *sql.DB) { _ = db.Close() }

const insert = "INSERT INTO t (v) VALUES (randomblob(900))"

// TestMemory has several connections use one disk, closes them and reads again.
func TestMemory(t *testing.T) {
	m := memory(t, 1)
	db := start(t, m)
	if err := exec(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)"); err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	for range 4 {
		go func() {
			for range 50 {
				if err := exec(db, insert); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range 4 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name := range m.Copy() {
		if name != path {
			t.Errorf("%s is left after all was closed", name)
		}
	}
	db = start(t, m)
	defer db.Close()
	if n := rows(t, db); n != 200 {
		t.Errorf("there are %d rows, want 200", n)
	}
}

// TestPowerLoss cuts the power at every write and sync of some work. What was
// acknowledged is there, at most one transaction more, and no page is torn.
func TestPowerLoss(t *testing.T) {
	for _, synchronous := range []string{"FULL", "OFF"} {
		lost, damaged := 0, 0
		for cut := int64(1); cut < 120; cut++ {
			acked, found := powerLoss(t, uint64(cut), cut, synchronous)
			if found < 0 {
				damaged++
			} else if found < acked {
				lost++
			}
			if found > acked+1 {
				t.Errorf("cut %d: %d rows were acknowledged and %d are there", cut, acked, found)
			}
		}
		t.Logf("synchronous=%s: %d cuts lost rows, %d left a damaged file", synchronous, lost, damaged)
		if want := synchronous == "OFF"; (lost+damaged > 0) != want {
			t.Errorf("synchronous=%s: %d cuts lost rows and %d left a damaged file", synchronous, lost, damaged)
		}
	}
}

// powerLoss cuts the power at one of the writes and syncs. It returns how many
// rows were acknowledged and how many are there, or -1 if they cannot be read.
func powerLoss(t *testing.T, seed uint64, cut int64, synchronous string) (acked, found int) {
	t.Helper()
	m := memory(t, seed)
	db := start(t, m)
	db.SetMaxOpenConns(1)
	if err := exec(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)", "PRAGMA wal_autocheckpoint=8", "PRAGMA synchronous="+synchronous, "BEGIN IMMEDIATE", "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := exec(db, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil { // the table itself is safe
		t.Fatal(err)
	}
	var calls atomic.Int64
	m.SetHook(func(c diskfault.Call) error {
		if (c.Op == diskfault.Write || c.Op == diskfault.Sync) && calls.Add(1) == cut {
			m.PowerLoss()
		}
		return nil
	})
	for range 40 {
		if exec(db, insert) != nil {
			break
		}
		acked++
	}
	m.PowerLoss()
	closed(db)
	m.SetHook(nil)
	db = start(t, m)
	defer db.Close()
	var state string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&state); err != nil || state != "ok" {
		return acked, -1
	}
	if err := db.QueryRow("SELECT count(*) FROM t").Scan(&found); err != nil {
		return acked, -1
	}
	return acked, found
}

// TestKill ends the process in the middle: what it has written is there, also
// unsynced, and what it still tries comes to nothing.
func TestKill(t *testing.T) {
	m := memory(t, 1)
	db := start(t, m)
	if err := exec(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)", "PRAGMA synchronous=OFF", insert, insert); err != nil {
		t.Fatal(err)
	}
	m.Kill()
	if err := exec(db, insert); err == nil {
		t.Error("a process that was killed writes on")
	}
	next := start(t, m)
	defer next.Close()
	closed(db)
	if n := rows(t, next); n != 2 {
		t.Errorf("there are %d rows, want 2", n)
	}
	if err := exec(next, insert); err != nil {
		t.Error(err)
	}
}

// TestFailedSyncLoses shows that bytes whose sync failed can be gone after a
// power loss, although a later sync of the same file was successful.
func TestFailedSyncLoses(t *testing.T) {
	lost := 0
	for seed := range uint64(20) {
		m := memory(t, seed)
		db := start(t, m)
		db.SetMaxOpenConns(1)
		if err := exec(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)", "PRAGMA synchronous=NORMAL", insert, insert); err != nil {
			t.Fatal(err)
		}
		m.SetHook(func(c diskfault.Call) error {
			if c.Op == diskfault.Sync {
				return syscall.EIO
			}
			return nil
		})
		if err := exec(db, "PRAGMA wal_checkpoint"); err == nil {
			t.Fatal("a failed sync goes unnoticed")
		}
		m.SetHook(nil)
		if err := exec(db, "PRAGMA synchronous=FULL", insert); err != nil { // as if nothing had happened
			t.Fatal(err)
		}
		m.PowerLoss()
		closed(db)
		next := start(t, m)
		if rows(t, next) < 3 {
			lost++
		}
		closed(next)
	}
	if lost == 0 {
		t.Error("nothing was lost in 20 tries")
	}
}

// TestFullMemory fills a disk, and makes room again.
func TestFullMemory(t *testing.T) {
	m := memory(t, 1)
	db := start(t, m)
	defer db.Close()
	if err := exec(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)"); err != nil {
		t.Fatal(err)
	}
	m.SetCapacity(m.Used() + 20_000)
	var err error
	acked := 0
	for ; acked < 100 && err == nil; acked++ {
		err = exec(db, insert)
	}
	if err == nil || !strings.Contains(err.Error(), "full") {
		t.Fatalf("a full disk gives %v", err)
	}
	m.SetCapacity(0)
	if err := exec(db, insert); err != nil {
		t.Errorf("with room again: %v", err)
	}
	if n := rows(t, db); n != acked {
		t.Errorf("there are %d rows, want %d", n, acked)
	}
}

// TestFiles has the machine's file system refuse one operation after another.
func TestFiles(t *testing.T) {
	f, err := diskfault.NewFiles()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}()
	tests := []struct {
		op   diskfault.Op
		with error
		want string // in the error
	}{
		{diskfault.Write, syscall.EIO, "disk I/O error"},
		{diskfault.Write, syscall.ENOSPC, "full"},
		{diskfault.Write, diskfault.ErrShort, "full"},
		{diskfault.Sync, syscall.EIO, "disk I/O error"},
		{diskfault.Read, syscall.EIO, "disk I/O error"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %v", tt.op, tt.with), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "test.db")
			db := open(t, f.VFS(), path)
			db.SetMaxOpenConns(1)
			if err := exec(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)", insert, "PRAGMA cache_size=0"); err != nil {
				t.Fatal(err)
			}
			for range 100 {
				if err := exec(db, insert); err != nil {
					t.Fatal(err)
				}
			}
			refusals := 0
			f.SetHook(func(c diskfault.Call) error {
				if c.Op == tt.op && strings.HasPrefix(c.Path, path) {
					refusals++
					return tt.with
				}
				return nil
			})
			err := exec(db, insert, "SELECT sum(length(v)) FROM t")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("after %d refusals: %v, want %q", refusals, err, tt.want)
			}
			f.SetHook(nil)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			db = open(t, f.VFS(), path)
			defer db.Close()
			if n := rows(t, db); n != 101 {
				t.Errorf("there are %d rows, want 101", n)
			}
		})
	}
}

// TestDelays shows that a hook may block.
func TestDelays(t *testing.T) {
	m := memory(t, 1)
	db := start(t, m)
	defer db.Close()
	wait, waiting := make(chan struct{}), make(chan struct{})
	if err := exec(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, v BLOB)", insert); err != nil {
		t.Fatal(err)
	}
	var once atomic.Bool
	m.SetHook(func(c diskfault.Call) error {
		if c.Op == diskfault.Sync && once.CompareAndSwap(false, true) {
			close(waiting)
			<-wait
		}
		return nil
	})
	done := make(chan error)
	go func() { done <- exec(db, insert) }()
	<-waiting
	if n := rows(t, db); n != 1 { // beside it, one can read
		t.Errorf("there are %d rows, want 1", n)
	}
	close(wait)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
