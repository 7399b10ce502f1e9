package queries

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"freshet/internal/lazyregexp"
	"freshet/internal/suggest"
)

// maxCost is what evaluating a condition may cost, in units of CEL: about a tenth of
// a second for loops, and much less for texts.
const maxCost = 500_000

// A language reads conditions.
type language struct {
	env    *cel.Env
	schema *Schema
	names  []string // that an expression can have
}

func newLanguage(schema *Schema, more ...cel.EnvOption) (*language, error) {
	env, err := newEnv(schema, more...)
	if err != nil {
		return nil, fmt.Errorf("set up conditions: %w", err)
	}
	return &language{env, schema, slices.Collect(maps.Keys(names()))}, nil
}

// check reads a condition and returns it with its types.
func (l *language) check(field, text string) (*cel.Ast, error) {
	source := common.NewTextSource(text)
	parsed, issues := l.env.ParseSource(source)
	if issues.Err() != nil {
		return nil, l.mistake(field, issues.Errors())
	}
	// A number such as 5 is an integer to CEL, and named values are not. Nobody who
	// writes now.stock == 0 means anything else, so that whole numbers give way.
	for range maxNodes {
		checked, issues := l.env.Check(parsed)
		if issues.Err() != nil {
			if !widen(parsed.NativeRep(), issues.Errors()) {
				return nil, l.mistake(field, issues.Errors())
			}
			continue
		}
		if !widenOpen(parsed.NativeRep(), checked.NativeRep()) {
			return checked, nil
		}
	}
	return nil, &Mistake{Field: field, Line: 1, Column: 1, Reason: "is too long"}
}

var mismatch = lazyregexp.New(`^found no matching overload for '[^']*' applied to '\(([a-z, ]*)\)'`)

// widen turns integers into numbers where that is what keeps a call from fitting, and
// reports whether it did.
func widen(tree *ast.AST, errs []*cel.Error) (any bool) {
	for _, e := range errs {
		m := mismatch.FindStringSubmatch(e.Message)
		if m == nil {
			continue
		}
		kinds := strings.Split(m[1], ", ")
		if !slices.Contains(kinds, "double") && !slices.Contains(kinds, "dyn") {
			continue
		}
		visit(tree.Expr(), func(n ast.Expr) {
			if n.ID() != e.ExprID || n.Kind() != ast.CallKind || len(n.AsCall().Args()) != len(kinds) {
				return
			}
			for i, kind := range kinds {
				if kind == "int" {
					toNumber(tree, n.AsCall().Args()[i])
					any = true
				}
			}
		})
	}
	return any
}

var arithmetic = []string{operators.Add, operators.Subtract, operators.Multiply, operators.Divide}

// widenOpen does the same where the type of the other side is known only when the
// condition is evaluated: named values are never integers.
func widenOpen(tree, checked *ast.AST) (any bool) {
	open := func(e ast.Expr) bool { t := checked.GetType(e.ID()); return t.Kind() == types.DynKind }
	visit(tree.Expr(), func(n ast.Expr) {
		if n.Kind() != ast.CallKind || len(n.AsCall().Args()) != 2 || !slices.Contains(arithmetic, n.AsCall().FunctionName()) {
			return
		}
		args := n.AsCall().Args()
		for i, arg := range args {
			if open(args[1-i]) && checked.GetType(arg.ID()).Kind() == types.IntKind {
				toNumber(tree, arg)
				any = true
			}
		}
	})
	return any
}

// toNumber puts double() around an expression.
func toNumber(tree *ast.AST, e ast.Expr) {
	make := ast.NewExprFactory()
	id := ast.MaxID(tree) + 1
	inner := make.CopyExpr(e)
	fresh := make.NewUnspecifiedExpr(id)
	fresh.SetKindCase(inner)
	if at, ok := tree.SourceInfo().GetOffsetRange(e.ID()); ok {
		tree.SourceInfo().SetOffsetRange(id, at)
	}
	e.SetKindCase(make.NewCall(e.ID(), "double", fresh))
}

// visit goes through an expression, the outer parts first.
func visit(e ast.Expr, each func(ast.Expr)) { ast.PreOrderVisit(e, ast.NewExprVisitor(each)) }

var (
	undeclared = lazyregexp.New(`^undeclared reference to '([^']*)'`)
	undefined  = lazyregexp.New(`^undefined field '([^']*)'`)
)

