package identity_test

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
)

// bundle makes one, and returns its directories.
func bundle(t *testing.T, now time.Time) (node, worker string) {
	t.Helper()
	dir := t.TempDir()
	if err := identity.Create(dir, []string{"https://10.0.0.1:8443"}, now); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "node"), filepath.Join(dir, "worker")
}

// serveTLS serves with certificates, and returns where.
func serveTLS(t *testing.T, cfg identity.ServerConfig) string {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Log = slog.New(slog.DiscardHandler)
	s, err := identity.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok")) }))
	server.TLS = s.Config()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// reach returns why a server cannot be reached that is to be trusted.
func reach(t *testing.T, url string, trust identity.Trust) error {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := fetch.TrustedBy(time.Minute, trust).Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

// Who trusts the CA of a bundle takes its nodes for nodes, wherever they are, and nobody else: no foreign CA, no
// expired certificate, and no other certificate, even one that everybody trusts.
func TestWhoIsANode(t *testing.T) {
	node, worker := bundle(t, time.Now())
	foreign, _ := bundle(t, time.Now())
	trust := identity.TrustFile(filepath.Join(worker, identity.CAName))
	now := time.Now()
	for _, c := range []struct {
		name   string
		server identity.ServerConfig
		good   bool
	}{
		{"a node", identity.ServerConfig{Bundle: node}, true},
		{"a node that browsers are shown another certificate by", identity.ServerConfig{Bundle: node, Cert: filepath.Join(foreign, identity.CAName), Key: filepath.Join(foreign, "ca.key")}, true},
		{"a node of another cluster", identity.ServerConfig{Bundle: foreign}, false},
		{"nobody", identity.ServerConfig{}, false},
		{"a node whose certificate has expired", identity.ServerConfig{Bundle: node, Now: func() time.Time { return now.Add(-30 * 24 * time.Hour) }}, false},
		{"a node whose certificate is not valid yet", identity.ServerConfig{Bundle: node, Now: func() time.Time { return now.Add(30 * 24 * time.Hour) }}, false},
	} {
		if err := reach(t, serveTLS(t, c.server), trust); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := identity.NewServer(identity.ServerConfig{Bundle: worker, Now: time.Now}); err == nil {
		t.Error("a worker can pass for a node")
	}
	for _, name := range []string{"ca.key", "secret.key", identity.PasswordName} {
		if _, err := os.Stat(filepath.Join(worker, name)); err == nil {
			t.Errorf("the bundle of workers has %s", name)
		}
	}
}

// Given certificates are verified as usual: by their CA, and by the name of the host.
func TestGivenCertificates(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	ca := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	_, worker := bundle(t, time.Now())
	for _, c := range []struct {
		name, url string
		trust     identity.Trust
		good      bool
	}{
		{"a host of the certificate", server.URL, identity.TrustFile(ca), true},
		{"another host", strings.Replace(server.URL, "127.0.0.1", "localhost", 1), identity.TrustFile(ca), false},
		{"the CA of a cluster", server.URL, identity.TrustFile(filepath.Join(worker, identity.CAName)), false},
		{"the system", server.URL, nil, false},
		{"a file that is not there", server.URL, identity.TrustFile(ca + "x"), false},
		{"no certificate", server.URL, identity.TrustPEM([]byte("x")), false},
	} {
		if err := reach(t, c.url, c.trust); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A node issues a new certificate before the old one expires, and takes on a new CA, without a restart. While both CAs
// are trusted, nobody notices.
func TestRotation(t *testing.T) {
	node, worker := bundle(t, time.Now())
	next, _ := bundle(t, time.Now())
	var ahead time.Duration
	url := serveTLS(t, identity.ServerConfig{Bundle: node, Now: func() time.Time { return time.Now().Add(ahead) }})
	trust := identity.TrustFile(filepath.Join(worker, identity.CAName))
	until := func() time.Time {
		config, err := trust("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		config.Time = func() time.Time { return time.Now().Add(ahead) }
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		secure := tls.Client(conn, config)
		if err := secure.HandshakeContext(context.Background()); err != nil {
			t.Fatal(err)
		}
		return secure.ConnectionState().PeerCertificates[0].NotAfter
	}
	first := until()
	ahead = 6 * 24 * time.Hour
	if second := until(); !second.After(first.Add(5 * 24 * time.Hour)) {
		t.Errorf("the certificate until %v is followed by one until %v", first, second)
	}
	ahead = 0
	copyFile := func(from string, to ...string) {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range to {
			before, _ := os.ReadFile(path)
			if filepath.Base(path) == "ca.key" {
				before = nil
			}
			if err := os.WriteFile(path, append(text, before...), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	copyFile(filepath.Join(next, identity.CAName), filepath.Join(worker, identity.CAName), filepath.Join(node, identity.CAName))
	if err := reach(t, url, trust); err != nil {
		t.Errorf("with both CAs: %v", err)
	}
	copyFile(filepath.Join(next, "ca.key"), filepath.Join(node, "ca.key"))
	if err := reach(t, url, trust); err != nil {
		t.Errorf("after the new key: %v", err)
	}
	if err := reach(t, url, identity.TrustFile(filepath.Join(next, identity.CAName))); err != nil {
		t.Errorf("by the new CA alone: %v", err)
	}
}
