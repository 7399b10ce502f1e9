//go:build linux

package cluster_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"freshet/internal/cluster"
	"freshet/internal/features"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
	"freshet/internal/test/pgtest"
	"freshet/internal/worker"
)

// BenchmarkRatios measures in one run what a cluster is built on: what a poll costs with many
// workers and with few, in a batch and alone, and by the wire, as CPU time of this process and
// of PostgreSQL, and how long an election takes in leases. Fetches cost nothing, and one poll
// in ten finds a change of 5 KB. What is reported are medians of turns that are taken in
// alternation: go test ./cluster -run '^$' -bench Ratios -benchtime 1x
func BenchmarkRatios(b *testing.B) {
	const turns, polls = 5, 6000
	w := &works{server: pgtest.Start(b, "fsync=on")}
	w.database = w.server.Database(b)
	w.conn = w.server.Connect(b, w.database)
	costs := map[string][]float64{}
	for range turns {
		for name, t := range map[string]shift{
			"few":   {workers: 4, polls: polls},
			"many":  {workers: 50, polls: polls},
			"own":   {polls: polls},
			"alone": {polls: polls / 10, batch: 1, still: true},
			"batch": {polls: polls, still: true},
		} {
			costs[name] = append(costs[name], w.cost(b, t))
		}
		costs["election"] = append(costs["election"], w.election(b, 2*time.Second))
	}
	median := func(name string) float64 {
		slices.Sort(costs[name])
		return costs[name][len(costs[name])/2]
	}
	b.ReportMetric(0, "ns/op")
	for name, unit := range map[string]string{"few": "µs/poll-4-hands", "many": "µs/poll-50-hands", "own": "µs/poll-no-wire", "alone": "µs/poll-alone", "batch": "µs/poll-in-batches"} {
		b.ReportMetric(1e6*median(name), unit)
	}
	b.ReportMetric(median("many")/median("few"), "×-50-of-4-hands")
	b.ReportMetric(median("batch")/median("alone"), "×-batch-of-alone")
	b.ReportMetric(1-median("own")/median("few"), "share-of-the-wire")
	b.ReportMetric(median("election"), "leases/election")
}

// A works is where shifts are worked.
type works struct {
	server   *pgtest.Server
	database string
	conn     *pgx.Conn
	stores   int
}

// A shift is a number of polls, and who makes them.
type shift struct {
	workers int // 0 means that no wire is between
	polls   int
	batch   int  // polls in a transaction at most; 0 means as many as there are
	still   bool // nothing changes
}

// url returns where a new store is.
func (w *works) url(b *testing.B) string {
	w.stores++
	name := fmt.Sprintf("store%d", w.stores)
	if _, err := w.conn.Exec(b.Context(), "CREATE SCHEMA "+name); err != nil {
		b.Fatal(err)
	}
	return w.server.URL(w.database) + "&search_path=" + name
}

// cost returns the CPU seconds of a poll.
func (w *works) cost(b *testing.B, t shift) float64 {
	const at = 256 // pollers at once
	s, err := postgres.Open(b.Context(), postgres.Config{Features: features.All(), URL: w.url(b), Batch: t.batch})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	sources := make([]freshet.Source, at)
	for i := range sources {
		if sources[i], err = s.AddSource(b.Context(), freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", i)), URL: fmt.Sprintf("https://host%d.example/", i)}); err != nil {
			b.Fatal(err)
		}
	}
	looker, leave := join(b, t)
	defer leave()
	before := w.cpu(b)
	var left, failed atomic.Int64
	left.Store(int64(t.polls))
	var polling sync.WaitGroup
	for i := range sources {
		polling.Go(func() {
			for n := i; left.Add(-1) >= 0; n++ {
				if err := poll(b.Context(), s, looker, sources[i], n); err != nil && failed.Add(1) == 1 {
					b.Error(err)
				}
			}
		})
	}
	polling.Wait()
	return (w.cpu(b) - before) / float64(t.polls)
}

