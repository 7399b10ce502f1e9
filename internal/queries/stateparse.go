package queries

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A piece is a part of the text of a state query.
type piece struct {
	text string
	at   int // where it begins, in bytes
}

// cut returns a part of a piece without the space around it.
func (p piece) cut(from, to int) piece {
	part := p.text[from:to]
	trimmed := strings.TrimLeft(part, " \t\r\n")
	return piece{strings.TrimRight(trimmed, " \t\r\n"), p.at + from + len(part) - len(trimmed)}
}

// plain returns the text with single spaces.
func (p piece) plain() string { return strings.Join(strings.Fields(p.text), " ") }

// A mark is a word, a comma or an operator of equality that stands outside quotes, brackets and
// comments.
type mark struct {
	text string
	at   int
}

// marks returns the marks of a text.
func marks(text string) (all []mark) {
	depth := 0
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'':
			i = quoteEnd(text, i)
			continue
		case strings.HasPrefix(text[i:], "//"):
			if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
				i += n
				continue
			}
			return all
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(0, depth-1)
		case inIdent(c):
			end := i
			for end < len(text) && inIdent(text[end]) {
				end++
			}
			if depth == 0 {
				all = append(all, mark{text[i:end], i})
			}
			i = end
			continue
		case depth == 0 && strings.IndexByte(",=!<>", c) >= 0:
			end := i + 1
			if c != ',' && end < len(text) && text[end] == '=' {
				end++
			}
			all = append(all, mark{text[i:end], i})
			i = end
			continue
		}
		i++
	}
	return all
}

func inIdent(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// quoteEnd returns where a text in quotes ends that begins at a place.
func quoteEnd(text string, begin int) int {
	quote := text[begin : begin+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[begin:], triple) {
		quote = triple
	}
	raw := begin > 0 && (text[begin-1] == 'r' || text[begin-1] == 'R') && (begin == 1 || !inIdent(text[begin-2]))
	for i := begin + len(quote); i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		case text[i] == '\\' && !raw:
			i++
		}
	}
	return len(text)
}

// alone reports whether a mark is a word by itself and not a part of a name such as tag:by.
func (m mark) alone(text string) bool {
	before, after := byte(' '), byte(' ')
	if m.at > 0 {
		before = text[m.at-1]
	}
	if end := m.at + len(m.text); end < len(text) {
		after = text[end]
	}
	return strings.IndexByte(".-:/@", before) < 0 && strings.IndexByte(".-:/@", after) < 0
}

// splitAt cuts a piece before each mark that is one of the words, and returns the parts with the
// words that they begin with. The first part has none.
func (p piece) splitAt(words ...string) (parts []clause) {
	word, from := "", 0
	for _, m := range marks(p.text) {
		if slices.Contains(words, m.text) && (m.text == "," || m.alone(p.text)) {
			parts = append(parts, clause{word, p.cut(from, m.at)})
			word, from = m.text, m.at+len(m.text)
		}
	}
	return append(parts, clause{word, p.cut(from, len(p.text))})
}

// A clause is a part of a state query with the word that it begins with.
type clause struct {
	word string
	piece
}

// A stateQuery is a state query as it was written.
type stateQuery struct {
	text   string
	values []piece
	by     []piece
	where  piece
	sort   []sorting
	from   part
	joins  []part
}

// A sorting is a value to sort by.
type sorting struct {
	piece
	down bool
}

// A part says which rows a query looks at: states of sources, or the items of states.
type part struct {
	piece
	items   bool
	sources []selector
	alias   string
	on      [][2]piece // equal values, left and right
}

// A selector selects sources.
type selector struct {
	kind string // all, tag, site, query, or "" for an ID or a name
	name string
	piece
}

const (
	maxStateQuery = 4096 // bytes
	maxJoins      = 3
	maxColumns    = 50
)

// mistake returns a *Mistake at a place of the query.
func (q *stateQuery) mistake(at int, help, format string, args ...any) error {
	before := q.text[:min(at, len(q.text))]
	line := strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	return &Mistake{Field: stateField, Line: line + 1, Column: column + 1, Reason: fmt.Sprintf(format, args...), Help: help}
}

const stateField = "query"

