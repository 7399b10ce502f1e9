package queries

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"freshet/internal/units"
)

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
	if p.polls {
		return &Mistake{Field: s.field, Line: 1, Column: 1, Reason: "a query about polls cannot look back", Help: "use poll.failures, or window.for"}
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
				over, err := units.ParseDuration(string(written))
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
		yes = yes || e.Kind() == ast.IdentKind && strings.HasPrefix(e.AsIdent(), "back") && strings.HasSuffix(e.AsIdent(), reserved)
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
