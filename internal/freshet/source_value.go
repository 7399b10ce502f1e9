package freshet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"freshet/internal/invalid"
)

// valueField is a field with a structure: an object or a list, written in YAML in
// the file and as JSON everywhere else. Its type says by its JSON tags what may
// stand in it; anything else is refused by name.
func valueField[T any](f SourceField, at func(*Source) *T) SourceField {
	f.Kind, f.Structured = "JSON", true
	f.Read = func(s *Source, text ...string) error {
		v, err := ParseJSON[T](strings.Join(text, ""))
		if err != nil {
			return &invalid.Error{Field: f.Name, Reason: err.Error()}
		}
		*at(s) = v
		return nil
	}
	f.clear = func(s *Source) { *at(s) = *new(T) }
	f.Show = func(s *Source) []string {
		v := at(s)
		if reflect.ValueOf(v).Elem().IsZero() {
			return nil
		}
		text := marshalledValue(v)
		if text == "{}" || text == "[]" {
			return nil
		}
		return []string{text}
	}
	f.value = func(s *Source) any { return json.RawMessage(marshalledValue(at(s))) }
	return f
}

// marshalledValue returns a value as canonical JSON.
func marshalledValue(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of texts, numbers, lists and steps
	}
	canonical, err := canonicalJSON(text)
	if err != nil {
		panic(err) // it has just been written
	}
	return canonical
}

var unknownField = regexp.MustCompile(`^json: unknown field "(.*)"$`)

// parseValue reads a structured value, and says in words what is wrong with it.
func ParseJSON[T any](text string) (v T, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&v); err == nil && d.Decode(new(any)) != io.EOF {
		return v, errors.New("there is something after the value")
	}
	if err == nil {
		return v, nil
	}
	if m := unknownField.FindStringSubmatch(err.Error()); m != nil {
		return v, fmt.Errorf("unknown key %q", m[1])
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return v, fmt.Errorf("%sexpected %s, but found: %s", prefix(e.Field), wanted(e.Type), e.Value)
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return v, fmt.Errorf("is not valid JSON: %w", err)
	}
	return v, err
}

func prefix(field string) string {
	if field == "" {
		return ""
	}
	return field + ": "
}

// wanted names a type as users know it.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "keys and values"
	}
	return "a number"
}

// readValue sets a structured field from a value of a JSON object.
func (f SourceField) readValue(s *Source, value any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	return f.Read(s, b.String())
}
