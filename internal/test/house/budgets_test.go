package house_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"freshet/internal/test/house"
)

var update = flag.Bool("update", false, "write testdata/budgets.txt from the tree as it is")

// No type has more methods, and no struct more fields, unless budgets.txt names it.
const (
	methodLimit = 60
	fieldLimit  = 30
)

const budgetsHead = `# Size budgets. A package has at most so many non-test lines and exported names (with the
# methods of exported types); a type has at most 60 methods and a struct 30 fields, but for
# those named here. Growth beyond a line of this file is a decision: make the package smaller,
# split it, or raise the line in a commit that says why.
# "go test ./internal/test/house -update" writes package budgets 5% above the tree as it is. It
# lowers the lines of types and structs, and neither raises nor adds one, unless the file is empty.
`

// budgets is what testdata/budgets.txt holds.
type budgets struct {
	packages map[string][2]int // lines, exported names
	methods  map[string]int
	fields   map[string]int
}

// over returns what exceeds the budgets.
func (b budgets) over(r house.Report) (faults []string) {
	for _, p := range r.Packages {
		limit, listed := b.packages[p.Dir]
		switch {
		case p.Files == 0:
		case !listed:
			faults = append(faults, fmt.Sprintf("package %s has no budget", p.Dir))
		case p.Lines > limit[0]:
			faults = append(faults, fmt.Sprintf("package %s has %d lines, its budget is %d", p.Dir, p.Lines, limit[0]))
		case p.Exported > limit[1]:
			faults = append(faults, fmt.Sprintf("package %s exports %d names, its budget is %d", p.Dir, p.Exported, limit[1]))
		}
	}
	for _, c := range r.Types {
		if limit := max(methodLimit, b.methods[c.Name]); c.N > limit {
			faults = append(faults, fmt.Sprintf("type %s has %d methods, its limit is %d", c.Name, c.N, limit))
		}
	}
	for _, c := range r.Structs {
		if limit := max(fieldLimit, b.fields[c.Name]); c.N > limit {
			faults = append(faults, fmt.Sprintf("struct %s has %d fields, its limit is %d", c.Name, c.N, limit))
		}
	}
	return faults
}

// fitted returns budgets just above what the tree has, as the head of the file says.
func (b budgets) fitted(r house.Report) budgets {
	n := budgets{map[string][2]int{}, map[string]int{}, map[string]int{}}
	if len(b.packages) == 0 { // the first time
		for _, c := range r.Types {
			b.methods[c.Name] = c.N
		}
		for _, c := range r.Structs {
			b.fields[c.Name] = c.N
		}
	}
	for _, p := range r.Packages {
		if p.Files > 0 {
			n.packages[p.Dir] = [2]int{(p.Lines*21/20 + 10) / 10 * 10, p.Exported * 21 / 20}
		}
	}
	for _, c := range r.Types {
		if limit := min(b.methods[c.Name], c.N); limit > methodLimit {
			n.methods[c.Name] = limit
		}
	}
	for _, c := range r.Structs {
		if limit := min(b.fields[c.Name], c.N); limit > fieldLimit {
			n.fields[c.Name] = limit
		}
	}
	return n
}

func readBudgets(path string) (b budgets, err error) {
	b = budgets{map[string][2]int{}, map[string]int{}, map[string]int{}}
	f, err := os.Open(path)
	if err != nil {
		return b, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kind, name string
		var n [2]int
		if line := lines.Text(); line == "" || line[0] == '#' {
			continue
		} else if got, _ := fmt.Sscan(line, &kind, &name, &n[0], &n[1]); got < 3 {
			return b, fmt.Errorf("%s: %q is no budget", path, line)
		}
		switch kind {
		case "package":
			b.packages[name] = n
		case "type":
			b.methods[name] = n[0]
		case "struct":
			b.fields[name] = n[0]
		default:
			return b, fmt.Errorf("%s: what is a %q?", path, kind)
		}
	}
	return b, nil
}

func (b budgets) write(path string) error {
	var lines []string
	for name, n := range b.packages {
		lines = append(lines, fmt.Sprintf("package %s %d %d\n", name, n[0], n[1]))
	}
	for name, n := range b.methods {
		lines = append(lines, fmt.Sprintf("type %s %d\n", name, n))
	}
	for name, n := range b.fields {
		lines = append(lines, fmt.Sprintf("struct %s %d\n", name, n))
	}
	slices.Sort(lines)
	return os.WriteFile(path, []byte(budgetsHead+strings.Join(lines, "")), 0o644)
}

// TestSizes holds every package, type and struct to its budget.
func TestSizes(t *testing.T) {
	const path = "testdata/budgets.txt"
	b, err := readBudgets(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := house.Measure(top)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		b = b.fitted(r)
		if err := b.write(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.packages) == 0 {
		t.Skip("no budgets are set")
	}
	faults := b.over(r)
	for _, fault := range faults {
		t.Error(fault)
	}
	if len(faults) > 0 {
		t.Error("make it smaller, split it, or raise its line in internal/test/house/testdata/budgets.txt and say in the commit why; " +
			"after a package moved: go test ./internal/test/house -update")
	}
}

// TestSizesCanFail shows the budgets a tree that exceeds them.
func TestSizesCanFail(t *testing.T) {
	b := budgets{map[string][2]int{"a": {100, 5}, "b": {100, 5}}, map[string]int{"a.Big": 70}, map[string]int{"a.Wide": 40}}
	r := house.Report{
		Packages: []house.Package{{Dir: "a", Lines: 101, Files: 1}, {Dir: "b", Exported: 6, Files: 1}, {Dir: "new", Files: 1}},
		Types:    []house.Count{{Name: "a.Big", N: 71}, {Name: "a.Other", N: 61}, {Name: "a.Fine", N: 60}},
		Structs:  []house.Count{{Name: "a.Wide", N: 41}, {Name: "a.Other", N: 31}, {Name: "a.Fine", N: 30}},
	}
	if faults := b.over(r); len(faults) != 7 {
		t.Errorf("got %d faults, want 7: %q", len(faults), faults)
	}
	fitted := b.fitted(r)
	if fitted.methods["a.Big"] != 70 || fitted.methods["a.Other"] != 0 || fitted.fields["a.Wide"] != 40 {
		t.Errorf("an update raises limits: %v", fitted)
	}
	if faults := fitted.over(r); len(faults) != 4 {
		t.Errorf("got %d faults after an update, want the 4 of types and structs: %q", len(faults), faults)
	}
}
