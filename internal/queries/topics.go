package queries

import (
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// relevant is the function that asks a language model. To the engine it is true: asking takes
// seconds, can fail and need not give the same answer twice. The sink that delivers a match asks,
// and records the answer.
const relevant = "relevant"

// Topics returns what the condition says that matches have to be about, with relevant("...").
func (q Query) Topics() ([]string, error) {
	if !strings.Contains(q.When, relevant) {
		return nil, nil
	}
	f, err := newForge()
	if err != nil {
		return nil, err
	}
	t, err := f.read("when", q.When)
	if err != nil {
		return nil, err
	}
	return topics("when", t)
}

// topics does so for a condition that was read. It can only be joined to the rest with &&, or
// whether there is a match would depend on the answer in other ways.
func topics(field string, t tree) (found []string, err error) {
	joined := map[int64]bool{}
	var join func(ast.Expr)
	join = func(e ast.Expr) {
		if c, ok := asCall(e, operators.LogicalAnd, 2); ok {
			join(c.Args()[0])
			join(c.Args()[1])
			return
		}
		joined[e.ID()] = true
	}
	join(t.root)
	walk(t.root, func(e ast.Expr) bool {
		c, ok := asCall(e, relevant, 1)
		if !ok {
			return true
		}
		topic, _ := asLiteral(c.Args()[0])
		text, written := topic.(types.String)
		if field == "when" && joined[e.ID()] && written && len(strings.TrimSpace(string(text))) > 0 {
			found = append(found, string(text))
			return true
		}
		at := t.info.GetStartLocation(e.ID())
		err = &Mistake{Field: field, Line: at.Line(), Column: at.Column() + 1, Reason: `relevant takes a text in quotes, and can only be joined to the rest of the condition with &&`,
			Help: `write it like relevant("about delays") && added.contains("line 5")`}
		return false
	})
	return found, err
}
