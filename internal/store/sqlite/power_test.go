package sqlite_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/diskfault"
	"freshet/internal/test/tier"
)

// A rig is a store on a disk in memory.
type rig struct {
	disk *diskfault.Memory
	dir  string // of the lock
}

func newRig(t *testing.T, seed uint64) *rig {
	t.Helper()
	r := &rig{diskfault.NewMemory(rand.New(rand.NewPCG(seed, 0))), t.TempDir()}
	t.Cleanup(func() {
		if err := r.disk.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// open begins a process that opens the store.
func (r *rig) open(t *testing.T) (*sqlite.Store, error) {
	t.Helper()
	vfs, err := r.disk.Start()
	if err != nil {
		t.Fatal(err)
	}
	return sqlite.Open(t.Context(), sqlite.Config{Dir: r.dir, VFS: vfs, Files: r.disk.Dir(r.dir), Features: features.All()})
}

// captureUpTo captures versions of source a until one is refused, at most up to a
// number, and returns how many are acknowledged in all.
func captureUpTo(t *testing.T, s *sqlite.Store, acked, upto int) (int, error) {
	t.Helper()
	for acked < upto {
		if err := captureText(t.Context(), s, crashText("a", acked+1)); err != nil {
			return acked, err
		}
		acked++
	}
	return acked, nil
}

// whole fails the test unless the acknowledged versions are there, with their
// bytes, and all that is stored is as it was written. It returns how many
// versions there are.
func whole(t *testing.T, s *sqlite.Store, acked int) int {
	t.Helper()
	w, err := s.Source(t.Context(), "a")
	if errors.Is(err, freshet.ErrNotFound) && acked == 0 {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	head := w.Status.Head.Number
	if head < acked || head > acked+1 {
		t.Errorf("%d versions were acknowledged and %d are there", acked, head)
	}
	for n := 1; n <= head; n++ {
		if text, err := s.Text(t.Context(), "a", n); err != nil || !bytes.Equal(text, crashText("a", n)) {
			t.Errorf("version %d: %v", n, err)
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	return head
}

// TestPowerLoss cuts the power at one write or sync after another, from the
// first that makes the store. What was acknowledged is there afterwards, and the
// store goes on with the next number.
func TestPowerLoss(t *testing.T) {
	step := int64(tier.Seeds(97, 41, 19))
	if raced {
		step = 97
	}
	for cut := int64(1); cut < 800; cut += step {
		r := newRig(t, uint64(cut))
		var calls atomic.Int64
		r.disk.SetHook(func(c diskfault.Call) error {
			if (c.Op == diskfault.Write || c.Op == diskfault.Sync) && calls.Add(1) == cut {
				r.disk.PowerLoss()
			}
			return nil
		})
		acked := 0
		if s, err := r.open(t); err == nil {
			if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err == nil {
				acked, _ = captureUpTo(t, s, 0, 80)
			}
			r.disk.PowerLoss()
			_ = s.Close()
		}
		r.disk.PowerLoss()
		r.disk.SetHook(nil)
		s, err := r.open(t)
		if err != nil {
			t.Fatalf("after a power loss at %d: %v", cut, err)
		}
		acked = whole(t, s, acked)
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); acked == 0 && err != nil && !errors.Is(err, freshet.ErrConflict) {
			t.Fatal(err)
		}
		if acked, err = captureUpTo(t, s, acked, acked+2); err != nil {
			t.Fatal(err)
		}
		whole(t, s, acked)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSyncIsNotTriedAgain has one sync after another fail, and the power right
// after it. Of the writes that follow none is acknowledged; the store that is
// opened next has all that was acknowledged before.
func TestSyncIsNotTriedAgain(t *testing.T) {
	gaveUp := 0
	for failing := int64(1); failing <= 60; failing += 3 {
		r := newRig(t, uint64(failing))
		s, err := r.open(t)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
			t.Fatal(err)
		}
		var syncs atomic.Int64
		r.disk.SetHook(func(c diskfault.Call) error {
			if c.Op == diskfault.Sync && syncs.Add(1) == failing {
				return syscall.EIO
			}
			return nil
		})
		acked, err := captureUpTo(t, s, 0, 100)
		if errors.Is(err, freshet.ErrStoreFailed) {
			gaveUp++
			if again, err := captureUpTo(t, s, acked, acked+3); again != acked || !errors.Is(err, freshet.ErrStoreFailed) {
				t.Errorf("after a failed sync the store acknowledges %d more: %v", again-acked, err)
			}
		} else if err != nil {
			t.Errorf("a failed sync gives %v, want %v", err, freshet.ErrStoreFailed)
		}
		r.disk.PowerLoss()
		_ = s.Close()
		r.disk.SetHook(nil)
		if s, err = r.open(t); err != nil {
			t.Fatal(err)
		}
		whole(t, s, acked)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if gaveUp < 10 {
		t.Errorf("the store gave up %d times, want 10 and more", gaveUp)
	}
}

// TestFullDiskPasses fills the disk at one write after another. Nothing that was
// acknowledged is lost, and the store goes on when there is room.
func TestFullDiskPasses(t *testing.T) {
	for failing := int64(1); failing <= 200; failing += 9 {
		r := newRig(t, uint64(failing))
		s, err := r.open(t)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
			t.Fatal(err)
		}
		var writes atomic.Int64
		r.disk.SetHook(func(c diskfault.Call) error {
			if c.Op == diskfault.Write && writes.Add(1) >= failing {
				return syscall.ENOSPC
			}
			return nil
		})
		acked, err := captureUpTo(t, s, 0, 100)
		if !errors.Is(err, freshet.ErrStorage) || errors.Is(err, freshet.ErrStoreFailed) || !strings.Contains(freshet.HintOf(err), "full") {
			t.Fatalf("a full disk gives %v", err)
		}
		r.disk.SetHook(nil)
		if acked, err = captureUpTo(t, s, acked, acked+2); err != nil {
			t.Fatalf("with room again: %v", err)
		}
		whole(t, s, acked)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
