package extract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// An operation is one step of a JSON Patch.
type operation struct {
	Op, Path string
	Value    any
}

// decode reads JSON with its numbers as they are.
func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// patched applies the operations of RFC 6902 that a patch is made of.
func patched(doc any, path []string, o operation) (any, error) {
	if len(path) == 0 {
		return o.Value, nil
	}
	key := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	switch v := doc.(type) {
	case map[string]any:
		if len(path) == 1 && o.Op == "remove" {
			delete(v, key)
			return v, nil
		}
		inner, err := patched(v[key], path[1:], o)
		v[key] = inner
		return v, err
	case []any:
		i, err := strconv.Atoi(key)
		if key == "-" {
			i, err = len(v), nil
		}
		switch {
		case err != nil || i < 0 || i > len(v) || i == len(v) && (o.Op != "add" || len(path) > 1):
			return nil, fmt.Errorf("no place %q in an array of %d", key, len(v))
		case len(path) == 1 && o.Op == "remove":
			return slices.Delete(v, i, i+1), nil
		case len(path) == 1 && o.Op == "add":
			return slices.Insert(v, i, o.Value), nil
		}
		v[i], err = patched(v[i], path[1:], o)
		return v, err
	}
	return nil, fmt.Errorf("no %q in %v", key, doc)
}

// checkPatch makes the new document from the old one and the patch.
func checkPatch(t interface{ Fatalf(string, ...any) }, old, new []byte) {
	text, err := extract.Patch(old, new)
	if err != nil {
		t.Fatalf("%s to %s: %v", old, new, err)
	}
	var ops []json.RawMessage
	if err := json.Unmarshal(text, &ops); err != nil {
		t.Fatalf("the patch %s is no list: %v", text, err)
	}
	doc, _ := decode(old)
	want, _ := decode(new)
	for _, raw := range ops {
		var o operation
		v, _ := decode(raw)
		m := v.(map[string]any)
		o.Op, o.Path, o.Value = m["op"].(string), m["path"].(string), m["value"]
		var path []string
		if o.Path != "" {
			path = strings.Split(o.Path, "/")[1:]
		}
		if doc, err = patched(doc, path, o); err != nil {
			t.Fatalf("%s to %s: the patch %s: %v", old, new, text, err)
		}
	}
	if !reflect.DeepEqual(doc, want) {
		t.Fatalf("%s to %s: the patch %s leads to %v", old, new, text, doc)
	}
}

func TestPatch(t *testing.T) {
	for _, tt := range [][3]string{
		{`{}`, `{}`, `[]`},
		{`{"a": 1}`, `{"a": 2}`, `[{"op":"replace","path":"/a","value":2}]`},
		{`{"a": 1, "b": 2}`, `{"a": 1}`, `[{"op":"remove","path":"/b"}]`},
		{`["a", "b", "c"]`, `["b", "c"]`, `[{"op":"remove","path":"/0"}]`},
		{`{"x": [{"id": 1}, {"id": 2}]}`, `{"x": [{"id": 1}, {"id": 3}, {"id": 2}]}`, `[{"op":"add","path":"/x/1","value":{"id":3}}]`},
		{`[1e999999999]`, `[1e999999998]`, `[{"op":"replace","path":"/0","value":1e999999998}]`},
		{`{"a/b~c": "<b>"}`, `{"a/b~c": "<i>"}`, `[{"op":"replace","path":"/a~1b~0c","value":"<i>"}]`},
		{`1`, `"x"`, `[{"op":"add","path":"","value":"x"}]`},
		{`{"a": 1}`, `{"a": null}`, `[{"op":"replace","path":"/a","value":null}]`},
	} {
		got, err := extract.Patch([]byte(tt[0]), []byte(tt[1]))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := json.Compact(&b, got); err != nil {
			t.Fatal(err)
		}
		if b.String() != tt[2] {
			t.Errorf("%s to %s is %s, want %s", tt[0], tt[1], b.String(), tt[2])
		}
		checkPatch(t, []byte(tt[0]), []byte(tt[1]))
	}
}

func TestPatchRefused(t *testing.T) {
	for old, want := range map[string]string{
		"not JSON":                               "the old version is not a JSON document",
		"1\n2":                                   "more than one value",
		"":                                       "the old version is not a JSON document",
		`{"a": 1,}`:                              "the old version is not a JSON document",
		"[" + strings.Repeat("0,", 1<<20) + "0]": "too much to compare by structure",
	} {
		_, err := extract.Patch([]byte(old), []byte("{}"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want it to say %q", old, err, want)
		}
		if freshet.HintOf(err) == "" {
			t.Errorf("%.20q: no hint in %v", old, err)
		}
	}
}

// TestPatchOfWideArrays takes time in proportion, where items are not matched.
func TestPatchOfWideArrays(t *testing.T) {
	wide := func(first string) []byte { return []byte("[" + first + strings.Repeat("0,", 200_000) + "1]") }
	checkPatch(t, wide("5,"), wide("6,"))
}

func TestPatchLeadsThere(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			switch n := rapid.IntRange(0, 5).Draw(t, "kind"); {
			case n <= 1 && depth > 0:
				return rapid.SliceOfN(value(depth-1), 0, 4).Draw(t, "array")
			case n <= 3 && depth > 0:
				return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c/d", "~", ""}), value(depth-1), 0, 4).Draw(t, "object")
			case n == 4:
				return nil
			}
			return rapid.SampledFrom([]any{"x", "y", 1, 2.5, true}).Draw(t, "scalar")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		old, _ := json.Marshal(value(3).Draw(t, "old"))
		new, _ := json.Marshal(value(3).Draw(t, "new"))
		checkPatch(t, old, new)
	})
}

func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"a": [1, 2]}`), []byte(`{"a": [2]}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if _, err := extract.Patch(a, b); err == nil {
			checkPatch(t, a, b)
		}
	})
}
