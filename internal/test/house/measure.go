// Package house measures the shape of the source tree and, in its tests, holds
// the tree to the rules of docs/architecture.md.
package house

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// areas assigns packages to areas by the prefix of their path; the first match
// counts, and what matches nothing is product. The second line of each area
// has the paths from before packages moved under internal, so that old commits
// can be measured.
var areas = []struct{ name, pattern string }{
	{"research", `^(internal/(research|lab|learn/estimate)|cmd/freshet-lab)(/|$)` +
		`|^(lab|paper|rival|estimate|synth|series|plot)(/|$)`},
	{"rigs", `^(internal/test|cmd/torture|ui/build)(/|$)` +
		`|^(storetest|policytest|pgtest|openidtest|torture|simulate|bench|disk|wire|zoo)(/|$)`},
}

// features says by which identifiers and imports a file belongs to a feature.
var features = []struct{ name, pattern string }{
	{"queries", `Queries|^queries|^Query(ID|Note|Step|Store|Name|Finding|Test|Round)|freshet/(internal/)?(query|queries|standing)(/|$)`},
	{"suspect captures", `[Ss]uspect|[Dd]oubt|wrongpage`},
	{"sinks", `^[Ss]inks?([A-Z]|$)|[a-z]Sinks?([A-Z]|$)|[Oo]utbox|freshet/(internal/)?(sinks?|deliver)(/|$)`},
}

// A Package is one folder of Go files. Lines, Files and Exported leave tests out.
type Package struct {
	Dir       string `json:"dir"`
	Area      string `json:"area"`
	Lines     int    `json:"lines"`
	Files     int    `json:"files"`
	TestLines int    `json:"test_lines"`
	Exported  int    `json:"exported"` // package-level names, and methods of exported types
}

// An Area sums up packages.
type Area struct {
	Name     string `json:"name"`
	Packages int    `json:"packages"`
	Files    int    `json:"files"`
	Lines    int    `json:"lines"`
}

// A Count is a named number: the methods of a type, for example.
type Count struct {
	Name string `json:"name"`
	N    int    `json:"n"`
}

// A Feature says over how many packages and files of the product a feature spreads.
type Feature struct {
	Name     string `json:"name"`
	Packages int    `json:"packages"`
	Files    int    `json:"files"`
}

// A Report is what Measure finds in a source tree.
type Report struct {
	Areas      []Area    `json:"areas"`
	Packages   []Package `json:"packages"` // the largest first
	TopLevel   int       `json:"top_level_entries"`
	Kernel     string    `json:"kernel"`          // the package of the shared nouns
	Exported   int       `json:"kernel_exported"` // its exported names
	Comments   float64   `json:"comment_share"`   // of the non-test lines
	Interfaces []Count   `json:"interfaces"`      // methods, with those of embedded interfaces; the largest first
	Types      []Count   `json:"types"`           // declared methods; the most first
	Structs    []Count   `json:"structs"`         // fields; the most first
	Features   []Feature `json:"features"`
}

// An iface is an interface as it is declared: its own methods, and the names of those it embeds.
type iface struct {
	methods  []string
	embedded []string
}

// A measurer collects what the files of a tree hold.
type measurer struct {
	packages map[string]*Package
	methods  map[string]int
	fields   map[string]int
	ifaces   map[string]iface
	spread   map[string]map[string]map[string]bool // feature, package, file
	comments int
}

// Measure parses the Go files below dir.
func Measure(dir string) (Report, error) {
	m := measurer{map[string]*Package{}, map[string]int{}, map[string]int{}, map[string]iface{}, map[string]map[string]map[string]bool{}, 0}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && (slices.Contains([]string{"testdata", "node_modules", "bin"}, d.Name()) || d.Name()[0] == '.'):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return m.file(path, filepath.ToSlash(rel))
	})
	if err != nil {
		return Report{}, err
	}
	return m.report(), nil
}

func (m *measurer) file(path, rel string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	dir := filepath.ToSlash(filepath.Dir(rel))
	p := m.packages[dir]
	if p == nil {
		p = &Package{Dir: dir, Area: areaOf(dir)}
		m.packages[dir] = p
	}
	lines := strings.Count(string(text), "\n")
	if strings.HasSuffix(rel, "_test.go") {
		p.TestLines += lines
		return nil
	}
	p.Lines += lines
	p.Files++
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range f.Comments {
		m.comments += files.Position(group.End()).Line - files.Position(group.Pos()).Line + 1
	}
	for _, decl := range f.Decls {
		m.decl(p, f, decl)
	}
	if p.Area == "product" {
		m.feature(dir, rel, f)
	}
	return nil
}

