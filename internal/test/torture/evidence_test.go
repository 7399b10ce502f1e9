//go:build unix

package torture_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"freshet/client"
	"freshet/internal/test/torture"
)

// quoted finds what is named in a cell.
var quoted = regexp.MustCompile("`([^`]+)`")

// Every kind of fault has a row in docs/reference/failures.md, and what the row names is there: metrics, messages
// of the log and fields of the API.
func TestEveryFaultShows(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/failures.md")
	if err != nil {
		t.Fatal(err)
	}
	code := programText(t)
	wanted := map[string]bool{}
	for _, k := range torture.Kinds {
		wanted[string(k)] = true
	}
	for _, k := range torture.ClusterFaults() {
		wanted[k] = true
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		kind := quoted.FindStringSubmatch(cells[1])[1]
		if !wanted[kind] {
			t.Errorf("there is no fault %s, or it has two rows", kind)
		}
		delete(wanted, kind)
		named := 0
		for _, m := range quoted.FindAllStringSubmatch(cells[2], -1) {
			if named++; !strings.HasPrefix(m[1], "failure=") && m[1] != "process_start_time_seconds" && !strings.Contains(code, `"`+m[1]+`"`) {
				t.Errorf("%s: no metric is called %s", kind, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[3], -1) {
			if named++; !strings.Contains(code, `"`+m[1]) {
				t.Errorf("%s: nobody logs %q", kind, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(cells[4], -1) {
			if named++; !isField(m[1]) {
				t.Errorf("%s: the API has no field %s", kind, m[1])
			}
		}
		if named == 0 {
			t.Errorf("%s shows nowhere", kind)
		}
	}
	for kind := range wanted {
		t.Errorf("docs/reference/failures.md has no row for %s", kind)
	}
}

// programText returns the code of the program, without tests.
func programText(t *testing.T) string {
	var all strings.Builder
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "test" || d.Name() == "testdata" || d.Name() == "research"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// isField reports whether the API has a field, such as status.trouble or cluster.nodes.why.
func isField(name string) bool {
	path := strings.Split(name, ".")
	at, ok := map[string]reflect.Type{"status": reflect.TypeFor[client.Status](), "cluster": reflect.TypeFor[client.Cluster]()}[path[0]]
	if !ok || len(path) < 2 {
		return false
	}
	for _, step := range path[1:] {
		for at.Kind() == reflect.Slice || at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		found := false
		for _, f := range reflect.VisibleFields(at) {
			if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == step {
				at, found = f.Type, true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}
