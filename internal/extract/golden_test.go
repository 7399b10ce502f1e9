package extract_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

var update = flag.Bool("update", false, "accept what the code says now as golden")

// golden runs judge on each file of testdata/dir. It is given the sections of
// the file and returns those that it should have, in order.
func golden(t *testing.T, dir string, judge func(t *testing.T, in map[string][]byte) []txtar.File) {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no golden files in %s: %v", dir, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in := map[string][]byte{}
			for _, f := range a.Files {
				in[f.Name] = f.Data
			}
			got := judge(t, in)
			if *update {
				kept := txtar.Archive{Comment: a.Comment}
				for _, f := range a.Files {
					switch f.Name {
					case "recipe", "type", "body", "old", "new":
						kept.Files = append(kept.Files, f)
					}
				}
				kept.Files = append(kept.Files, got...)
				if err := os.WriteFile(file, txtar.Format(&kept), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for _, f := range got {
				if d := cmp.Diff(string(in[f.Name]), string(f.Data)); d != "" {
					t.Errorf("the %s is not as in the file (-file +now):\n%s", f.Name, d)
				}
			}
		})
	}
}

// TestExtractGolden reads each file in testdata/extract: a recipe, a media type
// and a body, and what should be read from them.
func TestExtractGolden(t *testing.T) {
	golden(t, "extract", func(t *testing.T, in map[string][]byte) []txtar.File {
		var r reading.Recipe
		if in["recipe"] != nil {
			if err := json.Unmarshal(in["recipe"], &r); err != nil {
				t.Fatal(err)
			}
		}
		resp := freshet.Response{MediaType: strings.TrimSpace(string(in["type"])), Body: in["body"]}
		rd, err := extract.Extract(r, resp)
		if err != nil {
			return []txtar.File{{Name: "error", Data: fmt.Appendf(nil, "%s\n%v\n%s\n", classOf(err), err, freshet.HintOf(err))}}
		}
		checkText(t, rd.Text)
		about := fmt.Appendf(nil, "kind %s\ntitle %q\n", rd.Kind, rd.Title)
		if !rd.Modified.IsZero() {
			about = fmt.Appendf(about, "modified %s\n", rd.Modified.Format(time.RFC3339))
		}
		for _, at := range rd.Dates {
			about = fmt.Appendf(about, "item of %s\n", at.Format(time.RFC3339))
		}
		return []txtar.File{{Name: "reading", Data: about}, {Name: "text", Data: rd.Text}}
	})
}

// TestDiffGolden compares the texts in each file of testdata/diff.
func TestDiffGolden(t *testing.T) {
	golden(t, "diff", func(t *testing.T, in map[string][]byte) []txtar.File {
		d := extract.Diff(in["old"], in["new"])
		if got := applied(t, d, in["old"]); !bytes.Equal(got, in["new"]) {
			t.Errorf("the delta leads to %q, want %q", got, in["new"])
		}
		return []txtar.File{
			{Name: "summary", Data: []byte(d.Summary() + "\n")},
			{Name: "delta", Data: []byte(d.Unified("a", "b"))},
		}
	})
}
