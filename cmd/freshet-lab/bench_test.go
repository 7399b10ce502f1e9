package main

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"freshet/internal/test/bench"
	"freshet/internal/test/pgtest"
	"freshet/internal/test/tier"
)

// runBench runs a short benchmark as a user would.
func runBench(t *testing.T, args ...string) []byte {
	t.Helper()
	tier.Slow(t, "it runs a benchmark")
	dir := t.TempDir()
	cmd := exec.Command("freshet-lab", append([]string{"bench"}, append(args, "--json", "--dir", dir)...)...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the benchmark failed: %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the benchmark left %v behind (%v), want nothing", left, err)
	}
	return out
}

// TestBenchOfAProgram measures a program in another process, which is built once.
func TestBenchOfAProgram(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it runs benchmarks")
	freshet := filepath.Join(t.TempDir(), "freshet")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", freshet, "../freshet").CombinedOutput(); err != nil {
		t.Fatalf("building freshet failed: %v\n%s", err, out)
	}
	t.Run("soak samples and judges", func(t *testing.T) { soak(t, freshet) })
	t.Run("lists are measured", func(t *testing.T) { lists(t, freshet) })
	t.Run("the cost of a cluster is measured", func(t *testing.T) { clusterCost(t, freshet) })
}

func TestBenchPollMeasuresBothSides(t *testing.T) {
	t.Parallel()
	var results []bench.PollResult
	if err := json.Unmarshal(runBench(t, "poll", "--sources", "6", "--concurrency", "8", "--for", "300ms", "--rounds", "2"), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != len(bench.PollCases) {
		t.Fatalf("%d kinds of answers were measured, want %d", len(results), len(bench.PollCases))
	}
	for _, r := range results {
		if len(r.Rounds) != 2 || r.Bare.PerSecond <= 0 || r.Freshet.PerSecond <= 0 {
			t.Errorf("%s: %d rounds, %.0f and %.0f polls a second; want two rounds and some polls", r.Answers, len(r.Rounds), r.Bare.PerSecond, r.Freshet.PerSecond)
		}
		if r.Freshet.Allocs <= 0 || r.Freshet.Written <= 0 || r.Freshet.Syncs <= 0 {
			t.Errorf("%s: a poll allocates %v times, writes %v bytes and syncs %v times; want more than none", r.Answers, r.Freshet.Allocs, r.Freshet.Written, r.Freshet.Syncs)
		}
	}
}

// What a poll costs that does not depend on the speed of the machine: allocations, and bytes that SQLite writes for a poll
// which shares no transaction, both with the index of search. A round has other work in it, so that the least of them
// counts. Who makes polls dearer on purpose raises the limits and says why in the commit.
func TestPollsStayCheap(t *testing.T) {
	t.Parallel()
	limits := map[string]struct{ allocs, written float64 }{
		"304": {152, 21_000}, "same": {159, 21_000}, "html": {450, 68_500}, "json": {745, 106_000}, "feed": {960, 90_000},
	}
	var results []bench.PollResult
	if err := json.Unmarshal(runBench(t, "poll", "--sources", "50", "--concurrency", "1", "--for", "1ms", "--polls", "400", "--rounds", "3"), &results); err != nil {
		t.Fatal(err)
	}
	const heavier = 1.1
	for _, r := range results {
		allocs, written := math.Inf(1), math.Inf(1)
		for _, round := range r.Rounds {
			allocs, written = min(allocs, round[1].Allocs), min(written, round[1].Written)
		}
		if most := limits[r.Answers]; allocs > most.allocs*heavier || written > most.written*heavier {
			t.Errorf("%s: a poll allocates %.0f times and writes %.0f bytes; the limits are %.0f and %.0f, and a tenth more", r.Answers, allocs, written, most.allocs, most.written)
		}
	}
}

func TestBenchCompareMeasuresBothBuilds(t *testing.T) {
	t.Parallel()
	tier.Slow(t, "it runs a benchmark")
	self, err := exec.LookPath("freshet-lab")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("freshet-lab", "bench", "compare", "--base", self, "--cases", "304", "--for", "200ms", "--rounds", "1").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "304      base ") || !strings.Contains(string(out), "304      now ") {
		t.Errorf("the comparison is %s, %v", out, err)
	}
}

