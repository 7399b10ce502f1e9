package auth_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
)

func TestMediaAreChecked(t *testing.T) {
	media := auth.Media{Exec: true, Files: []string{"/srv/watched"}}
	open := fetch.Config{}
	tests := []struct{ url, want string }{ // "" if it is refused
		{"exec:df -h / | tail -1", "exec:df -h / | tail -1"},
		{"exec:", ""},
		{"file:///srv/watched/a.txt", "file:///srv/watched/a.txt"},
		{"file:/srv/watched/./b/../a.txt", "file:///srv/watched/a.txt"},
		{"file:///srv/watched/../secret", ""},
		{"file:///srv/watched", ""},
		{"file:///srv/watchedtoo/a", ""},
		{"file:///etc/passwd", ""},
		{"file:a.txt", ""},
		{"file://host/srv/watched/a", ""},
		{"FILE:/etc/passwd", ""},
		{"dns:Example.com", "dns:example.com?type=A"},
		{"dns:example.com?type=mx", "dns:example.com?type=MX"},
		{"dns:example.com?type=AXFR", ""},
		{"dns:example.com?server=1.2.3.4", ""},
		{"dns:db.internal?type=A", ""},
		{"dns:10.0.0.1", ""},
		{"dns:localhost", ""},
		{"tls:example.com", "tls:example.com:443"},
		{"tls:example.com:8443", "tls:example.com:8443"},
		{"tls:example.com:22", ""},
		{"tls:example.com/path", ""},
		{"tls:10.0.0.1:443", ""},
		{"tls:169.254.169.254:443", ""},
		{"https://example.com/", "https://example.com/"},
		{"ftp://example.com/", ""},
	}
	for _, tt := range tests {
		got, err := media.Check(tt.url, open.CheckURL)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s becomes %q, %v; want %q", tt.url, got, err, tt.want)
		}
	}
	for _, url := range []string{"exec:date", "file:///srv/watched/a"} {
		if _, err := (auth.Media{}).Check(url, open.CheckURL); err == nil || freshet.HintOf(err) == "" {
			t.Errorf("%s is taken although nothing is allowed: %v", url, err)
		}
	}
}

func TestFiles(t *testing.T) {
	r := newRig(t)
	dir := filepath.Join(r.dir, "watched")
	write := func(path, text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "a.json"), `{"a": 1}`)
	write(filepath.Join(r.dir, "outside"), "secret")
	for link, to := range map[string]string{"inside": "a.json", "out": "../outside", "abs": filepath.Join(r.dir, "outside"), "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "large"), strings.Repeat("x", 2000))
	r.fetch.WireBytes = 1000
	r.cfg.Media.Files = []string{dir}
	c := r.client()
	var l permits
	for name, want := range map[string]failure.Class{
		"a.json": "", "inside": "", "out": failure.File, "abs": failure.File, "up/outside": failure.File,
		"pipe": failure.File, "missing": failure.File, "large": failure.LargeWire,
	} {
		src := r.source(`{"url": "file://%s"}`, filepath.Join(dir, name))
		resp, err := c.Fetch(t.Context(), freshet.Request{URL: src.URL, Source: src, Leave: l.permit})
		if classOf(err) != want || want == "" && string(resp.Body) != `{"a": 1}` || resp.Requests != 1 {
			t.Errorf("%s brings %q, %v; want %q", name, resp.Body, err, want)
		}
		if name == "a.json" && (!strings.HasPrefix(resp.MediaType, "application/json") || resp.Modified.IsZero()) {
			t.Errorf("the file is of %s and of %v", resp.MediaType, resp.Modified)
		}
	}
	if len(l.urls) != 8 {
		t.Errorf("leave was asked for %d times", len(l.urls))
	}
	if _, err := r.client().Fetch(t.Context(), freshet.Request{URL: "file://" + filepath.Join(r.dir, "outside")}); classOf(err) != failure.File {
		t.Errorf("a file outside is read: %v", err)
	}
}

func TestCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no commands to watch")
	}
	r := newRig(t)
	t.Setenv("FRESHET_TEST_CANARY", "of-the-daemon")
	r.cfg.Media.Exec = true
	r.fetch.WireBytes = 1000
	tests := []struct {
		command string
		want    failure.Class
		text    string // of the output, or of the error
	}{
		{"echo hello | tr a-z A-Z", "", "HELLO\n"},
		{"env | grep -c FRESHET", failure.Exec, "exit status 1"},
		{"echo broken >&2; exit 3", failure.Exec, "exit status 3: broken"},
		{"yes", failure.LargeWire, "more than 1000 bytes"},
		{"/no/such/command", failure.Exec, "not found"},
		{"cat", "", ""}, // there is no input to wait for
	}
	for _, tt := range tests {
		resp, err := get(t, r.client(), r.source(`{"url": %q}`, "exec:"+tt.command))
		if classOf(err) != tt.want || err == nil && string(resp.Body) != tt.text || err != nil && !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s brings %q, %v", tt.command, resp.Body, err)
		}
	}
	for _, change := range []func(*freshet.Source){func(s *freshet.Source) { s.Origin = freshet.FromAPI }, func(*freshet.Source) { r.cfg.Media.Exec = false }} {
		src := r.source(`{"url": "exec:echo no"}`)
		change(src)
		if _, err := get(t, r.client(), src); classOf(err) != failure.Exec {
			t.Errorf("a command is run that must not be: %v", err)
		}
	}
	if err := (auth.Profiles{}).CheckForeign(freshet.Source{URL: "exec:date"}); err == nil {
		t.Error("a command is taken over the API")
	}
}

