package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"freshet/internal/freshet"
)

// A mergePatch is an edit as it was sent; T has its schema. Only there can a field that is
// null be told from one that is missing.
type mergePatch[T any] []byte

// UnmarshalJSON implements [json.Unmarshaler].
func (p *mergePatch[T]) UnmarshalJSON(text []byte) error {
	*p = bytes.Clone(text)
	return nil
}

// Schema implements [huma.SchemaProvider].
func (mergePatch[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// dialled has a patch that names a dial set life and urgency to what that stands for, unless
// it says itself what they are.
func dialled(patch []byte) []byte {
	var said map[string]any
	if decode(patch, &said) != nil || said["dial"] == nil {
		return patch
	}
	name, _ := said["dial"].(string)
	dial, err := freshet.ParseDial(name)
	if err != nil {
		return patch // merged says what is wrong with it
	}
	delete(said, "dial")
	for field, text := range map[string]string{"life": dial.Life.String(), "urgency": dial.Urgency.String()} {
		if _, given := said[field]; !given {
			said[field] = text
		}
	}
	whole, err := json.Marshal(said)
	if err != nil {
		return patch // merged says what is wrong with it
	}
	return whole
}

// merged returns what somebody said with a merge patch applied, which has been
// validated.
func merged[T any](s T, patch []byte) (T, error) {
	whole, err := json.Marshal(s)
	if err != nil {
		return s, fmt.Errorf("encode what is edited: %w", err)
	}
	var into, from map[string]any
	if err := decode(whole, &into); err != nil {
		return s, fmt.Errorf("decode what is edited: %w", err)
	}
	if err := decode(patch, &from); err != nil {
		return s, problem(http.StatusBadRequest, err.Error())
	}
	mergeInto(into, from)
	if whole, err = json.Marshal(into); err != nil {
		return s, fmt.Errorf("encode what is edited: %w", err)
	}
	var edited T
	if err := json.Unmarshal(whole, &edited); err != nil {
		return s, invalid("body", err.Error(), nil)
	}
	return edited, nil
}

// decode reads an object, and leaves numbers as they were written.
func decode(text []byte, into *map[string]any) error {
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
