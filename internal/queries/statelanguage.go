package queries

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"freshet/internal/freshet"
	"freshet/internal/lazyregexp"
)

var stateType = types.NewObjectType("State")

// rowNames are the names that a row has beside its values.
var rowNames = []string{"source", "state", "now", "text", "title", "items", "item"}

// stateMembers are the values of the objects in a state query.
func stateMembers() map[string]map[string]member {
	return map[string]map[string]member{
		"Source": members()["Source"],
		"State": {
			"version": {types.IntType, func(v any) (any, bool) { return types.Int(v.(*sourceState).version.Number), true }},
			"at":      {types.TimestampType, func(v any) (any, bool) { return types.Timestamp{Time: v.(*sourceState).version.SeenAt}, true }},
		},
	}
}

// rowTypes returns the names that the rows of a part have, and their types.
func rowTypes(p part, fields map[string]bool, schema *Schema) map[string]*types.Type {
	all := map[string]*types.Type{}
	for name := range fields {
		if isName(name) {
			all[name] = schema.field(name)
		}
	}
	if p.items {
		for _, name := range itemMembers {
			all[name] = types.StringType
		}
		for name := range schema.Items {
			if isName(name) {
				all[name] = schema.itemValue(name)
			}
		}
		all["item"] = itemType
	} else {
		all["text"], all["title"], all["items"] = types.StringType, types.StringType, types.NewListType(itemType)
	}
	all["source"], all["state"], all["now"] = sourceType, stateType, fieldsType
	return all
}

// A stateProvider tells CEL in addition which values joined rows have.
type stateProvider struct {
	*provider
	rows map[string]map[string]*types.Type // by the names of their types
}