// poll makes a poll as the daemon does.
func poll(ctx context.Context, s freshet.Store, looker worker.Looker, source freshet.Source, n int) error {
	began := time.Date(2026, 3, 1, 12, 0, n, 0, time.UTC)
	head, err := s.Begin(ctx, freshet.Poll{Source: source, At: began})
	if err != nil {
		return err
	}
	f := looker.Look(ctx, worker.Task{Source: source, Head: head, At: began, Permit: func(context.Context, freshet.Hop) error { return nil }})
	o := freshet.Outcome{Source: source.ID, Began: began, Ended: began.Add(time.Second), Result: f.Result, Status: f.Status, Requests: 1}
	if f.Err != "" {
		return fmt.Errorf("look: %s", f.Err)
	}
	_, _, err = s.Commit(ctx, freshet.Record{Outcome: o, Capture: f.Capture})
	return err
}

// join has workers join a leader, and returns what looks through them.
func join(b *testing.B, t shift) (worker.Looker, func()) {
	if t.workers == 0 {
		return &idler{still: t.still}, func() {}
	}
	workers := cluster.New(cluster.Config{Token: func() string { return token }, Lease: time.Minute, Total: time.Second, Epoch: 1, Agent: "freshet-test"})
	leader := httptest.NewServer(workers)
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	for i := range t.workers {
		worker := cluster.NewWorker(cluster.WorkerConfig{
			Join: []string{leader.URL}, Token: token, Name: fmt.Sprint("hand", i), Slots: 128, Do: fetch.Trusted(10 * time.Second).Do,
			Open: func(cluster.Terms) (worker.Looker, error) { return &idler{still: t.still}, nil },
		})
		working.Go(func() { _ = worker.Run(ctx) })
	}
	for len(workers.Status()) < t.workers {
		time.Sleep(time.Millisecond)
	}
	return workers, func() {
		cancel()
		working.Wait()
		leader.Close()
	}
}

// An idler looks without looking: one look in ten finds a change of 5 KB.
type idler struct {
	still bool
	looks atomic.Int64
}

// Look implements [worker.Looker].
func (i *idler) Look(_ context.Context, o worker.Task) worker.Result {
	f := worker.Result{Result: freshet.Unchanged, Status: 200, Requests: 1}
	if n := i.looks.Add(1); !i.still && n%10 == 0 {
		text := fmt.Appendf(nil, "%s at %d of %s", strings.Repeat("a line that stays\n", 280), n, o.Source.ID)
		f.Result, f.Capture = freshet.Changed, &freshet.Capture{Recipe: o.Source.Key(), Raw: freshet.Raw{Status: 200, Body: text}, Text: text, Hash: freshet.HashOf(text)}
	}
	return f
}

// Robots implements [worker.Looker].
func (i *idler) Robots(context.Context, worker.Task, string) (worker.RobotsResult, error) {
	return worker.RobotsResult{}, nil
}

// cpu returns the CPU seconds of this process and of the processes of PostgreSQL.
func (w *works) cpu(b *testing.B) (seconds float64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	seconds = time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	rows, err := w.conn.Query(b.Context(), "SELECT pid FROM pg_stat_activity")
	if err != nil {
		b.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after)
		for _, ticks := range fields[11:13] {
			n, err := strconv.ParseFloat(ticks, 64)
			if err != nil {
				b.Fatal(err)
			}
			seconds += n / 100
		}
	}
	return seconds
}

// election returns how many leases pass from the last sign of life of a leader until the next
// one can write, as a node waits for it.
func (w *works) election(b *testing.B, lease time.Duration) float64 {
	cfg := postgres.Config{Features: features.All(), URL: w.url(b), Lease: lease}
	s, err := postgres.Open(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	peers, err := postgres.OpenPeers(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer peers.Close()
	_, schema, _ := strings.Cut(cfg.URL, "search_path=")
	if _, err := w.conn.Exec(b.Context(), "UPDATE "+schema+".leases SET epoch = epoch + 1, holder = 'a leader that has just died', renewed = clock_timestamp() WHERE name = 'leader'"); err != nil {
		b.Fatal(err)
	}
	died := time.Now()
	for {
		l, err := peers.Lease(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if !l.Held() {
			break
		}
		time.Sleep(lease / 20)
	}
	if s, err = postgres.Open(b.Context(), cfg); err != nil {
		b.Fatal(err)
	}
	took := time.Since(died)
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	return took.Seconds() / lease.Seconds()
}
