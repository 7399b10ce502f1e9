package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"freshet/internal/freshet"
	"freshet/internal/safeyaml"
	"freshet/internal/suggest"
)

// A document is a configuration file as it is read. Reading goes on after a
// problem, so that all of them are reported at once.
type document struct {
	Error
	env     func(string) string
	anchors map[string]ast.Node
	before  int        // lines before the part of the file that is being read
	long    sourceList // of sources, if it is to be read by itself
	sources []listedSource
	hooks   map[string]listedHook // by name, sinks too
	sinks   []listedSource        // where the parts of Settings.Sinks are
	queries []listedSource        // likewise, of Settings.Queries

	noSecrets bool           // are needed
	origin    freshet.Origin // of what is listed
	refused   bool           // a listed source is not valid
	reading   *listedSource  // that fields belong to
	fields    []field        // of a source; built once for a list that may be long
}

// A field is a key that a mapping may have, and what to do with its value.
// Path is the key with all it is nested in.
type field struct {
	name string
	read func(value ast.Node, path string)
}

// readDocument reads text into s.
func (in Input) readDocument(text []byte, s *Settings) document {
	d := document{
		Error:   Error{File: in.File, lines: strings.Split(string(text), "\n")},
		env:     in.Env,
		anchors: map[string]ast.Node{},
		hooks:   map[string]listedHook{},

		noSecrets: in.NoSecrets,
		origin:    freshet.FromFile,
	}
	if in.apply {
		d.origin = freshet.FromAPI
	}
	text, d.long = cutSources(text)
	tree, err := safeyaml.Parse(text, parser.AllowDuplicateMapKey())
	if err != nil {
		d.long = sourceList{}
		d.syntax(err)
		return d
	}
	for i, doc := range tree.Docs {
		if i > 0 && doc.Body != nil {
			d.report(doc.Body, "", "the file has more than one YAML document; keep one")
			break
		}
		if doc.Body == nil || doc.Body.Type() == ast.NullType {
			continue // an empty file says nothing
		}
		d.mapping(doc.Body, "", slices.Concat(d.optionFields(s), []field{
			{"webhooks", func(v ast.Node, path string) { d.each(v, path, d.webhook(s)) }},
			{"sinks", func(v ast.Node, path string) { d.each(v, path, d.sink(s)) }},
			{"queries", func(v ast.Node, path string) { d.each(v, path, d.query(s)) }},
			{"users", func(v ast.Node, path string) { d.each(v, path, d.user(s)) }},
			{"requests", func(v ast.Node, path string) { d.requests(v, path, s) }},
			{"sources", func(v ast.Node, path string) { d.each(v, path, d.source) }},
		}))
	}
	return d
}

// err returns what is wrong with the file, or nil.
func (d *document) err() error {
	if len(d.Problems) == 0 {
		return nil
	}
	d.sort()
	return &d.Error
}

// syntax notes that the file is not YAML.
func (d *document) syntax(err error) {
	p := Problem{Line: 1, Col: 1, Text: err.Error()}
	if e, ok := errors.AsType[*safeyaml.Error](err); ok {
		p = Problem{Line: d.before + e.Line, Col: e.Column, Text: "invalid YAML: " + e.Message}
	}
	d.Problems = append(d.Problems, p)
}

// report notes a problem at a node. Path names the field, "" for the whole.
func (d *document) report(n ast.Node, path, format string, args ...any) {
	tk := firstToken(n)
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	p := Problem{Line: 1, Col: 1, Text: text}
	if tk != nil && tk.Position != nil {
		p.Line, p.Col, p.Width = d.before+tk.Position.Line, tk.Position.Column, width(tk)
	}
	d.Problems = append(d.Problems, p)
}

// width returns how many characters of a token to underline.
func width(tk *token.Token) int {
	first, _, _ := strings.Cut(strings.TrimSpace(tk.Origin), "\n")
	return len([]rune(first))
}

// optionFields returns fields for the options, nested as their keys are.
func (d *document) optionFields(s *Settings) []field { return d.nested(s, "", options) }

// nested returns fields for those of the options whose keys begin so.
func (d *document) nested(s *Settings, prefix string, list []Option) (fields []field) {
	met := map[string]bool{}
	for _, o := range list {
		key, inside := strings.CutPrefix(o.Key, prefix)
		section, _, deeper := strings.Cut(key, ".")
		switch {
		case !inside || met[section]:
		case !deeper:
			fields = append(fields, field{section, d.optionValue(s, o)})
		default:
			met[section] = true
			parts := d.nested(s, prefix+section+".", list)
			fields = append(fields, field{section, func(v ast.Node, path string) { d.mapping(v, path, parts) }})
		}
	}
	return fields
}

// heard records that the file says an option, and where.
func (d *document) heard(s *Settings, key string, v ast.Node) {
	s.note(key, FromFile)
	s.place(key, firstToken(v).Position.Line)
}