// parseState takes a state query apart.
func parseState(text string) (*stateQuery, error) {
	q := &stateQuery{text: text}
	switch {
	case len(text) > maxStateQuery:
		return nil, q.mistake(0, "", "is longer than %d bytes", maxStateQuery)
	case !utf8.ValidString(text):
		return nil, q.mistake(0, "", "is not valid UTF-8")
	case strings.TrimSpace(text) == "":
		return nil, q.mistake(0, "write which values are wanted, such as 'min(price) by shop'", "is empty")
	}
	seen := map[string]bool{}
	for _, c := range (piece{text, 0}).splitAt("from", "join", "where", "by", "sort") {
		if c.text == "" && c.word != "" {
			return nil, q.mistake(c.at, "", "something is missing after %q", c.word)
		}
		if seen[c.word] && c.word != "join" {
			return nil, q.mistake(c.at, "use && between conditions, and commas between values", "there are two parts that begin with %q", c.word)
		}
		seen[c.word] = true
		if err := q.clause(c); err != nil {
			return nil, err
		}
	}
	if q.from.sources == nil {
		q.from.sources = []selector{{kind: "all"}}
	}
	return q, nil
}

func (q *stateQuery) clause(c clause) (err error) {
	switch c.word {
	case "where":
		q.where = c.piece
	case "by":
		q.by, err = q.list(c.piece)
	case "sort":
		var all []piece
		all, err = q.list(c.piece)
		for _, p := range all {
			q.sort = append(q.sort, sortingOf(p))
		}
	case "from":
		q.from, err = q.part(c.piece)
		if err == nil && (q.from.alias != "" || q.from.on != nil) {
			err = q.mistake(c.at, "", `"as" and "on" belong to join`)
		}
	case "join":
		if len(q.joins) == maxJoins {
			return q.mistake(c.at, "", "there are more than %d joins", maxJoins)
		}
		var p part
		if p, err = q.part(c.piece); err == nil {
			if p, err = q.named(p); err == nil {
				q.joins = append(q.joins, p)
			}
		}
	default:
		if c.text != "" {
			q.values, err = q.list(c.piece)
		}
	}
	return err
}

// list returns the values between commas.
func (q *stateQuery) list(p piece) (all []piece, err error) {
	for _, c := range p.splitAt(",") {
		if c.text == "" {
			return nil, q.mistake(c.at, "", "a value is missing here")
		}
		all = append(all, c.piece)
	}
	if len(all) > maxColumns {
		return nil, q.mistake(all[maxColumns].at, "", "there are more than %d values", maxColumns)
	}
	return all, nil
}

// sortingOf returns a value to sort by, which can end with asc or desc.
func sortingOf(p piece) sorting {
	found := marks(p.text)
	if len(found) < 2 {
		return sorting{p, false}
	}
	last := found[len(found)-1]
	if end := last.at + len(last.text); end != len(p.text) || last.text != "asc" && last.text != "desc" || !last.alone(p.text) {
		return sorting{p, false}
	}
	return sorting{p.cut(0, last.at), last.text == "desc"}
}

// part reads what stands after from and join.
func (q *stateQuery) part(p piece) (read part, err error) {
	read.piece = p
	for _, c := range p.splitAt("as", "on") {
		switch {
		case c.text == "":
			return read, q.mistake(c.at, "", "something is missing %s", strings.TrimSpace("here "+afterWord(c.word)))
		case c.word == "":
			err = q.selectors(&read, c.piece)
		case c.word == "as" && read.alias != "" || c.word == "on" && read.on != nil:
			err = q.mistake(c.at, "", "there is a second %q", c.word)
		case c.word == "as":
			if read.alias = c.text; !isName(read.alias) {
				err = q.mistake(c.at, "a name has letters, digits and _", "%q is not a name", c.text)
			}
		default:
			read.on, err = q.pairs(c.piece)
		}
		if err != nil {
			return read, err
		}
	}
	return read, nil
}

func afterWord(word string) string {
	if word == "" {
		return ""
	}
	return "after " + word
}

// isName reports whether a text can name the rows of a join.
func isName(text string) bool {
	for i := range len(text) {
		if !inIdent(text[i]) || text[i] >= utf8.RuneSelf || i == 0 && text[0] <= '9' {
			return false
		}
	}
	return text != "" && !slices.Contains(rowNames, text) && !slices.Contains(wordsOfCEL, text) && !strings.HasPrefix(text, "_")
}

// wordsOfCEL are words that have a meaning in CEL. A value that is called so is now.type and the like.
var wordsOfCEL = []string{
	"bool", "bytes", "double", "dyn", "int", "list", "map", "null_type", "string", "type", "uint",
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while",
}

// named gives the rows of a join a name, which is that of the source if it is one.
func (q *stateQuery) named(p part) (part, error) {
	if p.alias == "" && len(p.sources) == 1 && isName(p.sources[0].name) {
		p.alias = p.sources[0].name
	}
	if p.alias == "" {
		return p, q.mistake(p.at, "write join tag:shops as shop", "the joined rows need a name")
	}
	if slices.ContainsFunc(q.joins, func(other part) bool { return other.alias == p.alias }) {
		return p, q.mistake(p.at, "give it another name with as", "two joins are named %q", p.alias)
	}
	return p, nil
}

