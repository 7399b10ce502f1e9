package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/diskfault"
)

// An update of the format that fails, or that a loss of power cuts off, leaves the old format or the new one,
// with everything that was stored, and never one between them.
func TestUpdateIsCutOff(t *testing.T) {
	old, err := os.ReadFile(filepath.Join(unpacked(t, "testdata/format22.db.gz"), "freshet.db"))
	if err != nil {
		t.Fatal(err)
	}
	formats := map[int64]int{}
	for _, fault := range []string{"power", "full"} {
		for cut := int64(1); ; cut++ {
			r := newRig(t, uint64(cut))
			r.disk.Fill(map[string][]byte{r.dir + "/freshet.db": old})
			var calls atomic.Int64
			r.disk.SetHook(func(c diskfault.Call) error {
				switch {
				case c.Op != diskfault.Write && c.Op != diskfault.Sync || calls.Add(1) < cut:
					return nil
				case fault == "full":
					return syscall.ENOSPC
				}
				r.disk.PowerLoss()
				return nil
			})
			s, err := r.open(t)
			if err == nil {
				err = s.Close()
			}
			reached := calls.Load() >= cut
			r.disk.PowerLoss()
			r.disk.SetHook(nil)
			if format := formatOf(t, r); format != 22 && format != 24 {
				t.Errorf("a %s fault at %d leaves format %d", fault, cut, format)
			} else {
				formats[format]++
			}
			if s, err = r.open(t); err != nil {
				t.Fatalf("after a %s fault at %d: %v", fault, cut, err)
			}
			if text, err := s.Text(t.Context(), "page", 4); err != nil || !strings.Contains(string(text), "four") {
				t.Errorf("after a %s fault at %d version 4 is %q: %v", fault, cut, text, err)
			}
			if err := s.Check(t.Context()); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if !reached {
				break
			}
		}
	}
	if formats[22] == 0 || formats[24] == 0 {
		t.Errorf("the formats that were left are %v, want both", formats)
	}
}

// updateDir names the directory that the test binary updates when it is run as the child of TestUpdateIsKilled.
const updateDir = "FRESHET_TEST_UPDATE_DIR"

// update opens a store, which updates its format, and closes it.
func update(dir string) error {
	s, err := sqlite.Open(context.Background(), sqlite.Config{Features: features.All(), Dir: dir})
	if err != nil {
		return err
	}
	return s.Close()
}

// A process that is killed while it updates the format leaves the old one or the new one, with everything that
// was stored.
func TestUpdateIsKilled(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace to kill a process with")
	}
	if raced {
		t.Skip("strace and the race detector do not get on")
	}
	formats := map[int64]int{}
	for when := 1; ; when += 1 + when/3 {
		dir := unpacked(t, "testdata/format22.db.gz")
		cmd := exec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64,fsync,fdatasync",
			"-e", fmt.Sprintf("inject=pwrite64,fsync,fdatasync:signal=KILL:when=%d", when), os.Args[0])
		cmd.Env = append(os.Environ(), updateDir+"="+dir, "GOMAXPROCS=1")
		out, err := cmd.CombinedOutput()
		if err != nil && strings.Contains(string(out), "ptrace") {
			t.Skipf("strace may not trace here: %s", out)
		}
		formats[count(t, dir, "SELECT max(version_id) FROM schema_versions")]++
		s := open(t, sqlite.Config{Dir: dir})
		if text, err := s.Text(t.Context(), "page", 4); err != nil || !strings.Contains(string(text), "four") {
			t.Errorf("killed at call %d, version 4 is %q: %v", when, text, err)
		}
		if err := errors.Join(s.Check(t.Context()), s.Close()); err != nil {
			t.Errorf("killed at call %d: %v", when, err)
		}
		if err == nil {
			break
		}
	}
	if formats[22] == 0 || formats[24] == 0 || len(formats) != 2 {
		t.Errorf("the formats that were left are %v, want 22 and 24", formats)
	}
}

// formatOf returns the data format of a store, as any version of freshet finds it.
func formatOf(t *testing.T, r *rig) (format int64) {
	t.Helper()
	vfs, err := r.disk.Start()
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", fmt.Sprintf("file:%s/freshet.db?vfs=%s", r.dir, vfs))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT max(version_id) FROM schema_versions").Scan(&format); err != nil {
		t.Fatal(err)
	}
	return format
}

// The version of freshet that wrote a store is kept with its format, and its stores of all formats open.
func TestEveryFormatOpens(t *testing.T) {
	files, err := filepath.Glob("testdata/format*.db.gz")
	if err != nil || len(files) < 2 {
		t.Fatalf("the stores of old formats are %v: %v", files, err)
	}
	for _, file := range files {
		dir := unpacked(t, file)
		s := open(t, sqlite.Config{Dir: dir, Program: "v1.2.3", Features: features.All()})
		found, err := s.Versions(t.Context(), "page", freshet.Between{}, 0, 0)
		if err != nil || len(found) < 4 {
			t.Errorf("%s has the versions %v: %v", file, found, err)
		}
		for _, v := range found {
			raw, err := s.Raw(t.Context(), "page", v.Number)
			if err != nil || raw.Header.Get("Content-Type") == "" || !bytes.Contains(raw.Body, []byte("<")) {
				t.Errorf("%s: response %d is %+v: %v", file, v.Number, raw, err)
			}
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if n := count(t, dir, "SELECT count(*) FROM schema_versions WHERE program = 'v1.2.3' AND version_id = (SELECT max(version_id) FROM schema_versions)"); n != 1 {
			t.Errorf("%s: the program of the newest format was not kept", file)
		}
	}
}