func soak(t *testing.T, freshet string) {
	t.Parallel()
	// So short a run is not flat, and the program says so.
	dir := t.TempDir()
	out, err := exec.Command("freshet-lab", "bench", "soak", "--freshet", freshet, "--sources", "60", "--rate", "100/s", "--for", "2s", "--every", "400ms", "--changed", "0.5", "--json", "--dir", dir).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("the soak failed: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var s bench.SoakSample
	if err := json.Unmarshal([]byte(lines[len(lines)-2]), &s); err != nil {
		t.Fatal(err)
	}
	if s.Polls == 0 || s.Failed > 0 || s.RSS == 0 || s.Heap == 0 || s.Files == 0 || s.Goroutines == 0 || s.Store == 0 || s.CPU == 0 || s.Delivered == 0 || s.Streamed == 0 {
		t.Errorf("the last sample is %+v; want something of everything and no failure", s)
	}
	var v bench.SoakVerdict
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &v); err != nil || len(v.Trends) == 0 {
		t.Errorf("the last line is no verdict: %s (%v)", lines[len(lines)-1], err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("the soak left %v behind (%v), want nothing", left, err)
	}
}

func lists(t *testing.T, freshet string) {
	t.Parallel()
	var r bench.ListsResult
	asked := []string{"lists", "--freshet", freshet, "--sources", "300", "--versions", "600", "--hosts", "3", "--rate", "50/s", "--keep", t.TempDir() + "/kept"}
	if err := json.Unmarshal(runBench(t, append(asked, "--for", "2s")...), &r); err != nil {
		t.Fatal(err)
	}
	if r.Sources != 300 || r.Heap == 0 || r.First == 0 || r.P95 == 0 {
		t.Errorf("the result is %+v; want 300 sources and something of everything", r)
	}
	for _, l := range r.Lists {
		if l.Asked == 0 && l.Name == "sources" || l.Asked > 0 && (l.P50 == 0 || l.Bytes == 0) {
			t.Errorf("of %s is said %+v; want a time and a size", l.Name, l)
		}
	}
	var again bench.ListsResult
	if err := json.Unmarshal(runBench(t, append(asked, "--for", "1ms")...), &again); err != nil {
		t.Fatal(err)
	}
	if again.Lists[0].Bytes < 10_000 {
		t.Errorf("of the sources that were kept is said %+v; want all of them", again.Lists[0])
	}
	out, err := exec.Command("freshet-lab", append([]string{"bench"}, append(asked, "--sources", "200")...)...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a store of 300 sources") {
		t.Errorf("with another number of sources it says %s (%v), want what is there", out, err)
	}
}

func clusterCost(t *testing.T, freshet string) {
	t.Parallel()
	pgtest.Start(t) // or it is skipped
	var results []bench.ClusterResult
	asked := []string{"cluster", "--freshet", freshet, "--sources", "20", "--rate", "40/s", "--nodes", "2", "--workers", "1", "--for", "3s", "--rounds", "1"}
	if err := json.Unmarshal(runBench(t, asked...), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 3 {
		t.Fatalf("the results are %+v, want those of three setups", results)
	}
	for i, r := range results {
		if r.PerSecond <= 0 || r.Leader <= 0 || r.All < r.Leader || r.Times <= 0 {
			t.Errorf("the result is %+v; want polls, and CPU time of them", r)
		}
		if postgres, many := i > 0, i == 2; r.PostgreSQL > 0 != postgres || r.Workers > 0 != many {
			t.Errorf("the result is %+v; want CPU time of PostgreSQL %v, of workers %v", r, postgres, many)
		}
	}
}

func TestBenchBrainMeasuresEachRate(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("freshet-lab", "bench", "brain", "--sources", "400", "--per-host", "2", "--rate", "20/s,600/m", "--for", "5s", "--json").Output()
	if err != nil {
		t.Fatalf("the benchmark failed: %v", err)
	}
	var results []bench.BrainResult
	if err := json.Unmarshal(out, &results); err != nil || len(results) != 2 {
		t.Fatalf("the results are %s (%v), want two of them", out, err)
	}
	for i, rate := range []float64{20, 10} {
		r := results[i]
		if r.Sources != 400 || r.Rate != rate || r.PerSecond < 0.8*rate || r.PerSecond > 1.2*rate || r.Bytes < 100 {
			t.Errorf("at %v polls a second the result is %+v, want about as many polls, and a size", rate, r)
		}
	}
	// A clock of CPU time may stand still for as long as one of these short runs takes.
	if both := results[0].CPU + results[0].Longest + results[1].CPU + results[1].Longest; both <= 0 {
		t.Errorf("the results are %s, want CPU time", out)
	}
}
