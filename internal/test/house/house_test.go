package house_test

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

// top is the folder of the module, as seen from here.
const top = "../../.."

// kernel is the package of the nouns that all others share.
const kernel = "internal/freshet"

// floors is the plan of docs/architecture.md: a package imports only packages
// of lower floors. A package that is not listed has no floor and fails.
var floors = map[string]int{
	"internal/freshet/failure":    -2,
	"internal/freshet/objective":  -2,
	"internal/freshet/suspect":    -2,
	"internal/freshet/crawl":      -3,
	"internal/freshet/evidence":   -2,
	"internal/freshet/timetable":  -2,
	"internal/freshet/rendering":  -3,
	"internal/freshet/profile":    -2,
	"internal/freshet/reading":    -2,
	"internal/auth/access":        -2,
	"internal/units":              -4,
	"contrib/release/image":       -5,
	"internal/invalid":            -5,
	"internal/strictjson":         -4,
	"internal/safeyaml":           -4,
	"internal/mask":               -4,
	"internal/freshet":            -1,
	"internal/sched":              1,
	"internal/learn/estimate":     1,
	"internal/learn/outlook":      0,
	"internal/learn/imported":     0,
	"internal/sched/ranking":      1,
	"internal/sched/cyclic":       1,
	"internal/test/policytest":    1,
	"internal/learn":              2,
	"internal/sched/rootfind":     1,
	"internal/fetch":              1,
	"internal/extract":            1,
	"internal/fetch/browser":      1,
	"internal/extract/noise":      1,
	"internal/extract/chardet":    0,
	"internal/fetch/robots":       1,
	"internal/sites/sitemap":      1,
	"internal/sites":              2,
	"internal/queries":            3,
	"internal/extract/wrongpage":  1,
	"internal/extract/visual":     1,
	"internal/store/sqlite":       3,
	"internal/store/postgres":     3,
	"internal/store":              2,
	"internal/test/storetest":     6,
	"internal/test/tier":          0,
	"internal/test/kit":           2,
	"internal/test/daemontest":    7,
	"internal/test/pgtest":        1,
	"internal/lab/synth":          1,
	"internal/test/diskfault":     1,
	"internal/test/netfault":      1,
	"internal/test/hostile":       1,
	"internal/fetch/secrets":      1,
	"internal/fetch/auth":         2,
	"client":                      1,
	"internal/suggest":            0,
	"internal/dates":              0,
	"internal/urlenc":             -4,
	"internal/binenc":             0,
	"internal/warc":               0,
	"internal/lazyregexp":         -1,
	"internal/filelock":           0,
	"internal/search":             1,
	"internal/sched/column":       0,
	"docs":                        0,
	"internal/lab/plot":           1,
	"internal/retry":              1,
	"internal/daemon/membudget":   1,
	"internal/clock":              1,
	"internal/learn/forecast":     3,
	"internal/backup":             4,
	"internal/app/importer":       4,
	"internal/app/exporter":       2,
	"internal/sched/policy":       3,
	"internal/research/adversary": 7,
	"internal/research/baselines": 4,
	"internal/sinks":              4,
	"internal/daemon":             4,
	"internal/sinks/delivery":     5,
	"internal/cluster/delivery":   5,
	"internal/cluster/identity":   2,
	"internal/sites/frontier":     3,
	"internal/features":           5,
	"internal/sites/discovery":    5,
	"internal/lab":                5,
	"internal/lab/labflag":        6,
	"internal/cli":                2,
	"internal/cli/display":        3,
	"internal/mcp":                2,
	"internal/tracing":            2,
	"internal/app/config":         5,
	"internal/api":                6,
	"internal/api/rest":           4,
	"ui":                          1,
	"internal/auth":               3,
	"internal/auth/openid":        1,
	"internal/test/oidctest":      0,
	"ui/build":                    9,
	"internal/research/paper":     7,
	"internal/research/generate":  6,
	"internal/research/limit":     6,
	"internal/research/results":   7,
	"internal/worker":             3,
	"internal/cluster":            4,
	"internal/store/migrate":      4,
	"internal/research/archive":   4,
	"internal/app":                7,
	"internal/test/bench":         8,
	"internal/app/demo":           8,
	"internal/test/house":         0,
	"internal/test/house/report":  1,
	"internal/test/torture":       8,
	"cmd/freshet":                 9,
	"cmd/freshet-lab":             9,
}

