package extract

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/itchyny/gojq"

	"freshet/internal/invalid"
)

// maxValues is how many values a step may select.
const maxValues = 100_000

const pathHint = "Look at the document as it is now and choose another path, or leave it out to watch the whole document."

func compileJSONPath(a argument) (func(value) (value, error), bool, error) {
	s, err := a.text("$.items[*].price")
	if err != nil {
		return nil, false, err
	}
	f, err := jsonPathFinder(a.field, s)
	return f, true, err
}

// jsonPathFinder returns what selects values, in the order of their places in the
// document.
func jsonPathFinder(field, s string) (func(value) (value, error), error) {
	path, err := parsePath(field, s)
	if err != nil {
		return nil, err
	}
	return func(v value) (value, error) {
		v, err := v.values()
		if err != nil {
			return v, err
		}
		var found []any
		for _, doc := range v.json {
			nodes := path.SelectLocated(doc)
			nodes.Sort() // members of an object come in no order
			for _, n := range nodes {
				found = append(found, n.Node)
			}
		}
		if len(found) == 0 {
			return v, fail(FailSelector, pathHint, "nothing in the document matches the path %s", quoted(s))
		}
		if len(found) > maxValues {
			return v, fail(FailLimit, "Choose a path that selects less.", "the path %s selects more than %d values", quoted(s), maxValues)
		}
		return v.withJSON(found), nil
	}, nil
}

func compileJQ(a argument) (func(value) (value, error), bool, error) {
	s, err := a.text(".items[].price")
	if err != nil {
		return nil, false, err
	}
	f, err := jqFinder(a.field, s)
	return f, true, err
}

// forbidden are the functions of jq that reach beyond the document, or that give
// something else each time.
var forbidden = []string{"env", "$ENV", "input", "inputs", "debug", "stderr", "input_filename", "input_line_number", "now", "localtime",
	"strflocaltime", "halt", "halt_error", "get_search_list", "modulemeta", "$__prog_args"}

// jqFinder returns what runs a jq program on each value.
func jqFinder(field, s string) (func(value) (value, error), error) {
	if err := checkLength(field, s); err != nil {
		return nil, err
	}
	query, err := gojq.Parse(s)
	if err != nil {
		return nil, invalid.Errorf(field, "%s in %s", jqReason(err), quoted(s))
	}
	if len(query.Imports) > 0 {
		return nil, invalid.Errorf(field, "import and include are not allowed in %s", quoted(s))
	}
	if name := uses(reflect.ValueOf(query), forbidden); name != "" {
		return nil, invalid.Errorf(field, "%s is not allowed: a program sees the document and nothing else", name)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, invalid.Errorf(field, "%v in %s", err, quoted(s))
	}
	return func(v value) (value, error) {
		v, err := v.values()
		if err != nil {
			return v, err
		}
		var found []any
		for _, doc := range v.json {
			it := code.RunWithContext(context.Background(), doc)
			for {
				x, ok := it.Next()
				if !ok {
					break
				}
				if err, ok := x.(error); ok {
					return v, fail(FailParse, "Try the program on the document with freshet test.", "%s: %w", quoted(s), err)
				}
				if found = append(found, x); len(found) > maxValues {
					return v, fail(FailLimit, "Choose less.", "%s gives more than %d values", quoted(s), maxValues)
				}
			}
		}
		if len(found) == 0 {
			return v, fail(FailSelector, pathHint, "the program %s gives nothing", quoted(s))
		}
		return v.withJSON(found), nil
	}, nil
}

func jqReason(err error) string {
	if e, ok := errors.AsType[*gojq.ParseError](err); ok {
		if e.Token == "" {
			return "unexpected end"
		}
		return fmt.Sprintf("unexpected %q at byte %d", e.Token, e.Offset)
	}
	return err.Error()
}

// uses returns the first function or variable in a program that has one of the
// names. The tree is gojq's: every part of it is a struct, a slice or a pointer.
func uses(v reflect.Value, names []string) string {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		if f, ok := v.Interface().(*gojq.Func); ok && slices.Contains(names, f.Name) {
			return f.Name
		}
		return uses(v.Elem(), names)
	case reflect.Slice:
		for i := range v.Len() {
			if name := uses(v.Index(i), names); name != "" {
				return name
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if name := uses(v.Field(i), names); name != "" {
				return name
			}
		}
	}
	return ""
}
