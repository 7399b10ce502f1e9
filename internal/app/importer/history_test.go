package importer_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/andybalholm/brotli"

	"freshet/internal/app/importer"
	"freshet/internal/test/tier"
)

// shown returns the history of the first entry of a list in a line.
func shown(t *testing.T, h importer.History, format importer.Format, text string) string {
	t.Helper()
	entries, err := importer.Read(format, text, importer.Options{})
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	all, err := h(t.Context(), entries[0])
	if err != nil {
		t.Fatal(err)
	}
	var line []string
	for _, s := range all {
		line = append(line, fmt.Sprintf("%d %s%s %s", s.At.Unix(), s.Text, s.Body, s.MediaType))
	}
	return strings.Join(line, "; ")
}

// Snapshots of changedetection.io come with their times, compressed or not.
func TestHistoryOfChangedetection(t *testing.T) {
	var packed bytes.Buffer
	w := brotli.NewWriter(&packed)
	_, _ = w.Write([]byte("two"))
	_ = w.Close()
	folder := fstest.MapFS{
		"url-watches.json": {Data: []byte(`{"watching": {"w1": {"url": "https://a.example/"}, "w2": {"url": "https://b.example/"}}}`)},
		"w1/history.txt":   {Data: []byte("1677103794,/datastore/w1/aa.txt\nbroken\n1677103800,bb.txt.br\n")},
		"w1/aa.txt":        {Data: []byte("one")}, "w1/bb.txt.br": {Data: packed.Bytes()},
	}
	l, err := importer.ReadFolder(folder)
	format, text, h := l.Format, l.Text, l.History
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(t, h, format, text); got != "1677103794 one ; 1677103800 two " {
		t.Error(got)
	}
	delete(folder, "w1/aa.txt")
	entries, _ := importer.Read(format, text, importer.Options{})
	if _, err := h(t.Context(), entries[0]); err == nil {
		t.Error("a snapshot that is missing is no error")
	}
	if all, err := h(t.Context(), entries[1]); len(all) > 0 || err != nil {
		t.Errorf("a watch without a history has %v, %v", all, err)
	}
}

// What Debian's urlwatch has stored of a page comes with its times.
func TestHistoryOfUrlwatch(t *testing.T) {
	tier.Slow(t, "it starts urlwatch")
	urlwatch, err := exec.LookPath("urlwatch")
	if err != nil {
		t.Skip("urlwatch is not installed: apt-get install urlwatch, or make setup")
	}
	said := "one"
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, said) }))
	defer page.Close()
	dir := t.TempDir()
	jobs := "url: " + page.URL + "/page\n"
	for name, content := range map[string]string{"urls.yaml": jobs, "c.yaml": "display: {}\nreport: {text: {line_length: 75}}\njob_defaults: {all: {}}\n", "hooks.py": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cache := filepath.Join(dir, "cache.db")
	for _, said = range []string{"one", "two"} {
		if out, err := exec.Command(urlwatch, "--urls", filepath.Join(dir, "urls.yaml"), "--config", filepath.Join(dir, "c.yaml"), "--hooks", filepath.Join(dir, "hooks.py"), "--cache", cache).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	h, err := importer.UrlwatchHistory(cache)
	if err != nil {
		t.Fatal(err)
	}
	got := shown(t, h, importer.Urlwatch, jobs)
	if one, two, ok := strings.Cut(got, "; "); !ok || !strings.HasSuffix(one, " one ") || !strings.HasSuffix(two, " two ") {
		t.Errorf("the history is %q", got)
	}
	if _, err := importer.UrlwatchHistory(filepath.Join(dir, "urls.yaml")); err == nil {
		t.Error("a list of jobs is taken for a database")
	}
}

// Each commit that changed a file is a version.
func TestHistoryOfGit(t *testing.T) {
	dir := t.TempDir()
	git := func(at string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b.example", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+at, "GIT_AUTHOR_DATE="+at)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("", "init", "-q")
	for i, text := range []string{`{"n": 1}`, `{"n": 2}`} {
		if err := os.WriteFile(filepath.Join(dir, "status.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1700000000+i*60), 0).UTC().Format(time.RFC3339)
		git(at, "add", ".")
		git(at, "commit", "-qm", "scraped")
		git(at, "commit", "-q", "--allow-empty", "-m", "nothing")
	}
	if got := shown(t, importer.GitHistory(dir, "status.json"), importer.URLs, "https://a.example/status.json"); got != `1700000000 {"n": 1} ; 1700000060 {"n": 2} ` {
		t.Error(got)
	}
	if _, err := importer.GitHistory(t.TempDir(), "status.json")(t.Context(), importer.Entry{}); err == nil {
		t.Error("a folder without a repository has a history")
	}
}

// A record of a WARC file.
func warcRecord(kind, url, at, http string) string {
	return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: %s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, url, at, len(http), http)
}

// Responses of a WARC file are sources and their versions, in the order of time.
func TestHistoryOfWARC(t *testing.T) {
	ok := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
	text := warcRecord("warcinfo", "", "2020-01-01T00:00:00Z", "software: x") +
		warcRecord("response", "https://a.example/", "2020-01-02T00:00:00Z", ok+"<p>two") +
		warcRecord("response", "https://a.example/", "2020-01-01T00:00:00Z", ok+"<p>one") +
		warcRecord("response", "https://b.example/", "2020-01-01T00:00:00Z", ok+"b") +
		warcRecord("response", "https://gone.example/", "2020-01-01T00:00:00Z", "HTTP/1.1 404 Not Found\r\n\r\nno")
	var packed bytes.Buffer
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n\r\nWARC/", "\r\n\r\n\x00WARC/"), "\x00") { // a member each
		w := gzip.NewWriter(&packed)
		_, _ = w.Write([]byte(part))
		_ = w.Close()
	}
	for _, file := range []string{text, packed.String()} {
		if format, known := importer.Detect(file); format != importer.WARC || !known {
			t.Errorf("it is taken for %q", format)
		}
		h, err := importer.WARCHistory(file)
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(t, h, importer.WARC, file); got != "1577836800 <p>one text/html; 1577923200 <p>two text/html" {
			t.Error(got)
		}
		if entries, err := importer.Read(importer.WARC, file, importer.Options{}); err != nil || len(entries) != 2 || entries[1].Source.URL != "https://b.example/" {
			t.Errorf("%d entries, %v", len(entries), err)
		}
	}
	for _, broken := range []string{text[:len(text)-40], "WARC/1.0\r\nContent-Length: -1\r\n\r\n", text + "x"} {
		if _, err := importer.WARCHistory(broken); err == nil {
			t.Errorf("%.60q is read", broken[max(0, len(broken)-60):])
		}
	}
}
