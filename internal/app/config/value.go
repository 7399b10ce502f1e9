package config

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/goccy/go-yaml/ast"
)

// maxDepth is how deep a structured value may nest.
const maxDepth = 32

// value returns an object or a list as JSON, and shows each part of it with its
// path to look.
func (d *document) value(n ast.Node, path string, look func(n ast.Node, path string)) (string, bool) {
	before := len(d.Problems)
	text, err := json.Marshal(d.tree(n, path, look, 0))
	if err != nil {
		d.report(d.resolve(n), path, "cannot be used: %v", err)
	}
	return string(text), len(d.Problems) == before
}

func (d *document) tree(n ast.Node, path string, look func(ast.Node, string), depth int) any {
	n = d.resolve(n)
	look(n, path)
	if depth > maxDepth {
		d.report(n, path, "nests deeper than %d levels", maxDepth)
		return nil
	}
	switch v := n.(type) {
	case *ast.MappingNode:
		return d.object(v.Values, path, look, depth)
	case *ast.MappingValueNode:
		return d.object([]*ast.MappingValueNode{v}, path, look, depth)
	case *ast.SequenceNode:
		list := make([]any, len(v.Values))
		for i, item := range v.Values {
			list[i] = d.tree(item, fmt.Sprintf("%s[%d]", path, i), look, depth+1)
		}
		return list
	case *ast.NullNode:
		return nil
	case *ast.BoolNode:
		return v.Value
	case *ast.IntegerNode, *ast.FloatNode:
		text := n.GetToken().Value
		if json.Valid([]byte(text)) {
			return json.Number(text)
		}
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			return x
		}
		return text
	}
	text, _ := d.scalar(n, path)
	return text
}

func (d *document) object(pairs []*ast.MappingValueNode, path string, look func(ast.Node, string), depth int) any {
	all := map[string]any{}
	for _, pair := range pairs {
		key := pair.Key.GetToken().Value
		if _, twice := all[key]; twice {
			d.report(pair.Key, path, "the key %q is repeated", key)
		}
		all[key] = d.tree(pair.Value, path+"."+key, look, depth+1)
	}
	return all
}