// selectors reads which sources are meant.
func (q *stateQuery) selectors(to *part, p piece) error {
	if m := marks(p.text); len(m) > 2 && m[0].text == "items" && m[1].text == "of" && m[0].alone(p.text) && m[1].alone(p.text) {
		to.items, p = true, p.cut(m[1].at+len("of"), len(p.text))
	}
	for _, c := range p.splitAt(",") {
		s := selector{name: c.text, piece: c.piece}
		kind, name, ok := strings.Cut(c.text, ":")
		switch {
		case c.text == "all":
			s.kind = "all"
		case ok && slices.Contains([]string{"tag", "site", "query"}, kind):
			s.kind, s.name = kind, name
		}
		s.name = unquoted(strings.TrimSpace(s.name))
		if s.name == "" {
			return q.mistake(c.at, sourcesHelp, "the name of a source is missing")
		}
		if s.name == strings.TrimSpace(c.text) && strings.ContainsAny(s.name, " \t\n'\"()") {
			return q.mistake(c.at, "put a name with spaces in quotes; "+sourcesHelp, "%q is not the name of a source", s.name)
		}
		to.sources = append(to.sources, s)
	}
	return nil
}

const sourcesHelp = "sources are written as an id, a name, tag:NAME, site:ID, query:ID or all, with commas between them"

// unquoted returns what stands between quotes.
func unquoted(text string) string {
	if n := len(text); n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n-1] == text[0] {
		return text[1 : n-1]
	}
	return text
}

// pairs reads which values of two rows are equal: sku, or sku = code.
func (q *stateQuery) pairs(p piece) (all [][2]piece, err error) {
	list, err := q.list(p)
	for _, one := range list {
		sides := one.splitAt("=", "==")
		if len(sides) == 1 {
			sides = append(sides, sides[0])
		}
		if len(sides) > 2 || sides[0].text == "" || sides[1].text == "" {
			return nil, q.mistake(one.at, "write join tag:b as b on sku, or on sku = code", "this does not say which two values are equal")
		}
		all = append(all, [2]piece{sides[0].piece, sides[1].piece})
	}
	return all, err
}

// An aggregate is a call such as min(price): a value of many rows.
type aggregate struct {
	name string // of the function
	of   piece  // its argument; empty for count()
	at   int
}

var aggregates = []string{"min", "max", "sum", "avg", "count", "first", "last"}

// lift takes the aggregates out of a value. What is left has the name of a variable in the place of
// each, and as many characters as before.
func (q *stateQuery) lift(p piece, found *[]aggregate) (piece, error) {
	var left strings.Builder
	copied := 0
	for i := 0; i < len(p.text); {
		if c := p.text[i]; c == '"' || c == '\'' {
			i = quoteEnd(p.text, i)
			continue
		} else if !inIdent(c) {
			i++
			continue
		}
		end := i
		for end < len(p.text) && inIdent(p.text[end]) {
			end++
		}
		name, begin, open := p.text[i:end], i, end+len(p.text[end:])-len(strings.TrimLeft(p.text[end:], " "))
		i = end
		if !slices.Contains(aggregates, name) || open == len(p.text) || p.text[open] != '(' || begin > 0 && p.text[begin-1] == '.' {
			continue
		}
		closing := closed(p.text, open)
		if closing < 0 {
			return p, q.mistake(p.at+open, "", "this bracket is not closed")
		}
		a := aggregate{name, p.cut(open+1, closing), p.at + begin}
		var inner []aggregate
		if _, err := q.lift(a.of, &inner); err != nil {
			return p, err
		}
		switch {
		case len(inner) > 0:
			return p, q.mistake(inner[0].at, "", "%s cannot stand within %s", inner[0].name, name)
		case a.of.text == "" && name != "count":
			return p, q.mistake(a.at, "write "+name+"(price)", "%s needs a value", name)
		}
		i = closing + 1
		left.WriteString(p.text[copied:begin] + blanked(p.text[begin:i], aggregateName(len(*found))))
		copied = i
		*found = append(*found, a)
	}
	return piece{left.String() + p.text[copied:], p.at}, nil
}

// blanked returns a name and as much space as makes it take the place of a text: the places of what
// follows stay the same.
func blanked(text, name string) string {
	space := strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, text)
	return name + space[len(name):] // a name is shorter than a call
}

// aggregateName is how an expression names the result of an aggregate.
func aggregateName(n int) string { return fmt.Sprintf("_%d", n) }

// closed returns where the bracket is closed that is opened at a place, or -1.
func closed(text string, open int) int {
	depth := 0
	for i := open; i < len(text); i++ {
		switch text[i] {
		case '"', '\'':
			i = quoteEnd(text, i) - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