// clockless packages are replayed in the lab: time and chance come to them as
// arguments, and they touch neither a store nor the network.
var clockless = []string{"internal/freshet", "internal/freshet/failure", "internal/freshet/objective", "internal/freshet/suspect", "internal/freshet/crawl", "internal/freshet/evidence", "internal/freshet/timetable", "internal/freshet/rendering", "internal/freshet/profile", "internal/freshet/reading", "internal/learn/outlook", "internal/learn/imported", "internal/units", "internal/invalid", "internal/sched", "internal/sched/policy", "internal/research/adversary", "internal/research/baselines", "internal/sched/ranking", "internal/sched/cyclic", "internal/learn/estimate", "internal/learn", "internal/sched/rootfind", "internal/learn/forecast", "internal/lab", "internal/lab/plot", "internal/research/paper", "internal/research/generate", "internal/research/limit", "internal/research/results", "internal/extract/chardet", "internal/extract/noise", "internal/extract/wrongpage", "internal/extract/visual", "internal/fetch/robots", "internal/sites/sitemap", "internal/sites", "internal/queries", "internal/search", "internal/sched/column"}

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
		if !ours {
			if dir == kernel && strings.Contains(strings.Split(path, "/")[0], ".") {
				faults = append(faults, "the kernel imports "+path+", which is not the standard library")
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
			if dir != kernel { // the kernel names the header type
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
	if dir == "internal/fetch" || dir == "internal/test/netfault" { // the latter leads from one program of a test to another
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

// researchRule keeps research and rigs out of the product: only they, freshet-lab and
// tests import them.
func researchRule(dir string, f *ast.File) (faults []string) {
	apart := func(dir string) bool {
		return strings.HasPrefix(dir, "internal/research/") || strings.HasPrefix(dir, "internal/test/")
	}
	if apart(dir) || dir == "cmd/freshet-lab" {
		return nil
	}
	for _, path := range imports(f) {
		if rel, ours := strings.CutPrefix(path, "freshet/"); ours && apart(rel) {
			faults = append(faults, "the product imports "+rel)
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
	t.Chdir(top)
	rules := map[string]rule{"floors": floorRule, "clock": clockRule, "egress": egressRule, "docs": docRule, "research": researchRule, "state": stateRule}
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
		{"a policy imports the daemon", floorRule, "internal/sched/policy", `package p; import _ "freshet/internal/daemon"`},
		{"one floor imports sideways", floorRule, "internal/fetch", `package p; import _ "freshet/internal/extract"`},
		{"a package without a floor", floorRule, "misc", `package p`},
		{"the root imports a library", floorRule, "internal/freshet", `package p; import _ "github.com/spf13/cobra"`},
		{"the scheduler reads the clock", clockRule, "internal/sched", `package p; import "time"; var t = time.Now()`},
		{"a policy rolls unseeded dice", clockRule, "internal/sched/policy", `package p; import "math/rand/v2"; var n = rand.IntN(6)`},
		{"the lab opens a database", clockRule, "internal/lab", `package p; import _ "database/sql"`},
		{"the API dials by itself", egressRule, "internal/api", `package p; import "net/http"; var c http.Client`},
		{"the client dials by itself", egressRule, "client", `package p; import "net/http"; var c = http.DefaultClient`},
		{"a sink dials by itself", egressRule, "internal/sinks/delivery", `package p; import "net"; var _, _ = net.Dial("tcp", "x:1")`},
		{"an exported name without a word", docRule, "internal/sched", `package p; func Run() {}`},
		{"an exported method without a word", docRule, "internal/sched", `package p; type t struct{}; type T struct{}; func (T) Run() {}`},
		{"the API knows a baseline", researchRule, "internal/api", `package p; import _ "freshet/internal/research/baselines"`},
		{"an init function", stateRule, "internal/api", `package p; func init() {}`},
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
	t.Chdir(top)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if path == "bin" { // what was built, and what others wrote
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".go") || path == "internal/test/house/house_test.go" {
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
