package simulate

import (
	"bytes"
	"context"
	"flag"
	older "math/rand"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"freshet/disk"
	"freshet/sqlite"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run this seed alone, and show what happened with -v")
	seeds   = flag.Int("seeds", 0, "how many seeds to run; 0 means as many as the test wants")
	first   = flag.Uint64("first", 1, "the first seed")
)

// template returns the files of a store without a source. Making one takes
// longer than most of a run.
func template(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	m := disk.NewMemory(rand.New(rand.NewPCG(0, 0)))
	defer m.Close()
	vfs, err := m.Start()
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Dir: dir, VFS: vfs, Files: m.Dir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	return m.Copy()
}

// runSeed runs a seed and returns its trace and what was broken.
func runSeed(t *testing.T, seed uint64, dir string, files map[string][]byte) (trace []byte, broken []string) {
	t.Helper()
	older.Seed(int64(seed)) // a server that shuts down draws its pauses from there
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, seed, dir, files)
		trace, broken = bytes.Clone(s.trace.Bytes()), s.faults
	})
	return trace, broken
}

// alone makes what is left to the scheduler of Go as certain as it can be: one
// processor, and no garbage collection while a seed runs.
func alone(t *testing.T) {
	procs, gc := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(gc)
	})
}

func TestSimulate(t *testing.T) {
	dir := t.TempDir()
	files := template(t, dir)
	alone(t)
	from, n := *first, 20
	if *seeds > 0 {
		n = *seeds
	}
	if *oneSeed > 0 {
		from, n = *oneSeed, 1
	}
	began := time.Now()
	failed := 0
	for seed := from; seed < from+uint64(n); seed++ {
		trace, broken := runSeed(t, seed, dir, files)
		runtime.GC()
		if len(broken) > 0 {
			failed++
			t.Errorf("seed %d: %d promises are broken:", seed, len(broken))
			for _, b := range broken {
				t.Errorf("  %s", b)
			}
		}
		if *oneSeed > 0 {
			t.Logf("the trace of seed %d:\n%s", seed, trace)
		}
	}
	t.Logf("%d of %d seeds failed, in %v", failed, n, time.Since(began))
}

// TestReplay runs seeds twice and compares their traces, byte for byte.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	files := template(t, dir)
	alone(t)
	for seed := *first; seed < *first+20; seed++ {
		one, _ := runSeed(t, seed, dir, files)
		runtime.GC()
		two, _ := runSeed(t, seed, dir, files)
		runtime.GC()
		if !bytes.Equal(one, two) {
			t.Errorf("seed %d: %s", seed, firstDifference(one, two))
		}
	}
}

// firstDifference shows where two traces part.
func firstDifference(a, b []byte) string {
	as, bs := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(as), len(bs)) {
		if !bytes.Equal(as[i], bs[i]) {
			from := max(0, i-3)
			return "the traces part after\n" + string(bytes.Join(as[from:i], []byte("\n"))) + "\none: " + string(as[i]) + "\ntwo: " + string(bs[i])
		}
	}
	return "one trace is longer"
}

var _ = context.Background
