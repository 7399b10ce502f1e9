package queries

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// A tree is a condition as it was written: its loops are calls, not spelt out. It is
// what conditions are compared, split and put together again by.
type tree struct {
	root ast.Expr
	info *ast.SourceInfo
}

// newReader returns a reader of trees.
func newReader() (*cel.Env, error) {
	return cel.NewCustomEnv(cel.ClearMacros(), cel.ExpressionNodeLimit(maxNodes), cel.ExpressionNestingDepthLimit(maxDepth),
		cel.ParserRecursionLimit(maxDepth), cel.ParserErrorRecoveryLimit(4), cel.ParserExpressionSizeLimit(8192))
}

// String returns the condition as it is written.
func (t tree) String() string {
	text, err := cel.ExprToString(t.root, t.info)
	if err != nil {
		panic(err) // it has been read
	}
	return text
}

// build makes parts of conditions.
var build = ast.NewExprFactory()

func asCall(e ast.Expr, name string, args int) (ast.CallExpr, bool) {
	if e.Kind() != ast.CallKind {
		return nil, false
	}
	c := e.AsCall()
	return c, c.FunctionName() == name && len(c.Args()) == args
}

// asLiteral returns the constant that an expression is.
func asLiteral(e ast.Expr) (ref.Val, bool) {
	if e.Kind() != ast.LiteralKind {
		return nil, false
	}
	switch v := e.AsLiteral().(type) {
	case types.String, types.Int, types.Double, types.Bool:
		return v, true
	}
	return nil, false
}

// isLoop reports whether a call runs its last argument for each element of a list.
func isLoop(c ast.CallExpr) bool {
	switch c.FunctionName() {
	case "exists", "all", "exists_one", "existsOne", "map", "filter":
		return c.IsMemberFunction() && len(c.Args()) >= 2 && c.Args()[0].Kind() == ast.IdentKind
	}
	return false
}

// children returns the parts of an expression that can be put in another's place.
func children(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.CallKind:
		c := e.AsCall()
		parts := c.Args()
		if isLoop(c) {
			parts = parts[1:]
		}
		if c.IsMemberFunction() {
			return append([]ast.Expr{c.Target()}, parts...)
		}
		return parts
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var parts []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			parts = append(parts, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return parts
	}
	return nil
}

// walk goes through an expression, the outer parts first, for as long as each says so.
func walk(e ast.Expr, each func(ast.Expr) bool) {
	if !each(e) {
		return
	}
	for _, part := range children(e) {
		walk(part, each)
	}
}

// liftable reports whether the constants of a call tell queries of one shape apart.
func liftable(c ast.CallExpr) bool {
	switch c.FunctionName() {
	case operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In,
		"contains", "startsWith", "endsWith", "mentions":
		return true
	}
	return false
}
