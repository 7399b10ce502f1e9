package freshet_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors is the plan of docs/architecture.md: a package imports only packages
// of lower floors. A package that is not listed has no floor and fails.
var floors = map[string]int{
	".":           0,
	"sched":       1,
	"estimate":    1,
	"turn":        1,
	"cycle":       1,
	"policytest":  1,
	"learn":       2,
	"solve":       1,
	"parts":       2,
	"pool":        3,
	"fetch":       1,
	"content":     1,
	"render":      1,
	"noise":       1,
	"robots":      1,
	"sitemap":     1,
	"site":        1,
	"query":       1,
	"doubt":       1,
	"sqlite":      2,
	"postgres":    2,
	"tables":      1,
	"storetest":   1,
	"pgtest":      0,
	"synth":       1,
	"disk":        1,
	"wire":        1,
	"zoo":         1,
	"secret":      1,
	"access":      2,
	"client":      1,
	"spell":       0,
	"lock":        0,
	"words":       0,
	"column":      0,
	"docs":        0,
	"plot":        1,
	"persist":     1,
	"memory":      1,
	"clock":       1,
	"whatif":      3,
	"intake":      2,
	"policy":      3,
	"rival":       4,
	"sink":        3,
	"live":        4,
	"deliver":     4,
	"courier":     4,
	"standing":    4,
	"explore":     5,
	"lab":         5,
	"config":      5,
	"web":         6,
	"ui":          1,
	"who":         1,
	"openid":      1,
	"openidtest":  0,
	"ui/build":    9,
	"paper":       6,
	"hand":        2,
	"cluster":     3,
	"move":        3,
	"series":      3,
	"node":        7,
	"bench":       8,
	"stage":       8,
	"torture":     8,
	"cmd/freshet": 9,
	"cmd/torture": 9,
}

// clockless packages are replayed in the lab: time and chance come to them as
// arguments, and they touch neither a store nor the network.
var clockless = []string{".", "sched", "policy", "rival", "turn", "cycle", "estimate", "learn", "solve", "whatif", "lab", "plot", "paper", "noise", "doubt", "robots", "sitemap", "site", "query", "words", "column", "parts"}

// A rule inspects one source file of the package in dir and returns what is
// wrong with it.
type rule func(dir string, f *ast.File) []string

func floorRule(dir string, f *ast.File) (faults []string) {
	own, ok := floors[dir]
	if !ok {
		return []string{"package " + dir + " has no floor"}
	}
	for _, path := range imports(f) {
		rel, ours := strings.CutPrefix(path, "freshet/")
		if path == "freshet" {
			rel, ours = ".", true
		}
		if !ours {
			if dir == "." && strings.Contains(strings.Split(path, "/")[0], ".") {
				faults = append(faults, "the root imports "+path+", which is not the standard library")
			}
			continue
		}
		if to, ok := floors[rel]; !ok || to >= own {
			faults = append(faults, fmt.Sprintf("floor %d imports %s on floor %d", own, rel, to))
		}
	}
	return faults
}

func clockRule(dir string, f *ast.File) (faults []string) {
	if !slices.Contains(clockless, dir) {
		return nil
	}
	for _, path := range imports(f) {
		switch path {
		case "math/rand", "math/rand/v2", "crypto/rand":
			if path != "math/rand/v2" {
				faults = append(faults, "imports "+path)
			}
		case "net", "database/sql", "os/exec":
			faults = append(faults, "imports "+path)
		case "net/http":
			if dir != "." { // the root names the header type
				faults = append(faults, "imports "+path)
			}
		}
	}
	for _, name := range selections(f, "time") {
		switch name {
		case "Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker":
			faults = append(faults, "reads the clock: time."+name)
		}
	}
	// Package-level functions of math/rand/v2 draw from a hidden seed.
	for _, name := range selections(f, "rand") {
		switch name {
		case "New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "Source", "PCG", "ChaCha8", "Zipf":
		default:
			faults = append(faults, "draws unseeded chance: rand."+name)
		}
	}
	return faults
}

