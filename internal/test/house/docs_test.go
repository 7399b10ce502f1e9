package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocsNameWhatExists holds file names on the pages for developers, and tests on the page
// of promises, to what is in the tree.
func TestDocsNameWhatExists(t *testing.T) {
	t.Chdir(top)
	tests := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	known := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "internal/test/") {
			for _, m := range tests.FindAllStringSubmatch(string(text), -1) {
				known[m[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages := []string{"docs/architecture.md", "docs/explanation/decisions.md", "docs/explanation/promises.md", "docs/explanation/learning.md", "docs/how-to/cluster.md", "CONTRIBUTING.md"}
	name := regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	file := regexp.MustCompile("`((?:internal|cmd|contrib|docs|ui)/[\\w./-]*\\w)`")
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllStringSubmatch(string(text), -1) {
			if !known[m[1]] {
				t.Errorf("%s names %s, which is no test", page, m[1])
			}
		}
		for _, m := range file.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
}