func (m *measurer) decl(p *Package, f *ast.File, decl ast.Decl) {
	export := func(name *ast.Ident) {
		if name.IsExported() {
			p.Exported++
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			export(d.Name)
		} else {
			recv := typeName(d.Recv.List[0].Type)
			m.methods[p.Dir+"."+recv]++
			if ast.IsExported(recv) {
				export(d.Name)
			}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				export(s.Name)
				m.typeSpec(p.Dir, f, s)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					export(name)
				}
			}
		}
	}
}

func (m *measurer) typeSpec(dir string, f *ast.File, s *ast.TypeSpec) {
	name := dir + "." + s.Name.Name
	switch t := s.Type.(type) {
	case *ast.StructType:
		for _, field := range t.Fields.List {
			m.fields[name] += max(1, len(field.Names))
		}
	case *ast.InterfaceType:
		var i iface
		for _, method := range t.Methods.List {
			for _, n := range method.Names {
				i.methods = append(i.methods, n.Name)
			}
			switch e := method.Type.(type) {
			case *ast.Ident:
				i.embedded = append(i.embedded, dir+"."+e.Name)
			case *ast.SelectorExpr:
				i.embedded = append(i.embedded, importDir(f, typeName(e.X))+"."+e.Sel.Name)
			}
		}
		m.ifaces[name] = i
	}
}

// feature notes the features that a file of the product belongs to.
func (m *measurer) feature(dir, rel string, f *ast.File) {
	for _, feature := range features {
		re := regexp.MustCompile(feature.pattern)
		in := re.MatchString("freshet/" + dir)
		for _, spec := range f.Imports {
			in = in || re.MatchString(strings.Trim(spec.Path.Value, `"`))
		}
		ast.Inspect(f, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			in = in || ok && re.MatchString(id.Name)
			return !in
		})
		if !in {
			continue
		}
		if m.spread[feature.name] == nil {
			m.spread[feature.name] = map[string]map[string]bool{}
		}
		if m.spread[feature.name][dir] == nil {
			m.spread[feature.name][dir] = map[string]bool{}
		}
		m.spread[feature.name][dir][rel] = true
	}
}

func (m *measurer) report() Report {
	r := Report{Kernel: "internal/freshet"}
	if m.packages[r.Kernel] == nil {
		r.Kernel = "."
	}
	lines := 0
	sums := map[string]*Area{}
	for _, name := range []string{"product", "research", "rigs", "tests"} {
		sums[name] = &Area{Name: name}
	}
	for _, p := range m.packages {
		r.Packages = append(r.Packages, *p)
		lines += p.Lines
		a := sums[p.Area]
		if p.Files > 0 {
			a.Packages++
		}
		a.Files += p.Files
		a.Lines += p.Lines
		sums["tests"].Lines += p.TestLines
		if p.Dir == r.Kernel {
			r.Exported = p.Exported
		}
	}
	for _, name := range []string{"product", "research", "rigs", "tests"} {
		r.Areas = append(r.Areas, *sums[name])
	}
	slices.SortFunc(r.Packages, func(a, b Package) int { return cmp.Or(b.Lines-a.Lines, strings.Compare(a.Dir, b.Dir)) })
	r.Comments = float64(m.comments) / float64(max(1, lines))
	composed := map[string]int{}
	for name := range m.ifaces {
		all := map[string]bool{}
		m.compose(name, all)
		composed[name] = len(all)
	}
	r.Interfaces, r.Types, r.Structs = ranked(composed), ranked(m.methods), ranked(m.fields)
	for _, f := range features {
		sum := Feature{Name: f.name, Packages: len(m.spread[f.name])}
		for _, files := range m.spread[f.name] {
			sum.Files += len(files)
		}
		r.Features = append(r.Features, sum)
	}
	return r
}

// compose adds the methods of the interface called name to all.
func (m *measurer) compose(name string, all map[string]bool) {
	i := m.ifaces[name]
	for _, method := range i.methods {
		all[method] = true
	}
	for _, e := range i.embedded {
		m.compose(e, all)
	}
}

func ranked(counts map[string]int) (list []Count) {
	for name, n := range counts {
		list = append(list, Count{name, n})
	}
	slices.SortFunc(list, func(a, b Count) int { return cmp.Or(b.N-a.N, strings.Compare(a.Name, b.Name)) })
	return list
}

func areaOf(dir string) string {
	for _, a := range areas {
		if regexp.MustCompile(a.pattern).MatchString(dir) {
			return a.name
		}
	}
	return "product"
}

// typeName returns the name in a type expression such as *T, T[K] or pkg.T.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// importDir returns the folder of the package that f knows as name.
func importDir(f *ast.File, name string) string {
	for _, spec := range f.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		if spec.Name != nil && spec.Name.Name == name || spec.Name == nil && path[strings.LastIndex(path, "/")+1:] == name {
			if path == "freshet" {
				return "."
			}
			return strings.TrimPrefix(path, "freshet/")
		}
	}
	return ""
}
