package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"freshet/client"
	"freshet/internal/sched"
	"freshet/internal/test/pgtest"
)

// A Cluster measures the CPU time of a poll in all processes together: of a node with SQLite, of a node with PostgreSQL,
// and of several nodes with workers. All poll at the same time and at the same rate, so that other load on the machine
// affects all of them.
type Cluster struct {
	Plan    Plan
	Builds  []Build
	Nodes   int // of the largest setup
	Workers int // likewise
	Budget  sched.Budget
	Length  time.Duration // of one round
	Rounds  int
	Say     func(format string, args ...any) // reports progress
}

// A Build is a program to measure.
type Build struct{ Name, Program string }

// A ClusterResult is what a poll costs with one setup of one build. CPU times are in microseconds a poll.
type ClusterResult struct {
	Build      string  `json:"build"`
	Setup      string  `json:"setup"`
	PerSecond  float64 `json:"polls_per_second"`
	Leader     float64 `json:"leader"`
	Standby    float64 `json:"standby"` // one of them
	Workers    float64 `json:"workers"` // all of them
	PostgreSQL float64 `json:"postgresql"`
	All        float64 `json:"all"`
	Times      float64 `json:"times_sqlite"`      // All, compared with SQLite
	Share      float64 `json:"standby_to_leader"` // 0 without a standby
	Late       float64 `json:"late_seconds"`      // the most, as the leader reports it
}

// The roles of processes.
const (
	leaderRole = iota
	standbyRole
	workerRole
	databaseRole
	roles
)

// A setup is the processes that poll together.
type setup struct {
	build, name string
	sqlite      *setup // the one to compare with
	nodes       []*daemon
	workers     []*exec.Cmd
	database    *pgtest.Server

	polls  int64
	cpu    [roles]time.Duration
	rounds [][roles]float64 // µs a poll
	rates  []float64
	late   time.Duration
}

