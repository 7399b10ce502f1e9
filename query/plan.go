package query

import (
	"fmt"
	"slices"
	"time"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"freshet"
)

// A plan is a query made ready to run.
type plan struct {
	query freshet.Query
	need  Need

	atoms []atom // of which one must fit; none: the condition is tried at every change in scope
	exact bool   // one that fits is enough

	when  expression // the condition, if nothing in it looks back; without a program: true
	value expression

	backs []back       // the functions that look back, in the condition and the value
	slots []expression // what else the condition is made of
	rest  expression   // the condition over both
	keep  time.Duration

	polls bool // it is about polls, not about changes
	all   bool // one group for everything
	by    expression
}

// readsPolls reports whether the plan wants to hear of polls.
func (p *plan) readsPolls() bool { return p.need.Has(NeedPolls) }

// onlyPolls reports whether changes mean nothing to the plan.
func (p *plan) onlyPolls() bool { return p.polls }

// remembers reports whether the plan looks at more than the event that it is told.
func (p *plan) remembers() bool {
	return p.polls || len(p.backs) > 0 || p.query.Window.For > 0 || p.query.Window.Silent != (freshet.Silence{})
}

// plan makes a query ready. Whoever gives it up releases it.
func (f *forge) plan(q freshet.Query) (*plan, error) {
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
	if q.Window.Silent != (freshet.Silence{}) {
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
	case "", freshet.BySource:
	case freshet.ByNothing:
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

// planPolls sees to it that a condition is about polls or about changes.
func (f *forge) planPolls(p *plan, when tree) error {
	if when.root == nil {
		return nil
	}
	var poll, other ast.Expr
	walk(when.root, func(e ast.Expr) bool {
		if e.Kind() == ast.IdentKind {
			switch e.AsIdent() {
			case "poll":
				poll = e
			case "added", "removed", "text", "now", "before", "items", "change", "page", "noise", "suspect":
				other = e
			}
		}
		return true
	})
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
	case p.query.Window.Silent != (freshet.Silence{}):
		mistake.Reason, mistake.Help = "window.silent is about changes, not about polls", "use window.for"
	default:
		return nil
	}
	return mistake
}

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

// planBacks takes the functions that look back out of the condition and the value.
func (f *forge) planBacks(p *plan, when, value tree) error {
	s := &splitter{forge: f, plan: p, seen: map[string]int{}}
	for _, t := range []struct {
		field string
		tree
	}{{"when", when}, {"value", value}} {
		if t.root == nil {
			continue
		}
		s.field, s.info = t.field, t.info
		if err := s.takeBacks(t.root, nil); err != nil {
			return err
		}
	}
	if len(p.backs) == 0 {
		return nil
	}
	rest := tree{build.NewLiteral(1, types.True), ast.NewSourceInfo(nil)}
	if when.root != nil {
		rest = tree{build.CopyExpr(when.root), when.info}
		s.field = "when"
		if err := s.takeSlots(rest.root, nil); err != nil {
			return err
		}
	}
	var err error
	p.rest, err = f.expression("when", rest)
	return err
}

// A splitter takes a condition apart.
type splitter struct {
	forge *forge
	plan  *plan
	field string
	info  *ast.SourceInfo
	seen  map[string]int // backs by how they are written
}

func (s *splitter) mistake(e ast.Expr, help, format string, args ...any) error {
	at := s.info.GetStartLocation(e.ID())
	return &Mistake{Field: s.field, Line: at.Line(), Column: at.Column() + 1, Reason: fmt.Sprintf(format, args...), Help: help}
}

// takeBacks puts a name in the place of every function that looks back.
func (s *splitter) takeBacks(e ast.Expr, bound []string) error {
	if e.Kind() == ast.CallKind {
		if c := e.AsCall(); !c.IsMemberFunction() && isBack(c.FunctionName()) {
			if uses(e, bound) {
				return s.mistake(e, "look back at the whole list, as in unseen(items.added.map(i, i.title))", "%s cannot look back at a variable of a loop", c.FunctionName())
			}
			i, err := s.back(e, c)
			if err != nil {
				return err
			}
			e.SetKindCase(build.NewIdent(e.ID(), standIn("back", i)))
			return nil
		}
		if c := e.AsCall(); isLoop(c) {
			if err := s.takeBacks(c.Target(), bound); err != nil {
				return err
			}
			bound = append(slices.Clone(bound), c.Args()[0].AsIdent())
			for _, arg := range c.Args()[1:] {
				if err := s.takeBacks(arg, bound); err != nil {
					return err
				}
			}
			return nil
		}
	}
	for _, part := range children(e) {
		if err := s.takeBacks(part, bound); err != nil {
			return err
		}
	}
	return nil
}

// back returns the number of a function that looks back.
func (s *splitter) back(e ast.Expr, c ast.CallExpr) (int, error) {
	written := tree{e, s.info}.String()
	if i, ok := s.seen[written]; ok {
		return i, nil
	}
	if len(s.plan.backs) == maxBacks {
		return 0, s.mistake(e, "", "there are too many functions that look back; the most is %d", maxBacks)
	}
	b := back{kind: c.FunctionName(), over: s.plan.query.Window.Over}
	args := c.Args()
	if n := len(args); n > 0 {
		if text, ok := asLiteral(args[n-1]); ok && (n > 1 || b.kind == "count") {
			if written, ok := text.(types.String); ok {
				over, err := freshet.ParseDuration(string(written))
				if err != nil || over <= 0 {
					return 0, s.mistake(args[n-1], `write "1h" or "30d"`, "%q is not a length of time", string(written))
				}
				b.over, args = over, args[:n-1]
			}
		} else if n > 1 {
			return 0, s.mistake(args[n-1], `write "1h" or "30d"`, "how far back to look must stand there as it is")
		}
	}
	if b.over == 0 && b.bounded() {
		return 0, s.mistake(e, fmt.Sprintf(`write %s(..., "30d"), or set window.over`, b.kind), "how far back %s looks is not said", b.kind)
	}
	if len(args) > 1 || len(args) == 0 && b.kind != "count" {
		return 0, s.mistake(e, "", "%s takes a value and how far back to look", b.kind)
	}
	if len(args) == 1 {
		var nested ast.Expr
		walk(args[0], func(e ast.Expr) bool {
			if e.Kind() == ast.CallKind && !e.AsCall().IsMemberFunction() && isBack(e.AsCall().FunctionName()) {
				nested = e
			}
			return true
		})
		if nested != nil {
			return 0, s.mistake(nested, "", "%s cannot stand inside %s", nested.AsCall().FunctionName(), b.kind)
		}
		var err error
		if b.arg, err = s.forge.expression(s.field, tree{build.CopyExpr(args[0]), s.info}); err != nil {
			return 0, err
		}
	}
	s.plan.backs = append(s.plan.backs, b)
	if b.recorded() {
		s.plan.keep = max(s.plan.keep, b.over)
	}
	s.seen[written] = len(s.plan.backs) - 1
	return s.seen[written], nil
}

// takeSlots puts a name in the place of every part that neither looks back nor depends
// on a loop, so that the condition can be judged again without its change.
func (s *splitter) takeSlots(e ast.Expr, bound []string) error {
	if e.Kind() == ast.LiteralKind {
		return nil
	}
	if !looksBack(e) && !uses(e, bound) {
		if len(s.plan.slots) == maxLifted {
			return s.mistake(e, "", "is too long for a condition that looks back")
		}
		x, err := s.forge.expression(s.field, tree{build.CopyExpr(e), s.info})
		if err != nil {
			return err
		}
		s.plan.slots = append(s.plan.slots, x)
		e.SetKindCase(build.NewIdent(e.ID(), standIn("slot", len(s.plan.slots)-1)))
		return nil
	}
	parts := children(e)
	if e.Kind() == ast.CallKind && isLoop(e.AsCall()) {
		if err := s.takeSlots(parts[0], bound); err != nil {
			return err
		}
		parts, bound = parts[1:], append(slices.Clone(bound), e.AsCall().Args()[0].AsIdent())
	}
	for _, part := range parts {
		if err := s.takeSlots(part, bound); err != nil {
			return err
		}
	}
	return nil
}

// looksBack reports whether an expression has a result of a function that looks back.
func looksBack(e ast.Expr) (yes bool) {
	walk(e, func(e ast.Expr) bool {
		if e.Kind() == ast.IdentKind {
			for i := range maxBacks {
				yes = yes || e.AsIdent() == standIn("back", i)
			}
		}
		return !yes
	})
	return yes
}

// uses reports whether an expression has one of the names in it.
func uses(e ast.Expr, names []string) (yes bool) {
	walk(e, func(e ast.Expr) bool {
		yes = yes || e.Kind() == ast.IdentKind && slices.Contains(names, e.AsIdent())
		return !yes
	})
	return yes
}