func (d *document) optionValue(s *Settings, o Option) func(ast.Node, string) {
	if o.items != nil {
		return func(v ast.Node, path string) {
			d.each(v, path, o.items(d, s))
			d.heard(s, o.Key, v)
		}
	}
	set := func(s *Settings, v ast.Node, path, text string) {
		if err := o.set(s, text); err != nil {
			d.report(d.resolve(v), path, "%v", err)
		}
	}
	if !o.Many {
		return func(v ast.Node, path string) {
			if text, ok := d.scalar(v, path); ok {
				set(s, v, path, text)
				d.heard(s, o.Key, v)
			}
		}
	}
	return func(v ast.Node, path string) {
		before := len(d.Problems)
		list := d.texts(v, path, func(item ast.Node, path, text string) {
			scratch := *s // each alone first, to tell which of them is wrong
			set(&scratch, item, path, text)
		})
		if len(d.Problems) == before {
			set(s, v, path, strings.Join(list, ","))
			d.heard(s, o.Key, v)
		}
	}
}

// mapping reads a mapping by its fields. A key that is not among them, or
// comes twice, is a problem.
func (d *document) mapping(n ast.Node, path string, fields []field) {
	var pairs []*ast.MappingValueNode
	switch m := d.resolve(n).(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	case *ast.NullNode:
		return // a section that was left empty
	default:
		d.report(m, path, "expected keys and values, such as %s: ..., but found %s", fields[0].name, kindOf(m))
		return
	}
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.name
	}
	met := map[string]int{}
	for _, pair := range pairs {
		key := pair.Key.GetToken().Value
		i := slices.Index(known, key)
		inside := strings.TrimPrefix(path+"."+key, ".")
		switch first, twice := met[key], met[key] > 0; {
		case i < 0 && path == "" && removed[key] != "":
			d.report(pair.Key, path, "the setting %s was removed; %s", key, RemovedHint)
		case i < 0:
			d.report(pair.Key, path, "unknown key %q%s", key, suggest.DidYouMean(key, known))
		case twice:
			d.report(pair.Key, path, "the key %q is repeated; it was first used in line %d", key, first)
		default:
			fields[i].read(pair.Value, inside)
		}
		met[key] = d.before + pair.Key.GetToken().Position.Line
	}
}

// each reads the items of a list.
func (d *document) each(n ast.Node, path string, read func(item ast.Node, path string)) {
	switch list := d.resolve(n).(type) {
	case *ast.SequenceNode:
		for i, item := range list.Values {
			read(item, fmt.Sprintf("%s[%d]", path, i))
		}
	case *ast.NullNode:
	default:
		d.report(list, path, "expected a list with a dash before each item, but found %s", kindOf(list))
	}
}

// texts reads a list of scalars, and shows each to look, which may be nil. A
// lone scalar is a list of one.
func (d *document) texts(n ast.Node, path string, look func(item ast.Node, path, text string)) (texts []string) {
	take := func(item ast.Node, path string) {
		text, ok := d.scalar(item, path)
		if !ok {
			return
		}
		texts = append(texts, text)
		if look != nil {
			look(item, path, text)
		}
	}
	if _, ok := d.resolve(n).(ast.ScalarNode); ok {
		take(n, path)
	} else {
		d.each(n, path, take)
	}
	return texts
}

// scalar returns the text of a single value.
func (d *document) scalar(n ast.Node, path string) (string, bool) {
	switch v := d.resolve(n).(type) {
	case *ast.NullNode:
		d.report(v, path, "has no value")
	case *ast.AliasNode:
		name := v.Value.GetToken().Value
		d.report(v, path, "unknown alias *%s: there is no &%s before it", name, name)
	case *ast.LiteralNode:
		return v.Value.Value, true
	case ast.ScalarNode:
		return v.GetToken().Value, true
	default:
		d.report(v, path, "expected a single value, but found %s", kindOf(v))
	}
	return "", false
}

// resolve looks behind anchors, aliases and tags.
func (d *document) resolve(n ast.Node) ast.Node {
	for range 16 {
		switch v := n.(type) {
		case *ast.AnchorNode:
			d.anchors[v.Name.GetToken().Value] = v.Value
			n = v.Value
		case *ast.AliasNode:
			to, ok := d.anchors[v.Value.GetToken().Value]
			if !ok {
				return n
			}
			n = to
		case *ast.TagNode:
			n = v.Value
		default:
			return n
		}
	}
	return n
}

// kindOf names a kind of node in words.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a section"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AliasNode:
		return "an alias of nothing"
	case *ast.NullNode:
		return "nothing"
	}
	return fmt.Sprintf("%q", n.GetToken().Value)
}

// firstToken returns where a node begins.
func firstToken(n ast.Node) *token.Token {
	switch v := n.(type) {
	case *ast.MappingNode:
		if len(v.Values) > 0 {
			return v.Values[0].Key.GetToken()
		}
	case *ast.MappingValueNode:
		return v.Key.GetToken()
	}
	return n.GetToken()
}
