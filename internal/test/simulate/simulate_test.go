package simulate

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	older "math/rand"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"freshet/internal/features"
	"freshet/internal/store/sqlite"
	"freshet/internal/test/diskfault"
	"freshet/internal/test/tier"
)

var (
	oneSeed = flag.Uint64("seed", 0, "run this seed alone, and show what happened with -v")
	seeds   = flag.Uint64("seeds", 0, "how many seeds to run; 0 means as many as the tier has")
	first   = flag.Uint64("first", 1, "the first seed")
	last    = flag.Uint64("last", 0, "the last seed, in a process that runs some of them")
)

// inChild is set in the environment of the processes that run the seeds.
const inChild = "FRESHET_SIMULATE_CHILD"

// certain makes the runtime of Go do as little by chance as it can: a goroutine
// is not stopped by a signal, and the random pauses of a server that shuts down
// can be seeded.
const certain = "GODEBUG=asyncpreemptoff=1,randseednop=0"

// TestSimulate runs seeds, in as many processes as there are processors: in each
// of them one goroutine at a time.
func TestSimulate(t *testing.T) {
	switch {
	case *oneSeed > 0 && os.Getenv(inChild) == "":
		out, err := child(t, *oneSeed, *oneSeed, 1).CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error("the seed failed")
		}
		return
	case os.Getenv(inChild) != "":
		campaign(t)
		return
	}
	n := *seeds
	if n == 0 {
		n = uint64(tier.Seeds(1, 60, 10_000))
	}
	if raced {
		n = min(n, 40)
	}
	workers := uint64(runtime.NumCPU())
	var running sync.WaitGroup
	var mu sync.Mutex
	began := time.Now()
	for w := range min(workers, n) {
		running.Go(func() {
			cmd := child(t, *first+w, *first+n-1, workers)
			out, err := cmd.CombinedOutput()
			mu.Lock()
			defer mu.Unlock()
			if err != nil || !bytes.Contains(out, []byte("all seeds are done")) {
				t.Errorf("seeds %d, %d, ...: %v\n%s", *first+w, *first+w+workers, err, out)
			}
		})
	}
	running.Wait()
	t.Logf("%d seeds took %v", n, time.Since(began).Round(time.Millisecond))
}

// child returns a process that runs every step'th seed. It does not outlive the test.
func child(t *testing.T, from, to, step uint64) *exec.Cmd {
	var left time.Duration // zero means for ever
	if end, ok := t.Deadline(); ok {
		left = time.Until(end)
	}
	args := []string{"-test.run=^TestSimulate$", "-test.timeout=" + left.String(),
		"-first=" + strconv.FormatUint(from, 10), "-last=" + strconv.FormatUint(to, 10)}
	if *oneSeed > 0 {
		args = append(args, "-seed="+strconv.FormatUint(*oneSeed, 10))
	}
	if testing.Verbose() {
		args = append(args, "-test.v")
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), certain, inChild+"="+strconv.FormatUint(step, 10))
	return cmd
}

// campaign runs the seeds of this process.
func campaign(t *testing.T) {
	step, err := strconv.ParseUint(os.Getenv(inChild), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t)
	for seed := *first; seed <= *last; seed += step {
		trace, broken := r.run(t, seed)
		if *oneSeed > 0 && testing.Verbose() {
			fmt.Printf("%s", trace)
		}
		if len(broken) == 0 {
			continue
		}
		again, _ := r.run(t, seed)
		t.Errorf("seed %d breaks promises (a second run is the same: %v):\n  %s\nto see it: go test ./simulate -run TestSimulate -seed %d -v",
			seed, bytes.Equal(trace, again), strings.Join(broken, "\n  "), seed)
	}
	fmt.Println("all seeds are done")
}

// A runner runs seeds one after another.
type runner struct {
	dir   string
	files map[string][]byte // of a store without a source
}

// newRunner makes what is left to the scheduler of Go as certain as it can be:
// one processor, and no garbage collection while a seed runs.
func newRunner(t *testing.T) *runner {
	t.Helper()
	r := &runner{dir: t.TempDir()}
	r.files = template(t, r.dir)
	procs, gc := runtime.GOMAXPROCS(1), debug.SetGCPercent(-1)
	t.Cleanup(func() {
		runtime.GOMAXPROCS(procs)
		debug.SetGCPercent(gc)
	})
	return r
}

// template returns the files of a store without a source. Making one takes
// longer than most of a run.
func template(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	m := diskfault.NewMemory(rand.New(rand.NewPCG(0, 0)))
	vfs, err := m.Start()
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: dir, VFS: vfs, Files: m.Dir(dir), Epoch: "empty"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Close(), m.Close()); err != nil {
		t.Fatal(err)
	}
	return m.Copy()
}

// run runs a seed and returns its trace and what was broken.
func (r *runner) run(t *testing.T, seed uint64) (trace []byte, broken []string) {
	t.Helper()
	runtime.GC()
	hangs := time.AfterFunc(20*time.Minute, func() { panic(fmt.Sprintf("seed %d hangs", seed)) })
	defer hangs.Stop()
	older.Seed(int64(seed)) // a server that shuts down draws its pauses from there
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, seed, r.dir, r.files)
		trace, broken = bytes.Clone(s.trace.Bytes()), s.faults
	})
	return trace, broken
}

// TestReplay runs seeds again and compares their whole traces, byte for byte.
//
// One thing cannot be kept from chance. When the machine takes the processor
// away for ten milliseconds, the runtime of Go takes it for the fault of the
// goroutine that was running and lets another go first. So a seed may be run up to
// twelve times to see two runs that agree; on a machine that is not busy the first
// two do.
func TestReplay(t *testing.T) {
	if raced {
		t.Skip("the race detector has goroutines run in any order")
	}
	tier.Slow(t, "it runs seeds several times")
	if os.Getenv(inChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestReplay$", "-test.v")
		cmd.Env = append(os.Environ(), certain, inChild+"=1")
		out, err := cmd.CombinedOutput()
		for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
			t.Log(lines.Text())
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
	r := newRunner(t)
	const most = 12
	n := uint64(tier.Seeds(1, 5, 30))
	atOnce := 0
	for seed := *first; seed < *first+n; seed++ {
		one, _ := r.run(t, seed)
		runs := [][]byte{one}
		for len(runs) < most {
			next, _ := r.run(t, seed)
			if containsBytes(runs, next) {
				break
			}
			runs = append(runs, next)
		}
		switch len(runs) {
		case 1:
			atOnce++
		case most:
			t.Errorf("seed %d: of %d runs no two are the same: %s", seed, most, firstDifference(runs[0], runs[1]))
		}
	}
	t.Logf("%d of %d seeds were the same at the first try", atOnce, n)
}

// containsBytes reports whether b is one of all.
func containsBytes(all [][]byte, b []byte) bool {
	for _, other := range all {
		if bytes.Equal(other, b) {
			return true
		}
	}
	return false
}

// firstDifference shows where two traces part.
func firstDifference(a, b []byte) string {
	as, bs := bufio.NewReader(bytes.NewReader(a)), bufio.NewReader(bytes.NewReader(b))
	before := ""
	for {
		one, errOne := as.ReadString('\n')
		two, errTwo := bs.ReadString('\n')
		if one != two {
			return fmt.Sprintf("the traces part after\n%sone: %stwo: %s", before, one, two)
		}
		if errors.Is(errOne, io.EOF) || errors.Is(errTwo, io.EOF) {
			return "the traces are the same"
		}
		before = one
	}
}
