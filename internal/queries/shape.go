package queries

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// maxLifted is how many constants of each type a shape can have.
const maxLifted = 24

// reserved ends the names that stand for something else in a condition.
const reserved = "__"

// A program is a condition without its constants, made ready. Queries of the same
// shape share it.
type program struct {
	text string
	run  cel.Program
	uses int
}

// An expression is a program with its constants.
type expression struct {
	program *program
	with    []named
}

// A forge makes programs, and keeps each for as long as it is used.
type forge struct {
	reader   *cel.Env
	language *language
	programs map[string]*program
}

func newForge() (*forge, error) {
	reader, err := newReader()
	if err != nil {
		return nil, err
	}
	var more []cel.EnvOption
	for i := range maxLifted {
		for _, v := range []struct {
			letter string
			is     *cel.Type
		}{{"s", cel.StringType}, {"i", cel.IntType}, {"d", cel.DoubleType}, {"back", cel.DynType}, {"slot", cel.DynType}} {
			more = append(more, cel.Variable(standIn(v.letter, i), v.is))
		}
	}
	l, err := newLanguage(nil, more...)
	return &forge{reader, l, map[string]*program{}}, err
}

func standIn(letter string, i int) string { return fmt.Sprintf("%s%d%s", letter, i, reserved) }

// read returns a condition as it was written.
func (f *forge) read(field, text string) (tree, error) {
	parsed, issues := f.reader.Parse(text)
	if issues.Err() != nil {
		return tree{}, f.language.mistake(field, issues.Errors())
	}
	t := tree{parsed.NativeRep().Expr(), parsed.NativeRep().SourceInfo()}
	var fault error
	walk(t.root, func(e ast.Expr) bool {
		if e.Kind() == ast.IdentKind && strings.HasSuffix(e.AsIdent(), reserved) {
			at := t.info.GetStartLocation(e.ID())
			fault = &Mistake{Field: field, Line: at.Line(), Column: at.Column() + 1, Reason: fmt.Sprintf("there is no name or function %q", e.AsIdent())}
		}
		return true
	})
	return t, fault
}

// lift takes the constants out of a tree.
func lift(t tree) (with []named) {
	counts := map[string]int{}
	walk(t.root, func(e ast.Expr) bool {
		if e.Kind() != ast.CallKind || !liftable(e.AsCall()) {
			return true
		}
		for _, arg := range e.AsCall().Args() {
			letter := ""
			v, ok := asLiteral(arg)
			switch v.(type) {
			case types.String:
				letter = "s"
			case types.Int:
				letter = "i"
			case types.Double:
				letter = "d"
			}
			if !ok || letter == "" || counts[letter] == maxLifted {
				continue
			}
			name := standIn(letter, counts[letter])
			counts[letter]++
			with = append(with, named{name, v})
			arg.SetKindCase(build.NewIdent(arg.ID(), name))
		}
		return true
	})
	return with
}

// expression makes a tree ready to run. It takes the tree apart.
func (f *forge) expression(field string, t tree) (expression, error) {
	with := lift(t)
	p, err := f.program(field, t.String())
	return expression{p, with}, err
}

func (f *forge) program(field, text string) (*program, error) {
	p := f.programs[text]
	if p == nil {
		checked, err := f.language.check(field, text)
		if err != nil {
			return nil, err
		}
		run, err := f.language.env.Program(checked, cel.CostLimit(maxCost), cel.CostTracking(actual{}))
		if err != nil {
			return nil, fmt.Errorf("make %s ready: %w", field, err)
		}
		p = &program{text: text, run: run}
		f.programs[text] = p
	}
	p.uses++
	return p, nil
}

// drop lets go of an expression.
func (f *forge) drop(x expression) {
	if x.program == nil {
		return
	}
	if x.program.uses--; x.program.uses == 0 {
		delete(f.programs, x.program.text)
	}
}

// actual says what calls have cost.
type actual struct{}

// CallCost implements cost.ActualCostEstimator.
func (actual) CallCost(function, _ string, args []ref.Val, _ ref.Val) *uint64 {
	if function != "mentions" && function != "lines" {
		return nil
	}
	total := uint64(1)
	for _, a := range args {
		total += cost.ActualSize(a) / 10
	}
	return &total
}

var errCostly = errors.New("the condition costs too much")

// eval evaluates the expression. The error says why it has no value: see errCostly;
// any other means that a value that it asks for is not there or is of another type.
func (x expression) eval(v *view) (ref.Val, error) {
	v.extra = x.with
	out, _, err := x.program.run.Eval(v)
	if err != nil {
		if _, ok := errors.AsType[interpreter.EvalCancelledError](err); ok || errors.Is(err, errCostly) {
			return nil, errCostly
		}
		return nil, err
	}
	return out, nil
}
