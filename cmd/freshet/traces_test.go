//go:build linux

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"freshet/internal/test/kit"
)

// TestTraces runs a daemon with a collector, and ends it before a batch is due.
func TestTraces(t *testing.T) {
	t.Parallel()
	spans := make(chan *tracepb.Span, 100)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var traces tracepb.TracesData
		if err := proto.Unmarshal(body, &traces); err != nil {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
			return
		}
		for _, span := range traces.ResourceSpans[0].ScopeSpans[0].Spans {
			spans <- span
		}
	}))
	defer collector.Close()
	origin := kit.NewOrigin(t)
	origin.PutHTML("/page", "<p>one")
	dir := t.TempDir()
	file := filepath.Join(dir, "freshet.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "allow_cidr: [127.0.0.0/8]\nsources: [{id: page, url: %q}]\n", origin.URL+"/page"), 0o600); err != nil {
		t.Fatal(err)
	}
	n := startNodeIn(t, dir, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}, "serve", "--config", file, "--data", filepath.Join(dir, "data"), "--listen", "127.0.0.1:0")
	kit.Until(t, "the page is polled", func() bool {
		s, err := n.api().Sources.Get(t.Context(), "page")
		return err == nil && !s.Standing.LastSeen.IsZero()
	})
	if err := n.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := n.Wait(); err != nil {
		t.Error(err)
	}
	select {
	case span := <-spans:
		if !strings.Contains(span.String(), origin.URL+"/page") {
			t.Errorf("the span is %v", span)
		}
	default:
		t.Error("no span was exported")
	}

	out, err := exec.Command("env", "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4317", "freshet", "serve", "--data", t.TempDir(), "--listen", "127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "OTEL_EXPORTER_OTLP_ENDPOINT") {
		t.Errorf("with a wrong endpoint the daemon says %s, %v", out, err)
	}
}
