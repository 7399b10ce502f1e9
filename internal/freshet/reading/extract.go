package reading

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"freshet/internal/strictjson"
)

// A ValueType is the type of a named value.
type ValueType string

// The types of a named value. In JSON a date is a text: 2026-03-12, or with its
// time 2026-03-12T10:00:00Z.
const (
	AsText   ValueType = "text" // the default
	AsNumber ValueType = "number"
	AsDate   ValueType = "date"
	AsBool   ValueType = "bool"
	AsList   ValueType = "list" // of texts
)

// ValueTypes are the types of named values.
var ValueTypes = []ValueType{AsText, AsNumber, AsDate, AsBool, AsList}

// An Extract says where a named value stands in a response, and what type it has.
// Users write it as an object, or in one line: "css .price | number".
//
// At most one of CSS, XPath, JSONPath, JQ and Read says where; Regex then takes
// part of the text.
type Extract struct {
	CSS      string    `json:"css,omitempty"`
	XPath    string    `json:"xpath,omitempty"`
	JSONPath string    `json:"jsonpath,omitempty"`
	JQ       string    `json:"jq,omitempty"`
	Product  string    `json:"product,omitempty"` // price, currency or availability, as the page tells programs
	Regex    string    `json:"regex,omitempty"`
	Attr     string    `json:"attr,omitempty"` // of the element, instead of its text
	Read     []Step    `json:"read,omitempty"`
	As       ValueType `json:"as,omitempty"`
	Order    string    `json:"order,omitempty"` // of a date such as 03/12/2026: dmy, mdy or ymd
}

// shortType is the type at the end of an extract in one line.
var shortType = regexp.MustCompile(`\s\|\s*(text|number|date(?: (?:dmy|mdy|ymd))?|bool|list)\s*$`)

// parseExtract reads an extract in one line. What does not begin with the name of
// a way to find something is taken for a CSS selector.
func parseExtract(text string) (e Extract, err error) {
	rest := strings.TrimSpace(text)
	if m := shortType.FindStringSubmatchIndex(rest); m != nil {
		as, order, _ := strings.Cut(rest[m[2]:m[3]], " ")
		e.As, e.Order = ValueType(as), order
		rest = strings.TrimSpace(rest[:m[0]])
	}
	how, arg, _ := strings.Cut(rest, " ")
	arg = strings.TrimSpace(arg)
	places := map[string]*string{"css": &e.CSS, "xpath": &e.XPath, "jsonpath": &e.JSONPath, "jq": &e.JQ, "product": &e.Product, "regex": &e.Regex}
	switch place := places[how]; {
	case place != nil && arg != "":
		*place = arg
	case rest == "":
		return e, errors.New(`is empty; write, for example, css .price | number`)
	case strings.HasPrefix(rest, "$"):
		e.JSONPath = rest
	case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "./"):
		e.XPath = rest
	default:
		e.CSS = rest
	}
	return e, nil
}

// UnmarshalJSON reads an object, or the form in one line.
func (e *Extract) UnmarshalJSON(text []byte) error {
	*e = Extract{}
	if bytes.HasPrefix(text, []byte(`"`)) {
		var line string
		if err := json.Unmarshal(text, &line); err != nil {
			return err
		}
		var err error
		*e, err = parseExtract(line)
		return err
	}
	type plain Extract
	v, err := strictjson.Parse[plain](string(text))
	*e = Extract(v)
	return err
}

// Extracts are named values to take from a response.
type Extracts map[string]Extract

// UnmarshalJSON reads an object, and says which value is wrong.
func (e *Extracts) UnmarshalJSON(text []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return errors.New("expected names with what to extract, such as price: css .price | number")
	}
	*e = make(Extracts, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		var one Extract
		if err := one.UnmarshalJSON(raw[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		(*e)[name] = one
	}
	return nil
}

// An ItemRecipe says which parts of a response are items, such as the elements of
// a list, and by what they are known when they come back. At most one of CSS,
// XPath, JSONPath and JQ may be set; without one, the items are those that the
// steps make, such as the rows of a table.
type Items struct {
	CSS      string   `json:"css,omitempty"`
	XPath    string   `json:"xpath,omitempty"`
	JSONPath string   `json:"jsonpath,omitempty"`
	JQ       string   `json:"jq,omitempty"`
	Key      string   `json:"key,omitempty"` // such as a@href, id or $.id
	Fields   Extracts `json:"fields,omitempty"`
}

// IsZero reports whether nothing is said.
func (r Items) IsZero() bool {
	return r.CSS == "" && r.XPath == "" && r.JSONPath == "" && r.JQ == "" && r.Key == "" && len(r.Fields) == 0
}