// Run measures all builds.
func (b *Cluster) Run(ctx context.Context) (results []ClusterResult, err error) {
	origin, err := b.Plan.start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, origin.stop()) }()
	dir, err := os.MkdirTemp(b.Plan.Dir, "freshet-bench-")
	if err != nil {
		return nil, fmt.Errorf("create a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	setups, err := b.open(ctx, dir, origin.URLs)
	defer func() {
		for _, s := range setups {
			err = errors.Join(err, s.close())
		}
	}()
	if err != nil {
		return nil, err
	}
	if err := b.measure(ctx, setups); err != nil {
		return nil, err
	}
	for _, s := range setups {
		results = append(results, s.result())
	}
	return results, nil
}

// open starts all processes of all builds. What it returns must be closed, also after an error.
func (b *Cluster) open(ctx context.Context, dir string, urls []string) (setups []*setup, err error) {
	var sources []client.NewSource
	for i, url := range urls {
		sources = append(sources, client.NewSource{ID: sourceID(i), URL: url})
	}
	for i, build := range b.Builds {
		sqlite := &setup{build: build.Name, name: "SQLite"}
		sqlite.sqlite = sqlite
		one := &setup{build: build.Name, name: "PostgreSQL", sqlite: sqlite}
		many := &setup{build: build.Name, name: fmt.Sprintf("%d nodes, %d workers", b.Nodes, b.Workers), sqlite: sqlite}
		setups = append(setups, sqlite, one, many)
		b.Say("starting %s", build.Name)
		for j, open := range []func(string) error{
			func(at string) error { return sqlite.addNode(ctx, b, build, at, "", sources) },
			func(at string) error { return one.openDatabase(ctx, b, build, at, 1, 0, sources) },
			func(at string) error { return many.openDatabase(ctx, b, build, at, b.Nodes, b.Workers, sources) },
		} {
			at := filepath.Join(dir, fmt.Sprintf("build%d-setup%d", i, j))
			if err := os.Mkdir(at, 0o700); err != nil {
				return setups, err
			}
			if err := open(at); err != nil {
				return setups, err
			}
		}
	}
	return setups, nil
}

// openDatabase starts PostgreSQL, nodes and workers.
func (s *setup) openDatabase(ctx context.Context, b *Cluster, build Build, dir string, nodes, workers int, sources []client.NewSource) (err error) {
	if s.database, err = pgtest.Launch("fsync=on", "max_wal_size=1GB", "shared_buffers=128MB"); err != nil {
		return err
	}
	if err := s.database.Do(ctx, "CREATE DATABASE bench"); err != nil {
		return err
	}
	more := fmt.Sprintf("store: %q\nsecrets: %s\n", s.database.URL("bench"), filepath.Join(dir, "secrets"))
	token := filepath.Join(dir, "token")
	if workers > 0 {
		if err := os.WriteFile(token, []byte("a-token-for-the-workers-of-a-benchmark"), 0o600); err != nil {
			return err
		}
		more += fmt.Sprintf("hands: {token_file: %s, own_slots: 0}\n", token)
	}
	for i := range nodes {
		at := filepath.Join(dir, "node"+strconv.Itoa(i))
		if err := os.Mkdir(at, 0o700); err != nil {
			return err
		}
		if err := s.addNode(ctx, b, build, at, more, sources); err != nil {
			return err
		}
		sources = nil // the first node has added them
	}
	for i := range workers {
		w := exec.CommandContext(context.WithoutCancel(ctx), build.Program, "worker", "--join", s.nodes[0].base, "--token-file", token, "--name", "worker"+strconv.Itoa(i),
			"--slots", strconv.Itoa(max(1, b.Plan.Workers/workers)), "--allow-cidr", "127.0.0.0/8", "--log-level", "error")
		w.Stderr = os.Stderr
		if err := w.Start(); err != nil {
			return fmt.Errorf("start a worker: %w", err)
		}
		s.workers = append(s.workers, w)
	}
	return nil
}

// addNode starts a node.
func (s *setup) addNode(ctx context.Context, b *Cluster, build Build, dir, more string, sources []client.NewSource) error {
	if b.Plan.Changed == 0 {
		more += "search: off\n" // the first versions would still be indexed while polls are measured
	}
	d, err := launch(ctx, []string{build.Program}, dir, fmt.Appendf(b.Plan.settings(b.Budget), "%s", more), sources)
	if err == nil {
		s.nodes = append(s.nodes, d)
	}
	return err
}

// measure takes the rounds of all setups, when all are at work.
func (b *Cluster) measure(ctx context.Context, setups []*setup) error {
	for _, s := range setups {
		b.Say("waiting for %s, %s", s.build, s.name)
		if err := s.ready(ctx, 2*int64(b.Plan.Sources)); err != nil {
			return err
		}
	}
	for i := range b.Rounds {
		b.Say("round %d of %d", i+1, b.Rounds)
		for _, s := range setups {
			if err := s.mark(ctx, nil); err != nil {
				return err
			}
		}
		began := make(map[*setup]time.Time, len(setups))
		for _, s := range setups {
			began[s] = time.Now()
		}
		if err := pause(ctx, b.Length); err != nil {
			return err
		}
		for _, s := range setups {
			took := time.Since(began[s])
			if err := s.mark(ctx, &took); err != nil {
				return err
			}
		}
	}
	return nil
}

// ready waits until a setup has made so many polls, every standby is warm and every worker has joined.
func (s *setup) ready(ctx context.Context, polls int64) error {
	api := s.nodes[0].api
	for end := time.Now().Add(daemonPatience); ; {
		status, err := api.Status(ctx)
		if err != nil {
			return err
		}
		all, err := api.Cluster(ctx)
		if err != nil {
			return err
		}
		warm := 0
		for _, n := range all.Nodes {
			if n.Standby == "warm" {
				warm++
			}
		}
		if status.Polls >= polls && warm == len(s.nodes)-1 && len(all.Hands) == len(s.workers) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s, %s: after %v there are %d polls, %d warm standbys of %d and %d workers of %d",
				s.build, s.name, daemonPatience, status.Polls, warm, len(s.nodes)-1, len(all.Hands), len(s.workers))
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// mark notes what a setup has done so far, and if took is set what it did in a round of that length.
func (s *setup) mark(ctx context.Context, took *time.Duration) error {
	cpu, err := s.used()
	if err != nil {
		return err
	}
	status, err := s.nodes[0].api.Status(ctx)
	if err != nil {
		return err
	}
	s.late = max(s.late, time.Duration(status.Late))
	if took != nil {
		n := float64(status.Polls - s.polls)
		if n <= 0 {
			return fmt.Errorf("%s, %s: the first node made no poll in %v", s.build, s.name, *took)
		}
		var round [roles]float64
		for role := range round {
			round[role] = float64((cpu[role] - s.cpu[role]).Microseconds()) / n
		}
		s.rounds, s.rates = append(s.rounds, round), append(s.rates, n/took.Seconds())
	}
	s.cpu, s.polls = cpu, status.Polls
	return nil
}

// used returns the CPU time that the processes of each role have used so far.
func (s *setup) used() (cpu [roles]time.Duration, err error) {
	add := func(role, pid int) error {
		used, err := processTime(pid)
		cpu[role] += used
		return err
	}
	for i, n := range s.nodes {
		if err := add(min(i, standbyRole), n.cmd.Process.Pid); err != nil {
			return cpu, err
		}
	}
	for _, w := range s.workers {
		if err := add(workerRole, w.Process.Pid); err != nil {
			return cpu, err
		}
	}
	if s.database == nil {
		return cpu, nil
	}
	pid, err := s.database.PID()
	if err != nil {
		return cpu, err
	}
	return cpu, add(databaseRole, pid)
}

// result returns the medians of the rounds.
func (s *setup) result() ClusterResult {
	r := ClusterResult{Build: s.build, Setup: s.name, PerSecond: medianOf(s.rates), Late: s.late.Seconds()}
	for role, to := range []*float64{&r.Leader, &r.Standby, &r.Workers, &r.PostgreSQL} {
		*to = s.median(func(round [roles]float64) float64 { return round[role] })
	}
	r.All, r.Times = s.median(total), ratio(s.median(total), s.sqlite.median(total))
	if standbys := len(s.nodes) - 1; standbys > 0 {
		r.Standby /= float64(standbys)
		r.Share = ratio(r.Standby, r.Leader)
	}
	return r
}

// total returns the CPU time of all roles.
func total(round [roles]float64) (all float64) {
	for _, us := range round {
		all += us
	}
	return all
}

func (s *setup) median(of func([roles]float64) float64) float64 {
	var values []float64
	for _, round := range s.rounds {
		values = append(values, of(round))
	}
	return medianOf(values)
}

// medianOf returns the middle of values; zero if there are none.
func medianOf(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// close ends all processes of a setup: workers first, and the leader last, so that nobody takes over.
func (s *setup) close() (err error) {
	for _, w := range s.workers {
		err = errors.Join(err, w.Process.Signal(os.Interrupt))
	}
	for _, w := range s.workers {
		err = errors.Join(err, w.Wait())
	}
	for _, n := range slices.Backward(s.nodes) {
		err = errors.Join(err, n.stop())
	}
	if s.database != nil {
		err = errors.Join(err, s.database.Remove())
	}
	return err
}
