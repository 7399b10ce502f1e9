//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/test/kit"
	"freshet/internal/test/tier"
)

// A loaded is a daemon in a process of its own, whose memory, files and time
// are measured from outside.
type loaded struct {
	cmd     *exec.Cmd
	url     string // of its API
	data    string
	log     bytes.Buffer
	started time.Time
	read    chan struct{} // closed when its output has ended
}

// load starts a daemon with the lines of a configuration and waits until it has
// said where it listens. It may open no more than so many files; 0 means any number.
func load(t *testing.T, files int, config string) *loaded {
	t.Helper()
	tier.Slow(t, "it starts a daemon in another process")
	dir := t.TempDir()
	d := &loaded{data: filepath.Join(dir, "data"), read: make(chan struct{}), started: time.Now()}
	path := filepath.Join(dir, "freshet.yaml")
	head := fmt.Sprintf("data: %s\nlisten: 127.0.0.1:0\nallow_cidr: [127.0.0.0/8]\n", d.data)
	if err := os.WriteFile(path, []byte(head+config), 0o600); err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.CommandContext(t.Context(), "freshet", "serve", "--config", path)
	if files > 0 {
		d.cmd = exec.CommandContext(t.Context(), "sh", "-c", `ulimit -n "$0" && exec freshet serve --config "$1"`, strconv.Itoa(files), path)
	}
	d.cmd.Stderr = &d.log
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	where := make(chan string, 1)
	go func() {
		defer close(d.read)
		defer close(where)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
				where <- url
			}
		}
	}()
	t.Cleanup(func() {
		d.cmd.Process.Kill()
		<-d.read
		d.cmd.Wait()
		if t.Failed() {
			t.Logf("the log of the daemon ends with:\n%s", tailOf(d.log.String(), 30))
		}
	})
	if d.url = <-where; d.url == "" {
		t.Fatalf("the daemon did not come up:\n%s", d.log.String())
	}
	return d
}

func tailOf(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// stop asks the daemon to stop and returns how long it took.
func (d *loaded) stop(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-d.read
	if err := d.cmd.Wait(); err != nil {
		t.Errorf("the daemon did not stop gently: %v", err)
	}
	return time.Since(began)
}

// inTime wants a stop to have taken no longer than a daemon gives what is under way, which is 15 s; a
// machine that is slow takes longer to do what comes then.
func (d *loaded) inTime(t *testing.T, took time.Duration) {
	t.Helper()
	if took > 5*time.Minute {
		t.Errorf("the stop took %v, want about 15s at most", took)
	}
}

// memory returns how many bytes of memory the daemon holds, and the most it has
// ever held. The children that apply selectors are not in it.
func (d *loaded) memory(t *testing.T) (now, most int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var n int64
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &n); err == nil {
			now = n << 10
		}
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &n); err == nil {
			most = n << 10
		}
	}
	return now, most
}

// status returns how the daemon says it is doing.
func (d *loaded) status(t *testing.T) (s client.Status) {
	t.Helper()
	c := http.Client{Timeout: slowest}
	resp, err := c.Get(d.url + "/api/v1/status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		t.Fatalf("status: %v", err)
	}
	return s
}

// until waits until the status is as wanted, and returns how long that took
// from the start of the daemon.
func (d *loaded) until(t *testing.T, what string, wanted func(client.Status) bool) time.Duration {
	t.Helper()
	kit.Until(t, what, func() bool { return wanted(d.status(t)) })
	return time.Since(d.started)
}
