package release_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"freshet/internal/test/kit"
	"freshet/internal/test/tier"
)

// A shop has a page whose price falls after the first look, and receives alerts.
type shop struct {
	*httptest.Server
	alerts chan string
}

func newShop(t *testing.T) shop {
	t.Helper()
	s := shop{alerts: make(chan string, 100)}
	var looks atomic.Int32
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			text, _ := io.ReadAll(r.Body)
			s.alerts <- string(text)
		case r.URL.Path == "/page":
			price := 120
			if looks.Add(1) > 1 {
				price = 97
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<title>Shop</title><script type="application/ld+json">{"@context": "https://schema.org", "@type": "Product", "name": "Lamp",
				"offers": {"@type": "Offer", "price": "%[1]d", "priceCurrency": "EUR"}}</script><p>%[1]d EUR</p><p id="sum">as sent</p><script>document.querySelector("#sum").textContent = "rendered " + (40 + 2)</script>`, price)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// commands returns the three commands of a way from nothing to an alert in the documentation. The last one is for the shop.
func (s shop) commands(t *testing.T, way string) (all []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/how-to/running.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n**"+way+".**")
	_, rest, _ = strings.Cut(rest, "\n\n")
	block, _, _ := strings.Cut(rest, "\n\n")
	for line := range strings.SplitSeq(block, "\n") {
		words := strings.Fields(line)
		for i, word := range words {
			if strings.HasPrefix(word, "https://shop.example/") {
				words[i] = s.URL + "/page"
			}
		}
		all = append(all, strings.Replace(strings.Join(words, " "), "ntfy://ntfy.sh/my-secret-topic", "'"+strings.Replace(s.URL, "http:", "ntfy:", 1)+"/topic?scheme=http'", 1))
	}
	if len(all) != 3 {
		t.Fatalf("%s takes the commands %q", way, all)
	}
	return all
}

// await waits for an alert.
func (s shop) await(t *testing.T) {
	t.Helper()
	select {
	case text := <-s.alerts:
		if !strings.Contains(text, "97") {
			t.Errorf("the alert says %s", text)
		}
	case <-time.After(slowest):
		t.Fatal("no alert came")
	}
}

// freePort returns an address that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// listen starts a daemon, waits until it listens, and returns what it says.
func listen(t *testing.T, daemon *exec.Cmd) (said func() string) {
	t.Helper()
	output, err := os.Create(filepath.Join(t.TempDir(), "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close() // the daemon has its own
	daemon.Stdout, daemon.Stderr = output, output
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	said = func() string {
		text, _ := os.ReadFile(output.Name())
		return string(text)
	}
	kit.Until(t, "the daemon listens", func() bool { return strings.Contains(said(), "listening on") })
	return said
}

// The program of an archive runs where it is unpacked, and sends an alert.
func TestArchive(t *testing.T) {
	tier.Long(t, "it builds an archive")
	made, shop := release(t, "v0.1.0", "archive-linux-"+runtime.GOARCH), newShop(t)
	commands := shop.commands(t, "One program")
	shell := func(dir, line string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "sh", "-ec", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+made, "XDG_DATA_HOME="+filepath.Join(made, "data"), "FRESHET_LISTEN=127.0.0.1:0", "FRESHET_ALLOW_CIDR=127.0.0.0/8")
		return cmd
	}
	unpacked := strings.TrimSpace(must(t, shell(made, commands[0]+" && pwd")))
	daemon := shell(unpacked, "exec "+strings.TrimSuffix(commands[1], " &"))
	said := listen(t, daemon)
	t.Cleanup(func() {
		_ = daemon.Process.Kill() // it runs
		_ = daemon.Wait()
		if t.Failed() {
			t.Log(said())
		}
	})
	must(t, shell(unpacked, commands[2]))
	shop.await(t)
}
