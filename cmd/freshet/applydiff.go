package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// objectOf returns what a value is in JSON, without some of its keys.
func objectOf(value any, without ...string) (object map[string]any, err error) {
	text, ok := value.([]byte)
	if !ok {
		if text, err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("compare with the daemon: %w", err)
	}
	for _, key := range without {
		delete(object, key)
	}
	return object, nil
}

// patchBetween returns the JSON merge patch (RFC 7396) that makes one object of another.
// It is empty if they are the same.
func patchBetween(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key := range from {
		if _, stays := to[key]; !stays {
			patch[key] = nil
		}
	}
	for key, value := range to {
		was, there := from[key]
		if there && reflect.DeepEqual(was, value) {
			continue
		}
		before, both := was.(map[string]any)
		after, object := value.(map[string]any)
		if both && object {
			patch[key] = patchBetween(before, after)
		} else {
			patch[key] = value
		}
	}
	return patch
}

// fieldsOf returns what a patch is about.
func fieldsOf(patch map[string]any) []string { return slices.Sorted(maps.Keys(patch)) }
