package queries

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// eval returns the value of an expression; nil if a value that it looks at is missing or has another
// type.
func (x expr) eval(v *rowView) (ref.Val, error) {
	out, _, err := x.run.Eval(v)
	if err != nil {
		if _, ok := errors.AsType[interpreter.EvalCancelledError](err); ok || errors.Is(err, errCostly) {
			return nil, invalid.Errorf(stateField, "an expression costs too much for one of the rows")
		}
		return nil, nil
	}
	if d, ok := out.(types.Double); ok && math.IsNaN(float64(d)) || out.Type() == types.NullType {
		return nil, nil
	}
	return out, nil
}

// each calls a function for the rows of a part.
func (e *stateRun) each(ctx context.Context, n int, p part, do func(*row) error) error {
	for _, s := range e.parts[n] {
		if err := ctx.Err(); err != nil {
			return err
		}
		var items []freshet.Item
		if p.items || e.language.listed[n] {
			by, ok, err := e.load.items(ctx, s.version)
			if err != nil {
				return err
			}
			if !ok {
				e.table.Unread++
			}
			for _, key := range order(by) {
				items = append(items, by[key])
			}
		}
		if p.items {
			for i := range items {
				if err := do(&row{sourceState: s, item: &items[i], ofItem: e.ofItem}); err != nil {
					return err
				}
			}
			continue
		}
		r := &row{sourceState: s, items: items}
		if e.language.textual[n] {
			text, err := e.Store.Text(ctx, s.subject.event.Subject.ID, s.version.Number)
			if passed(err) != nil {
				return err
			}
			r.text = string(text)
		}
		if err := do(r); err != nil {
			return err
		}
	}
	return nil
}

// joined are the rows of a join by the values that have to be equal.
type joined map[string][]*row

// join reads the rows of all joins.
func (e *stateRun) join(ctx context.Context) error {
	for i, p := range e.query.joins {
		rows := joined{}
		err := e.each(ctx, i+1, p, func(r *row) error {
			v := &rowView{main: r, query: e.query, joined: make([]*row, len(e.query.joins))}
			v.joined[i] = r
			key, ok, err := e.key(v, e.plan.on[i], 1)
			if err != nil || !ok {
				return err
			}
			size := 200 + len(r.text) + len(key)
			for n := range r.items {
				size += itemSize(&r.items[n])
			}
			if r.item != nil {
				size += itemSize(r.item)
			}
			rows[key] = append(rows[key], r)
			return e.take(size)
		})
		if err != nil {
			return err
		}
		e.joins = append(e.joins, rows)
	}
	return nil
}

func itemSize(i *freshet.Item) int {
	return 200 + len(i.Key) + len(i.Title) + len(i.Link) + len(i.Date) + len(i.Text) + sizeOf(map[string]any(i.Fields))
}

// key returns the values of one side of a join as a text. It reports false if one is missing.
func (e *stateRun) key(v *rowView, on [][2]expr, side int) (string, bool, error) {
	key := ""
	for _, pair := range on {
		val, err := pair[side].eval(v)
		if err != nil || val == nil {
			return "", false, err
		}
		key += keyOf(val)
	}
	return key, true, nil
}

// keyOf returns a text that is the same for equal values alone.
func keyOf(v ref.Val) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case types.String:
		return strconv.Quote(string(v))
	case types.Int:
		return keyOf(types.Double(v))
	case types.Uint:
		return keyOf(types.Double(v))
	case types.Double:
		return "n" + strconv.FormatFloat(float64(v), 'g', -1, 64) + ";"
	}
	text, err := json.Marshal(plainOf(v, 0))
	if err != nil {
		return "?"
	}
	return v.Type().TypeName() + string(text)
}

// scan goes through the rows of from, with those that are joined with each.
func (e *stateRun) scan(ctx context.Context) error {
	e.table.Sources = len(e.parts[0])
	e.groups = map[string]*stateGroup{}
	if e.plan.grouped && len(e.plan.by) == 0 {
		e.groups[""] = &stateGroup{accs: make([]acc, len(e.plan.args))}
	}
	return e.each(ctx, 0, e.query.from, func(r *row) error {
		return e.combine(ctx, &rowView{main: r, query: e.query}, 0)
	})
}

