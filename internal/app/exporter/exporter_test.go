package exporter_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"freshet/client"
	"freshet/internal/app/exporter"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/test/daemontest"
	"freshet/internal/warc"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A rig is a daemon with sources and versions, whose API can fail.
type rig struct {
	*testing.T
	*daemontest.Daemon
	left atomic.Int64 // requests that are answered
}

// newRig returns a daemon with three sources: a has 30 versions of which every fifth has the body of the one five before,
// b 20 from before headers were kept, with values, and c, which was removed, 5.
func newRig(t *testing.T) *rig {
	d, err := daemontest.New(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	r := &rig{T: t, Daemon: d}
	r.left.Store(1 << 40)
	counts := map[freshet.SourceID]int{"a": 30, "b": 20, "c": 5}
	for id := range counts {
		if _, err := d.Store.AddSource(t.Context(), freshet.Source{ID: id, URL: "https://" + string(id) + ".example/page", Name: "Page <" + string(id) + ">", Tags: []string{"news"}}); err != nil {
			t.Fatal(err)
		}
	}
	for v := range counts["a"] { // in the order of time
		for _, id := range []freshet.SourceID{"a", "b", "c"} {
			if v < counts[id] {
				r.capture(id, v)
			}
		}
	}
	if err := d.Store.RemoveSource(t.Context(), "c", false); err != nil {
		t.Fatal(err)
	}
	return r
}

// capture adds a version. The times of sources interleave.
func (r *rig) capture(id freshet.SourceID, v int) {
	r.Helper()
	at := noon.Add(time.Duration(v)*time.Hour + time.Duration(id[0])*time.Minute)
	text := []byte(fmt.Sprintf("version %d of %s\n=formula, %d\n", v, id, v))
	c := &freshet.Capture{
		Recipe: reading.Recipe{}.Key(), Text: text, Hash: freshet.HashOf(text), Summary: fmt.Sprint("now ", v),
		Raw: freshet.Raw{Method: "GET", Status: 200, URL: "https://" + string(id) + ".example/page", Header: http.Header{"Content-Type": {"text/html"}, "X-N": {fmt.Sprint(v)}}, Body: fmt.Appendf(nil, "<p>%d of %s", v-v%5*(v%5/4), id)},
	}
	if id == "b" {
		c.Raw.Method = ""
		if err := json.Unmarshal([]byte(fmt.Sprintf(`{"price": %d.5, "name": "thing", "gone": null}`, v)), &c.Fields); err != nil {
			r.Fatal(err)
		}
	}
	o := freshet.Outcome{Source: id, Since: at.Add(-time.Minute), Began: at, Ended: at, Result: freshet.Changed, Status: 200, Requests: 1}
	if v == 0 {
		o.Result = freshet.First
	}
	if _, _, err := r.Store.Commit(r.Context(), freshet.Record{Outcome: o, Capture: c}); err != nil {
		r.Fatal(err)
	}
}

// imported adds a source with versions that another program captured an hour apart, before all others.
func (r *rig) imported(id freshet.SourceID, versions int) {
	r.Helper()
	if _, err := r.Store.AddSource(r.Context(), freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Paused: true}); err != nil {
		r.Fatal(err)
	}
	for v := range versions {
		text := fmt.Appendf(nil, "imported version %d of %s\n", v, id)
		c := freshet.Capture{Recipe: "imported", Text: text, Hash: freshet.HashOf(text), Raw: freshet.Raw{Body: text}}
		if err := r.Store.ImportVersion(r.Context(), id, noon.Add(time.Duration(v-100)*time.Hour), c); err != nil {
			r.Fatal(err)
		}
	}
}

// selection returns an export whose clock moves on by two seconds each time, so that it notes each step.
func (r *rig) selection() *exporter.Selection {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.left.Add(-1) < 0 {
			http.Error(w, "cut off", http.StatusBadGateway)
			return
		}
		r.Handler.ServeHTTP(w, req)
	}))
	r.Cleanup(server.Close)
	now := noon
	return &exporter.Selection{Client: client.New(server.URL, http.DefaultClient.Do), Program: "test", Step: func(int) {}, Now: func() time.Time {
		now = now.Add(2 * time.Second)
		return now
	}}
}

