package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// A MergePatch is an edit as it was sent (RFC 7396); T has its schema. Only the text tells a
// null field from a missing one.
type MergePatch[T any] []byte

// UnmarshalJSON implements [json.Unmarshaler].
func (p *MergePatch[T]) UnmarshalJSON(text []byte) error {
	*p = bytes.Clone(text)
	return nil
}

// Schema implements [huma.SchemaProvider].
func (MergePatch[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// Merge applies a merge patch, which has been validated, to a value.
func Merge[T any](s T, patch []byte) (T, error) {
	whole, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("encode what is edited: %w", err)
	}
	var into, from map[string]any
	if err := DecodeObject(whole, &into); err != nil {
		return s, fmt.Errorf("decode what is edited: %w", err)
	}
	if err := DecodeObject(patch, &from); err != nil {
		return s, NewProblem(http.StatusBadRequest, err.Error())
	}
	mergeInto(into, from)
	if whole, err = json.Marshal(into); err != nil {
		return s, fmt.Errorf("encode what is edited: %w", err)
	}
	var edited T
	if err := json.Unmarshal(whole, &edited); err != nil {
		return s, Invalid("body", err.Error(), nil)
	}
	return edited, nil
}

// DecodeObject reads an object, and leaves numbers as they were written.
func DecodeObject(text []byte, into *map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// mergeInto applies a merge patch as of RFC 7396.
func mergeInto(into, from map[string]any) {
	for name, value := range from {
		switch value := value.(type) {
		case nil:
			delete(into, name)
		case map[string]any:
			part, ok := into[name].(map[string]any)
			if !ok {
				part = map[string]any{}
			}
			mergeInto(part, value)
			into[name] = part
		default:
			into[name] = value
		}
	}
}
