//go:build linux

package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sched"
)

func TestDefaultReserve(t *testing.T) {
	t.Parallel()
	const mib, gib = int64(1) << 20, int64(1) << 30
	for size, want := range map[int64]int64{
		2 * mib: 2 * mib / 10, gib: gib / 10, 4 * gib: 256 * mib, 20 * gib: 20 * gib / 50, 100 * gib: 2 * gib, 10000 * gib: 4 * gib,
	} {
		if got := daemon.DefaultReserve(size); got != want {
			t.Errorf("of a disk of %d bytes %d are kept free, want %d", size, got, want)
		}
	}
}

// Polls stop before the disk is full, the reason is told, and they go on by
// themselves when there is clearly more room than the reserve.
func TestReserve(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		const mib = int64(1) << 20
		var free atomic.Int64
		free.Store(1000 * mib)
		w := page(10*time.Millisecond, 10*time.Second)
		b := begin(t, dir, daemon.Config{
			Fetcher: w, Disk: daemon.DiskConfig{Reserve: 100 * mib, Space: func() (int64, int64, error) { return free.Load(), 5000 * mib, nil }},
		}, w.Sources()...)
		defer b.stop()
		// polls counts the requests of ten seconds.
		polls := func() int {
			before := len(w.Requests())
			time.Sleep(10 * time.Second)
			return len(w.Requests()) - before
		}
		usual := polls()
		if usual < 8 {
			t.Fatalf("%d polls in ten seconds with room enough", usual)
		}
		for _, step := range []struct {
			free int64
			on   bool
		}{
			{100 * mib, true}, {100*mib - 1, false}, {105 * mib, false}, {0, false}, {110*mib - 1, false}, {110 * mib, true}, {105 * mib, true}, {99 * mib, false},
		} {
			free.Store(step.free)
			time.Sleep(3 * time.Second) // until it is noticed
			n := polls()
			if step.on && n < usual-2 || !step.on && n != 0 {
				t.Errorf("with %d bytes free there were %d polls in ten seconds, want polls: %v", step.free, n, step.on)
			}
			st := b.Status()
			if red := st.Trouble != ""; red == step.on || st.Disk == nil || st.Disk.Low == step.on || st.Disk.Free != step.free {
				t.Errorf("with %d bytes free the status is %+v of %+v", step.free, st, st.Disk)
			} else if red && !strings.Contains(st.Trouble, "the disk is nearly full") {
				t.Errorf("the trouble is told as %q", st.Trouble)
			}
			if _, err := b.store.Changes(t.Context(), freshet.ChangeQuery{Limit: 1}); err != nil {
				t.Errorf("reading while there is no room: %v", err)
			}
		}
		b.SetLimits(sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Second}})
		if n := polls(); n != 0 {
			t.Errorf("after a reload there are %d polls, although there is no room", n)
		}
	})
}

// A daemon that starts where there is no room does not poll either, and one
// without a reserve does.
func TestReserveAtTheStart(t *testing.T) {
	t.Parallel()
	for reserve, polls := range map[int64]bool{0: false, 1000: false, -1: true} {
		inBubble(t, func(t *testing.T, dir string) {
			w := page(10*time.Millisecond, 10*time.Second)
			b := begin(t, dir, daemon.Config{
				Fetcher: w, Disk: daemon.DiskConfig{Reserve: reserve, Space: func() (int64, int64, error) { return 500, 1 << 30, nil }},
			}, w.Sources()...)
			time.Sleep(5 * time.Second)
			b.stop()
			if n := len(w.Requests()); (n > 0) != polls {
				t.Errorf("with a reserve of %d there were %d requests", reserve, n)
			}
		})
	}
}

// How fast the store grows is measured, and how long the room lasts.
func TestGrowth(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, dir string) {
		const mib = int64(1) << 20
		size := func() int64 { return int64(time.Since(start) / time.Minute * time.Duration(mib)) } // a mebibyte a minute
		w := page(10*time.Millisecond, time.Hour)
		b := begin(t, dir, daemon.Config{
			Fetcher: w, Disk: daemon.DiskConfig{Reserve: 100 * mib, Space: func() (int64, int64, error) { return 100*mib + 14400*mib, 20000 * mib, nil }, Size: func() (int64, error) { return size(), nil }}, Limits: sched.Limits{Budget: sched.Budget{Polls: 1, Per: time.Hour}},
		}, w.Sources()...)
		defer b.stop()
		time.Sleep(5 * time.Minute)
		if d := b.Status().Disk; d == nil || d.Growth != 0 {
			t.Errorf("after five minutes the growth is told: %+v", d)
		}
		time.Sleep(2 * time.Hour)
		d := b.Status().Disk
		if d == nil || d.Growth < 1400*mib || d.Growth > 1480*mib {
			t.Fatalf("a store that grows by 1440 MiB a day is told as %+v", d)
		}
		if days, ok := d.DaysLeft(); !ok || days < 9.5 || days > 10.5 {
			t.Errorf("there are %v days left (%v), want 10", days, ok)
		}
	})
}

// On a real disk that is small, polls stop while there is still room to work.
func TestReserveOnARealDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=16m", "freshet-test", dir).CombinedOutput(); err != nil {
		t.Skipf("no small file system to fill: %v: %s", err, out)
	}
	defer func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("unmounting: %v: %s", err, out)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w := page(10*time.Millisecond, 10*time.Second)
		b := begin(t, dir, daemon.Config{Fetcher: w, Disk: daemon.DiskConfig{Reserve: 4 << 20, Space: func() (int64, int64, error) {
			var s syscall.Statfs_t
			err := syscall.Statfs(dir, &s)
			return int64(s.Bavail) * int64(s.Bsize), int64(s.Blocks) * int64(s.Bsize), err
		}}}, w.Sources()...)
		defer b.stop()
		time.Sleep(10 * time.Second)
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, make([]byte, 12<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		before := len(w.Requests())
		time.Sleep(time.Minute)
		if n := len(w.Requests()) - before; n != 0 || b.Status().Trouble == "" {
			t.Errorf("%d polls where there is less room than the reserve; the status is %+v", n, b.Status())
		}
		if _, err := b.store.AddSource(t.Context(), freshet.Source{ID: "edit", URL: "https://edit.example/", Paused: true}); err != nil {
			t.Errorf("an edit finds no room: %v", err)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if n := len(w.Requests()) - before; n < 5 || b.Status().Trouble != "" {
			t.Errorf("%d polls after there was room again; the status is %+v", n, b.Status())
		}
	})
}
