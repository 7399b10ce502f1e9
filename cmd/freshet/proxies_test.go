package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/test/kit"
	"freshet/internal/test/tier"
)

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

// proxied starts a proxy with a file of contrib, for a certificate of example.com, and returns its address.
func proxied(t *testing.T, command, file, daemon string, pair tls.Certificate) string {
	t.Helper()
	if _, err := exec.LookPath(command); err != nil {
		t.Skipf("there is no %s: %v", command, err)
	}
	dir, at := t.TempDir(), freePort(t)
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := os.ReadFile("../../contrib/proxy/" + file)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("127.0.0.1:8080", daemon, "listen 443", "listen "+at, "/etc/letsencrypt/live/freshet.example", dir, "freshet.example {",
		"{\n\tadmin off\n\tauto_https disable_redirects\n\tskip_install_trust\n}\nhttps://example.com:"+at[len("127.0.0.1:"):]+" {\n\tbind 127.0.0.1\n\ttls "+dir+"/fullchain.pem "+dir+"/privkey.pem",
		"freshet.example", "example.com").Replace(string(recipe))
	args := []string{"run", "--adapter", "caddyfile", "--config", filepath.Join(dir, file)}
	if command == "nginx" {
		text = "daemon off; pid " + dir + "/pid; error_log stderr; events {}\nhttp { access_log off; client_body_temp_path " + dir + "/body; proxy_temp_path " + dir + "/proxy;\n" + text + "}\n"
		args = []string{"-p", dir, "-e", "stderr", "-c", filepath.Join(dir, file)}
	}
	for name, content := range map[string][]byte{file: []byte(text), "fullchain.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}),
		"privkey.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), command, args...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // nginx ends its worker, too
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", command, &said)
		}
	})
	kit.Until(t, command+" listens", func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return at
}

// Behind the proxies of contrib the API has TLS, changes arrive when they happen, the audit log has the address of
// the client, and no client can make up another: neither through a proxy nor without one.
func TestBehindProxies(t *testing.T) {
	tier.Slow(t, "it runs Caddy and nginx")
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	trust := x509.NewCertPool()
	trust.AddCert(server.Certificate())
	origin, data := kit.NewOrigin(t), t.TempDir()
	settings := filepath.Join(data, "freshet.yaml")
	if err := os.WriteFile(settings, []byte("api: {names: [example.com], proxies: [127.0.0.1/32]}\nhosts: {delay: 0s}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startNode(t, "serve", "--config", settings, "--data", data, "--listen", "127.0.0.1:0", "--allow-cidr", "127.0.0.0/8")
	daemon := strings.TrimPrefix(node.url, "http://")
	if out, well := ran(t, "a long password", "user", "add", "ada", "--role", "admin", "--data", data); !well {
		t.Fatal(out)
	}
	out, well := ran(t, "", "user", "token", "add", "test", "--scope", "admin", "--json", "--data", data)
	var token client.MadeToken
	if err := json.Unmarshal([]byte(out), &token); err != nil || !well {
		t.Fatal(out, err)
	}
	for _, tt := range []struct{ id, command, file string }{{"behind-caddy", "caddy", "Caddyfile"}, {"behind-nginx", "nginx", "nginx.conf"}, {id: "direct"}} {
		t.Run(tt.id, func(t *testing.T) {
			at, base := daemon, "http://example.com"
			if tt.command != "" {
				at, base = proxied(t, tt.command, tt.file, daemon, server.TLS.Certificates[0]), "https://example.com"
			}
			dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
			through := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust},
				DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
					return dialer.DialContext(ctx, network, at)
				}}}
			defer through.CloseIdleConnections()
			do := func(req *http.Request) (*http.Response, error) {
				req.Header.Set("Authorization", "Bearer "+token.Secret)
				req.Header.Set("X-Forwarded-For", "192.0.2.9")
				return through.Do(req)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			c, id := client.New(base, do), freshet.SourceID(tt.id)
			origin.PutHTML("/"+tt.id, "<p>one")
			if _, err := c.Sources.Add(ctx, client.NewSource{ID: id, URL: origin.URL + "/" + tt.id}); err != nil {
				t.Fatal(err)
			}
			log, err := c.Audit(ctx, client.AuditQuery{Subject: "source " + tt.id})
			if err != nil || len(log.Items) == 0 || log.Items[0].From != "127.0.0.2" {
				t.Errorf("the audit log says %+v, %v", log.Items, err)
			}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/v1/changes/stream", nil)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := do(req)
			if err != nil || stream.StatusCode != http.StatusOK {
				t.Fatal(stream, err)
			}
			defer stream.Body.Close()
			if _, err := c.Sources.FirstPoll(ctx, id, time.Minute); err != nil {
				t.Fatal(err)
			}
			origin.PutHTML("/"+tt.id, "<p>two")
			if _, err := c.Sources.Poll(ctx, id, time.Minute, true); err != nil {
				t.Fatal(err)
			}
			for lines := bufio.NewScanner(stream.Body); ; {
				if !lines.Scan() {
					t.Fatalf("the stream ended without a change: %v", lines.Err())
				}
				if strings.Contains(lines.Text(), tt.id) {
					return
				}
			}
		})
	}
}
