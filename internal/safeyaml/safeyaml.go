// Package safeyaml parses YAML from untrusted users in bounded time and memory.
package safeyaml

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	maxDepth = 100     // of nested collections; the parser takes quadratic memory in it
	maxTags  = 1_000   // likewise
	maxExtra = 200_000 // values that expanding the aliases adds

	// The parser inserts a token for every missing value, and moves all tokens after it.
	maxMoves = 5_000_000_000

	// The parser copies all tokens that are left for every document of a stream.
	maxCopies = 50_000_000
)

// An Error says what is wrong with a text, and where. The errors of the parser quote the text
// around the mistake, which takes quadratic memory in the length of a line.
type Error struct {
	Line, Column int
	Message      string
	Limit        bool // the text exceeds a bound of this package
}

// Error returns the message with the line.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Message) }

// Parse parses a stream of YAML documents. It returns an *Error if the text is not YAML, nests
// too deeply, or expands to too much by aliases and merge keys.
func Parse(text []byte, options ...parser.Option) (*ast.File, error) {
	tokens := lexer.Tokenize(string(text))
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	tree, err := parser.Parse(tokens, 0, options...)
	if err != nil {
		return nil, errorOf(err)
	}
	extra := 0
	for _, doc := range tree.Docs {
		e := expansion{anchors: map[string]int{}}
		extra += e.nodes(doc.Body) - e.plain
		if e.err == nil && extra > maxExtra {
			e.err = limit(doc.Body.GetToken(), "expanding the aliases adds more than %d values", maxExtra)
		}
		if e.err != nil {
			return nil, e.err
		}
	}
	return tree, nil
}

// Values decodes the documents of a text. Empty documents are left out.
func Values(text []byte) ([]any, error) {
	tree, err := Parse(text)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		var v any
		if err := yaml.NodeToValue(doc.Body, &v); err != nil {
			return nil, errorOf(err)
		}
		all = append(all, v)
	}
	return all, nil
}

// errorOf returns an error of the parser without the text that it quotes.
func errorOf(err error) error {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return err
	}
	return at(e.GetToken(), "%s", e.GetMessage())
}

func at(tk *token.Token, format string, args ...any) *Error {
	e := &Error{Line: 1, Column: 1, Message: fmt.Sprintf(format, args...)}
	if tk != nil && tk.Position != nil {
		e.Line, e.Column = tk.Position.Line, tk.Position.Column
	}
	return e
}

func limit(tk *token.Token, format string, args ...any) error {
	e := at(tk, format, args...)
	e.Limit = true
	return e
}

// checkTokens refuses collections that are nested too deeply, and too many tags.
func checkTokens(tokens token.Tokens) error {
	var block []int // columns of the nested block collections
	flow, tags, missing, docs := 0, 0, 0, 0
	for i, tk := range tokens {
		column := 0
		switch tk.Type {
		case token.TagType:
			if tags++; tags > maxTags {
				return limit(tk, "there are more than %d tags", maxTags)
			}
		case token.DocumentHeaderType, token.DocumentEndType:
			if docs++; docs*len(tokens) > maxCopies {
				return limit(tk, "there are too many documents for a text of this length")
			}
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType:
			column = tk.Position.Column
		case token.MappingValueType:
			if i > 0 {
				column = tokens[i-1].Position.Column
			}
		}
		if column > 0 && (flow == 0 || tk.Type == token.SequenceEntryType) {
			for len(block) > 0 && block[len(block)-1] >= column {
				block = block[:len(block)-1]
			}
			block = append(block, column)
			if missingValue(tk, column, tokens[i+1:]) {
				missing++
			}
		}
		if flow+len(block) > maxDepth {
			return limit(tk, "it is nested more than %d levels deep", maxDepth)
		}
	}
	if missing*len(tokens) > maxMoves {
		return limit(nil, "%d keys and list entries have no value", missing)
	}
	return nil
}

// missingValue reports whether no value follows an entry of a block collection at a column.
func missingValue(entry *token.Token, column int, rest token.Tokens) bool {
	if len(rest) == 0 {
		return true
	}
	next := rest[0]
	switch {
	case next.Position.Line == entry.Position.Line:
		return false
	case next.Position.Column == column: // a list may stand at the column of its key
		return entry.Type == token.SequenceEntryType || next.Type != token.SequenceEntryType
	}
	return next.Position.Column < column
}

// inside marks an anchor whose value is being counted.
const inside = -1

// An expansion counts the nodes of a document with its aliases expanded.
type expansion struct {
	anchors map[string]int // number of nodes by name
	plain   int            // nodes so far, without expansion
	err     error
}

// nodes returns the number of nodes of a tree.
func (e *expansion) nodes(n ast.Node) int {
	if n == nil || e.err != nil {
		return 0
	}
	sum := 1
	e.plain++
	switch n := n.(type) {
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		e.anchors[name] = inside
		sum += e.nodes(n.Value)
		e.anchors[name] = sum
	case *ast.AliasNode:
		size := e.anchors[n.Value.GetToken().Value] // an unknown alias is for the reader to report
		if size == inside {
			e.err = limit(n.Value.GetToken(), "the alias refers to a value that contains it")
		}
		sum += size
	case *ast.TagNode:
		sum += e.nodes(n.Value)
	case *ast.MappingNode:
		for _, v := range n.Values {
			sum += e.nodes(v)
		}
	case *ast.MappingValueNode:
		sum += e.nodes(n.Key) + e.nodes(n.Value)
	case *ast.MappingKeyNode:
		sum += e.nodes(n.Value)
	case *ast.SequenceNode:
		for _, v := range n.Values {
			sum += e.nodes(v)
		}
	}
	if sum > e.plain+maxExtra && e.err == nil {
		e.err = limit(n.GetToken(), "expanding the aliases adds more than %d values", maxExtra)
	}
	return sum
}
