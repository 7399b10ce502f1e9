package app_test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/cluster/identity"
	"freshet/internal/fetch"
	"freshet/internal/test/kit"
	"freshet/internal/test/pgtest"
)

// newBundle makes a bundle, and returns the directory for nodes.
func newBundle(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := identity.Create(dir, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "node")
}

// givenCertificate returns the files of a certificate for 127.0.0.1, and of its key.
func givenCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	private, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: server.Certificate().Raw}, "key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "cert"), filepath.Join(dir, "key")
}

// Nodes forward over TLS, with the certificates of a bundle or with given ones. A listener reads nothing. A node
// that trusts another CA sends the leader nothing.
func TestNodesUseTLS(t *testing.T) {
	cert, key := givenCertificate(t)
	one, foreign := newBundle(t), newBundle(t)
	server := pgtest.Start(t, "fsync=on")
	for _, how := range []struct {
		name  string
		set   func(*config.Settings)
		other func(*config.Settings) // of a node that trusts another CA
	}{
		{"bundle", func(s *config.Settings) { s.Cluster.Bundle = one }, func(s *config.Settings) { s.Cluster.Bundle = foreign }},
		{"given", func(s *config.Settings) { s.API.Cert, s.API.Key, s.Cluster.CA = cert, key, cert }, func(s *config.Settings) {
			s.API.Cert, s.API.Key, s.Cluster.CA = cert, key, filepath.Join(foreign, identity.CAName)
		}},
		{"bundle, and a certificate for browsers", func(s *config.Settings) { s.Cluster.Bundle, s.API.Cert, s.API.Key = one, cert, key }, func(s *config.Settings) { s.Cluster.Bundle = foreign }},
	} {
		t.Run(how.name, func(t *testing.T) {
			c := crewAt(t, server)
			wire := newTap(t)
			s := c.settings()
			how.set(&s)
			s.Cluster.Advertise = "https://" + wire.Addr().String()
			c.client = fetch.TrustedBy(time.Minute, app.Trust(s))
			leader := c.serveWith(s)
			address := strings.TrimPrefix(leader.url, "https://")
			wire.to.Store(&address)
			s = c.settings()
			how.set(&s)
			standby := c.serveWith(s)
			c.leads(&member{url: "https://" + wire.Addr().String()}, standby, "")
			c.wants(http.StatusCreated, "", "POST", standby.url+"/api/v1/sources", `{"id":"a","url":"http://127.0.0.1:1/","name":"readable"}`)
			if heard := wire.heard(); heard == "" || strings.Contains(heard, "readable") || strings.Contains(heard, identity.Header) {
				t.Errorf("whoever listens hears %q", heard)
			}
			own, err := app.ReadAddress(standby.data)
			if err != nil || !own.Answers(t.Context()) {
				t.Errorf("commands on the machine of the node do not find it at %+v, %v", own, err)
			}
			s = c.settings()
			how.other(&s)
			stranger := c.serveWith(s)
			there, err := app.ReadAddress(stranger.data)
			if err != nil {
				t.Fatal(err)
			}
			c.client = fetch.TrustedBy(time.Minute, there.Trust())
			kit.Until(t, "the node logs that it cannot verify the leader", func() bool {
				resp, _ := c.ask(there.Token, "POST", stranger.url+"/api/v1/sources", `{"id":"b","url":"http://127.0.0.1:1/b"}`)
				return resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(stranger.log.String(), "failed to verify certificate")
			})
		})
	}
}
