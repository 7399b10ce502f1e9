package queries

import (
	"slices"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"freshet/internal/freshet"
)

// A Trigger says when a true condition is a match.
type Trigger string

// The triggers. Without one, a condition on changes triggers as Each, and one on polls as Becomes.
const (
	Becomes Trigger = "becomes" // when the condition becomes true for a source, and again only after it was false
	First   Trigger = "first"   // like Becomes, and at the first look at a source if the condition is true by then
	Each    Trigger = "each"    // at each change or poll for which the condition is true
	Poll    Trigger = "poll"    // at each poll that sees a source for which the condition is true
)

var triggers = []Trigger{Becomes, First, Each, Poll}

// stateNames are the names that say what a source is, and not what a change is about.
var stateNames = []string{"now", "text", "source"}

// planTrigger decides whether the condition of a plan triggers when it becomes true.
func (f *forge) planTrigger(p *plan, when tree) error {
	q := p.query
	if q.Window.For > 0 && q.Trigger != "" && q.Trigger != Becomes {
		return &Mistake{Field: "trigger", Line: 1, Column: 1, Reason: "window.for matches once each time that the condition has held for so long", Help: "leave trigger out, or window.for"}
	}
	event := momentary(when)
	state := event == nil && when.root != nil && needs(when.root)&(NeedFields|NeedText) != 0
	alone := len(p.backs) == 0 && !p.all && p.by.program == nil && q.Window.Silent == (Silence{})
	if q.Window.Lasting > 0 {
		return p.planLasting(when, state, alone)
	}
	switch {
	case p.polls, q.Window.For > 0:
		return nil
	case state && alone:
		p.usual = Becomes
	case q.Trigger == "", q.Trigger == Each, q.Trigger == Poll && when.root == nil && alone:
	case event != nil:
		at := when.info.GetStartLocation(event.ID())
		return &Mistake{Field: "when", Line: at.Line(), Column: at.Column() + 1, Reason: "a condition on " + event.AsIdent() + " is about one change, and does not become true",
			Help: "use trigger: each, or a condition on now or text alone"}
	case !state:
		return &Mistake{Field: "trigger", Line: 1, Column: 1, Reason: "only a condition on now or text becomes true", Help: "use trigger: each"}
	default:
		return &Mistake{Field: "trigger", Line: 1, Column: 1, Reason: "a condition becomes true for each source alone, whatever came before", Help: "use trigger: each, or leave out window.by, window.silent and functions that look back"}
	}
	p.edge, p.looks = q.Trigger == Becomes || q.Trigger == First, q.Trigger == First || q.Trigger == Poll
	if p.looks {
		p.need |= NeedPolls
	}
	if p.edge && p.need.Has(NeedText) {
		p.need |= NeedTextBefore
	}
	return nil
}

// planLasting checks a query about changes that last.
func (p *plan) planLasting(when tree, state, alone bool) error {
	q := p.query
	switch {
	case state, p.polls:
		return &Mistake{Field: "window.lasting", Line: 1, Column: 1, Reason: "is about changes, and the condition is about what is true", Help: "use window.for"}
	case !alone:
		return &Mistake{Field: "window.lasting", Line: 1, Column: 1, Reason: "a change lasts for each source alone, whatever came before", Help: "leave out window.by, window.silent and functions that look back"}
	case q.Trigger != "" && q.Trigger != Each:
		return &Mistake{Field: "trigger", Line: 1, Column: 1, Reason: "window.lasting matches each change that lasts", Help: "leave trigger out, or window.lasting"}
	case when.root != nil && needs(when.root) == NeedFields:
		p.values = valuesIn(when)
	}
	return nil
}

// valuesIn returns the names of the values that a condition looks at.
func valuesIn(when tree) (names []string) {
	walk(when.root, func(e ast.Expr) bool {
		if e.Kind() == ast.SelectKind && e.AsSelect().Operand().Kind() == ast.IdentKind {
			if of := e.AsSelect().Operand().AsIdent(); of == "now" || of == "before" {
				names = append(names, e.AsSelect().FieldName())
			}
		}
		return true
	})
	return names
}

// momentary returns the first name in a condition that is about a change or a poll; nil if there is none.
func momentary(when tree) (found ast.Expr) {
	if when.root == nil {
		return nil
	}
	known := names()
	walk(when.root, func(e ast.Expr) bool {
		if found == nil && e.Kind() == ast.IdentKind && known[e.AsIdent()] != nil && !slices.Contains(stateNames, e.AsIdent()) {
			found = e
		}
		return found == nil
	})
	return found
}