// An export that is cut off anywhere goes on when it is repeated, and is in the end what it is without that.
func TestResume(t *testing.T) {
	r := newRig(t)
	for name, write := range map[string]func(s *exporter.Selection, path string) (int, error){
		"versions.jsonl":   func(s *exporter.Selection, path string) (int, error) { return s.Lines(t.Context(), path, nil) },
		"versions.warc.gz": func(s *exporter.Selection, path string) (int, error) { return s.Archive(t.Context(), path, nil) },
		"versions.warc":    func(s *exporter.Selection, path string) (int, error) { return s.Archive(t.Context(), path, nil) },
		"changes.jsonl": func(s *exporter.Selection, path string) (int, error) {
			return s.Changes(t.Context(), exporter.JSONL, path, nil)
		},
		"changes.csv": func(s *exporter.Selection, path string) (int, error) {
			return s.Changes(t.Context(), exporter.CSV, path, nil)
		},
		"values.csv": func(s *exporter.Selection, path string) (int, error) {
			return s.Values(t.Context(), exporter.CSV, path, nil)
		},
		"changes.parquet": func(s *exporter.Selection, path string) (int, error) {
			return s.Changes(t.Context(), exporter.Parquet, path, nil)
		},
		"values.parquet": func(s *exporter.Selection, path string) (int, error) {
			return s.Values(t.Context(), exporter.Parquet, path, nil)
		},
	} {
		dir := t.TempDir()
		whole, cut := filepath.Join(dir, "whole-"+name), filepath.Join(dir, name)
		r.left.Store(1 << 40)
		want, err := write(r.selection(), whole)
		needed := 1<<40 - r.left.Load()
		if err != nil || want < 20 {
			t.Fatalf("%s: %d, %v", name, want, err)
		}
		runs, got := 0, 0
		for err := errors.New("not begun"); err != nil; runs++ {
			if runs > 200 {
				t.Fatalf("%s never ends: %v", name, err)
			}
			r.left.Store(int64(1 + runs)) // too few at first
			got, err = write(r.selection(), cut)
			if used := int64(1+runs) - r.left.Load(); err == nil && used >= needed {
				t.Errorf("%s: the last run makes %d requests of %d, so it begins again", name, used, needed)
			}
			if err == nil {
				break
			}
			half := cut
			if strings.HasSuffix(cut, ".parquet") {
				half += ".rows"
			}
			f, openErr := os.OpenFile(half, os.O_APPEND|os.O_WRONLY, 0)
			if openErr == nil {
				_, openErr = f.WriteString("what a crash leaves behind")
				openErr = errors.Join(openErr, f.Close())
			}
			if openErr != nil && !errors.Is(openErr, os.ErrNotExist) {
				t.Fatal(openErr)
			}
		}
		r.left.Store(1 << 40)
		a, errA := os.ReadFile(whole)
		b, errB := os.ReadFile(cut)
		if errA != nil || errB != nil || !bytes.Equal(a, b) || got != want {
			t.Errorf("%s: after %d interruptions it has %d bytes and %d entries, want %d and %d (%v, %v)", name, runs, len(b), got, len(a), want, errA, errB)
		}
		if runs == 0 {
			t.Errorf("%s was never interrupted", name)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 2 {
			t.Errorf("%s leaves %v", name, left)
		}
	}
}

// Another export does not go on with a file.
func TestResumeOfAnother(t *testing.T) {
	r := newRig(t)
	path := filepath.Join(t.TempDir(), "x.jsonl")
	r.left.Store(8)
	if _, err := r.selection().Lines(t.Context(), path, nil); err == nil {
		t.Fatal("the export was not cut off")
	}
	r.left.Store(1 << 40)
	other := r.selection()
	other.Source = "b"
	if _, err := other.Lines(t.Context(), path, nil); err == nil || freshet.HintOf(err) == "" {
		t.Errorf("another export to the same file gives %v", err)
	}
}

// A WARC file has a response for each version that was captured with its header, a revisit for one with an earlier
// body, and a resource for one without its header.
func TestArchive(t *testing.T) {
	r := newRig(t)
	var file bytes.Buffer
	if n, err := r.selection().Archive(t.Context(), "", &file); err != nil || n != 55 {
		t.Fatalf("%d versions are written: %v", n, err)
	}
	from, err := warc.NewReader(&file)
	if err != nil {
		t.Fatal(err)
	}
	kinds, ids := map[string]int{}, map[string]string{}
	for {
		rec, err := from.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		kind, id := rec.Get(warc.FieldType), rec.Get(warc.FieldID)
		kinds[kind]++
		if ids[id] != "" {
			t.Errorf("the ID %s is there twice", id)
		}
		ids[id] = rec.Get(warc.FieldPayload)
		switch kind {
		case warc.Response:
			m, err := warc.ReadResponse(rec.Block)
			if err != nil || m.Status != 200 || m.Header.Get("X-N") == "" || warc.Digest(m.Body) != rec.Get(warc.FieldPayload) {
				t.Errorf("a response is %+v: %v", m, err)
			}
		case warc.Revisit:
			if first, ok := ids[rec.Get(warc.FieldRefersTo)]; !ok || first != rec.Get(warc.FieldPayload) {
				t.Errorf("a revisit refers to %s", rec.Get(warc.FieldRefersTo))
			}
		case warc.Resource:
			if rec.Get("Freshet-Source") != "b" || !bytes.HasPrefix(rec.Block, []byte("<p>")) {
				t.Errorf("a resource is %v %q", rec.Fields, rec.Block)
			}
		}
	}
	if kinds[warc.Info] != 1 || kinds[warc.Resource] != 20 || kinds[warc.Revisit] != 7 || kinds[warc.Response] != 28 {
		t.Errorf("the records are %v", kinds)
	}
}

// A git repository has a commit for each change, with its date and author, in the order of time, and is sound. Another
// export adds what is new.
func TestGit(t *testing.T) {
	r := newRig(t)
	dir := filepath.Join(t.TempDir(), "history.git")
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	for run, want := range []int{55, 0, 1} {
		if run == 2 {
			r.capture("a", 40)
		}
		if n, err := r.selection().Git(t.Context(), dir); err != nil || n != want {
			t.Fatalf("export %d makes %d commits, want %d: %v", run, n, want, err)
		}
		git("fsck", "--strict", "--no-dangling")
	}
	if n := strings.TrimSpace(git("rev-list", "--count", "main")); n != "56" {
		t.Errorf("there are %s commits", n)
	}
	times := strings.Fields(git("log", "--reverse", "--format=%at", "main"))
	for i := 1; i < len(times); i++ {
		if times[i] < times[i-1] {
			t.Fatalf("commit %d of %s comes after one of %s", i, times[i], times[i-1])
		}
	}
	if got := git("log", "-1", "--format=%an|%ae|%aI|%s", "main"); got != "Page a|a@a.example|2026-03-03T05:37:00+01:00|now 40\n" && !strings.HasPrefix(got, "Page a|a@a.example|2026-03-0") {
		t.Errorf("the last commit is %q", got)
	}
	for id, n := range map[string]int{"a": 40, "b": 19, "c": 4} {
		if text := git("show", "main:"+id+".txt"); text != fmt.Sprintf("version %d of %s\n=formula, %d\n", n, id, n) {
			t.Errorf("%s is %q", id, text)
		}
	}
}

// A git export that was interrupted goes on, and neither repeats nor leaves out a commit, also of imported versions.
func TestGitIsCutOff(t *testing.T) {
	r := newRig(t)
	r.imported("d", 20)
	dir := filepath.Join(t.TempDir(), "history.git")
	for cuts := range 3 {
		r.left.Store(30)
		if n, err := r.selection().Git(t.Context(), dir); err == nil || n == 0 {
			t.Fatalf("it was not cut off: %d, %v", n, err)
		}
		if cuts == 1 { // what happened before comes later
			r.imported("e", 10)
		}
	}
	r.left.Store(1 << 40)
	if _, err := r.selection().Git(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("git", "-C", dir, "log", "--format=%s %(trailers:key=Freshet-Version,valueonly)", "main").Output()
	all := regexp.MustCompile(`\S+/\d+`).FindAllString(string(out), -1)
	slices.Sort(all)
	if err != nil || len(all) != 85 || len(slices.Compact(all)) != 85 {
		t.Errorf("%d commits: %v\n%s", len(all), err, out)
	}
}

// Values have a row each, and CSV has no formulas.
func TestTables(t *testing.T) {
	r := newRig(t)
	path := filepath.Join(t.TempDir(), "values.parquet")
	if n, err := r.selection().Values(t.Context(), exporter.Parquet, path, nil); err != nil || n != 20 {
		t.Fatalf("%d: %v", n, err)
	}
	rows, err := parquet.ReadFile[exporter.ValueRow](path)
	if err != nil || len(rows) != 60 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	if one := rows[5]; one.Field != "price" || one.Number == nil || *one.Number != 1.5 || *one.Text != "1.5" || !one.Seen.Equal(noon.Add(time.Hour+98*time.Minute)) || rows[3].Text != nil {
		t.Errorf("the rows are %+v and %+v", rows[3], one)
	}
	var changes bytes.Buffer
	if n, err := r.selection().Changes(t.Context(), exporter.CSV, "", &changes); err != nil || n != 52 {
		t.Fatalf("%d changes: %v", n, err)
	}
	table, err := csv.NewReader(&changes).ReadAll()
	if err != nil || len(table) != 53 || len(table[0]) != len(table[1]) {
		t.Fatalf("the table has %d rows: %v", len(table), err)
	}
	for _, row := range table[1:] {
		for _, cell := range row {
			if cell != "" && strings.ContainsAny(cell[:1], "=@") {
				t.Errorf("a cell is %q", cell)
			}
		}
	}
}

// Lists of sources are read by the import.
func TestLists(t *testing.T) {
	r := newRig(t)
	var opml, table bytes.Buffer
	if n, _, err := r.selection().OPML(t.Context(), &opml); err != nil || n != 2 || !strings.Contains(opml.String(), `url="https://a.example/page"`) {
		t.Errorf("OPML of %d sources: %v\n%s", n, err, &opml)
	}
	if n, _, err := r.selection().CSV(t.Context(), &table); err != nil || n != 2 || !strings.Contains(table.String(), "https://b.example/page,Page <b>,news,b,") {
		t.Errorf("a table of %d sources: %v\n%s", n, err, &table)
	}
}
