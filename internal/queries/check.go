package queries

import (
	"fmt"
	"maps"
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/suggest"
)

// A Report describes a valid query.
type Report struct {
	Query    Query    // in its normal form
	Warnings []string // what is allowed and probably not meant
	Cost     uint64   // of evaluating its condition once at most, in units of CEL
	Needs    Need     // what it looks at
	Indexed  bool     // it is found by what it looks for, and not tried at every change in scope
}

// Check judges a query as a person wrote it. The schema says which values the sources in
// scope have; nil means that nothing is known of them. The error names the field, as
// that of [Query.Check] does, or is a [*Mistake] with its line and column.
func Check(q Query, schema *Schema) (Report, error) {
	q, err := q.Validate()
	if err != nil {
		return Report{}, err
	}
	rep := Report{Query: q}
	f, err := newForge()
	if err != nil {
		return rep, err
	}
	l, err := newLanguage(schema)
	if err != nil {
		return rep, err
	}
	if q.When == "" && q.Window == (Window{}) && q.Scope.Everything() {
		rep.Warnings = append(rep.Warnings, "every change of every source matches: say with when or scope which are meant")
	}
	by := q.Window.By
	if by == ByNothing {
		by = ""
	}
	for _, c := range []struct {
		field, text string
		want        *types.Type
	}{{"when", q.When, types.BoolType}, {"value", q.Value, nil}, {"window.by", by, nil}} {
		if c.text == "" {
			continue
		}
		checked, err := l.check(c.field, c.text)
		if err != nil {
			return rep, err
		}
		if got := checked.OutputType(); c.want != nil && got.Kind() != c.want.Kind() && got.Kind() != types.DynKind {
			return rep, &Mistake{Field: c.field, Line: 1, Column: 1, Reason: fmt.Sprintf("is a %s and not true or false", got), Help: `compare it with something, as in added.contains("sale")`}
		}
		cost, err := l.afford(c.field, checked)
		if err != nil {
			return rep, err
		}
		rep.Cost = max(rep.Cost, cost)
		t, err := f.read(c.field, c.text)
		if err != nil {
			return rep, err
		}
		if _, err := topics(c.field, t); err != nil {
			return rep, err
		}
		rep.Warnings = append(rep.Warnings, schema.unknown(c.field, t)...)
	}
	p, err := f.plan(q)
	if err != nil {
		return rep, err
	}
	if p.vain {
		rep.Warnings = append(rep.Warnings, "noise is never true of a change, because noise is not reported as one: for alerts about noise, use a condition that does not look at changes")
	}
	if rep.Query.Trigger == "" {
		rep.Query.Trigger = p.usual
	}
	rep.Needs, rep.Indexed = p.need, len(p.atoms) > 0 || p.when.program == nil && len(p.backs) == 0
	return rep, nil
}

// unknown returns a warning for each named value that no source has.
func (s *Schema) unknown(field string, t tree) (warnings []string) {
	if s == nil {
		return nil
	}
	told := map[string]bool{}
	walk(t.root, func(e ast.Expr) bool {
		if e.Kind() != ast.SelectKind || e.AsSelect().Operand().Kind() != ast.IdentKind {
			return true
		}
		of, name := e.AsSelect().Operand().AsIdent(), e.AsSelect().FieldName()
		if _, known := s.Fields[name]; known || of != "now" && of != "before" || told[name] {
			return true
		}
		told[name] = true
		at := t.info.GetStartLocation(e.ID())
		warnings = append(warnings, fmt.Sprintf("%s:%d:%d: no source in scope extracts %q%s: the condition is never true until one does",
			field, at.Line(), at.Column()+1, name, suggest.DidYouMean(name, slices.Sorted(maps.Keys(s.Fields)))))
		return true
	})
	return warnings
}

// A Mistake says where a condition is wrong, and why.
type Mistake struct {
	Field        string // of the query: when, value or window.by
	Line, Column int    // from 1
	Reason       string
	Help         string // what to do about it; "" if there is nothing to say
}

// Error names the field and the place.
func (m *Mistake) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", m.Field, m.Line, m.Column, m.Reason)
}

// Unwrap returns the mistake as that of a field, with the hint.
func (m *Mistake) Unwrap() error {
	err := invalid.Errorf(m.Field, "line %d, column %d: %s", m.Line, m.Column, m.Reason)
	if m.Help == "" {
		return err
	}
	return freshet.WithHint(err, m.Help)
}