// become returns the match of a change with which a condition becomes true. A group stands for a
// source for which the condition holds. Without one, the state before the change decides, so that
// only these sources are remembered. A condition without a value keeps the state.
func (e *Engine) become(r *running, v *view, sure bool) []Match {
	yes, known := true, true
	if !sure {
		r.tally.Tried++
		out, err := r.when.eval(v)
		_, known = out.(types.Bool)
		yes = r.truth(out, err)
	}
	if r.looks {
		return e.look(r, v, yes, known)
	}
	g := r.holding(v)
	if known && !yes {
		if g != nil {
			e.dropGroup(r, g)
		}
		return nil
	}
	if g != nil {
		return nil
	}
	out, err := r.when.eval(v.past())
	held := err == nil && out == types.True
	if !yes && !held {
		return nil
	}
	g = e.group(r, string(v.event.Subject.ID))
	g.state.last = int64(v.event.Change.Cursor) // the order in which groups are forgotten
	e.touch(g)
	if held {
		return nil
	}
	return []Match{e.plainMatch(r, v)}
}

// look returns the match of the first look at a source for which a condition is true, or of a later event with
// which it becomes true. A group stands for a source that has been looked at. None is forgotten to make room for
// another, because the look at it would then be the first one again.
func (e *Engine) look(r *running, v *view, yes, known bool) []Match {
	g := r.holding(v)
	if !known || g != nil && g.state.holds == yes {
		return nil
	}
	if g == nil && len(r.groups) >= maxGroups {
		r.tally.Forgotten++
		return nil
	}
	if g == nil {
		g = e.group(r, string(v.event.Subject.ID))
	}
	g.state.holds = yes
	e.touch(g)
	if !yes {
		return nil
	}
	if v.event.Change != nil {
		return []Match{e.plainMatch(r, v)}
	}
	return []Match{e.pollMatch(r, v)}
}

// lookAtPoll holds what a poll saw of a source against a query.
func (e *Engine) lookAtPoll(r *running, v *view) []Match {
	if !v.event.Content.Loaded || r.edge && r.holding(v) != nil {
		return nil
	}
	yes, known := true, true
	if r.when.program != nil {
		r.tally.Tried++
		out, err := r.when.eval(v)
		_, known = out.(types.Bool)
		yes = r.truth(out, err)
	}
	switch {
	case r.edge:
		return e.look(r, v, yes, known)
	case yes:
		return []Match{e.pollMatch(r, v)}
	}
	return nil
}

// holding returns the group that says that the condition of an entry holds for the source, or with the trigger
// First that the source has been looked at; nil if there is none.
func (x *entry) holding(v *view) *group {
	if len(x.groups) == 0 {
		return nil
	}
	if v.hash == "" {
		v.hash = groupHash(string(v.event.Subject.ID))
	}
	return x.groups[v.hash]
}

// past returns the source as it was before the change.
func (v *view) past() *view {
	if v.before == nil {
		was := *v.event
		was.Content = Content{Now: was.Content.Before, Text: was.Content.TextBefore, Added: was.Content.TextBefore}
		if v.event.Content.Gone.Has(NeedTextBefore) {
			was.Content.Gone = NeedText | NeedDiff
		}
		v.before = &view{event: &was}
	}
	return v.before
}

// groupHash returns the name of a group in the notes.
func groupHash(text string) string { return freshet.HashOf([]byte(text)).String()[:24] }

// usualTrigger returns what Check makes of a query without a trigger: Becomes, or "" if that is Each or goes
// without saying.
func usualTrigger(q Query) (Trigger, error) {
	f, err := newForge()
	if err != nil {
		return "", err
	}
	q.Trigger = ""
	p, err := f.plan(q)
	if err != nil {
		return "", err
	}
	return p.usual, nil
}

// Retrigger returns the trigger of a query whose edit names none. It stays, unless it was the usual one of
// another condition.
func Retrigger(before, edited Query) (Trigger, error) {
	usual, err := usualTrigger(before)
	switch {
	case err != nil:
		return "", err
	case before.Trigger == "" && usual == Becomes: // of an earlier version
		return Each, nil
	case before.Trigger == usual && (before.When != edited.When || before.Window != edited.Window):
		return "", nil
	}
	return before.Trigger, nil
}
