package house_test

import (
	"encoding/csv"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"freshet/internal/sched/policy"
)

// A row of the table of the papers.
type paperRow struct {
	line              int
	item, code, reach string
}

// table is what is in the papers, and where.
const table = "docs/explanation/papers.csv"

// papersTable returns the rows that say where things are.
func papersTable(t *testing.T) (rows []paperRow) {
	t.Helper()
	file, err := os.Open(table)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cells, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range cells[1:] {
		rows = append(rows, paperRow{i + 2, c[1], c[2], c[3]})
	}
	return rows
}

var quoted = regexp.MustCompile("`([^`]+)`")

// packageDirs returns the folder of each package by the package's name.
func packageDirs(t *testing.T) map[string]string {
	t.Helper()
	dirs := map[string]string{}
	for _, pattern := range []string{"*", "internal/*", "internal/*/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range found {
			dirs[filepath.Base(dir)] = dir
		}
	}
	return dirs
}

// declared returns the names that a package declares, methods as Type.Method.
func declared(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					kind := d.Recv.List[0].Type
					if star, ok := kind.(*ast.StarExpr); ok {
						kind = star.X
					}
					if id, ok := kind.(*ast.Ident); ok {
						name = id.Name + "." + name
					}
				}
				names[name] = true
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names[s.Name.Name] = true
					case *ast.ValueSpec:
						for _, id := range s.Names {
							names[id.Name] = true
						}
					}
				}
			}
		}
	}
	return names
}

// What the table of the papers names is there: files, packages, identifiers, commands
// with their flags, and policies with their options.
func TestTableOfThePapersIsTrue(t *testing.T) {
	t.Chdir(top)
	rows := papersTable(t)
	if len(rows) < 104 {
		t.Errorf("the table has %d rows, and the papers have 104 things or more", len(rows))
	}
	packages, dirs := map[string]map[string]bool{}, packageDirs(t)
	there := func(place string) bool {
		if _, err := os.Stat(place); err == nil {
			return true
		}
		pkg, name, ok := strings.Cut(place, ".")
		if !ok {
			return false
		}
		if packages[pkg] == nil {
			packages[pkg] = declared(t, dirs[pkg])
		}
		return packages[pkg][name]
	}
	for _, r := range rows {
		places := quoted.FindAllStringSubmatch(r.code, -1)
		if r.item == "" || len(places) == 0 || strings.TrimSpace(r.reach) == "" {
			t.Errorf("%s:%d: %q has no place in the code, or nobody reaches it", table, r.line, r.item)
		}
		for _, m := range places {
			if !there(m[1]) {
				t.Errorf("%s:%d: %s is not in the code", table, r.line, m[1])
			}
		}
		for _, m := range quoted.FindAllStringSubmatch(r.reach, -1) {
			if why := reachable(m[1]); why != "" {
				t.Errorf("%s:%d: `%s`: %s", table, r.line, m[1], why)
			}
		}
	}
}

// reachable says what is wrong with a way of reaching something, if anything is.
func reachable(way string) string {
	if name, ok := strings.CutPrefix(way, "--policy "); ok {
		if _, err := policy.New(name, policy.Setting{}); err != nil {
			return err.Error()
		}
		return ""
	}
	words := strings.Fields(way)
	if len(words) < 2 || words[0] != "freshet" && words[0] != "freshet-lab" {
		return ""
	}
	help, flags := "", 1
	for n := 1; n < len(words) && !strings.HasPrefix(words[n], "-"); n++ {
		file := "cmd/" + words[0] + "/testdata/golden/help/" + strings.Join(words[:n+1], "-") + ".txt"
		if text, err := os.ReadFile(file); err == nil {
			help, flags = string(text), n+1
		}
	}
	if help == "" {
		return "there is no such command"
	}
	for _, w := range words[flags:] {
		if strings.HasPrefix(w, "--") && !strings.Contains(help, w+" ") && !strings.Contains(help, w+"\n") {
			return "it has no flag " + w
		}
	}
	return ""
}

// The rows are of all three papers, and none is there twice.
func TestTableOfThePapersIsWhole(t *testing.T) {
	t.Chdir(top)
	seen := map[string]int{}
	for _, r := range papersTable(t) {
		seen[r.item+r.code]++
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if seen[key] > 1 {
			t.Errorf("%q is there %d times", key, seen[key])
		}
	}
}
