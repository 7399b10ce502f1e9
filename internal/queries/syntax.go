package queries

import (
	"fmt"
	"strings"

	"freshet/internal/lazyregexp"
)

// endsTooEarly is what is wrong with a condition that is not complete.
const endsTooEarly = "it ends too early: a value, a name or a closing bracket is missing"

// syntaxErrors are the messages of the parser of CEL, and what they mean in words for people. $1 is the text
// that the parser names.
var syntaxErrors = []struct {
	message *lazyregexp.Regexp
	ended   string // if the text is the end of the condition
	words   string
}{
	{lazyregexp.New(`^missing '([^']*)' at`), "", `%q is missing`},
	{lazyregexp.New(`^token recognition error at: '(.*)'$`), "", `%q cannot stand here; a text begins and ends with "`},
	{lazyregexp.New(`^(?:mismatched|extraneous) input '([^']*)'`), endsTooEarly, `%q does not belong here`},
	{lazyregexp.New(`^no viable alternative at input '(.*)'$`), endsTooEarly, `%q is not complete`},
}

// plainSyntax says what the parser of CEL found wrong, in words for people.
func plainSyntax(message string) string {
	for _, e := range syntaxErrors {
		m := e.message.FindStringSubmatch(message)
		switch {
		case m == nil:
		case e.ended != "" && strings.HasSuffix(m[1], "<EOF>"):
			return e.ended
		default:
			return fmt.Sprintf(e.words, freshShort(m[1]))
		}
	}
	return "it cannot be read from here on"
}

// kindNames are what people call the types of values.
var kindNames = strings.NewReplacer("string", "a text", "double", "a number", "int", "a number", "bool", "true or false", "timestamp", "a time", "duration", "a length of time", "list", "a list", "map", "named values", "dyn", "a value", "null", "nothing")

var noOverload = lazyregexp.New(`^found no matching overload for '([^']*)' applied to '([a-z_.]*)\(([a-z, ()]*)\)'`)

// plainTypes says which types do not fit together, in words for people.
func plainTypes(message string) string {
	m := noOverload.FindStringSubmatch(message)
	if m == nil {
		return "the types do not fit"
	}
	name, kinds := strings.Trim(strings.ReplaceAll(m[1], "@in", "in"), "_"), strings.Split(m[3], ", ")
	for i, k := range kinds {
		kinds[i] = kindNames.Replace(k)
	}
	if m[2] != "" { // of what it is called
		return fmt.Sprintf("the types do not fit: %s does not work with %s", name, strings.Join(kinds, " and "))
	}
	return fmt.Sprintf("the types do not fit: %s %s", name, "with "+strings.Join(kinds, " and "))
}