// combine looks at each combination of a row with those of the joins from the nth on.
func (e *stateRun) combine(ctx context.Context, v *rowView, n int) error {
	if n == len(e.joins) {
		if e.looked++; e.looked > maxStateRows {
			return freshet.WithHint(invalid.Errorf(stateField, "combines more than %d rows", maxStateRows), "say with on which values are equal")
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		return e.look(v)
	}
	key, ok, err := e.key(v, e.plan.on[n], 0)
	if err != nil || !ok {
		return err
	}
	for _, r := range e.joins[n][key] {
		v.joined = append(v.joined[:n], r)
		if err := e.combine(ctx, v, n+1); err != nil {
			return err
		}
	}
	v.joined = v.joined[:n]
	return nil
}

// look takes in a row that may fit.
func (e *stateRun) look(v *rowView) error {
	if e.plan.where != nil {
		fits, err := e.plan.where.eval(v)
		if err != nil {
			return err
		}
		if _, ok := fits.(types.Bool); !ok {
			e.table.Missing++
		}
		if fits != types.True {
			return nil
		}
	}
	if e.plan.grouped {
		return e.gather(v, nil)
	}
	one := resultRow{state: v.main.sourceState}
	var err error
	if one.values, err = e.evaluate(e.plan.values, v, nil); err != nil {
		return err
	}
	if one.order, err = e.evaluate(e.plan.sort, v, nil); err != nil {
		return err
	}
	return e.keep(one)
}

// A resultRow is a row of the answer before it is sorted.
type resultRow struct {
	state  *sourceState // nil for a group
	values []ref.Val
	order  []ref.Val // what it is sorted by
}

// keep adds a row to the answer.
func (e *stateRun) keep(r resultRow) error {
	e.rows = append(e.rows, r)
	size := 100
	for _, list := range [][]ref.Val{r.values, r.order} {
		for i, v := range list {
			list[i] = short(v)
			size += valueSize(list[i])
		}
	}
	return e.take(size)
}

// short cuts a text, so that a row does not keep a whole page.
func short(v ref.Val) ref.Val {
	if text, ok := v.(types.String); ok && len(text) > maxValueText {
		return types.String(bytes.Clone([]byte(text[:maxValueText])))
	}
	return v
}

func valueSize(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return 32 + len(v)
	case traits.Lister, traits.Mapper, object:
		return 32 + sizeOf(plainOf(v, 0))
	}
	return 32
}

// evaluate returns values of a row, or of a group with the values of by.
func (e *stateRun) evaluate(list []output, v *rowView, by []ref.Val) (all []ref.Val, err error) {
	for _, out := range list {
		var val ref.Val
		if out.by >= 0 {
			val = by[out.by]
		} else if val, err = out.eval(v); err != nil {
			return nil, err
		}
		all = append(all, val)
	}
	return all, nil
}

// A stateGroup is what rows with the same values of by have come to.
type stateGroup struct {
	by   []ref.Val
	accs []acc
}

