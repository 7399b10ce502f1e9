package content_test

import (
	"fmt"
	"mime"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"freshet"
	"freshet/content"
)

// TestRealSeries reads series of real versions, one directory a source, from
// the directory that FRESHET_BODIES names, and prints how each step looks.
func TestRealSeries(t *testing.T) {
	root := os.Getenv("FRESHET_BODIES")
	if root == "" {
		t.Skip("FRESHET_BODIES names no directory of real versions")
	}
	files, err := filepath.Glob(filepath.Join(root, "*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(files)
	last := map[string][]byte{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rd, err := content.Extract(freshet.Recipe{}, freshet.Response{MediaType: mime.TypeByExtension(filepath.Ext(file)), Body: body})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		dir := filepath.Dir(file)
		old, seen := last[dir]
		last[dir] = rd.Text
		if seen {
			fmt.Printf("%s: %q, %d of %d bytes: %s\n", filepath.Base(file), rd.Title, len(rd.Text), len(body), content.Diff(old, rd.Text).Summary())
		}
		if out := os.Getenv("FRESHET_TEXTS"); out != "" {
			os.WriteFile(filepath.Join(out, filepath.Base(dir)+"-"+filepath.Base(file)+".txt"), rd.Text, 0o644)
		}
	}
}
