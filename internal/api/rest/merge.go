package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"freshet/internal/strictjson"
)

// An Object is a JSON object as it was sent; T has its schema. Unlike T it tells a null
// field from a missing one, as a merge patch (RFC 7396) needs it.
type Object[T any] map[string]any

// UnmarshalJSON implements [json.Unmarshaler]. It leaves numbers as they were written.
func (o *Object[T]) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode((*map[string]any)(o))
}

// Schema implements [huma.SchemaProvider].
func (Object[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// Merge returns a value with a merge patch applied to its JSON.
func Merge[T any](v T, patch map[string]any) (edited T, err error) {
	text, err := json.Marshal(v)
	if err != nil {
		return v, fmt.Errorf("encode what is edited: %w", err)
	}
	var object Object[T]
	if err := object.UnmarshalJSON(text); err != nil {
		return v, fmt.Errorf("decode what is edited: %w", err)
	}
	strictjson.Merge(object, patch)
	if text, err = json.Marshal(object); err != nil {
		return v, fmt.Errorf("encode what is edited: %w", err)
	}
	return edited, json.Unmarshal(text, &edited)
}
