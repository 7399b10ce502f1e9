package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"freshet/internal/app"
	"freshet/internal/app/config"
)

// processVariable has the test binary serve as a node instead of running tests. It holds a
// processConfig.
const processVariable = "FRESHET_TEST_NODE"

// TestMain runs the tests, or one node for them.
func TestMain(m *testing.M) {
	given := os.Getenv(processVariable)
	if given == "" {
		os.Exit(m.Run())
	}
	if err := serveAlone(given); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A processConfig says what a node in a process of its own works with.
type processConfig struct{ Store, Data, Standby string }

// serveAlone is a node in this process. It prints where it is.
func serveAlone(given string) error {
	var cfg processConfig
	if err := json.Unmarshal([]byte(given), &cfg); err != nil {
		return err
	}
	s := localSettings(cfg.Data)
	s.Store, s.Cluster.Lease, s.Cluster.Standby = cfg.Store, 10*time.Second, cfg.Standby
	s.Limits.Budget.Polls = 60_000
	return app.Serve(context.Background(), s, app.ServeConfig{
		Load: func() (config.Settings, error) { return s, nil }, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Announce: func(url string) error { _, err := fmt.Println(url); return err },
	})
}

// A process is a node in a process of its own.
type process struct {
	testing.TB
	*exec.Cmd
	url string
}

// startProcess starts a node, and returns when it is at work.
func startProcess(t testing.TB, cfg processConfig) *process {
	text, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{TB: t, Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.Env, p.Stderr = append(os.Environ(), processVariable+"="+string(text)), os.Stderr
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("a node ended before it was at work: %v", err)
	}
	p.url = strings.TrimSpace(line)
	return p
}

// kill ends the node without warning.
func (p *process) kill() {
	if err := p.Process.Kill(); err != nil {
		p.Fatal(err)
	}
	_ = p.Wait() // it was killed, and says so
}

// memory returns how many MiB the node holds, and peak how many it held at most; 0 if the system
// does not say.
func (p *process) memory() float64 { return p.status("VmRSS:") }
func (p *process) peak() float64   { return p.status("VmHWM:") }

func (p *process) status(name string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), name)
	kib, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	n, _ := strconv.ParseFloat(kib, 64)
	return n / 1024
}
