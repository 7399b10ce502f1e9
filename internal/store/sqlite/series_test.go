package sqlite_test

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/store"
	"freshet/internal/store/sqlite"
)

// TestSeries stores real series of versions and says how much room they take,
// beside zstd and a packed git repository. FRESHET_BODIES names a folder of
// archives, NAME.tgz, each with the versions of one source in the order of
// their names.
func TestSeries(t *testing.T) {
	folder := os.Getenv("FRESHET_BODIES")
	if folder == "" {
		t.Skip("FRESHET_BODIES names no folder of series")
	}
	archives, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no series in %s: %v", folder, err)
	}
	var total figures
	var series [][][]byte
	t.Logf("%-26s %4s %9s %9s %9s %9s %9s %9s", "series", "n", "raw", "zstd", "git pack", "payload", "file", "ns/write")
	for _, archive := range archives {
		versions := readSeries(t, archive)
		if len(versions) < 2 {
			continue
		}
		f := storeSeries(t, [][][]byte{versions}, serverHeader)
		series = append(series, versions)
		f.git = packSeries(t, versions)
		f.log(t, strings.TrimSuffix(filepath.Base(archive), ".tgz"))
		total.n += f.n
		total.raw += f.raw
		total.zstd += f.zstd
		total.git += f.git
		total.payload += f.payload
		total.file += f.file
		total.took += f.took
	}
	total.log(t, "total")
	all, few := storeSeries(t, series, serverHeader).file, storeSeries(t, series, fewHeaders).file
	t.Logf("all series in one store take %d bytes with all headers of a server, and %d with the few that a client needs: %.3f", all, few, float64(all)/float64(few))
	if all*100 > few*106 {
		t.Error("the headers take more than a seventeenth")
	}
	if total.payload > total.git {
		t.Errorf("the store takes %d bytes and a packed git repository %d", total.payload, total.git)
	}
}

// figures are what a series takes, in bytes.
type figures struct {
	n                             int
	raw, zstd, git, payload, file int64
	took                          time.Duration
}

func (f figures) log(t *testing.T, name string) {
	t.Helper()
	t.Logf("%-26s %4d %9d %9d %9d %9d %9d %9d", name, f.n, f.raw, f.zstd, f.git, f.payload, f.file, f.took.Nanoseconds()/int64(f.n))
}

// readSeries returns the versions in an archive.
func readSeries(t *testing.T, archive string) [][]byte {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	type file struct {
		name string
		body []byte
	}
	var files []file
	for r := tar.NewReader(unzipped); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if base := path.Base(h.Name); h.Typeflag != tar.TypeReg || base[0] < '0' || base[0] > '9' {
			continue // not a version: those are numbered
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file{h.Name, body})
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	var versions [][]byte
	for _, f := range files {
		versions = append(versions, f.body)
	}
	return versions
}

