package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/tier"
)

// crashDir names the directory that the test binary writes to when it is run
// as the child of TestKill.
const crashDir = "FRESHET_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	for name, child := range map[string]func(string) error{crashDir: capture, syncDir: refuse, shelfDir: shelveUntilKilled, updateDir: update} {
		if dir := os.Getenv(name); dir != "" {
			if err := child(dir); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	os.Exit(m.Run())
}

// crashSources is how many sources the child polls at once.
const crashSources = 6

// capture commits polls until it is killed, and prints each when it has been
// acknowledged.
func capture(dir string) error {
	s, err := sqlite.Open(context.Background(), sqlite.Config{Features: features.All(), Dir: dir, FlushEvery: 50})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, crashSources)
	for i := range crashSources {
		wg.Go(func() { errs <- captureSource(s, freshet.SourceID(fmt.Sprintf("s%d", i))) })
	}
	wg.Wait()
	return <-errs
}

func captureSource(s *sqlite.Store, id freshet.SourceID) error {
	ctx := context.Background()
	src, err := s.AddSource(ctx, freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Keep: freshet.Keep{Versions: 20}})
	if err != nil && !errors.Is(err, freshet.ErrConflict) {
		return err
	}
	src.ID = id
	w, err := s.Source(ctx, id)
	if err != nil {
		return err
	}
	for n := w.Status.Head.Number + 1; ; n++ {
		at := time.Now()
		if _, err := s.Begin(ctx, freshet.Poll{Source: src, At: at}); err != nil {
			return err
		}
		r := freshet.Record{Outcome: freshet.Outcome{Source: id, Began: at, Ended: time.Now(), Result: freshet.Changed, Requests: 1}}
		text := crashText(id, n)
		r.Capture = &freshet.Capture{Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: 200, Body: append([]byte("<p>"), text...)}}
		o, c, err := s.Commit(ctx, r)
		if err != nil {
			return err
		}
		fmt.Printf("acked %s %d %d %d\n", id, o.Version, c.Seq, o.Cursor)
		if n%37 == 0 {
			if _, err := s.Prune(ctx, at, freshet.Keep{}, time.Hour); err != nil {
				return err
			}
		}
	}
}

// crashText is version n of a source: mostly what the one before was.
func crashText(id freshet.SourceID, n int) []byte {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "line %d of %s was last changed in version %d\n", i, id, n-(n+i*7)%100)
	}
	return []byte(b.String())
}

// TestKill kills a process that captures versions at random moments. Whatever
// it acknowledged must be there.
func TestKill(t *testing.T) {
	rounds := tier.Seeds(3, 8, 20)
	if raced {
		rounds = 3
	}
	dir := t.TempDir()
	acked := map[freshet.SourceID]ack{}
	for range rounds {
		killed(t, dir, acked)
		verify(t, dir, acked)
		if t.Failed() {
			return
		}
	}
	total := 0
	for _, a := range acked {
		total += a.version
	}
	if total < rounds {
		t.Fatalf("only %d versions were acknowledged in %d rounds", total, rounds)
	}
	t.Logf("%d versions were acknowledged in %d rounds, and none was lost", total, rounds)
}

// An ack is the last that the child said of a source.
type ack struct{ version, seq, cursor int }

// killed runs the child until it has acknowledged some random number of polls.
func killed(t *testing.T, dir string, acked map[freshet.SourceID]ack) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDir+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until := rand.IntN(300)
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		var id freshet.SourceID
		var a ack
		if _, err := fmt.Sscanf(lines.Text(), "acked %s %d %d %d", &id, &a.version, &a.seq, &a.cursor); err != nil {
			continue // cut off by the kill
		}
		acked[id] = a
		if n == until {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child ended by itself: %v\n%s", err, stderr.String())
	}
}

// verify opens the store and holds it to what was acknowledged.
func verify(t *testing.T, dir string, acked map[freshet.SourceID]ack) {
	t.Helper()
	s := open(t, sqlite.Config{Dir: dir})
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	}()
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("after a kill: %v", err)
	}
	for id, a := range acked {
		w, err := s.Source(t.Context(), id)
		if err != nil {
			t.Errorf("source %s: %v", id, err)
			continue
		}
		st := w.Status
		if st.Head.Number < a.version || st.Head.Number > a.version+1 || st.Changes < a.seq || int64(st.Head.Number) != st.Polls {
			t.Errorf("version %d and change %d of %s were acknowledged, and its standing is %+v", a.version, a.seq, id, st)
		}
		for n := st.Head.Number; n > max(0, st.Head.Number-20); n-- {
			if text, err := s.Text(t.Context(), id, n); err != nil || string(text) != string(crashText(id, n)) {
				t.Errorf("version %d of %s is not what was captured: %v", n, id, err)
			}
		}
		changes, err := s.Changes(t.Context(), freshet.ChangeQuery{Source: id})
		if err != nil || len(changes) != st.Changes {
			t.Errorf("%s has %d changes (%v), want %d", id, len(changes), err, st.Changes)
		}
		for i, c := range changes {
			if c.Seq != i+1 {
				t.Errorf("change %d of %s has number %d", i+1, id, c.Seq)
			}
		}
		// What was found here must stay, whether or not its acknowledgement
		// had left the child: the next round may be killed before this source
		// says anything.
		acked[id] = ack{version: st.Head.Number, seq: st.Changes, cursor: a.cursor}
	}
}
