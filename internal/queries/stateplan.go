package queries

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/types"
)

// A statePlan is a state query that can be run.
type statePlan struct {
	where   *expr
	grouped bool
	by      []expr
	values  []output
	sort    []output
	args    []argument // of the aggregates
	on      [][][2]expr
}

// An output is a value of a row, or for groups of the results of aggregates or a value of by.
type output struct {
	expr
	column string
	by     int // which value of by it is, or -1
}

// An argument is what an aggregate is computed from; nil for count().
type argument struct {
	name string
	of   *expr
}

// A stateCompiler fills a plan.
type stateCompiler struct {
	query    *stateQuery
	language *stateLanguage
	plan     *statePlan
}

func (c stateCompiler) compile(fields []string) error {
	for i, j := range c.query.joins {
		var pairs [][2]expr
		for _, p := range j.on {
			left, err := c.language.compile(c.language.left, p[0], 0)
			if err != nil {
				return err
			}
			right, err := c.language.compile(c.language.right[i], p[1], i+1)
			if err != nil {
				return err
			}
			pairs = append(pairs, [2]expr{left, right})
		}
		c.plan.on = append(c.plan.on, pairs)
	}
	if c.query.where.text != "" {
		where, err := c.condition(c.query.where)
		if err != nil {
			return err
		}
		c.plan.where = &where
	}
	var found []aggregate
	values, err := c.lift(c.query.values, &found)
	if err != nil {
		return err
	}
	order := make([]piece, len(c.query.sort))
	for i, s := range c.query.sort {
		order[i] = s.piece
	}
	if order, err = c.lift(order, &found); err != nil {
		return err
	}
	if c.plan.grouped = len(c.query.by) > 0 || len(found) > 0; c.plan.grouped {
		return c.group(values, order, found)
	}
	if len(values) == 0 {
		values = c.everything(fields)
	}
	if c.plan.values, err = c.outputs(c.language.left, values, c.query.values); err != nil {
		return err
	}
	c.plan.sort, err = c.outputs(c.language.left, order, order)
	return err
}

func (c stateCompiler) lift(pieces []piece, found *[]aggregate) (left []piece, err error) {
	for _, p := range pieces {
		if p, err = c.query.lift(p, found); err != nil {
			return nil, err
		}
		left = append(left, p)
	}
	return left, nil
}

// everything chooses values where none are named: those that the rows have.
func (c stateCompiler) everything(fields []string) []piece {
	const most = 12
	names := fields
	if c.query.from.items {
		names = []string{"title", "link"}
		for name := range c.language.schema.Items {
			if !slices.Contains(itemMembers, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names[2:])
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !isName(name) && name != "title" && name != "link" })
	if len(names) == 0 {
		names = []string{"title"}
	}
	for _, name := range names[:min(most, len(names))] {
		c.query.values = append(c.query.values, piece{name, 0})
	}
	return c.query.values
}

// group compiles a query whose rows are groups.
func (c stateCompiler) group(values, order []piece, found []aggregate) error {
	if len(values) == 0 {
		p := piece{"count()", 0}
		c.query.values = []piece{p}
		var err error
		if values, err = c.lift(c.query.values, &found); err != nil {
			return err
		}
	}
	results := map[string]*types.Type{}
	for i, a := range found {
		arg, is, err := c.argument(a)
		if err != nil {
			return err
		}
		c.plan.args, results[aggregateName(i)] = append(c.plan.args, arg), is
	}
	over, err := c.language.over(results)
	if err != nil {
		return err
	}
	for i, p := range c.query.by {
		by, err := c.language.compile(c.language.left, p, 0)
		if err != nil {
			return err
		}
		c.plan.by = append(c.plan.by, by)
		if !slices.ContainsFunc(values, func(v piece) bool { return v.plain() == p.plain() }) {
			c.plan.values = append(c.plan.values, output{by, p.plain(), i})
		}
	}
	outputs, err := c.outputs(over, values, c.query.values)
	c.plan.values = append(c.plan.values, outputs...)
	if err != nil {
		return err
	}
	c.plan.sort, err = c.outputs(over, order, order)
	return err
}

// outputs compiles values. Of groups, they are aggregates or stand after by.
func (c stateCompiler) outputs(of *language, list, written []piece) (all []output, err error) {
	for i, p := range list {
		out := output{column: written[i].plain(), by: -1}
		if c.plan.grouped {
			out.by = slices.IndexFunc(c.query.by, func(by piece) bool { return by.plain() == p.plain() })
		}
		if out.by >= 0 {
			out.expr = c.plan.by[out.by]
		} else if out.expr, err = c.language.compile(of, p, 0); err != nil {
			if m, ok := err.(*Mistake); ok && c.plan.grouped && strings.HasPrefix(m.Reason, "there is no name") {
				m.Help = "where rows are put together, a value is an aggregate such as first(price), or stands after by"
			}
			return nil, err
		}
		all = append(all, out)
	}
	return all, nil
}

// argument compiles what an aggregate is about, and returns the type of its result.
func (c stateCompiler) argument(a aggregate) (argument, *types.Type, error) {
	if a.of.text == "" {
		return argument{a.name, nil}, types.DoubleType, nil
	}
	of, err := c.language.compile(c.language.left, a.of, 0)
	if err != nil {
		return argument{}, nil, err
	}
	kind := of.is.Kind()
	number := kind == types.DoubleKind || kind == types.IntKind || kind == types.UintKind
	switch a.name {
	case "sum", "avg":
		if !number && kind != types.DynKind {
			return argument{}, nil, c.query.mistake(a.of.at, "extract it as a number, or write double(...)", "%s is about numbers, and this is a %s", a.name, of.is)
		}
		return argument{a.name, &of}, types.DoubleType, nil
	case "count":
		return argument{a.name, &of}, types.DoubleType, nil
	case "min", "max":
		if !number && !slices.Contains([]types.Kind{types.StringKind, types.TimestampKind, types.DurationKind, types.BoolKind, types.DynKind}, kind) {
			return argument{}, nil, c.query.mistake(a.of.at, "", "%s is about values that have an order, and this is a %s", a.name, of.is)
		}
	}
	return argument{a.name, &of}, of.is, nil
}

// condition compiles what stands after where.
func (c stateCompiler) condition(p piece) (expr, error) {
	where, err := c.language.compile(c.language.left, p, 0)
	if err == nil && where.is.Kind() != types.BoolKind && where.is.Kind() != types.DynKind {
		err = c.query.mistake(p.at, `compare it with something, as in price < 10`, "this is a %s and not true or false", where.is)
	}
	return where, err
}
