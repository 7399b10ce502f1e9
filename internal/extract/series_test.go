package extract_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// TestRealSeries reads successive real versions of sources, one .tgz file a
// source, from the directory that FRESHET_BODIES names. Run it with -v to see
// each step as a summary.
func TestRealSeries(t *testing.T) {
	root := os.Getenv("FRESHET_BODIES")
	if root == "" {
		t.Skip("FRESHET_BODIES names no directory of real versions")
	}
	files, err := filepath.Glob(filepath.Join(root, "*.tgz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no series in %s: %v", root, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var old []byte
			raw, kept, changes := 0, 0, 0
			for i, v := range versions(t, file) {
				rd, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: mime.TypeByExtension(filepath.Ext(v.name)), Body: v.body})
				if err != nil {
					t.Fatalf("%s: %v", v.name, err)
				}
				checkText(t, rd.Text)
				raw, kept = raw+len(v.body), kept+len(rd.Text)
				if i > 0 && !bytes.Equal(old, rd.Text) {
					changes++
					checkDiff(t, old, rd.Text)
					t.Logf("%s: %s", filepath.Base(v.name), extract.Diff(old, rd.Text).Summary())
				}
				old = rd.Text
			}
			t.Logf("%d bytes read as %d, %d changes", raw, kept, changes)
		})
	}
}

// A version is one file of a series.
type version struct {
	name string
	body []byte
}

func versions(t *testing.T, file string) (all []version) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, version{h.Name, body})
	}
	slices.SortFunc(all, func(a, b version) int { return cmp.Compare(a.name, b.name) })
	return all
}
