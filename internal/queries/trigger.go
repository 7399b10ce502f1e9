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
	Each    Trigger = "each"    // at each change or poll for which the condition is true
)

// stateNames are the names that say what a source is, and not what a change is about.
var stateNames = []string{"now", "text", "source"}

// planTrigger decides whether the condition of a plan triggers when it becomes true.
func (f *forge) planTrigger(p *plan, when tree) error {
	q := p.query
	if q.Window.For > 0 && q.Trigger == Each {
		return &Mistake{Field: "trigger", Line: 1, Column: 1, Reason: "window.for matches once each time that the condition has held for so long", Help: "leave trigger out, or window.for"}
	}
	event := momentary(when)
	state := event == nil && when.root != nil && needs(when.root)&(NeedFields|NeedText) != 0
	alone := len(p.backs) == 0 && !p.all && p.by.program == nil && q.Window.Silent == (Silence{})
	switch {
	case p.polls, q.Window.For > 0:
		return nil
	case state && alone:
		p.usual = Becomes
	case q.Trigger != Becomes:
	case event != nil:
		at := when.info.GetStartLocation(event.ID())
		return &Mistake{Field: "when", Line: at.Line(), Column: at.Column() + 1, Reason: "a condition on " + event.AsIdent() + " is about one change, and does not become true",
			Help: "use trigger: each, or a condition on now or text alone"}
	case !state:
		return &Mistake{Field: "trigger", Line: 1, Column: 1, Reason: "only a condition on now or text becomes true", Help: "use trigger: each"}
	default:
		return &Mistake{Field: "trigger", Line: 1, Column: 1, Reason: "a condition becomes true for each source alone, whatever came before", Help: "use trigger: each, or leave out window.by, window.silent and functions that look back"}
	}
	if p.edge = q.Trigger == Becomes; p.edge && p.need.Has(NeedText) {
		p.need |= NeedTextBefore
	}
	return nil
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

// holding returns the group that says that the condition of an entry holds for the source; nil if there
// is none.
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
		was.Content = Content{Now: was.Content.Before, Text: was.Content.TextBefore}
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
