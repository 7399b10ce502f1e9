package config

import (
	"bytes"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"freshet/internal/lazyregexp"
	"freshet/internal/safeyaml"
)

// A YAML tree takes hundreds of times the memory of its text. A long list of sources is therefore
// parsed in parts.
const (
	longList    = 1000 // sources; shorter lists are parsed with the rest of the text
	itemsAtOnce = 200
)

// A sourceList is a block list of sources that has not been parsed.
type sourceList struct {
	text  []byte
	items []listItem
	end   int // end of the last item
}

// A listItem is the position of an item of a block list.
type listItem struct{ at, line int } // line counts from 0

// reference matches an anchor or an alias. A list with a match is parsed with the whole text.
var reference = lazyregexp.New(`(?m)(^|[\s\[{,:-])[&*][^\s&*]`)

// cutSources cuts the items of the list of sources out of a text. The rest keeps its line numbers.
// If the list is short or cannot be delimited by indentation alone, cutSources returns the text
// unchanged.
func cutSources(text []byte) (rest []byte, list sourceList) {
	begin, line := findSources(text)
	if begin < 0 {
		return text, list
	}
	list, ok := scanItems(text, begin, line)
	if !ok || len(list.items) < longList || reference.Match(text[begin:list.end]) {
		return text, sourceList{}
	}
	rest = append([]byte(nil), text[:begin]...)
	rest = append(rest, bytes.Repeat([]byte("\n"), bytes.Count(text[begin:list.end], []byte("\n")))...)
	return append(rest, text[list.end:]...), list
}

// findSources returns the offset and number of the line after the key of the sources, or -1 unless
// there is exactly one such key on a line of its own.
func findSources(text []byte) (begin, line int) {
	begin = -1
	at, number := 0, 0
	for next := range bytes.Lines(text) {
		at += len(next)
		number++
		value, ok := bytes.CutPrefix(next, []byte("sources:"))
		if !ok {
			continue
		}
		if value = bytes.TrimSpace(value); begin >= 0 || len(value) > 0 && value[0] != '#' {
			return -1, 0
		}
		begin, line = at, number
	}
	return begin, line
}

// scanItems finds the items of the block list that begins at a line.
func scanItems(text []byte, begin, line int) (list sourceList, ok bool) {
	list.text = text
	at, indent := begin, -1
	for next := range bytes.Lines(text[begin:]) {
		content := bytes.TrimLeft(next, " ")
		column := len(next) - len(content)
		content = bytes.TrimRight(content, "\r\n")
		switch entry := isEntry(content); {
		case len(content) == 0 || content[0] == '#':
		case content[0] == '\t':
			return list, false
		case column == 0 && !entry: // the next key
			list.end = at
			return list, indent >= 0
		case indent < 0 && !entry, column < indent, column == indent && !entry:
			return list, false
		case indent < 0 || column == indent:
			indent = column
			list.items = append(list.items, listItem{at, line})
		}
		at += len(next)
		line++
	}
	list.end = at
	return list, indent >= 0
}

// isEntry reports whether a line begins an item of a block list.
func isEntry(content []byte) bool {
	return len(content) > 0 && content[0] == '-' && (len(content) == 1 || content[1] == ' ')
}

// each parses the items and calls read for each. It stops at the first syntax error and returns it
// with the number of lines before the part.
func (l sourceList) each(read func(i int, item ast.Node, linesBefore int)) (linesBefore int, err error) {
	for from := 0; from < len(l.items); from += itemsAtOnce {
		to, end := from+itemsAtOnce, l.end
		if to < len(l.items) {
			end = l.items[to].at
		}
		begin := l.items[from]
		tree, err := safeyaml.Parse(l.text[begin.at:end], parser.AllowDuplicateMapKey())
		if err != nil {
			return begin.line, err
		}
		for _, doc := range tree.Docs {
			if items, ok := doc.Body.(*ast.SequenceNode); ok {
				for i, item := range items.Values {
					read(from+i, item, begin.line)
				}
			}
		}
	}
	return 0, nil
}