// storeSeries captures the versions of sources, reads them back and measures the store.
func storeSeries(t *testing.T, series [][][]byte, header func(series, n int, body []byte) http.Header) (f figures) {
	t.Helper()
	alone, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
	if err != nil {
		t.Fatal(err)
	}
	cfg := sqlite.Config{Features: features.All(), Dir: t.TempDir()}
	s := open(t, cfg)
	name := func(n int) freshet.SourceID { return freshet.SourceID(fmt.Sprint("series-", n)) }
	for n := range series {
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: name(n), URL: fmt.Sprintf("https://a.example/%d", n)}); err != nil {
			t.Fatal(err)
		}
	}
	before := reopened(t, &s, cfg)
	for id, versions := range series {
		for n, body := range versions {
			began := time.Now()
			_, _, err := s.Commit(t.Context(), freshet.Record{
				Outcome: freshet.Outcome{Source: name(id), Began: noon, Ended: noon, Result: freshet.Changed},
				Capture: &freshet.Capture{Text: body, Hash: freshet.HashOf(body), Raw: freshet.Raw{
					Method: http.MethodGet, Status: 200, URL: "https://a.example/", Header: header(id, n, body), Body: body,
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			f.took += time.Since(began)
			f.n++
			f.raw += int64(len(body))
			f.zstd += int64(len(alone.EncodeAll(body, nil)))
		}
	}
	after := reopened(t, &s, cfg)
	f.payload, f.file = after.Bodies, after.File-before.File
	for id, versions := range series {
		for i, body := range versions {
			if text, err := s.Text(t.Context(), name(id), i+1); err != nil || string(text) != string(body) {
				t.Errorf("version %d is not what was captured: %v", i+1, err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return f
}

// reopened closes a store, so that its log is folded in, and measures it.
func reopened(t *testing.T, s **sqlite.Store, cfg sqlite.Config) store.Size {
	t.Helper()
	if err := (*s).Close(); err != nil {
		t.Fatal(err)
	}
	*s = open(t, cfg)
	size, err := (*s).Size(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return size
}

// packSeries commits the versions to a git repository and returns the size of
// its pack.
func packSeries(t *testing.T, versions [][]byte) (size int64) {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	git("init", "-q")
	for _, body := range versions {
		if err := os.WriteFile(filepath.Join(dir, "body"), body, 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "body")
		git("commit", "-q", "--allow-empty", "-m", "v")
	}
	git("gc", "-q", "--aggressive", "--prune=now")
	packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*.pack"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pack := range packs {
		info, err := os.Stat(pack)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// fewHeaders are the headers of response n that a client needs to ask again.
func fewHeaders(_, n int, body []byte) http.Header {
	at := noon.Add(time.Duration(n) * 37 * time.Minute)
	return http.Header{
		"Content-Type": {"text/html; charset=utf-8"}, "Cache-Control": {"public, max-age=60"}, "Date": {at.Format(http.TimeFormat)},
		"Etag": {fmt.Sprintf(`W/"%x"`, xxhash.Sum64(body))}, "Last-Modified": {at.Add(-time.Minute).Format(http.TimeFormat)},
	}
}

// serverHeaders are whole headers as three kinds of servers send them: one alone, and two behind content delivery
// networks.
var serverHeaders = []func(n int, body []byte) http.Header{
	func(n int, body []byte) http.Header {
		return headerWith(n, body, map[string]string{
			"Server": "nginx/1.24.0 (Ubuntu)", "Connection": "keep-alive", "Transfer-Encoding": "chunked", "X-Powered-By": "PHP/8.2.7",
			"X-Request-Id": fmt.Sprintf("%032x", xxhash.Sum64(fmt.Append(nil, n))),
			"Set-Cookie":   "PHPSESSID=***; path=/; HttpOnly",
		})
	},
	func(n int, body []byte) http.Header {
		random := xxhash.Sum64(fmt.Append(nil, n))
		return headerWith(n, body, map[string]string{
			"Server": "cloudflare", "Connection": "keep-alive", "Transfer-Encoding": "chunked", "Cf-Ray": fmt.Sprintf("%016x-FRA", random),
			"Cf-Cache-Status": []string{"DYNAMIC", "HIT", "MISS"}[n%3], "Age": fmt.Sprint(n % 60), "Alt-Svc": `h3=":443"; ma=86400`,
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Referrer-Policy": "strict-origin-when-cross-origin",
			"Set-Cookie": "__cf_bm=***; path=/; domain=.a.example; HttpOnly; Secure",
		})
	},
	func(n int, body []byte) http.Header {
		random := xxhash.Sum64(fmt.Append(nil, n))
		return headerWith(n, body, map[string]string{
			"Server": "GitHub.com", "Via": "1.1 varnish", "Accept-Ranges": "bytes", "Access-Control-Allow-Origin": "*", "Content-Length": fmt.Sprint(len(body) / 4),
			"X-Github-Request-Id": fmt.Sprintf("%04X:%05X:%06X:%06X:%08X", random>>48, n, random%(1<<24), n*7, random%(1<<32)),
			"X-Served-By":         fmt.Sprintf("cache-fra-eddf8230%03d-FRA", random%40), "X-Cache": []string{"HIT", "MISS"}[n%2], "X-Cache-Hits": fmt.Sprint(n % 5),
			"X-Timer": fmt.Sprintf("S%d.%06d,VS0,VE%d", noon.Unix()+int64(n)*2220, random%1e6, random%90), "Age": fmt.Sprint(n % 600),
			"X-Fastly-Request-Id": fmt.Sprintf("%016x%016x%08x", random, ^random, n),
		})
	},
}

// serverHeader returns the header of a response as one of the kinds of servers sends it.
func serverHeader(series, n int, body []byte) http.Header {
	return serverHeaders[series%len(serverHeaders)](n, body)
}

// headerWith adds headers to those that all servers send.
func headerWith(n int, body []byte, more map[string]string) http.Header {
	h := fewHeaders(0, n, body)
	h["Vary"], h["Content-Encoding"], h["Strict-Transport-Security"] = []string{"Accept-Encoding"}, []string{"gzip"}, []string{"max-age=31536000; includeSubDomains; preload"}
	h["Content-Security-Policy"] = []string{"default-src 'self'; script-src 'self' https://static.a.example 'unsafe-inline'; img-src * data:; report-uri /csp-report"}
	for name, value := range more {
		h[name] = []string{value}
	}
	return h
}
