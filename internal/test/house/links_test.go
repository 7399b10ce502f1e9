package house_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A link in the docs leads to a page that is there, and to a heading that is on it.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Chdir(top)
	link := regexp.MustCompile(`\]\(([^():\s]+\.md)?(#[^()\s]+)?\)`)
	pages := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (path == "bin" || d.Name() == "node_modules" || d.Name() == ".git") { // not ours
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pages++
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			to := path
			if m[1] != "" {
				to = filepath.Join(filepath.Dir(path), m[1])
			}
			if m[1] == "" && m[2] == "" {
				continue
			}
			if there, err := os.ReadFile(to); err != nil {
				t.Errorf("%s: %s leads nowhere: %v", path, m[0], err)
			} else if m[2] != "" && !headings(string(there))[m[2]] {
				t.Errorf("%s: %s leads to no heading of %s", path, m[0], to)
			}
		}
		return nil
	})
	if err != nil || pages < 10 {
		t.Errorf("%d pages were looked at: %v", pages, err)
	}
}

// headings returns the anchors of a page, as they are commonly made of its headings.
func headings(text string) map[string]bool {
	drop := regexp.MustCompile(`[^\p{L}\p{N}\- _]`)
	found := map[string]bool{}
	for line := range strings.Lines(text) {
		if title, is := strings.CutPrefix(line, "#"); is {
			title = strings.ToLower(strings.TrimSpace(strings.TrimLeft(title, "#")))
			found["#"+strings.ReplaceAll(drop.ReplaceAllString(title, ""), " ", "-")] = true
		}
	}
	return found
}
