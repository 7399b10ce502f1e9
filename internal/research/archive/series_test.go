package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"slices"
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/research/archive"
	"freshet/internal/store/sqlite"
)

// A file is one of an archive.
type file struct{ name, body string }

func packed(t *testing.T, files ...file) *bytes.Buffer {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.body)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f.body)); err != nil {
			t.Fatal(err)
		}
	}
	for _, close := range []func() error{w.Close, z.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	return &b
}

func open(t *testing.T) freshet.Store {
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// page is a page with a clock, clauses and a fee.
func page(minute int, fee string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<title>Terms</title><p>Last checked 12:%02d:00<p>The fee is %s.", minute, fee)
	for i := range 30 {
		fmt.Fprintf(&b, "<p>Clause %c: the customer returns what was lent in good order, and on time.", 'A'+i)
	}
	return b.String()
}

func TestReplay(t *testing.T) {
	var files []file
	add := func(body string) { files = append(files, file{fmt.Sprintf("terms/%03d.html", len(files)), body}) }
	for k := range 20 {
		add(page(k, "low"))
	}
	add(page(20, "high"))                                      // 20
	add(page(20, "high"))                                      // 21
	add("<title>503 Service Unavailable</title><p>Come back.") // 22
	add(page(23, "high"))                                      // 23
	files = append(files, file{"terms/manifest.json", "{}"}, file{"terms/.hidden", "x"})
	slices.Reverse(files) // the names say the order
	s, err := archive.Read("terms", packed(t, files...))
	if err != nil || len(s.Versions) != 24 {
		t.Fatalf("the series has %d versions: %v", len(s.Versions), err)
	}
	told := 0
	r, err := s.Replay(t.Context(), open(t), freshet.NoiseAuto, func() { told++ })
	if err != nil || told != 24 || len(r.Steps) != 23 {
		t.Fatalf("%d steps were made, and %d told: %v", len(r.Steps), told, err)
	}
	for _, step := range r.Steps {
		want := archive.Noise
		switch {
		case step.Step < 10:
			continue
		case step.Step == 20:
			want = archive.Change
		case step.Step == 21:
			want = archive.Same
		case step.Step == 22:
			want = archive.Suspect
		case step.Step == 23:
			continue // it depends on what the page is compared with
		}
		if step.Verdict != want {
			t.Errorf("step %d is %s, want %s", step.Step, step.Verdict, want)
		}
	}
	if p := r.Report.Places; len(p) != 1 || p[0].Pattern != "Last checked <time>" {
		t.Errorf("the noise is in %+v", p)
	}
}

// The step that a report proposes leaves out what differs, and nothing else.
func TestProposedStep(t *testing.T) {
	footers := map[string]func(k int) string{
		"a stamp":   func(k int) string { return fmt.Sprintf("<p>Last checked 12:%02d:00", k) },
		"a server":  func(k int) string { return fmt.Sprintf("<p>node%d", 3+k*7%19) },
		"a counter": func(k int) string { return fmt.Sprintf("<p>%d visitors", 1000+k*3) },
		"a time in a line": func(k int) string {
			return fmt.Sprintf("<p>This is what the clock over the door of our shop shows: 12:%02d, give or take a minute or two.", k)
		},
		"a time at its end": func(k int) string {
			return fmt.Sprintf("<p>This is what the clock over the door of our shop in the old town shows: 12:%02d", k)
		},
		"rows in their order": func(k int) string {
			return []string{"<p>one<p>two<p>three", "<p>two<p>three<p>one", "<p>three<p>one<p>two"}[k%3]
		},
	}
	for name, footer := range footers {
		t.Run(name, func(t *testing.T) {
			var files []file
			for k := range 20 {
				files = append(files, file{fmt.Sprintf("%03d.html", k), page(0, "low") + footer(k)})
			}
			s, err := archive.Read("page", packed(t, files...))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Replay(t.Context(), open(t), freshet.NoiseAuto, func() {})
			if err != nil || len(r.Report.Places) == 0 {
				t.Fatalf("the report is %+v (%v)", r.Report, err)
			}
			recipe := reading.Recipe{Read: []reading.Step{r.Report.Places[0].Step}}
			var before []byte
			for k, f := range files {
				read, err := extract.Extract(recipe, freshet.Response{MediaType: "text/html", Body: []byte(f.body)})
				if err != nil {
					t.Fatalf("the step %s: %v", recipe.Read[0], err)
				}
				if k > 0 && !bytes.Equal(before, read.Text) {
					t.Fatalf("with the step %s version %d still differs", recipe.Read[0], k)
				}
				if before = read.Text; bytes.Count(before, []byte("\n")) < 31 {
					t.Fatalf("the step %s leaves only %s", recipe.Read[0], before)
				}
			}
		})
	}
}

// With noise: report all of it is told.
func TestReplayWithoutSparing(t *testing.T) {
	var files []file
	for k := range 15 {
		files = append(files, file{fmt.Sprintf("%03d.html", k), page(k, "low")})
	}
	s, err := archive.Read("terms", packed(t, files...))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Replay(t.Context(), open(t), freshet.NoiseReport, func() {})
	if err != nil || slices.ContainsFunc(r.Steps, func(s archive.Step) bool { return s.Verdict != archive.Change }) {
		t.Errorf("the steps are %+v (%v)", r.Steps, err)
	}
}

func TestReadRefuses(t *testing.T) {
	for want, body := range map[string]*bytes.Buffer{
		"not a .tgz file":   bytes.NewBufferString("plain"),
		"unexpected EOF":    bytes.NewBuffer(packed(t, file{"0.html", strings.Repeat("abc", 999)}, file{"1.html", "x"}).Bytes()[:40]),
		"it has 1 versions": packed(t, file{"0.html", "x"}, file{"notes.txt", "x"}),
	} {
		if _, err := archive.Read("s", body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