func (p *stateProvider) FindStructType(name string) (*types.Type, bool) {
	if p.rows[name] != nil {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.provider.FindStructType(name)
}

func (p *stateProvider) FindStructFieldNames(name string) ([]string, bool) {
	if of := p.rows[name]; of != nil {
		return slices.Sorted(maps.Keys(of)), true
	}
	return p.provider.FindStructFieldNames(name)
}

func (p *stateProvider) FindStructFieldType(object, name string) (*types.FieldType, bool) {
	of := p.rows[object]
	if of == nil {
		return p.provider.FindStructFieldType(object, name)
	}
	is, ok := of[name]
	if !ok {
		return nil, false
	}
	return &types.FieldType{
		Type:  is,
		IsSet: func(v any) bool { _, ok := v.(*row).get(name); return ok },
		GetFrom: func(v any) (any, error) {
			if x, ok := v.(*row).get(name); ok {
				return x, nil
			}
			return nil, fmt.Errorf("%w: %s", errMissing, name)
		},
	}, true
}

// rowType is the type of the rows of a join.
func rowType(n int) *types.Type { return types.NewObjectType(fmt.Sprintf("Row%d", n)) }

// A stateLanguage reads the expressions of a state query.
type stateLanguage struct {
	query   *stateQuery
	left    *language   // about the rows of from, with those of joins by their names
	right   []*language // about the rows of one join
	schema  *Schema
	rows    map[string]map[string]*types.Type
	textual map[int]bool // parts whose text is looked at; 0 is from
	listed  map[int]bool // parts whose items are looked at as a list
}

// newStateLanguage returns the language of a query. The fields are those that the states of each part
// have.
func newStateLanguage(q *stateQuery, schema *Schema, fields []map[string]bool) (*stateLanguage, error) {
	l := &stateLanguage{query: q, schema: schema, rows: map[string]map[string]*types.Type{}, textual: map[int]bool{}, listed: map[int]bool{}}
	left := rowTypes(q.from, fields[0], schema)
	for i, p := range q.joins {
		is := rowType(i)
		l.rows[is.TypeName()] = rowTypes(p, fields[i+1], schema)
		left[p.alias] = is
	}
	var err error
	if l.left, err = l.over(left); err != nil {
		return nil, err
	}
	for i, p := range q.joins {
		names := maps.Clone(l.rows[rowType(i).TypeName()])
		names[p.alias] = rowType(i)
		right, err := l.over(names)
		if err != nil {
			return nil, err
		}
		l.right = append(l.right, right)
	}
	return l, nil
}

// over returns a language with some names.
func (l *stateLanguage) over(names map[string]*types.Type) (*language, error) {
	registry := types.NewEmptyRegistry()
	p := &stateProvider{&provider{Registry: registry, members: stateMembers(), schema: l.schema}, l.rows}
	env, err := environment(p, registry, names, functions())
	if err != nil {
		return nil, fmt.Errorf("set up the names of a state query: %w", err)
	}
	return &language{env: env, names: slices.Sorted(maps.Keys(names))}, nil
}

// An expr is an expression of a state query that can be evaluated.
type expr struct {
	run cel.Program
	is  *types.Type
}

// compile reads an expression. Its mistakes have their place in the whole query. Part says which rows
// its bare names are about: 0 those of from, n those of the nth join.
func (l *stateLanguage) compile(of *language, p piece, part int) (expr, error) {
	checked, err := of.check(stateField, p.text)
	if err == nil {
		_, err = of.afford(stateField, checked)
	}
	if m, ok := err.(*Mistake); ok {
		return expr{}, l.placed(m, p, of)
	}
	if err != nil {
		return expr{}, err
	}
	run, err := of.env.Program(checked, cel.CostLimit(maxCost), cel.CostTracking(actual{}))
	if err != nil {
		return expr{}, fmt.Errorf("make %q ready: %w", p.text, err)
	}
	visit(checked.NativeRep().Expr(), func(e ast.Expr) { l.need(e, part) })
	return expr{run, checked.OutputType()}, nil
}

// need notes which texts and lists of items an expression looks at.
func (l *stateLanguage) need(e ast.Expr, of int) {
	name := ""
	switch e.Kind() {
	case ast.IdentKind:
		name = e.AsIdent()
	case ast.SelectKind:
		operand := e.AsSelect().Operand()
		if operand.Kind() != ast.IdentKind {
			return
		}
		n := slices.IndexFunc(l.query.joins, func(j part) bool { return j.alias == operand.AsIdent() })
		if n < 0 {
			return
		}
		name, of = e.AsSelect().FieldName(), n+1
	}
	switch name {
	case "text":
		l.textual[of] = true
	case "items":
		l.listed[of] = true
	}
}

var unexpected = lazyregexp.New(`^this is not a condition: "([^"]*)"`)

// placed puts a mistake in an expression into the whole query.
func (l *stateLanguage) placed(m *Mistake, p piece, of *language) error {
	at := p.at
	for line := 1; line < m.Line; line++ {
		at += strings.IndexByte(l.query.text[at:], '\n') + 1
	}
	for range m.Column - 1 {
		if at < len(l.query.text) {
			_, size := utf8.DecodeRuneInString(l.query.text[at:])
			at += size
		}
	}
	reason, help := m.Reason, m.Help
	switch {
	case strings.HasPrefix(reason, "this is not a condition"):
		reason, help = "this is not an expression", `an expression is written like price < 10 && text.contains("sale")`
		if strings.Contains(m.Reason, endsTooEarly) {
			reason = "something is missing at the end of this expression"
		} else if f := unexpected.FindStringSubmatch(m.Reason); f != nil {
			reason = fmt.Sprintf("%.40q is not expected here", f[1])
		}
		for _, other := range [][2]string{{"group", "by shop, without group"}, {"order", "sort price, or sort price desc"}, {"limit", "the number of rows is a setting beside the query: --limit"}} {
			if strings.Contains(p.text, other[0]) {
				help = "write " + strings.TrimPrefix(other[1], "write ")
			}
		}
	case strings.HasPrefix(reason, "there is no name or function"):
		name := strings.Trim(strings.TrimPrefix(reason, "there is no name or function "), `"`)
		if strings.HasSuffix(l.query.text[:at], name) { // the place of a call is that of its bracket
			at -= len(name)
		}
		if slices.Contains(aggregates, name) {
			reason, help = fmt.Sprintf("%s is about many rows, and can only be a value or stand after sort", name), ""
		} else if help == noSuchName {
			help = "the names are " + strings.Join(of.names[:min(20, len(of.names))], ", ")
		}
	}
	return l.query.mistake(at, help, "%s", reason)
}

// A rowView is what an expression sees: a row of from, the rows joined with it so far, and the results
// of aggregates.
type rowView struct {
	main    *row
	query   *stateQuery
	joined  []*row
	results []any // nil for one that has no value
}

// Parent implements interpreter.Activation.
func (*rowView) Parent() interpreter.Activation { return nil }

// ResolveName implements interpreter.Activation.
func (v *rowView) ResolveName(name string) (any, bool) {
	for i, r := range v.results {
		if name == aggregateName(i) {
			return r, r != nil
		}
	}
	for i, r := range v.joined {
		if r != nil && name == v.query.joins[i].alias {
			return asObject(rowType(i), r), true
		}
	}
	if v.main == nil {
		return nil, false
	}
	return v.main.get(name)
}

// A sourceState is a source with the version that was current.
type sourceState struct {
	subject *view
	version freshet.Version
}

// A row is a state, or an item of one.
type row struct {
	*sourceState
	item   *freshet.Item   // nil for the state itself
	ofItem map[string]bool // the names that belong to the item
	text   string          // if it is needed
	items  []freshet.Item  // likewise
}

// get returns a value of a row.
func (r *row) get(name string) (any, bool) {
	switch name {
	case "source":
		return asObject(sourceType, r.subject), true
	case "state":
		return asObject(stateType, r.sourceState), true
	case "now":
		return asObject(fieldsType, r.version.Fields), true
	case "item":
		return asObject(itemType, r.item), r.item != nil
	}
	if r.ofItem[name] {
		return itemValue(r.item, name)
	}
	switch name {
	case "text":
		return types.String(r.text), true
	case "title":
		return types.String(r.version.Title), r.version.Title != ""
	case "items":
		list := make([]ref.Val, len(r.items))
		for i := range r.items {
			list[i] = asObject(itemType, &r.items[i])
		}
		return types.NewRefValList(types.DefaultTypeAdapter, list), true
	}
	return valueOf(r.version.Fields[name])
}
