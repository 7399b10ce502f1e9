package queries

import (
	"slices"
	"time"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// A plan is a query made ready to run.
type plan struct {
	query Query
	need  Need
	vain  bool // it asks for noise where that is never true

	atoms []atom // of which one must fit; none: the condition is evaluated at every change in scope
	exact bool   // one that fits is enough

	when  expression // the condition, if nothing in it looks back; without a program: true
	value expression

	backs []back       // the functions that look back, in the condition and the value
	slots []expression // what else the condition is made of
	rest  expression   // the condition over both
	keep  time.Duration

	polls bool    // it is about polls, not about changes
	edge  bool    // it matches when the condition becomes true
	looks bool    // it looks at what polls see: at the first one, if edge is set, or at each
	usual Trigger // of a query that names none; see usualTrigger
	all   bool    // one group for everything
	by    expression

	values []string // that a change which has to last is about; none: the whole text
}

// readsPolls reports whether the plan wants to hear of polls.
func (p *plan) readsPolls() bool { return p.need.Has(NeedPolls) }

// onlyPolls reports whether changes mean nothing to the plan.
func (p *plan) onlyPolls() bool { return p.polls || p.looks && !p.edge }

// remembers reports whether the plan looks at more than the current event.
func (p *plan) remembers() bool {
	w := p.query.Window
	return p.polls || len(p.backs) > 0 || w.For > 0 || w.Lasting > 0 || w.Silent != (Silence{})
}

// plan compiles a query. The caller releases it.
func (f *forge) plan(q Query) (*plan, error) {
	p := &plan{query: q}
	if err := f.fill(p); err != nil {
		f.release(p)
		return nil, err
	}
	return p, nil
}

func (f *forge) fill(p *plan) (err error) {
	q := p.query
	if err := f.planGroups(p); err != nil {
		return err
	}
	if q.Window.Silent != (Silence{}) {
		p.need |= NeedPolls
	}
	var when, value tree
	for _, c := range []struct {
		field, text string
		to          *tree
	}{{"when", q.When, &when}, {"value", q.Value, &value}} {
		if c.text == "" {
			continue
		}
		if *c.to, err = f.read(c.field, c.text); err != nil {
			return err
		}
		p.need |= needs(c.to.root)
	}
	if err := f.planPolls(p, when); err != nil {
		return err
	}
	if err := f.planBacks(p, when, value); err != nil {
		return err
	}
	if err := f.planTrigger(p, when); err != nil {
		return err
	}
	if p.need.Has(NeedText) && slices.ContainsFunc(p.backs, func(b back) bool { return !b.recorded() }) {
		p.need |= NeedTextBefore
	}
	if len(p.values) > 0 || p.query.Window.Lasting > 0 && when.root != nil {
		p.need |= NeedFields
	}
	if value.root != nil {
		if p.value, err = f.expression("value", value); err != nil {
			return err
		}
	}
	if when.root == nil || len(p.backs) > 0 {
		return nil
	}
	if q.Window.For == 0 && !p.polls {
		p.atoms, p.exact = cover(when.root)
	}
	p.when, err = f.expression("when", when)
	return err
}

// release lets go of all programs of a plan.
func (f *forge) release(p *plan) {
	for _, x := range append([]expression{p.when, p.value, p.rest, p.by}, p.slots...) {
		f.drop(x)
	}
	for _, b := range p.backs {
		f.drop(b.arg)
	}
}

func (f *forge) planGroups(p *plan) (err error) {
	switch by := p.query.Window.By; by {
	case "", BySource:
	case ByNothing:
		p.all = true
	default:
		t, err := f.read("window.by", by)
		if err != nil {
			return err
		}
		p.need |= needs(t.root)
		p.by, err = f.expression("window.by", t)
		return err
	}
	return nil
}

// planPolls decides whether a condition is about polls or about changes. One that asks for noise is
// about polls, because noise is not reported as a change; one that only rules it out is not.
func (f *forge) planPolls(p *plan, when tree) error {
	if when.root == nil {
		return nil
	}
	var poll, noise, other ast.Expr
	walk(when.root, func(e ast.Expr) bool {
		if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.LogicalNot && isNoise(e.AsCall().Args()[0]) {
			return false
		}
		if e.Kind() == ast.IdentKind {
			switch e.AsIdent() {
			case "poll":
				poll = e
			case "noise":
				noise = e
			case "added", "removed", "text", "now", "before", "items", "change", "page":
				other = e
			}
		}
		return true
	})
	if poll == nil && noise != nil && other == nil {
		poll = noise
	}
	p.vain = noise != nil && other != nil
	if poll == nil {
		return nil
	}
	p.polls = true
	p.need |= NeedPolls
	at := when.info.GetStartLocation(poll.ID())
	mistake := &Mistake{Field: "when", Line: at.Line(), Column: at.Column() + 1}
	switch {
	case other != nil:
		mistake.Reason = "a condition on polls cannot look at changes, too: " + other.AsIdent()
		mistake.Help = "make two queries of it"
	case p.all || p.by.program != nil:
		mistake.Reason, mistake.Help = "polls are counted for each source alone", "leave window.by out"
	case p.query.Window.Silent != (Silence{}):
		mistake.Reason, mistake.Help = "window.silent is about changes, not about polls", "use window.for"
	default:
		return nil
	}
	return mistake
}

// isNoise reports whether an expression is the name noise.
func isNoise(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == "noise" }

// needs returns what an expression looks at.
func needs(e ast.Expr) (n Need) {
	walk(e, func(e ast.Expr) bool {
		if e.Kind() == ast.IdentKind {
			switch e.AsIdent() {
			case "added", "removed":
				n |= NeedDiff
			case "text":
				n |= NeedText
			case "now", "before":
				n |= NeedFields
			case "items":
				n |= NeedItems
			}
		}
		return true
	})
	if n.Has(NeedItems) && detailsWillDo(e) {
		n &^= NeedItems
	}
	return n
}

// detailsWillDo reports whether all that is asked of items stands in the log: the keys
// and titles of all, and of added ones their links and dates, too.
func detailsWillDo(e ast.Expr) bool {
	fine, loops := true, map[string]string{}
	walk(e, func(e ast.Expr) bool {
		switch e.Kind() {
		case ast.CallKind:
			c := e.AsCall()
			if isLoop(c) {
				if p, ok := pathOf(c.Target(), "", path{}); ok && p.root == "items" {
					loops[c.Args()[0].AsIdent()] = c.Target().AsSelect().FieldName()
				}
			}
			if c.FunctionName() == "size" {
				return true
			}
		case ast.SelectKind:
			s := e.AsSelect()
			if s.Operand().Kind() != ast.IdentKind {
				return true
			}
			list, ok := loops[s.Operand().AsIdent()]
			if ok && !slices.Contains([]string{"key", "title"}, s.FieldName()) && !(list == "added" && slices.Contains([]string{"link", "date"}, s.FieldName())) && !(list == "updated" && s.FieldName() == "changed") {
				fine = false
			}
		}
		return true
	})
	return fine && len(loops) > 0
}
