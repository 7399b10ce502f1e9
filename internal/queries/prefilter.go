package queries

import (
	"math"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// Evaluating a condition costs some microseconds, and most are false at most changes. So a
// condition has atoms, found when the query is put: simple comparisons of which at least one is
// true whenever the condition is. They take some ten nanoseconds each.

// A test is a comparison of a value with a constant.
type test uint8

const (
	testEqual    test = iota // a text, number or truth is this one
	testContains             // a text has this one in it
	testLess                 // a number is below, and so on
	testLessEqual
	testGreater
	testGreaterEqual
)

// A path names values of an event: one, or one of each item.
type path struct {
	root string // added, removed, text, now, before, source, change, page, noise, suspect or items
	kind itemKind
	name string
	low  bool // in lower case
}

// An atom is a part of a condition that is decided without evaluating it.
type atom struct {
	path path
	test test
	want any // string, float64 or bool
}

// most atoms that one query can stand under
const maxAtoms = 64

// cover returns atoms of which at least one is true whenever the condition is; none if
// there are none. If exact, the condition is true whenever one of them is.
func cover(e ast.Expr) (atoms []atom, exact bool) { return coverIn(e, "", path{}) }

// coverIn does so inside a loop over items, whose variable stands for a path.
func coverIn(e ast.Expr, loop string, over path) (atoms []atom, exact bool) {
	if c, ok := asCall(e, operators.LogicalAnd, 2); ok {
		a, _ := coverIn(c.Args()[0], loop, over)
		b, _ := coverIn(c.Args()[1], loop, over)
		return better(a, b), false
	}
	if c, ok := asCall(e, operators.LogicalOr, 2); ok {
		a, exactA := coverIn(c.Args()[0], loop, over)
		b, exactB := coverIn(c.Args()[1], loop, over)
		if len(a) == 0 || len(b) == 0 || len(a)+len(b) > maxAtoms {
			return nil, false
		}
		return append(a, b...), exactA && exactB
	}
	if e.Kind() == ast.CallKind && loop == "" && isLoop(e.AsCall()) {
		return coverLoop(e.AsCall())
	}
	a, exact, ok := atomOf(e, loop, over)
	if !ok {
		return nil, false
	}
	return []atom{a}, exact
}

// coverLoop does so for items.added.exists(i, ...).
func coverLoop(c ast.CallExpr) ([]atom, bool) {
	p, ok := pathOf(c.Target(), "", path{})
	if !ok || c.FunctionName() != "exists" || p.root != "items" || p.name != "" || len(c.Args()) != 2 {
		return nil, false
	}
	return coverIn(c.Args()[1], c.Args()[0].AsIdent(), p)
}

// better returns the atoms that fewer events are likely to fit.
func better(a, b []atom) []atom {
	weight := func(atoms []atom) (sum int) {
		if len(atoms) == 0 {
			return math.MaxInt
		}
		for _, a := range atoms {
			switch {
			case a.test == testEqual && a.path.root == "source":
				sum++
			case a.test == testEqual || a.test == testContains:
				sum += 2
			default:
				sum += 10 // half of all values are below any bound
			}
			if _, truth := a.want.(bool); truth {
				sum += 3
			}
		}
		return sum
	}
	if weight(b) < weight(a) {
		return b
	}
	return a
}

var flipped = map[test]test{testEqual: testEqual, testLess: testGreater, testLessEqual: testGreaterEqual, testGreater: testLess, testGreaterEqual: testLessEqual}

// atomOf returns the atom that an expression is.
func atomOf(e ast.Expr, loop string, over path) (a atom, exact, ok bool) {
	if p, ok := pathOf(e, loop, over); ok {
		return atom{p, testEqual, true}, true, p.root != "items" || p.name != ""
	}
	if e.Kind() != ast.CallKind {
		return a, false, false
	}
	c := e.AsCall()
	args := c.Args()
	switch c.FunctionName() {
	case "contains", "mentions":
		if c.IsMemberFunction() {
			args = []ast.Expr{c.Target(), args[0]}
		}
		if len(args) != 2 {
			return a, false, false
		}
		p, okP := pathOf(args[0], loop, over)
		want, okW := asLiteral(args[1])
		text, isText := want.(types.String)
		if !okP || !okW || !isText || text == "" {
			return a, false, false
		}
		if c.FunctionName() == "mentions" {
			p.low = true
			return atom{p, testContains, strings.ToLower(string(text))}, false, true
		}
		return atom{p, testContains, string(text)}, true, true
	case operators.In:
		p, okP := pathOf(args[1], loop, over)
		want, okW := asLiteral(args[0])
		text, isText := want.(types.String)
		ok := okP && okW && isText && p == path{root: "source", name: "tags"}
		return atom{p, testEqual, string(text)}, true, ok
	}
	tests := map[string]test{operators.Equals: testEqual, operators.Less: testLess, operators.LessEquals: testLessEqual, operators.Greater: testGreater, operators.GreaterEquals: testGreaterEqual}
	t, isTest := tests[c.FunctionName()]
	if !isTest || len(args) != 2 {
		return a, false, false
	}
	left, right := args[0], args[1]
	if _, literal := asLiteral(left); literal {
		left, right, t = right, left, flipped[t]
	}
	p, okP := pathOf(left, loop, over)
	value, okV := asLiteral(right)
	if !okP || !okV || p == (path{root: "source", name: "tags"}) {
		return a, false, false
	}
	want, okV := constant(value)
	if _, number := want.(float64); t != testEqual && !number {
		return a, false, false
	}
	return atom{p, t, want}, true, okV
}

// constant returns a constant as values are. Integers that a float cannot hold are none.
func constant(v any) (any, bool) {
	switch v := v.(type) {
	case types.String:
		return string(v), true
	case types.Bool:
		return bool(v), true
	case types.Double:
		return float64(v), !math.IsNaN(float64(v))
	case types.Int:
		return float64(v), v > -1<<53 && v < 1<<53
	}
	return nil, false
}

var itemLists = map[string]itemKind{"added": itemsAdded, "removed": itemsRemoved, "back": itemsBack, "updated": itemsUpdated}

// pathOf returns the path that an expression is.
func pathOf(e ast.Expr, loop string, over path) (path, bool) {
	switch e.Kind() {
	case ast.IdentKind:
		switch name := e.AsIdent(); name {
		case "added", "removed", "text", "noise", "suspect":
			return path{root: name}, name != loop
		}
	case ast.SelectKind:
		s := e.AsSelect()
		if s.IsTestOnly() || s.Operand().Kind() != ast.IdentKind {
			return path{}, false
		}
		root, name := s.Operand().AsIdent(), s.FieldName()
		switch {
		case root == loop && loop != "":
			over.name = name
			return over, over.kind != itemsUpdated || !slices.Contains([]string{"now", "before", "changed"}, name)
		case root == "items":
			kind, ok := itemLists[name]
			return path{root: root, kind: kind}, ok
		case root == "now" || root == "before" || root == "source" || root == "page",
			root == "change" && name == "summary":
			return path{root: root, name: name}, true
		}
	}
	return path{}, false
}

// fits reports whether one of the values that the path names passes the test.
func (a atom) fits(v *view) bool {
	for _, x := range v.valuesAt(a.path) {
		if a.holds(x) {
			return true
		}
	}
	return false
}

func (a atom) holds(x any) bool {
	if a.test == testEqual {
		return x == a.want
	}
	switch want := a.want.(type) {
	case string:
		text, ok := x.(string)
		return ok && strings.Contains(text, want)
	case float64:
		number, ok := x.(float64)
		return ok && inBounds(number, a.test, want)
	}
	return false
}

func inBounds(value float64, t test, bound float64) bool {
	switch t {
	case testLess:
		return value < bound
	case testLessEqual:
		return value <= bound
	case testGreater:
		return value > bound
	}
	return value >= bound
}

// valuesAt returns every value that a path names. They are made once for all conditions.
func (v *view) valuesAt(p path) (values []any) {
	if values, known := v.paths[p]; known {
		return values
	}
	v.values(p, func(x any) {
		if text, ok := x.(string); ok && p.low {
			x = strings.ToLower(text)
		} else if p.low {
			return
		}
		values = append(values, x)
	})
	if v.paths == nil {
		v.paths = map[path][]any{}
	}
	v.paths[p] = values
	return values
}

// values calls each with every value that a path names, as it is written.
func (v *view) values(p path, each func(any)) {
	c := &v.event.Content
	switch p.root {
	case "added":
		each(c.Added)
	case "removed":
		each(c.Removed)
	case "text":
		each(c.Text)
	case "noise":
		each(v.event.noise())
	case "suspect":
		each(v.event.suspect())
	case "now":
		plain(c.Now[p.name], each)
	case "before":
		plain(c.Before[p.name], each)
	case "source":
		v.sourceValues(p.name, each)
	case "items":
		v.told().of(p.kind, func(i *freshet.Item) {
			if x, ok := itemValue(i, p.name); ok {
				celValue(x, each)
			}
		})
	case "change":
		if v.event.Change != nil {
			each(v.event.Change.Summary)
		}
	case "page":
		if v.event.Change != nil {
			each(string(v.event.Change.Details.Page) == p.name)
		}
	}
}

func (v *view) sourceValues(name string, each func(any)) {
	s := &v.event.Subject
	switch name {
	case "id":
		each(string(s.ID))
	case "url":
		each(mask.URL(s.Label.URL))
	case "name":
		each(s.Label.Name)
	case "site":
		each(string(s.Site))
	case "host":
		each(freshet.HostOf(s.Label.URL))
	case "tags":
		for _, tag := range s.Label.Tags {
			each(tag)
		}
	}
}

// plain passes on a named value that an atom can compare.
func plain(v any, each func(any)) {
	switch v := v.(type) {
	case string, float64, bool:
		each(v)
	case int:
		each(float64(v))
	}
}

func celValue(v any, each func(any)) {
	switch v := v.(type) {
	case types.String:
		each(string(v))
	case types.Double:
		each(float64(v))
	case types.Bool:
		each(bool(v))
	}
}
