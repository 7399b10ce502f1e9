package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A server that sends ids with dots and slashes writes nothing outside of the folder.
func TestExportStaysInItsFolder(t *testing.T) {
	for _, id := range []string{"../escaped", "..", "a/../../escaped", "/tmp/freshet-escaped", "link"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case r.URL.Path == "/api/v1/sources":
				fmt.Fprintf(w, `{"items": [{"id": %q, "url": "http://a.example/", "standing": {"version": 1}}], "next": null}`, id)
			case strings.HasSuffix(r.URL.Path, "/text"):
				w.Header().Set("Content-Type", "text/plain")
				fmt.Fprint(w, "escaped")
			case strings.Contains(r.URL.Path, "/versions"):
				fmt.Fprintf(w, `{"items": [{"source": %q, "number": 1}], "next": null}`, id)
			default:
				fmt.Fprint(w, `{"items": [], "next": null}`)
			}
		}))
		top := t.TempDir()
		dir, outside := filepath.Join(top, "a", "export"), filepath.Join(top, "outside")
		for _, d := range []string{dir, outside} {
			if err := os.MkdirAll(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		p := &program{out: &out, err: &out, now: time.Now, env: func(string) string { return "" }}
		if code := p.run(t.Context(), []string{"export", "--since", "1d", "--dir", dir, "--server", server.URL}); code == 0 {
			t.Errorf("an export of the source %q succeeds: %s", id, &out)
		}
		server.Close()
		err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() && filepath.Base(path) != "index.jsonl" {
				t.Errorf("the source %q wrote %s", id, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
