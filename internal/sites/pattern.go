package sites

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"freshet/internal/urlenc"
)

// What a pattern may have. Both bound how large the expression becomes.
const (
	longestPattern = 500 // bytes
	mostNested     = 4   // braces in braces
)

// A Pattern says which pages are meant, by their path.
//
//   - any characters of one segment, also none
//     **     any characters, slashes too
//     ?      one character that is no slash
//     {a,b}  a or b; both may be patterns
//     \      takes the next character as it is
//
// A pattern that begins with a slash is for the whole path; any other may begin at any
// segment, so *.html means all pages that end so. /guide/** means everything below
// /guide and /guide itself. /a/**/b means /a/b too. Letters count as they are written.
// Escapes in a URL are compared as what they stand for, except an escaped slash.
//
// The query does not count, unless the pattern has an escaped question mark: then path,
// question mark and query are compared, so **\?**sort=** means all that is sorted.
type Pattern struct {
	text    string
	exp     *regexp.Regexp
	queried bool
}

// ParsePattern reads a pattern. An error says at which character it is wrong.
func ParsePattern(text string) (Pattern, error) {
	if text == "" {
		return Pattern{}, fmt.Errorf("pattern is empty")
	}
	if len(text) > longestPattern {
		return Pattern{}, fmt.Errorf("pattern %.40q... is longer than %d bytes", text, longestPattern)
	}
	c := compiler{text: text}
	c.anchor()
	for c.at < len(text) {
		if err := c.step(); err != nil {
			return Pattern{}, err
		}
	}
	if c.depth > 0 {
		return Pattern{}, c.wrong(c.open[c.depth-1], "this { is never closed")
	}
	// The engine of regexp takes a time that grows with the length of the path alone.
	exp, err := regexp.Compile("^(?s:" + c.out.String() + ")$")
	if err != nil {
		return Pattern{}, fmt.Errorf("pattern %q: %w", text, err)
	}
	return Pattern{text: text, exp: exp, queried: c.queried}, nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Match reports whether a normalised URL is meant.
func (p Pattern) Match(url string) bool {
	_, path, query := split(url)
	path = unescape(path)
	if p.queried && query != "" {
		path += "?" + unescape(query)
	}
	return p.exp.MatchString(path)
}

// unescape returns a path as people write it.
func unescape(path string) string {
	if !strings.Contains(path, "%") {
		return path
	}
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		if c, ok := urlenc.Decode(path[i:]); ok && c != '/' {
			out = append(out, c)
			i += 2
			continue
		}
		out = append(out, path[i])
	}
	return strings.ToValidUTF8(string(out), "\uFFFD")
}

// A compiler turns a pattern into a regular expression.
type compiler struct {
	text    string
	at      int
	out     strings.Builder
	depth   int
	open    [mostNested]int // where braces were opened
	queried bool
}

func (c *compiler) wrong(at int, what string) error {
	return fmt.Errorf("pattern %q: character %d: %s", c.text, utf8.RuneCountInString(c.text[:at])+1, what)
}

// anchor lets a pattern without a leading slash begin at any segment.
func (c *compiler) anchor() {
	if !strings.HasPrefix(c.text, "/") && !strings.HasPrefix(c.text, "**") {
		c.out.WriteString("/(?:.*/)?")
	}
}

// step compiles the next part.
func (c *compiler) step() error {
	rest := c.text[c.at:]
	switch {
	case rest == "/**" && c.depth == 0: // the folder and all in it
		c.write("(?:/.*)?", len(rest))
	case strings.HasPrefix(rest, "/**/"): // no folder or many
		c.write("/(?:.*/)?", len("/**/"))
	case strings.HasPrefix(rest, "**"):
		c.write(".*", len(rest)-len(strings.TrimLeft(rest, "*")))
	case rest[0] == '*':
		c.write("[^/]*", 1)
	case rest[0] == '?':
		c.write("[^/]", 1)
	case rest[0] == '{':
		return c.openBrace()
	case rest[0] == '}' && c.depth > 0:
		c.depth--
		c.write(")", 1)
	case rest[0] == ',' && c.depth > 0:
		c.write("|", 1)
	default:
		return c.literal(rest)
	}
	return nil
}

func (c *compiler) write(exp string, read int) {
	c.out.WriteString(exp)
	c.at += read
}

func (c *compiler) openBrace() error {
	if c.depth == mostNested {
		return c.wrong(c.at, fmt.Sprintf("braces are nested deeper than %d", mostNested))
	}
	if c.at == 0 && strings.HasPrefix(c.text, "{/") {
		return c.wrong(0, "write the slash before the brace")
	}
	c.open[c.depth] = c.at
	c.depth++
	c.write("(?:", 1)
	return nil
}

// literal compiles a character that stands for itself.
func (c *compiler) literal(rest string) error {
	switch rest[0] {
	case '}':
		return c.wrong(c.at, "this } was never opened; write \\} for the character")
	case '[', ']':
		return c.wrong(c.at, "there are no sets in brackets; write {a,b}, or \\[ and \\] for the characters")
	case '!':
		if c.at == 0 {
			return c.wrong(c.at, "a pattern cannot be turned around with !; put it under exclude, or write \\! for the character")
		}
	case '\\':
		if len(rest) == 1 {
			return c.wrong(c.at, "nothing follows the \\")
		}
		rest = rest[1:]
		c.at++
		c.queried = c.queried || rest[0] == '?'
	}
	r, size := utf8.DecodeRuneInString(rest)
	if r == utf8.RuneError && size == 1 {
		return c.wrong(c.at, "this is not UTF-8")
	}
	c.write(regexp.QuoteMeta(rest[:size]), size)
	return nil
}