// mistake says what is wrong with a condition in words for people.
func (l *language) mistake(field string, errs []*cel.Error) error {
	slices.SortStableFunc(errs, func(a, b *cel.Error) int {
		return (a.Location.Line()-b.Location.Line())*10_000 + a.Location.Column() - b.Location.Column()
	})
	e := errs[0]
	m := &Mistake{Field: field, Line: max(1, e.Location.Line()), Column: max(0, e.Location.Column()) + 1, Reason: firstLine(e.Message)}
	if f := undeclared.FindStringSubmatch(e.Message); f != nil {
		m.Reason = fmt.Sprintf("there is no name or function %q", f[1])
		m.Help = l.meant(f[1])
	}
	if f := undefined.FindStringSubmatch(e.Message); f != nil {
		all := map[string]bool{}
		for _, of := range members() {
			for name := range of {
				all[name] = true
			}
		}
		m.Reason = fmt.Sprintf("there is no %q here", f[1])
		m.Help = "did you mean " + suggest.Nearest(f[1], slices.Sorted(maps.Keys(all))) + "?"
		if suggest.Nearest(f[1], slices.Sorted(maps.Keys(all))) == "" {
			m.Help = "source has id, url, name, tags, site and host; change has seq, after, before, at, modified and summary"
		}
	}
	if strings.HasPrefix(e.Message, "found no matching overload") {
		m.Reason = plainTypes(firstLine(e.Message))
		m.Help = "numbers are compared with numbers and texts with texts: double(x) makes a number of a text, string(x) a text of a number"
	}
	if strings.HasPrefix(e.Message, "Syntax error: ") {
		m.Reason = "this is not a condition: " + plainSyntax(strings.TrimPrefix(firstLine(e.Message), "Syntax error: "))
		m.Help = `a condition is written like now.price < 10 && added.contains("sale")`
	}
	return m
}

func freshShort(s string) string {
	if len(s) > 160 {
		return s[:160] + "..."
	}
	return s
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

const noSuchName = "the names are added, removed, text, now, before, items, source, change, page, poll, noise and suspect; a text stands in quotes"

// meant returns what was probably meant by a name that is none.
func (l *language) meant(name string) string {
	if l.schema != nil {
		if _, ok := l.schema.Fields[name]; ok {
			return fmt.Sprintf("values that the source extracts are now.%s and before.%s", name, name)
		}
	}
	known := slices.Clone(l.names)
	for name := range l.env.Functions() {
		if !strings.ContainsAny(name, "_@!-.") {
			known = append(known, name)
		}
	}
	slices.Sort(known)
	if near := suggest.Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return noSuchName
}

// sizes says how large the parts of a change can be, so that CEL can tell beforehand
// what a condition costs.
type sizes struct{}

// EstimateSize implements cost.Estimator.
func (sizes) EstimateSize(n cost.AstNode) *cost.SizeEstimate {
	most := uint64(1000) // texts that sources extract
	if t := n.Type(); t != nil && t.Kind() == types.ListKind {
		most = 64
	}
	if path := n.Path(); len(path) > 0 {
		switch path[0] {
		case "added", "removed":
			most = 64 << 10
		case "text":
			most = 256 << 10
		}
	}
	estimate := cost.RangedSizeEstimate(0, most)
	return &estimate
}

// EstimateCallCost implements cost.Estimator.
func (sizes) EstimateCallCost(function, _ string, _ *cost.AstNode, args []cost.AstNode) *cost.CallEstimate {
	one := cost.FixedCostEstimate(1)
	switch function {
	case "mentions", "lines":
		var all cost.Estimate
		for _, a := range args {
			all = all.Add(cost.EstimateSize(sizes{}, a).MultiplyByCostFactor(0.1))
		}
		size := cost.RangedSizeEstimate(0, 2000)
		return cost.NewCallEstimate(all.Add(one), &size)
	case "unseen", "others":
		size := cost.RangedSizeEstimate(0, 100)
		return cost.NewCallEstimate(cost.FixedCostEstimate(100), &size)
	}
	return nil
}

// afford refuses a condition that could cost too much.
func (l *language) afford(field string, checked *cel.Ast) (uint64, error) {
	estimate, err := l.env.EstimateCost(checked, sizes{})
	if err != nil {
		return 0, fmt.Errorf("estimate the cost of %s: %w", field, err)
	}
	if estimate.Max > maxCost {
		reason := fmt.Sprintf("could cost up to %d, and the most allowed is %d", estimate.Max, maxCost)
		if estimate.Max == math.MaxUint64 {
			reason = fmt.Sprintf("has no bound on its cost, and the most allowed is %d", maxCost)
		}
		return estimate.Max, &Mistake{Field: field, Line: 1, Column: 1, Reason: reason,
			Help: "put loops beside each other instead of inside each other, and look at added instead of text"}
	}
	return estimate.Max, nil
}
