package importer_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha1"
	"database/sql"
	"errors"
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
	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"freshet/client"
	"freshet/internal/app/importer"
	"freshet/internal/test/tier"
)

// shown returns the history of the first entry of a list in a line.
func shown(t *testing.T, h importer.History, format importer.Format, text string) string {
	t.Helper()
	entries, err := read(format, text, importer.Options{})
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	all, err := snapshots(t, h, entries[0], time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) > 1 { // what is left of it for a run that was interrupted
		var want []importer.Snapshot
		for _, s := range all {
			if s.At.After(all[0].At) { // urlwatch may have run twice within its second
				want = append(want, s)
			}
		}
		rest, err := snapshots(t, h, entries[0], all[0].At)
		if diff := cmp.Diff(want, rest); diff != "" || err != nil {
			t.Errorf("after the first version there is other than the rest: %v\n%s", err, diff)
		}
	}
	var line []string
	for _, s := range all {
		line = append(line, fmt.Sprintf("%d %s%s %s", s.At.Unix(), s.Text, s.Body, s.MediaType))
	}
	return strings.Join(line, "; ")
}

// snapshots returns the history of an entry after a moment.
func snapshots(t *testing.T, h importer.History, e importer.Entry, after time.Time) (all []importer.Snapshot, err error) {
	err = h(t.Context(), e, after, func(s importer.Snapshot) error {
		all = append(all, s)
		return nil
	})
	return all, err
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
	entries, _ := read(format, text, importer.Options{})
	if all, err := snapshots(t, h, entries[0], time.Time{}); err != nil || len(all) != 2 || !all[0].Missing || all[1].Text != "two" {
		t.Errorf("without the first snapshot there are %+v, %v", all, err)
	}
	if all, err := snapshots(t, h, entries[1], time.Time{}); len(all) > 0 || err != nil {
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
	h, err := importer.SnapshotHistory(cache)
	if err != nil {
		t.Fatal(err)
	}
	got := shown(t, h, importer.Urlwatch, jobs)
	if one, two, ok := strings.Cut(got, "; "); !ok || !strings.HasSuffix(one, " one ") || !strings.HasSuffix(two, " two ") {
		t.Errorf("the history is %q", got)
	}
	if _, err := importer.SnapshotHistory(filepath.Join(dir, "urls.yaml")); err == nil {
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
	if _, err := snapshots(t, importer.GitHistory(t.TempDir(), "status.json"), importer.Entry{}, time.Time{}); err == nil {
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
	coded := strings.TrimSuffix(ok, "\r\n")
	var five bytes.Buffer
	b := brotli.NewWriter(&five)
	_, _ = b.Write([]byte("<p>five"))
	_ = b.Close()
	text := warcRecord("warcinfo", "", "2020-01-01T00:00:00Z", "software: x") +
		warcRecord("response", "https://a.example/", "2020-01-02T00:00:00Z", ok+"<p>two") +
		warcRecord("response", "https://a.example/", "2020-01-01T00:00:00Z\r\nWARC-Payload-Digest: sha1:1", ok+"<p>one") +
		warcRecord("response", "https://b.example/", "2020-01-01T00:00:00Z", ok+"b") +
		warcRecord("revisit", "https://a.example/", "2020-01-03T00:00:00Z\r\nWARC-Payload-Digest: sha1:1", "HTTP/1.1 200 OK\r\n\r\n") +
		warcRecord("response", "https://a.example/", "2020-01-04T00:00:00Z", coded+"X-Archive-Orig-Content-Encoding: br\r\n\r\n<p>vi\xe9r") +
		warcRecord("response", "https://a.example/", "2020-01-05T00:00:00Z", coded+"Content-Encoding: br\r\n\r\n"+five.String()) +
		warcRecord("response", "https://a.example/", "2020-01-06T00:00:00Z", coded+"Content-Encoding: gzip\r\n\r\n<p>six, d\xe9cod\xe9") +
		warcRecord("response", "https://a.example/", "2020-01-07T00:00:00Z", coded+"Content-Encoding: unknown\r\n\r\n\xff") +
		warcRecord("response", "https://gone.example/", "2020-01-01T00:00:00Z", "HTTP/1.1 404 Not Found\r\n\r\nno")
	var packed bytes.Buffer
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n\r\nWARC/", "\r\n\r\n\x00cut\x00WARC/"), "\x00cut\x00") { // a member each
		w := gzip.NewWriter(&packed)
		_, _ = w.Write([]byte(part))
		_ = w.Close()
	}
	var whole bytes.Buffer // all records in one member
	w := gzip.NewWriter(&whole)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	for _, file := range []string{text, packed.String(), whole.String(), text + "x", packed.String() + "\x1f\x8b"} {
		if format, known := importer.Detect(file); format != importer.WARC || !known {
			t.Errorf("it is taken for %q", format)
		}
		a, err := importer.ReadArchive(strings.NewReader(file), int64(len(file)))
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(t, a.History, importer.WARC, file); got != "1577836800 <p>one text/html; 1577923200 <p>two text/html; 1578009600 <p>one text/html; 1578096000 <p>vi\xe9r text/html; 1578182400 <p>five text/html; 1578268800 <p>six, d\xe9cod\xe9 text/html; 1578355200  " {
			t.Error(got)
		}
		entries, err := read(importer.WARC, file, importer.Options{})
		if err != nil || len(entries) < 2 || entries[1].Source.URL != "https://b.example/" {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		if broken := strings.HasSuffix(file, "x") || strings.HasSuffix(file, "\x8b"); broken != (len(entries) == 3 && entries[2].Err != nil) {
			t.Errorf("what follows the last record is not reported: %+v", entries)
		}
	}
	for _, broken := range []string{text[:60], "WARC/1.0\r\nContent-Length: -1\r\n\r\n"} {
		if _, err := importer.ReadArchive(strings.NewReader(broken), int64(len(broken))); err == nil {
			t.Errorf("%.60q is read", broken)
		}
	}
}

// A packed file of which each record is reached only through all before it is unpacked first.
func TestArchiveInOneMember(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	name := filepath.Join(t.TempDir(), "a.warc.gz")
	var whole bytes.Buffer
	w := gzip.NewWriter(&whole)
	for i := range 300 {
		_, _ = w.Write([]byte(warcRecord("response", fmt.Sprintf("https://a.example/%d", i%3), time.Unix(int64(1577836800+i), 0).UTC().Format(time.RFC3339), fmt.Sprintf("HTTP/1.1 200 OK\r\n\r\n%d", i))))
	}
	_ = w.Close()
	if err := os.WriteFile(name, whole.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := importer.OpenArchive(name)
	if err != nil || a == nil {
		t.Fatal(err)
	}
	entries, err := read(importer.WARC, whole.String(), importer.Options{})
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	all, err := snapshots(t, a.History, entries[2], time.Time{})
	if err != nil || len(all) != 100 || string(all[99].Body) != "299" {
		t.Errorf("%d versions are read, %v", len(all), err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if a, err := importer.OpenArchive(os.Args[0]); a != nil || err != nil {
		t.Errorf("a program is taken for a WARC file, %v", err)
	}
}

// What webchanges has stored of a page comes with its times, without what it kept of runs that failed.
func TestHistoryOfWebchanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "snapshots.db")
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE webchanges (uuid TEXT, timestamp REAL, msgpack_data BLOB)"); err != nil {
		t.Fatal(err)
	}
	guid := fmt.Sprintf("%x", sha1.Sum([]byte("https://a.example/")))
	for i, said := range []map[string]any{
		{"d": "one", "t": 0, "e": "", "m": "text/html", "err": map[string]any{}}, {"d": "one", "t": 1, "e": "", "m": "", "err": map[string]any{"type": "Timeout"}}, {"d": []byte("two"), "t": 0, "e": ""},
	} {
		packed, err := msgpack.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("INSERT INTO webchanges VALUES (?, ?, ?)", guid, float64(1700000000+i)+0.5, packed); err != nil {
			t.Fatal(err)
		}
	}
	h, err := importer.SnapshotHistory(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := shown(t, h, importer.Webchanges, "url: https://a.example/\nuse_browser: true\n"); got != "1700000000 one ; 1700000002 two " {
		t.Error(got)
	}
	if got := shown(t, h, importer.Webchanges, "url: https://b.example/\n"); got != "" {
		t.Errorf("another page has the history %q", got)
	}
}

// The versions of a TimeMap come with its times, from where an archive has them as they were captured.
func TestHistoryOfTimeMap(t *testing.T) {
	text := `<https://a.example/p?x=1,2>; rel="original",
<https://arc.example/timemap/a>; rel="self"; type="application/link-format",
<https://web.archive.org/web/20200102000000/https://a.example/p>; rel="memento"; datetime="Thu, 02 Jan 2020 00:00:00 GMT",
<https://arc.example/1>; datetime="Wed, 01 Jan 2020 00:00:00 GMT"; rel="first memento",
<https://arc.example/timemap/2>; rel=timemap; type="application/link-format"
`
	if format, _ := importer.Detect(text); format != importer.TimeMap {
		t.Fatalf("it is taken for %q", format)
	}
	fetch := func(_ context.Context, url string) (client.Document, error) {
		if strings.HasSuffix(url, "gone") {
			return client.Document{}, errors.New("404 Not Found")
		}
		return client.Document{Body: []byte("at " + url), MediaType: "text/plain"}, nil
	}
	want := "1577836800 at https://arc.example/1 text/plain; 1577923200 at https://web.archive.org/web/20200102000000id_/https://a.example/p text/plain"
	if got := shown(t, importer.TimeMapHistory(text, fetch), importer.TimeMap, text); got != want {
		t.Error(got)
	}
	entries, err := read(importer.TimeMap, text, importer.Options{})
	if err != nil || len(entries) != 1 || entries[0].Source.URL != "https://a.example/p?x=1,2" || len(entries[0].Notes) != 1 || !strings.Contains(entries[0].Notes[0], "https://arc.example/timemap/2") {
		t.Errorf("it becomes %+v, %v", entries, err)
	}
	broken := strings.ReplaceAll(text, "arc.example/1", "arc.example/gone")
	if _, err := snapshots(t, importer.TimeMapHistory(broken, fetch), importer.Entry{}, time.Time{}); err == nil || !strings.Contains(err.Error(), "2020-01-01") {
		t.Errorf("a version that is gone gives %v", err)
	}
}
