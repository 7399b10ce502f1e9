package freshet

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"freshet/internal/invalid"
	"freshet/internal/strictjson"
)

// valueField is a field with a structure: an object or a list, written in YAML in
// the file and as JSON everywhere else. Its type says by its JSON tags what may
// stand in it; anything else is refused by name.
func valueField[T any](f SourceField, at func(*Source) *T) SourceField {
	f.Kind, f.Structured = "JSON", true
	f.Read = func(s *Source, text ...string) error {
		v, err := strictjson.Parse[T](strings.Join(text, ""))
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
		text := strictjson.MarshalCanonical(v)
		if text == "{}" || text == "[]" {
			return nil
		}
		return []string{text}
	}
	f.value = func(s *Source) any { return json.RawMessage(strictjson.MarshalCanonical(at(s))) }
	return f
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
