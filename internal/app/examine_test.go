package app_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/test/pgtest"
	"freshet/internal/test/tier"
)

// certificate writes a certificate and its key.
func certificate(t *testing.T, until time.Time) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"freshet.example"}, NotBefore: until.AddDate(-1, 0, 0), NotAfter: until}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestExamine finds what is wrong, each with what to do, and nothing else.
func TestExamine(t *testing.T) {
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Date", now.Format(http.TimeFormat)) }))
	t.Cleanup(web.Close)
	path := os.Getenv("PATH")
	t.Setenv("PATH", "") // so that there is no browser
	for _, tt := range []struct {
		name, subject, text string
		hint                string // part of it
		spoil               func(*testing.T, *config.Settings)
		page                string
		clock               time.Duration
	}{
		{name: "all is well"},
		{name: "others can read the data", subject: "data directory", text: "others can read", spoil: func(t *testing.T, s *config.Settings) {
			if err := os.Chmod(s.Data, 0o755); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "the data directory is a file", subject: "data directory", text: "not a directory", spoil: func(t *testing.T, s *config.Settings) {
			s.Data = filepath.Join(s.Data, "file")
			if err := os.WriteFile(s.Data, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "the disk is full", subject: "disk", text: "polling stops below", spoil: func(_ *testing.T, s *config.Settings) { s.Reserve = 1 << 60 }},
		{name: "the port is in use", subject: "port", text: "in use", spoil: func(_ *testing.T, s *config.Settings) { s.API.Listen = web.Listener.Addr().String() }},
		{name: "the certificate ends soon", subject: "certificate", text: "valid until 2026-05-08", spoil: func(t *testing.T, s *config.Settings) {
			s.API.Cert, s.API.Key = certificate(t, now.AddDate(0, 0, 7))
		}},
		{name: "the certificate is for long", spoil: func(t *testing.T, s *config.Settings) { s.API.Cert, s.API.Key = certificate(t, now.AddDate(0, 2, 0)) }},
		{name: "the certificate is for another name", subject: "certificate", text: "other.example", spoil: func(t *testing.T, s *config.Settings) {
			s.API.Cert, s.API.Key = certificate(t, now.AddDate(0, 2, 0))
			s.API.URL = "https://other.example:8443"
		}},
		{name: "there is no key", subject: "certificate", text: "no such file", spoil: func(t *testing.T, s *config.Settings) {
			s.API.Cert, _ = certificate(t, now.AddDate(0, 2, 0))
			s.API.Key = filepath.Join(s.Data, "none")
		}},
		{name: "the clock is off", subject: "web and clock", text: "differs", clock: time.Minute},
		{name: "there is no network", subject: "web and clock", text: "refused", page: "http://127.0.0.1:1/"},
		{name: "the name is unknown", subject: "web and clock", text: "freshet.invalid", hint: "resolv.conf", page: "http://freshet.invalid/"},
		{name: "the browser does not start", subject: "browser", text: "the browser", hint: "/bin/false by hand", spoil: func(_ *testing.T, s *config.Settings) { s.Render.Browser = "/bin/false" }},
		{name: "the browser shows a page", spoil: func(t *testing.T, _ *config.Settings) {
			tier.Slow(t, "it starts Chromium")
			t.Setenv("PATH", path)
		}},
		{name: "the browser is not there", subject: "browser", text: "/nowhere", spoil: func(_ *testing.T, s *config.Settings) { s.Render.Browser = "/nowhere" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := config.Defaults(func(string) string { return "" })
			s.Data, s.API.Listen, s.Reserve = t.TempDir(), "127.0.0.1:0", -1
			if err := os.Chmod(s.Data, 0o700); err != nil {
				t.Fatal(err)
			}
			if tt.spoil != nil {
				tt.spoil(t, &s)
			}
			page := tt.page
			if page == "" {
				page = web.URL
			}
			wrong := 0
			for _, f := range app.Examine(t.Context(), s, page, func() time.Time { return now.Add(tt.clock) }) {
				if f.OK {
					continue
				}
				wrong++
				if f.Subject != tt.subject || !strings.Contains(f.Text, tt.text) || f.Hint == "" || !strings.Contains(f.Hint, tt.hint) {
					t.Errorf("%s: %s; hint: %s", f.Subject, f.Text, f.Hint)
				}
			}
			if want := min(1, len(tt.subject)); wrong != want {
				t.Errorf("%d findings, want %d", wrong, want)
			}
		})
	}
}

// TestExamineDatabase finds an empty database fit for a daemon, and one that loses what is written unfit.
func TestExamineDatabase(t *testing.T) {
	for _, tt := range []struct {
		fsync, text string
		ok          bool
	}{{"on", "no synchronous standby", true}, {"off", "fsync is off", false}} {
		server := pgtest.Start(t, "fsync="+tt.fsync)
		name := server.Database(t)
		s := config.Defaults(func(string) string { return "" })
		s.Data, s.API.Listen, s.Store = t.TempDir(), "127.0.0.1:0", server.URL(name)
		found := app.Examine(t.Context(), s, "", time.Now)
		last := found[len(found)-1]
		if last.Subject != "PostgreSQL" || last.OK != tt.ok || !strings.Contains(last.Text, tt.text) || !tt.ok && last.Hint == "" {
			t.Errorf("with fsync %s: %+v", tt.fsync, last)
		}
		var tables int
		if err := server.Connect(t, name).QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables); err != nil || tables > 0 {
			t.Errorf("there are %d tables, %v", tables, err)
		}
	}
}
