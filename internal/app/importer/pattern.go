package importer

import (
	"strings"

	"freshet/internal/lazyregexp"
)

// pythonGroup matches a reference to a group in a replacement of Python.
var pythonGroup = lazyregexp.New(`\\g<(\w+)>|\\(\d+)`)

// goPattern returns an expression of Python in the syntax of Go. In a whole text, ^ and $ stand for
// its ends in Python and for those of each line here.
func goPattern(pattern string, whole bool) string {
	if strings.HasPrefix(pattern, "(?m") {
		whole = false
	}
	var out strings.Builder
	escaped, class := false, false
	for i, r := range pattern {
		switch {
		case escaped:
			escaped = false
			if r == 'Z' {
				r = 'z'
			}
		case r == '\\':
			escaped = true
		case class:
			class = r != ']' || pattern[i-1] == '[' || strings.HasPrefix(pattern[:i], "[^") && i == 2
		case r == '[':
			class = true
		case r == '^' && whole:
			out.WriteString(`\A`)
			continue
		case r == '$' && whole:
			out.WriteString(`\n?\z`)
			continue
		case r == ',' && i > 0 && pattern[i-1] == '{':
			out.WriteByte('0')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// goReplacement returns a replacement of Python in the syntax of Go.
func goReplacement(with string) string {
	with = strings.ReplaceAll(with, "$", "$$")
	with = pythonGroup.ReplaceAllString(with, "$${$1$2}")
	return strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\\`, `\`).Replace(with)
}
