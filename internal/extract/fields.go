package extract

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"freshet/internal/dates"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/suggest"
)

const (
	maxFields     = 100      // of a source
	maxFieldName  = 64       // bytes
	maxFieldText  = 4_000    // runes
	maxFieldItems = 1_000    // of a list
	maxFieldBytes = 64 << 10 // of all values of a response, as JSON
)

// A namedField takes a named value from a response.
type namedField struct {
	name, field string
	steps       []func(value) (value, error)
	as          reading.ValueType
	order       string
}

// compileFields makes extracts ready, in the order of their names. Language is
// what a bare selector is written in, if not CSS.
func compileFields(field string, all reading.Extracts, language string) (fields []namedField, err error) {
	if len(all) > maxFields {
		return nil, invalid.Errorf(field, "has %d values; the most is %d", len(all), maxFields)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		at := field + "." + name
		if name == "" || len(name) > maxFieldName || strings.ContainsAny(name, " \t\n\"'/\\") {
			return nil, invalid.Errorf(at, "%s is not a name; use up to %d letters, digits, '.', '_' and '-'", quoted(name), maxFieldName)
		}
		one := all[name]
		if language != "" && language != "css" && one.CSS != "" {
			k := keyExtract(one.CSS, language)
			if isMember(one.CSS, language) {
				k = reading.Extract{JSONPath: "$[" + quote(one.CSS) + "]"}
			}
			k.As, k.Order, k.Regex = one.As, one.Order, one.Regex
			one = k
		}
		f, err := compileField(at, name, one)
		if err != nil {
			return nil, err
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func compileField(field, name string, e reading.Extract) (f namedField, err error) {
	f = namedField{name: name, field: field, as: e.As, order: e.Order}
	if f.as == "" {
		f.as = reading.AsText
	}
	if !slices.Contains(reading.ValueTypes, f.as) {
		known := []string{"text", "number", "date", "bool", "list"}
		return f, invalid.Errorf(field+".as", "unknown type %q%s; use %s", e.As, suggest.DidYouMean(string(e.As), known), strings.Join(known, ", "))
	}
	if !slices.Contains([]string{"", "dmy", "mdy", "ymd"}, e.Order) {
		return f, invalid.Errorf(field+".order", "%s is not one of dmy, mdy and ymd", quoted(e.Order))
	}
	find, language, err := finderOf(field, e)
	if err != nil {
		return f, err
	}
	if find != nil {
		f.steps = append(f.steps, find)
	}
	if e.Attr != "" {
		if language != "css" && language != "xpath" {
			return f, invalid.Errorf(field+".attr", "needs css or xpath")
		}
		attr, err := cssFinder(field+".attr", "@"+e.Attr)
		if err != nil {
			return f, err
		}
		f.steps = append(f.steps, attr)
	}
	if len(e.Read) > 0 {
		steps, err := compileSteps(field+".read", e.Read)
		if err != nil {
			return f, err
		}
		f.steps = append(f.steps, func(v value) (value, error) { return through(steps, v, nil) })
	}
	if e.Regex != "" {
		regex, _, err := compileRegex(argument{field: field + ".regex", json: quote(e.Regex)})
		if err != nil {
			return f, err
		}
		f.steps = append(f.steps, regex)
	}
	if len(f.steps) == 0 {
		return f, invalid.Errorf(field, "says nothing about where the value is; use css, xpath, jsonpath, jq, product, regex or read")
	}
	return f, nil
}

// finderOf returns what finds the place of a value, and the language it is
// written in; both are zero if nothing says where.
func finderOf(field string, e reading.Extract) (find func(value) (value, error), language string, err error) {
	for _, one := range []struct {
		name, text string
		compile    func(field, text string) (func(value) (value, error), error)
	}{
		{"css", e.CSS, cssFinder}, {"xpath", e.XPath, xpathFinder}, {"jsonpath", e.JSONPath, jsonPathFinder}, {"jq", e.JQ, jqFinder}, {"product", e.Product, productFinder},
	} {
		if one.text == "" {
			continue
		}
		if language != "" {
			return nil, "", invalid.Errorf(field+"."+one.name, "use %s or %s, not both", language, one.name)
		}
		language = one.name
		if find, err = one.compile(field+"."+one.name, one.text); err != nil {
			return nil, "", err
		}
	}
	return find, language, nil
}

// take returns the value in a response, or nil and why there is none.
func (f namedField) take(v value) (found any, missing error, err error) {
	for _, step := range f.steps {
		next, err := safely(func() (value, error) { return step(v) })
		if e, ok := errors.AsType[*Error](err); ok && e.Class != FailLimit {
			return nil, err, nil
		}
		if err != nil {
			return nil, nil, &Error{Class: FailParse, Err: err}
		}
		v = next
	}
	if v.form == jsonForm {
		if x, ok := f.ofJSON(v.json); ok {
			return x, nil, nil
		}
	}
	text, err := v.plain()
	if err != nil {
		return nil, nil, err
	}
	found, missing = typed(text, f.as, f.order)
	return found, missing, nil
}

// ofJSON returns values that have the wanted type already.
func (f namedField) ofJSON(values []any) (any, bool) {
	if f.as == reading.AsList {
		var list []string
		for _, v := range spread(values)[:min(len(spread(values)), maxFieldItems)] {
			list = append(list, oneLine(textOf(bounded(v)), maxFieldText))
		}
		return list, true
	}
	switch x := bounded(values[0]).(type) {
	case float64:
		if f.as == reading.AsNumber {
			return x, true
		}
	case bool:
		if f.as == reading.AsBool {
			return x, true
		}
	case nil:
		return nil, true
	}
	return nil, false
}

// typed reads a text as a type. Of several lines the first counts, except for a
// text, which keeps all, and a list.
func typed(text []byte, as reading.ValueType, order string) (any, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	first := oneLine(unmarked(string(line)), maxFieldText)
	switch as {
	case reading.AsNumber:
		return orNil(ParseNumber(first))
	case reading.AsDate:
		return orNil(ParseDate(first, order))
	case reading.AsBool:
		return orNil(ParseBool(first))
	case reading.AsList:
		list := []string{}
		for line := range bytes.Lines(text) {
			if s := oneLine(unmarked(string(line)), maxFieldText); s != "" && len(list) < maxFieldItems {
				list = append(list, s)
			}
		}
		return list, nil
	}
	var all []string
	for line := range bytes.Lines(text) {
		all = append(all, unmarked(string(line)))
	}
	return oneLine(strings.Join(all, " "), maxFieldText), nil
}

// unmarked returns a line without the mark of a heading or of an item of a list.
func unmarked(line string) string {
	line = strings.TrimSpace(line)
	if rest := strings.TrimLeft(line, "#"); len(line)-len(rest) <= 6 && strings.HasPrefix(rest, " ") {
		return rest[1:]
	}
	return strings.TrimPrefix(line, "- ")
}

func orNil[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// ParseDate returns the first date in a text, as [dates.Find] reads it: 2026-03-12, or with
// a time 2026-03-12T10:00:00, followed by a Z if the text names a zone.
func ParseDate(s, order string) (string, error) {
	s = asciiDigits(s)
	d, err := dates.Find(s, order)
	switch {
	case errors.Is(err, dates.ErrNone):
		return "", fmt.Errorf("there is no date in %s", quoted(s))
	case err != nil:
		return "", err
	case d.Precision <= dates.Day:
		return d.Time.Format(time.DateOnly), nil
	case d.Zoned:
		return d.Time.UTC().Format(time.RFC3339), nil
	}
	return d.Time.Format("2006-01-02T15:04:05"), nil
}
