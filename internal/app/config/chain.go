package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/safeyaml"
)

// ParseRecipe reads how a response is to be read from a file of its own, in YAML
// or JSON: a list of steps, or what a source can say of it with read, extract,
// items and select. A mistake is returned with its line, as an *Error.
func ParseRecipe(file string, text []byte) (reading.Recipe, error) {
	d := document{Error: Error{File: file, lines: strings.Split(string(text), "\n")}, env: func(string) string { return "" }, anchors: map[string]ast.Node{}}
	if json.Valid(text) { // YAML has no tabs
		var b bytes.Buffer
		if json.Indent(&b, text, "", "  ") == nil {
			text = b.Bytes()
			d.lines = strings.Split(b.String(), "\n")
		}
	}
	l := listedSource{at: map[string]ast.Node{}}
	tree, err := safeyaml.Parse(text, parser.AllowDuplicateMapKey())
	if err != nil {
		d.syntax(err)
		return l.Recipe, d.err()
	}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return l.Recipe, freshet.WithHint(invalid.Errorf(file, "is empty"), "write a list of steps, or read: and extract:")
	}
	body := d.resolve(tree.Docs[0].Body)
	l.node = body
	d.reading = &l
	fields := slices.DeleteFunc(d.sourceFields(), func(f field) bool { return !slices.Contains([]string{"select", "read", "extract", "items"}, f.name) })
	switch {
	case body.Type() == ast.SequenceType:
		fields[slices.IndexFunc(fields, func(f field) bool { return f.name == "read" })].read(body, "read")
	case loneStep(body):
		d.readStep(&l, body)
	default:
		fields = append(fields, field{"kind", func(v ast.Node, path string) {
			if text, ok := d.scalar(v, path); ok {
				l.Recipe.Kind = reading.Kind(text)
				l.at["select.kind"] = v
			}
		}})
		d.mapping(body, "", fields)
	}
	if len(d.Problems) == 0 {
		if err := extract.Check(l.Recipe); err != nil {
			d.blame(l, "read", err)
			for i := range d.Problems {
				d.Problems[i].Text = strings.TrimPrefix(d.Problems[i].Text, ".")
			}
		}
	}
	return l.Recipe, d.err()
}

// loneStep reports whether a document is one step, such as css: article.
func loneStep(n ast.Node) bool {
	if s, ok := n.(ast.ScalarNode); ok {
		return isStep(s.GetToken().Value)
	}
	switch m := n.(type) {
	case *ast.MappingValueNode:
		return isStep(m.Key.GetToken().Value)
	case *ast.MappingNode:
		return len(m.Values) == 1 && isStep(m.Values[0].Key.GetToken().Value)
	}
	return false
}

func isStep(name string) bool {
	return slices.ContainsFunc(extract.Steps(), func(k extract.StepKind) bool { return k.Name == name })
}

// readStep reads a document that is one step.
func (d *document) readStep(l *listedSource, n ast.Node) {
	text, ok := d.value(n, "read[0]", func(n ast.Node, path string) { l.at[path] = n })
	if !ok {
		return
	}
	var s reading.Step
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		d.report(n, "read[0]", "%v", err)
		return
	}
	l.Recipe.Read = []reading.Step{s}
}