// All that a command has started is killed with it.
func TestCommandsAreKilledWhole(t *testing.T) {
	r := newRig(t)
	r.cfg.Media.Exec = true
	for _, command := range []string{"sleep 1000 & echo $!; wait", "setsid sleep 0 ; sleep 1000 & echo $!"} {
		pids := filepath.Join(t.TempDir(), "pid")
		src := r.source(`{"url": %q, "request": {"timeout": "2s"}}`, "exec:{ "+command+"; } > "+pids)
		_, err := get(t, r.client(), src)
		if strings.Contains(command, "wait") && classOf(err) != failure.TimeoutTotal {
			t.Errorf("%s ends with %v", command, err)
		}
		var pid int
		text, readErr := os.ReadFile(pids)
		if _, err := fmt.Sscan(string(text), &pid); err != nil || readErr != nil {
			t.Fatalf("the command wrote %q, %v", text, readErr)
		}
		gone := false
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
			state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if gone = err != nil || strings.Contains(string(state), ") Z "); gone {
				break
			}
			<-time.After(20 * time.Millisecond)
		}
		if !gone {
			t.Errorf("%s: process %d is still there", command, pid)
		}
	}
}

func TestRecords(t *testing.T) {
	r := newRig(t)
	r.fetch.Lookup = func(_ context.Context, name, kind string) ([]string, error) {
		switch name + " " + kind {
		case "example.com MX":
			return []string{"20 b.example.", "10 a.example."}, nil
		case "empty.example A":
			return nil, nil
		case "split.example A":
			return []string{"192.0.2.7", "10.1.2.3"}, nil
		case "split.example AAAA":
			return []string{"fd00::17"}, nil
		case "public.example A":
			return []string{"8.8.8.8"}, nil
		}
		return nil, &net.DNSError{IsNotFound: true}
	}
	if got := body(t, r.client(), r.source(`{"url": "dns:example.com?type=MX"}`)); got != "10 a.example.\n20 b.example.\n" {
		t.Errorf("the records are %q", got)
	}
	for url, want := range map[string]failure.Class{
		"dns:missing.example?type=A": failure.DNS, "dns:empty.example?type=A": failure.DNS, "dns:db.internal?type=A": failure.BlockedEgress,
		"dns:split.example?type=A": failure.BlockedEgress, "dns:split.example?type=AAAA": failure.BlockedEgress, "dns:public.example?type=A": "",
	} {
		r.fetch.Allow = nil
		if _, err := get(t, r.client(), r.source(`{"url": %q}`, url)); classOf(err) != want {
			t.Errorf("%s ends with %v", url, err)
		}
	}
}

func TestCertificates(t *testing.T) {
	r := newRig(t)
	s := r.secure(nil, tls.NoClientCert, echo)
	address := strings.TrimPrefix(s.URL, "https://")
	got := body(t, r.client(), r.source(`{"url": "tls:%s"}`, address))
	for _, want := range []string{"trusted: yes\n", "subject: O=Acme Co\n", "names: *.example.com 127.0.0.1 ", "valid until: 2084-01-29T16:00:00Z\n", "sha256: "} {
		if !strings.Contains(got, want) {
			t.Errorf("the certificate is %q, without %q", got, want)
		}
	}
	r.fetch.RootCAs = nil
	if got := body(t, r.client(), r.source(`{"url": "tls:%s"}`, address)); !strings.HasPrefix(got, "trusted: no: ") {
		t.Errorf("a certificate that nobody knows is told as %q", got)
	}
	plain := r.server(echo)
	if _, err := get(t, r.client(), r.source(`{"url": "tls:%s"}`, strings.TrimPrefix(plain.URL, "http://"))); classOf(err) != failure.TLS {
		t.Errorf("a server without TLS ends with %v", err)
	}
	r.fetch.Allow = []netip.Prefix{}
	if _, err := get(t, r.client(), r.source(`{"url": "tls:%s"}`, address)); classOf(err) != failure.BlockedEgress {
		t.Errorf("a private address is reached: %v", err)
	}
}
