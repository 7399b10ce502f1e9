package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"freshet/internal/test/tier"
)

// The program serves an assistant on its standard input and output, without a daemon and with one,
// and while a daemon starts and ends.
func TestAssistant(t *testing.T) {
	tier.Slow(t, "it starts the program several times")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "the pump costs 10") }))
	t.Cleanup(web.Close)
	t.Setenv("FRESHET_ALLOW_CIDR", "127.0.0.0/8")
	dir := t.TempDir()
	assistant := func(args ...string) *sdk.ClientSession {
		t.Helper()
		c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		cmd := exec.CommandContext(t.Context(), "freshet", append([]string{"mcp", "--data", dir}, args...)...)
		s, err := c.Connect(t.Context(), &sdk.CommandTransport{Command: cmd}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	call := func(s *sdk.ClientSession, tool string, args map[string]any) string {
		t.Helper()
		got, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			return err.Error()
		}
		return got.Content[0].(*sdk.TextContent).Text
	}
	if out, well := ran(t, "", "add", web.URL+"/pump", "--id", "pump", "--poll", "--data", dir); !well {
		t.Fatal(out)
	}
	reads, writes := assistant(), assistant("--write")
	if got := call(reads, "read_version", map[string]any{"source": "pump"}); !strings.Contains(got, "the pump costs 10") {
		t.Errorf("the version is %s", got)
	}
	if got := call(reads, "why", map[string]any{"source": "pump"}); !strings.Contains(got, "polling is not running") {
		t.Errorf("without a daemon, why answers %s", got)
	}
	if got := call(reads, "add_source", map[string]any{"url": web.URL + "/more"}); !strings.Contains(got, "unknown tool") {
		t.Errorf("without --write, add_source answers %s", got)
	}
	if got := call(writes, "add_source", map[string]any{"url": web.URL + "/more", "name": "more"}); !strings.Contains(got, `"name":"more"`) {
		t.Errorf("with --write, add_source answers %s", got)
	}
	daemon := startNode(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	if got := call(reads, "why", map[string]any{"source": "more"}); !strings.Contains(got, `"words":`) {
		t.Errorf("with a daemon, why answers %s", got)
	}
	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := call(reads, "list_sources", nil); !strings.Contains(got, `"id":"pump"`) {
		t.Errorf("after the daemon, list_sources answers %s", got)
	}
}
