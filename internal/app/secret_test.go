package app_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/app"
	"freshet/internal/app/config"
	"freshet/internal/features"
	"freshet/internal/fetch/auth"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/store/sqlite"
)

// A shared buffer is written by many.
type sharedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *sharedBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *sharedBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// repeater is a server that repeats all that it was sent, in every way it can.
func repeater(t *testing.T) *httptest.Server {
	visits := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		visits++
		body, _ := io.ReadAll(req.Body)
		all := fmt.Sprint(req.Header, string(body))
		token := req.Header.Get("X-Key")
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Disposition", token)
		w.Header().Set("Etag", `"`+token+`"`)
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "canary-of-the-cookie", Path: "/"})
		switch req.URL.Path {
		case "/refused":
			w.WriteHeader(http.StatusForbidden)
		case "/away":
			http.Redirect(w, req, "ftp://"+token+".example/"+token, http.StatusFound)
			return
		case "/round":
			http.Redirect(w, req, "/page?echo="+token, http.StatusMovedPermanently)
			return
		}
		fmt.Fprintf(w, "<title>%s</title><p>%s</p><p>visit %d</p>", token, all, visits)
	}))
	t.Cleanup(server.Close)
	return server
}

// No secret shows in anything that the daemon writes: its files, its log, its API, its
// metrics, its webhooks, a backup.
func TestSecretsStayHidden(t *testing.T) {
	const canary, sealed = "canary-of-the-environment", "canary-of-the-vault"
	t.Setenv("FRESHET_TEST_CANARY", canary)
	s := settings(t)
	s.File = "freshet.yaml"
	server := repeater(t)
	hook, received := receiver(t)
	s.Webhooks = []config.Webhook{{Name: "hook", URL: hook, Unsigned: true}}
	s.Requests = auth.Profiles{"keyed": {Headers: map[string]profile.Value{"X-Key": "${env:FRESHET_TEST_CANARY}"}, Jar: profile.OwnJar}}
	vault := secrets.Open(s.Data)
	host := strings.TrimPrefix(server.URL, "http://")
	if err := vault.Set(secrets.Entry{Name: "sealed", Hosts: []string{host}}, []byte(sealed)); err != nil {
		t.Fatal(err)
	}
	for id, path := range map[string]string{"page": "/page", "refused": "/refused", "away": "/away", "round": "/round"} {
		src, err := freshet.ParseDefinition(fmt.Appendf(nil, `{"id": %q, "url": %q, "request": {"use": "keyed", "form": {"a": "${secret:sealed}"}, "auth": {"basic": {"user": "me", "password": "${secret:sealed}"}}}}`, id, server.URL+path))
		if err != nil {
			t.Fatal(err)
		}
		s.Sources.Add(src)
	}
	var log sharedBuffer
	var said strings.Builder
	c, at, stop := serve(t, s, app.ServeConfig{
		Load: func() (config.Settings, error) { return s, nil },
		Log:  slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: "api", URL: server.URL + "/page", Request: map[string]any{"headers": map[string]any{"X-Key": "${secret:sealed}"}}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, id := range []freshet.SourceID{"page", "refused", "away", "round", "api"} {
			answer, err := c.Sources.Poll(t.Context(), id, 30*time.Second, false)
			if err != nil || answer.Outcome == nil {
				t.Fatalf("poll %s: %+v, %v", id, answer, err)
			}
			fmt.Fprintf(&said, "%+v\n", *answer.Outcome)
		}
	}
	fmt.Fprintln(&said, <-received)
	for _, path := range []string{
		"/metrics", "/api/v1/status", "/api/v1/sources", "/api/v1/sources/page?reveal=true", "/api/v1/sources/api?reveal=true", "/api/v1/changes", "/api/v1/outcomes",
		"/api/v1/sources/page/versions", "/api/v1/sources/page/versions/1/raw", "/api/v1/sources/page/versions/1/text", "/api/v1/sources/page/diff?from=1&to=2", "/api/v1/sources/page/why",
	} {
		resp, err := http.Get(at + path)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Fprintln(&said, path, string(text))
	}
	shown, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(&said, string(shown))
	stop()
	fmt.Fprintln(&said, log.String())
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: s.Data})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Backup(t.Context(), filepath.Join(s.Data, "copy.db")); err != nil {
		t.Fatal(err)
	}
	versions, err := store.Versions(t.Context(), "page", freshet.Between{}, 0, 10)
	if err != nil || len(versions) < 2 { // the daemon may have polled by itself too
		t.Fatalf("the versions of the page are %v, %v", versions, err)
	}
	for _, v := range versions { // they are packed in the file
		raw, err := store.Raw(t.Context(), "page", v.Number)
		if err != nil || !bytes.Contains(raw.Body, []byte("visit")) {
			t.Fatalf("version %d is %q, %v", v.Number, raw.Body, err)
		}
		fmt.Fprintf(&said, "%+v %s\n", raw.Header, raw.Body)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{"what was said": []byte(said.String())}
	files, err := filepath.Glob(filepath.Join(s.Data, "*"))
	if err != nil || len(files) < 4 {
		t.Fatalf("the files are %v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(f)] = text
	}
	for where, text := range texts {
		for _, value := range []string{canary, sealed, "canary-of-the-cookie"} {
			for _, form := range []string{value, hex.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte("me:" + value))} {
				if i := bytes.Index(text, []byte(form)); i >= 0 {
					t.Errorf("%s holds %s: ...%q...", where, value, text[max(0, i-80):min(len(text), i+80)])
				}
			}
		}
	}
}
