// Package strictjson decodes JSON that users write: it refuses unknown keys, and its errors name
// the key and the expected type in plain words.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
)

// MarshalCanonical returns v as canonical JSON. It panics if v cannot be encoded.
func MarshalCanonical(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of texts, numbers, lists and steps
	}
	canonical, err := Canonicalize(text)
	if err != nil {
		panic(err) // it has just been written
	}
	return canonical
}

var unknownField = regexp.MustCompile(`^json: unknown field "(.*)"$`)

// Parse decodes one JSON value. It refuses unknown keys, and its errors are written for users.
func Parse[T any](text string) (v T, err error) {
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

// Canonicalize returns a JSON text with sorted keys and no needless space.
func Canonicalize(text []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return "", err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(b.Bytes())), nil
}

// Merge applies a merge patch as of RFC 7396 to a decoded object.
func Merge(into, patch map[string]any) {
	for name, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(into, name)
		case map[string]any:
			part, ok := into[name].(map[string]any)
			if !ok {
				part = map[string]any{}
			}
			Merge(part, value)
			into[name] = part
		default:
			into[name] = value
		}
	}
}

// DecodeObject decodes a JSON object and keeps numbers as written.
func DecodeObject(text []byte, into *map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}
