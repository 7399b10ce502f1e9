package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// syncDir names the directory that the test binary writes to when it is run as
// the child of TestFailedSync.
const syncDir = "FRESHET_TEST_SYNC_DIR"

// refuse commits versions until one cannot be synced. Then nothing more may be
// written, although the disk would take it again, and reads must go on.
func refuse(dir string) error {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Config{Features: features.All(), Dir: dir})
	if errors.Is(err, freshet.ErrStorage) && freshet.HintOf(err) != "" {
		fmt.Println("acked 0 false") // it came to that before there was anything to write
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	w, err := s.Source(ctx, "a")
	if err != nil {
		return err
	}
	acked := w.Status.Head.Number
	for err == nil && acked < w.Status.Head.Number+300 {
		if err = captureText(ctx, s, crashText("a", acked+1)); err == nil {
			acked++
		}
	}
	if err == nil { // it was a sync that SQLite makes up for
		fmt.Printf("acked %d false\n", acked)
		return nil
	}
	if !errors.Is(err, freshet.ErrStorage) || !errors.Is(err, freshet.ErrStoreFailed) || freshet.HintOf(err) == "" {
		return fmt.Errorf("a failed sync gives %w, want a hinted %w", err, freshet.ErrStorage)
	}
	for range 3 {
		if err := captureText(ctx, s, crashText("a", acked+1)); !errors.Is(err, freshet.ErrStorage) {
			return fmt.Errorf("writing after a failed sync gives %w, want %w", err, freshet.ErrStorage)
		}
	}
	if _, err := s.Text(ctx, "a", acked); err != nil {
		return fmt.Errorf("reading after a failed sync: %w", err)
	}
	fmt.Printf("acked %d true\n", acked)
	return nil
}

// TestFailedSync has the system refuse one sync after another. What was
// acknowledged before must be there when the store is opened again.
func TestFailedSync(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace to make a sync fail with")
	}
	if raced {
		t.Skip("strace and the race detector do not get on")
	}
	dir := filled(t, 1)
	refusals := 0
	for _, when := range []int{1, 2, 8, 12, 20, 31} {
		cmd := exec.Command(strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
			"-e", fmt.Sprintf("inject=fsync,fdatasync:error=EIO:when=%d", when), os.Args[0])
		cmd.Env = append(os.Environ(), syncDir+"="+dir, "GOMAXPROCS=1")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil && strings.Contains(stderr.String(), "ptrace") {
			t.Skipf("strace may not trace here: %s", stderr.String())
		}
		var acked int
		var refused bool
		if _, scan := fmt.Sscanf(string(out), "acked %d %t", &acked, &refused); err != nil || scan != nil {
			t.Fatalf("the child failed: %v\n%s%s", err, out, stderr.String())
		}
		if refused {
			refusals++
		}
		s := open(t, sqlite.Config{Dir: dir})
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("after a failed sync: %v", err)
		}
		w, err := s.Source(t.Context(), "a")
		if err != nil || w.Status.Head.Number < acked {
			t.Errorf("%d versions were acknowledged and %d are there: %v", acked, w.Status.Head.Number, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if refusals == 0 {
		t.Error("no sync was refused while versions were written")
	}
}
