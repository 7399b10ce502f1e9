package extract_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/extract"
)

// drawJSON draws a value as an API might send it.
func drawJSON(t *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 8
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]string{"", "a", "two  words", " x ", "<b>&amp;\u2028", "tab\there", "ü\\u00fc", "\u200e"}).Draw(t, "text")
	case 1:
		return json.Number(rapid.SampledFrom([]string{"0", "-1.5", "1e3", "1e999", "12345678901234567890"}).Draw(t, "number"))
	case 2:
		return rapid.Bool().Draw(t, "truth")
	case 3:
		return nil
	case 4, 5:
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			list = append(list, drawJSON(t, depth-1))
		}
		return list
	}
	object := map[string]any{}
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"id", "items", "data", "title", "Name", "x\"y", "ü"}), 0, 4).Draw(t, "names") {
		object[name] = drawJSON(t, depth-1)
	}
	return object
}

// The items that are found in the source of a document are those of the decoded document.
func TestItemsOfJSONSource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src, err := json.Marshal(drawJSON(t, 4))
		if err != nil {
			t.Fatal(err)
		}
		found, decoded, err := extract.ItemsOfJSON(src)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(found.All(), decoded) {
			t.Fatalf("%s: the source has %#v, the decoded document %#v", src, found.All(), decoded)
		}
	})
	for _, src := range []string{`{"items":[{"id":1}],"items":[]}`, `{"a":1,"a":[{"id":1,"id":2}]}`, `[{"id":"\ud800"},{"id":"b\/c"}]`} {
		found, decoded, err := extract.ItemsOfJSON([]byte(src))
		if err != nil || !reflect.DeepEqual(found.All(), decoded) {
			t.Errorf("%s: the source has %#v, the decoded document %#v, %v", src, found.All(), decoded, err)
		}
	}
}

// A memory takes items from the source of a document as it takes those of the decoded document: it tells the same and
// remembers the same.
func TestItemMemoryOfJSONSource(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var one, other extract.ItemMemory
		for range 4 {
			list := []any{}
			for range rapid.IntRange(0, 5).Draw(t, "items") {
				item := map[string]any{}
				for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"id", "title", "x\"y", "ü", "price"}), 0, 5).Draw(t, "names") {
					item[name] = drawJSON(t, 1)
				}
				if rapid.IntRange(0, 3).Draw(t, "numbered") > 0 {
					item["id"] = len(list) + rapid.IntRange(0, 1).Draw(t, "first")
				}
				list = append(list, item)
			}
			src, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			found, decoded, err := extract.ItemsOfJSON(src)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := one.Compare(found), other.Compare(extract.ListOf(decoded)); !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: the change is %+v, and %+v when it is decoded", src, got, want)
			}
			if !bytes.Equal(one.MarshalBinary(), other.MarshalBinary()) {
				t.Fatalf("%s is remembered otherwise when it is decoded", src)
			}
		}
	})
}

// Of values with one name in an object, the last is remembered.
func TestItemMemoryOfRepeatedNames(t *testing.T) {
	var one, other extract.ItemMemory
	found, decoded, err := extract.ItemsOfJSON([]byte(`[{"id":1,"a":1,"b":2,"a":"x"},{"id":2,"id":3}]`))
	if err != nil {
		t.Fatal(err)
	}
	one.Compare(found)
	other.Compare(extract.ListOf(decoded))
	if !bytes.Equal(one.MarshalBinary(), other.MarshalBinary()) {
		t.Error("a name that an object has twice is remembered otherwise when the object is decoded")
	}
}
