package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// rule separates the notices of modules.
const rule = "================================================================================\n"

// TestNotices holds the notices to what is linked into the program: a dependency that is new, or
// has another version, needs its licence there. "go test ./cmd/freshet -run TestNotices -update"
// writes them.
func TestNotices(t *testing.T) {
	want := "Freshet contains the following software.\n\n" + noticeOf(t, "Go standard library", strings.TrimPrefix(runtime.Version(), "go"), runtime.GOROOT())
	want += noticeOf(t, "Preact", "(ui/vendor)", filepath.Join("..", "..", "ui", "vendor"))
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Split(strings.TrimSpace(string(list)), "\n")
	slices.Sort(modules)
	for _, m := range slices.Compact(modules) {
		if part := strings.Fields(m); len(part) == 3 {
			want += noticeOf(t, part[0], part[1], part[2])
		}
	}
	if *update {
		if err := os.WriteFile("notices.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	is, should := headings(notices), headings(want)
	for _, h := range should {
		if !slices.Contains(is, h) {
			t.Errorf("notices.txt lacks %s; write it with go test ./cmd/freshet -run TestNotices -update", h)
		}
	}
	for _, h := range is {
		if !slices.Contains(should, h) {
			t.Errorf("notices.txt has %s, which is not linked", h)
		}
	}
}

// headings returns the modules of notices with their versions; of Go, whose patch releases come
// with the machine, without it.
func headings(text string) (all []string) {
	for part := range strings.SplitSeq(text, rule) {
		head, _, _ := strings.Cut(part, "\n")
		if name, _, _ := strings.Cut(head, " "); name == "Go" {
			head = "Go standard library"
		}
		if !strings.HasPrefix(head, "Freshet contains") {
			all = append(all, head)
		}
	}
	return all
}

// licenceFile is a file of a module that has to be passed on.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|copyright|patents)([-._].*)?$`)

// noticeOf returns the notice of a module in a directory.
func noticeOf(t *testing.T, name, version, dir string) string {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := rule + name + " " + version + "\n"
	found := false
	for _, f := range files {
		if f.IsDir() || !licenceFile.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found = true
		text += fmt.Sprintf("\n%s\n", strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n")))
	}
	if !found {
		t.Errorf("%s %s has no licence", name, version)
	}
	return text + "\n"
}

// TestBillOfMaterials has every module of a build in the bill once, with its checksum.
func TestBillOfMaterials(t *testing.T) {
	info := &debug.BuildInfo{Deps: []*debug.Module{
		{Path: "example.com/b/v2", Version: "v2.0.0+incompatible", Sum: "h1:b="},
		{Path: "example.com/a", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.0.1", Sum: "h1:f="}},
	}}
	bill := billOf(build{Version: "v1.2.3", Go: "go1.26.8", Revision: "c0ffee", Time: "2026-11-19T08:00:00Z"}, info)
	text, err := json.Marshal(bill)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"spdxVersion":"SPDX-2.3","dataLicense":"CC0-1.0"`, `"created":"2026-11-19T08:00:00Z"`, `freshet-v1.2.3-c0ffee"`,
		`"pkg:golang/freshet@v1.2.3"`, `"pkg:golang/std@1.26.8"`, `"sourceInfo":"go.sum h1:f=",` + `"externalRefs":[{"referenceCategory":"PACKAGE-MANAGER","referenceType":"purl","referenceLocator":"pkg:golang/example.com/fork@v1.0.1"}]`,
		`pkg:golang/example.com/b/v2@v2.0.0+incompatible`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the bill lacks %s:\n%s", want, text)
		}
	}
	// Each package has an ID of its own, and is part of the program.
	id := regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`)
	ids := map[string]bool{}
	for i, p := range bill.Packages {
		if r := bill.Relationships[i]; !id.MatchString(p.ID) || ids[p.ID] || r.To != p.ID || (r.Of == "SPDXRef-DOCUMENT") != (i == 0) {
			t.Errorf("%+v is not part of the program by an ID of its own: %+v", p, r)
		}
		ids[p.ID] = true
	}
	if len(ids) != 4 || len(bill.Relationships) != 4 {
		t.Errorf("the bill has %d packages and %d relationships", len(ids), len(bill.Relationships))
	}
}
