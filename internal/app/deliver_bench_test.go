//go:build linux

package app_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/app"
	"freshet/internal/features"
	"freshet/internal/fetch"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/store/postgres"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
)

// BenchmarkDeliver measures deliveries over TLS to a receiver that takes 50 ms, with one node and with
// three, as processes: how many a second, and what CPU time of the leader each takes. FRESHET_BENCH_SINKS
// says to how many sinks (32 if that is not set).
func BenchmarkDeliver(b *testing.B) {
	sinks, err := strconv.Atoi(cmp.Or(os.Getenv("FRESHET_BENCH_SINKS"), "32"))
	if err != nil {
		b.Fatal(err)
	}
	const sources, each = 16, 10
	server := pgtest.Start(b, "fsync=on")
	at := server.URL(server.Database(b))
	tell(b, at, sources, each)
	var got atomic.Int64
	receiver := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-time.After(50 * time.Millisecond)
		got.Add(1)
	}))
	defer receiver.Close()
	dir := b.TempDir()
	program, file, trusted := filepath.Join(dir, "freshet"), filepath.Join(dir, "freshet.yaml"), filepath.Join(dir, "ca.pem")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/freshet").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	text := bytes.NewBufferString("budget: 1/d\nallow_cidr: [127.0.0.0/8]\nwebhooks:\n")
	for i := range sinks {
		fmt.Fprintf(text, "  - {name: s%d, url: \"%s/%d\", unsigned: true}\n", i, receiver.URL, i)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: receiver.Certificate().Raw})
	for name, text := range map[string][]byte{file: text.Bytes(), trusted: ca} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	serve := func(i int) (pid int, url string) {
		data := filepath.Join(dir, fmt.Sprint("node", i))
		cmd := exec.Command(program, "serve", "--config", file, "--store", at, "--data", data, "--listen", "127.0.0.1:0")
		cmd.Env = append(os.Environ(), "SSL_CERT_FILE="+trusted)
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		kit.Until(b, "a node answers", func() bool {
			a, err := app.ReadAddress(data)
			url = a.URL
			return err == nil && url != "" && a.Answers(b.Context())
		})
		return cmd.Process.Pid, url
	}
	leader, url := serve(0)
	// replay has everything delivered once, and returns how many a second and what it took of the leader.
	replay := func() (rate float64, cpu time.Duration) {
		all := int64(sinks * sources * each)
		got.Store(0)
		before, began := cpuOf(b, leader), time.Now()
		for i := range sinks {
			request(b, fmt.Sprintf("%s/api/v1/sinks/s%d/replay", url, i), `{"after":"0"}`)
		}
		kit.Until(b, "all is delivered", func() bool { return got.Load() >= all })
		took := time.Since(began)
		return float64(all) / took.Seconds(), (cpuOf(b, leader) - before) / time.Duration(all)
	}
	for b.Loop() {
		replay() // connections are warm
		rate, cpu := replay()
		serve(1)
		serve(2)
		kit.Until(b, "all nodes have sinks", func() bool {
			return strings.Count(request(b, url+"/api/v1/cluster", ""), `"sinks":`) == 3
		})
		replay()
		rate3, cpu3 := replay()
		b.ReportMetric(rate, "1node/s")
		b.ReportMetric(rate3, "3nodes/s")
		b.ReportMetric(rate3/rate, "times")
		b.ReportMetric(float64(cpu.Microseconds()), "brain-µs/1node")
		b.ReportMetric(float64(cpu3.Microseconds()), "brain-µs/3nodes")
	}
}

// tell fills a store with changes.
func tell(b *testing.B, at string, sources, each int) {
	store, err := postgres.Open(b.Context(), postgres.Config{Features: features.All(), URL: at})
	if err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	when := time.Now().Add(-time.Hour)
	for i := range sources {
		id := freshet.SourceID(fmt.Sprint("p", i))
		if _, err := store.AddSource(b.Context(), freshet.Source{ID: id, URL: fmt.Sprintf("http://127.0.0.1:1/%d", i)}); err != nil {
			b.Fatal(err)
		}
		for n := range each + 1 {
			when = when.Add(time.Millisecond)
			text := fmt.Appendf(nil, "edition %d", n)
			_, _, err := store.Commit(b.Context(), freshet.Record{
				Outcome: freshet.Outcome{Source: id, Since: when, Began: when, Ended: when, Result: freshet.Changed, Status: http.StatusOK, Requests: 1},
				Capture: &freshet.Capture{Recipe: reading.Recipe{}.Key(), Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Status: http.StatusOK, Body: text}},
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// cpuOf returns the CPU time that a process has taken.
func cpuOf(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// request sends a request, and returns the answer.
func request(b *testing.B, url, body string) string {
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := fetch.Trusted(time.Minute).Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s", resp.Status, text)
	}
	return string(text)
}