// gather adds a row to its groups. A list after by puts the row into a group for each of its elements.
func (e *stateRun) gather(v *rowView, by []ref.Val) error {
	if len(by) == len(e.plan.by) {
		return e.add(v, by)
	}
	val, err := e.plan.by[len(by)].eval(v)
	if err != nil {
		return err
	}
	list, ok := val.(traits.Lister)
	if !ok {
		return e.gather(v, append(slices.Clip(by), val))
	}
	size, _ := list.Size().(types.Int)
	if size == 0 {
		return e.gather(v, append(slices.Clip(by), nil))
	}
	seen := map[string]bool{}
	for i := range size {
		one := list.Get(i)
		if key := keyOf(one); !seen[key] {
			seen[key] = true
			if err := e.gather(v, append(slices.Clip(by), one)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *stateRun) add(v *rowView, by []ref.Val) error {
	key := ""
	for _, val := range by {
		key += keyOf(val)
	}
	g := e.groups[key]
	if g == nil {
		g = &stateGroup{by: make([]ref.Val, len(by)), accs: make([]acc, len(e.plan.args))}
		size := 200 + len(key) + 100*len(g.accs)
		for i, val := range by {
			g.by[i] = short(val)
			size += valueSize(val)
		}
		if err := e.take(size); err != nil {
			return err
		}
		e.groups[key] = g
	}
	for i, arg := range e.plan.args {
		var val ref.Val = types.True
		if arg.of != nil {
			var err error
			if val, err = arg.of.eval(v); err != nil {
				return err
			}
		}
		if val != nil {
			g.accs[i].add(arg.name, short(val), v.main.version.SeenAt)
		}
	}
	return nil
}

// An acc is an aggregate of the rows so far.
type acc struct {
	n    float64
	sum  float64
	best ref.Val
	at   time.Time
}

func (a *acc) add(name string, v ref.Val, at time.Time) {
	switch name {
	case "count":
		if v != types.False {
			a.n++
		}
	case "sum", "avg":
		if d, ok := v.ConvertToType(types.DoubleType).(types.Double); ok && v.Type() != types.StringType {
			a.n, a.sum = a.n+1, a.sum+float64(d)
		}
	case "first":
		if a.best == nil || at.Before(a.at) {
			a.best, a.at = v, at
		}
	case "last":
		if a.best == nil || !at.Before(a.at) {
			a.best, a.at = v, at
		}
	default:
		if order := compareValues(v, a.best); a.best == nil || name == "min" && order < 0 || name == "max" && order > 0 {
			a.best = v
		}
	}
}

// result returns what the aggregate is; nil if there was no value.
func (a *acc) result(name string) any {
	switch {
	case name == "count":
		return types.Double(a.n)
	case name == "sum" && a.n > 0:
		return types.Double(a.sum)
	case name == "avg" && a.n > 0:
		return types.Double(a.sum / a.n)
	case a.best != nil:
		return a.best
	}
	return nil
}

// compareValues orders values: those of one type by themselves, others by their types, and a missing
// one last.
func compareValues(a, b ref.Val) int {
	if a == nil || b == nil {
		switch {
		case a != nil:
			return -1
		case b != nil:
			return 1
		}
		return 0
	}
	if of, ok := a.(traits.Comparer); ok {
		if n, ok := of.Compare(b).(types.Int); ok {
			return int(n)
		}
	}
	return cmp.Compare(keyOf(a), keyOf(b))
}

// finish sorts the rows and takes those that are asked for.
func (e *stateRun) finish() error {
	if e.plan.grouped {
		for _, g := range e.groups {
			v := &rowView{query: e.query, results: make([]any, len(g.accs))}
			for i := range g.accs {
				v.results[i] = g.accs[i].result(e.plan.args[i].name)
			}
			one := resultRow{}
			var err error
			if one.values, err = e.evaluate(e.plan.values, v, g.by); err != nil {
				return err
			}
			if one.order, err = e.evaluate(e.plan.sort, v, g.by); err != nil {
				return err
			}
			one.order = append(one.order, g.by...)
			if err := e.keep(one); err != nil {
				return err
			}
		}
	}
	slices.SortStableFunc(e.rows, e.compare)
	e.table.Total = len(e.rows)
	from := min(e.asked.Offset, len(e.rows))
	for _, r := range e.rows[from:min(from+e.asked.Limit, len(e.rows))] {
		shown := StateRow{}
		if r.state != nil {
			shown.Version, shown.Label = &r.state.version, r.state.subject.event.Subject.Label
		}
		for _, v := range r.values {
			shown.Values = append(shown.Values, plainOf(v, 0))
		}
		e.table.Rows = append(e.table.Rows, shown)
	}
	return nil
}

// compare orders rows by what stands after sort, then groups by what stands after by. A missing value
// comes last also where the order is downwards.
func (e *stateRun) compare(a, b resultRow) int {
	for i := range a.order {
		n := compareValues(a.order[i], b.order[i])
		if i < len(e.query.sort) && e.query.sort[i].down && a.order[i] != nil && b.order[i] != nil {
			n = -n
		}
		if n != 0 {
			return n
		}
	}
	return 0
}
