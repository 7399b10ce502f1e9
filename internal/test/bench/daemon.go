package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/fetch"
	"freshet/internal/sched"
)

// A daemon is one that is measured from outside, a process of its own.
type daemon struct {
	cmd  *exec.Cmd
	base string
	data string
	api  *client.Client
	do   func(*http.Request) (*http.Response, error)

	origin *origin // what it polls, if that can end before it does
}

// daemonPatience is how long the daemon may take to start, and to answer.
const daemonPatience = 2 * time.Minute

// launch starts a daemon over sources and waits until it is ready. The command is given
// serve and --config; the settings are given beside where the data is.
func launch(ctx context.Context, command []string, dir string, settings []byte, sources []client.NewSource) (*daemon, error) {
	file := filepath.Join(dir, "freshet.yaml")
	data := filepath.Join(dir, "data")
	if err := os.WriteFile(file, fmt.Appendf(nil, "data: %s\n%s", data, settings), 0o600); err != nil {
		return nil, err
	}
	args := append(slices.Clone(command[1:]), "serve", "--config", file)
	d := &daemon{cmd: exec.CommandContext(context.WithoutCancel(ctx), command[0], args...), data: data, do: fetch.Trusted(daemonPatience).Do}
	d.cmd.Stderr = os.Stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the daemon: %w", err)
	}
	lines := bufio.NewScanner(out)
	for d.base == "" && lines.Scan() {
		_, d.base, _ = strings.Cut(lines.Text(), "listening on ")
	}
	if d.base == "" {
		return nil, errors.Join(errors.New("the daemon did not say where it listens"), d.stop())
	}
	go io.Copy(io.Discard, out)
	d.api = client.New(d.base, d.do)
	if err := d.fill(ctx, sources); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	return d, nil
}

// settings are those of a daemon that spends its whole budget on loopback.
func (plan Plan) settings(budget sched.Budget) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "listen: 127.0.0.1:0\nbudget: %s\npolicy: %s\nworkers: %d\n", budget, eager(plan.Policy), plan.Workers)
	fmt.Fprintf(&b, "source_gap: 0s\nsource_share: 100%%\n")
	fmt.Fprintf(&b, "hosts: {delay: 0s, concurrency: %d, share: 100%%}\nallow_cidr: [127.0.0.0/8]\nlog: {level: error}\n", plan.Workers)
	return b.Bytes()
}

// fill adds sources.
func (d *daemon) fill(ctx context.Context, sources []client.NewSource) error {
	group, ctx := limited(ctx, 64)
	for _, s := range sources {
		group.Go(func() error {
			_, err := d.api.Sources.Add(ctx, s)
			return err
		})
	}
	return group.Wait()
}

// wait looks for a time at how late the daemon is, and returns the most.
func (d *daemon) wait(ctx context.Context, length time.Duration) (worst time.Duration, err error) {
	for end := time.Now().Add(length); time.Now().Before(end); {
		if err := pause(ctx, min(time.Second, time.Until(end))); err != nil {
			return worst, err
		}
		s, err := d.api.Status(ctx)
		if err != nil {
			return worst, err
		}
		worst = max(worst, time.Duration(s.Late))
	}
	return worst, nil
}

// sample asks the daemon and the system how things stand.
func (d *daemon) sample(ctx context.Context) (s SoakSample, err error) {
	metrics, err := d.metrics(ctx)
	if err != nil {
		return s, err
	}
	status, err := d.api.Status(ctx)
	if err != nil {
		return s, err
	}
	s.Polls, s.Failed, s.Captured = status.Polls, status.Failed, status.Captured
	s.RSS, s.Heap = int64(metrics["process_resident_memory_bytes"]), int64(metrics["go_memstats_heap_inuse_bytes"])
	s.Files, s.Goroutines = int(metrics["process_open_fds"]), int(metrics["go_goroutines"])
	s.CPU = metrics["process_cpu_seconds_total"]
	for _, sink := range status.Sinks {
		s.Owed += sink.Open
	}
	s.Store = fileSize(filepath.Join(d.data, "freshet.db"))
	s.WAL = fileSize(filepath.Join(d.data, "freshet.db-wal"))
	return s, nil
}

// metrics reads the daemon's metrics that have no labels.
func (d *daemon) metrics(ctx context.Context) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.base+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := d.do(req)
	if err != nil {
		return nil, fmt.Errorf("read the metrics: %w", err)
	}
	defer resp.Body.Close()
	found := map[string]float64{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			found[name] = n
		}
	}
	return found, nil
}

// stop ends the daemon the gentle way.
func (d *daemon) stop() error {
	if err := d.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	return d.cmd.Wait()
}

func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
