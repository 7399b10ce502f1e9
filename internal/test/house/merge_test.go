package house_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// No file has the marks of a merge that nobody has completed: those that no compiler reads would
// keep them.
func TestNoMarksOfAMerge(t *testing.T) {
	t.Chdir(top)
	marks := [][]byte{bytes.Repeat([]byte("<"), 7), bytes.Repeat([]byte(">"), 7)}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (path == "bin" || d.Name() == "node_modules" || d.Name() == ".git") { // not ours
			return fs.SkipDir
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, mark := range marks {
			line := append(append([]byte("\n"), mark...), ' ')
			if bytes.Contains(append([]byte("\n"), text...), line) {
				t.Errorf("%s has a line that begins with %s", path, mark)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
