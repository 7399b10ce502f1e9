package importer_test

import (
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"freshet/internal/app/importer"
	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/test/tier"
)

// otherText names the jobs whose text differs, and why.
var otherText = map[string]string{
	"the whole page": "the title of a page is kept beside its text",

	"a hash":     "the text itself is compared",
	"a hex dump": "the text itself is compared",
}

// urlwatch and an imported source compare the same words of the same pages.
func TestSameTextAsUrlwatch(t *testing.T) {
	tier.Slow(t, "it starts urlwatch once for each job")
	urlwatch, err := exec.LookPath("urlwatch")
	if err != nil {
		t.Skip("urlwatch is not installed: apt-get install urlwatch, or make setup")
	}
	pages := httptest.NewServer(http.FileServer(http.Dir("testdata/urlwatch")))
	defer pages.Close()
	jobs, err := os.ReadFile("testdata/urlwatch/jobs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	text := regexp.MustCompile(`BASE/\S+`).ReplaceAllStringFunc(string(jobs), func(url string) string {
		n++ // urlwatch wants no URL twice
		return pages.URL + strings.TrimPrefix(url, "BASE") + "?" + strconv.Itoa(n)
	})
	dir := t.TempDir()
	for name, content := range map[string]string{"urls.yaml": text, "urlwatch.yaml": "display: {}\nreport: {text: {line_length: 75}}\njob_defaults: {all: {}}\n", "hooks.py": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := read(importer.Urlwatch, text, importer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	same := 0
	for i, e := range entries {
		theirs, err := exec.Command(urlwatch, "--urls", filepath.Join(dir, "urls.yaml"), "--config", filepath.Join(dir, "urlwatch.yaml"),
			"--hooks", filepath.Join(dir, "hooks.py"), "--cache", filepath.Join(dir, "cache.db"), "--test-filter", strconv.Itoa(i+1)).Output()
		if err != nil {
			var said []byte
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				said = exit.Stderr
			}
			t.Errorf("%s: urlwatch: %v: %s", e.Source.Name, err, said)
			continue
		}
		ours := textOf(t, e)
		if words(string(theirs)) == words(ours) {
			same++
		} else if otherText[e.Source.Name] == "" {
			t.Errorf("%s: urlwatch compares\n%s\nand Freshet, with %v,\n%s", e.Source.Name, words(string(theirs)), e.Source.Read, words(ours))
		}
	}
	if other := len(otherText); same+other != len(entries) {
		t.Errorf("%d of %d jobs compare the same words, and %d are explained", same, len(entries), other)
	}
	t.Logf("%d of %d jobs compare the same words", same, len(entries))
}

// textOf returns what is compared of the page of a source.
func textOf(t *testing.T, e importer.Entry) string {
	t.Helper()
	s, err := e.Source.Defined()
	if err != nil {
		t.Fatalf("%s: %v", e.Source.Name, err)
	}
	resp, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	rd, err := extract.Extract(s.Recipe, freshet.Response{URL: s.URL, Status: resp.StatusCode, Header: resp.Header, MediaType: resp.Header.Get("Content-Type"), Body: body})
	if err != nil {
		t.Errorf("%s: %v", e.Source.Name, err)
	}
	return string(rd.Text)
}

var (
	tag    = regexp.MustCompile(`(?s)<!--.*?-->|<[^>]*>`)
	bullet = regexp.MustCompile(`(?m)^\s*(#+|-|\*) `)
)

// words returns the words of a text without tags, marks of headings and of lists, and white space.
func words(text string) string {
	text = html.UnescapeString(tag.ReplaceAllString(text, " "))
	return strings.Join(strings.Fields(bullet.ReplaceAllString(text, " ")), " ")
}