// egressRule keeps every outgoing connection behind package fetch, where
// forbidden addresses are refused.
func egressRule(dir string, f *ast.File) (faults []string) {
	if dir == "fetch" || dir == "wire" { // the latter leads from one program of a test to another
		return nil
	}
	banned := map[string][]string{
		"http": {"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "Client", "Transport"},
		"net":  {"Dial", "DialTimeout", "Dialer", "DialTCP", "DialUDP", "DialIP", "DialUnix", "DefaultResolver", "Resolver", "LookupHost", "LookupIP", "LookupAddr"},
		"tls":  {"Dial", "DialWithDialer", "Dialer"},
		"smtp": {"Dial", "SendMail"},
		"rpc":  {"Dial", "DialHTTP"},
	}
	for pkg, names := range banned {
		for _, name := range selections(f, pkg) {
			if slices.Contains(names, name) {
				faults = append(faults, "opens its own way out: "+pkg+"."+name)
			}
		}
	}
	return faults
}

// docRule asks for a doc comment on every exported name.
func docRule(_ string, f *ast.File) (faults []string) {
	missing := func(name *ast.Ident, docs ...*ast.CommentGroup) {
		if !name.IsExported() || slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d != nil }) {
			return
		}
		faults = append(faults, name.Name+" has no doc comment")
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && !receiverExported(d.Recv) {
				continue
			}
			missing(d.Name, d.Doc)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					missing(s.Name, d.Doc, s.Doc)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						missing(name, d.Doc, s.Doc, s.Comment)
					}
				}
			}
		}
	}
	return faults
}

// stateRule forbids init functions, which hide work and order.
func stateRule(_ string, f *ast.File) (faults []string) {
	for _, decl := range f.Decls {
		if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" {
			faults = append(faults, "has an init function")
		}
	}
	return faults
}

func receiverExported(recv *ast.FieldList) bool {
	t := recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}

// imports returns the import paths of f.
func imports(f *ast.File) (paths []string) {
	for _, spec := range f.Imports {
		paths = append(paths, strings.Trim(spec.Path.Value, `"`))
	}
	return paths
}

// selections returns the names that f takes from the package it knows as pkg.
func selections(f *ast.File, pkg string) (names []string) {
	known := false
	for _, spec := range f.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		base := path[strings.LastIndex(path, "/")+1:]
		if base == "v2" {
			base = filepath.Base(filepath.Dir(path))
		}
		if spec.Name != nil {
			base = spec.Name.Name
		}
		known = known || base == pkg
	}
	if !known {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == pkg {
				names = append(names, sel.Sel.Name)
			}
		}
		return true
	})
	return names
}

// TestHouse holds every source file to the rules of docs/architecture.md.
func TestHouse(t *testing.T) {
	rules := map[string]rule{"floors": floorRule, "clock": clockRule, "egress": egressRule, "docs": docRule, "state": stateRule}
	documented := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		documented[dir] = documented[dir] || f.Doc != nil
		for name, rule := range rules {
			for _, fault := range rule(dir, f) {
				t.Errorf("%s: %s: %s", name, path, fault)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("package in %s has no package comment", dir)
		}
	}
}

// TestHouseCanFail shows each rule a file that breaks it.
func TestHouseCanFail(t *testing.T) {
	tests := []struct {
		name string
		rule rule
		dir  string
		src  string
	}{
		{"a policy imports the daemon", floorRule, "policy", `package p; import _ "freshet/live"`},
		{"one floor imports sideways", floorRule, "fetch", `package p; import _ "freshet/content"`},
		{"a package without a floor", floorRule, "misc", `package p`},
		{"the root imports a library", floorRule, ".", `package p; import _ "github.com/spf13/cobra"`},
		{"the scheduler reads the clock", clockRule, "sched", `package p; import "time"; var t = time.Now()`},
		{"a policy rolls unseeded dice", clockRule, "policy", `package p; import "math/rand/v2"; var n = rand.IntN(6)`},
		{"the lab opens a database", clockRule, "lab", `package p; import _ "database/sql"`},
		{"the API dials by itself", egressRule, "web", `package p; import "net/http"; var c http.Client`},
		{"the client dials by itself", egressRule, "client", `package p; import "net/http"; var c = http.DefaultClient`},
		{"a sink dials by itself", egressRule, "deliver", `package p; import "net"; var _, _ = net.Dial("tcp", "x:1")`},
		{"an exported name without a word", docRule, "sched", `package p; func Run() {}`},
		{"an exported method without a word", docRule, "sched", `package p; type t struct{}; type T struct{}; func (T) Run() {}`},
		{"an init function", stateRule, "web", `package p; func init() {}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := parser.ParseFile(token.NewFileSet(), "x.go", tt.src, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if len(tt.rule(tt.dir, f)) == 0 {
				t.Error("the rule finds nothing wrong")
			}
		})
	}
}

// TestSpeaksOfItself keeps words out of the tree that belong elsewhere.
func TestSpeaksOfItself(t *testing.T) {
	if _, err := os.Stat("docs"); err != nil {
		t.Skip("no docs here")
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if path == "bin" { // what was built, and what others wrote
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".go") || path == "house_test.go" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, word := range []string{"TO" + "DO", "FIX" + "ME"} {
			if strings.Contains(string(b), word) {
				t.Errorf("%s has a %s", path, word)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
