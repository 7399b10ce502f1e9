package extract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"encoding/json"

	"pgregory.net/rapid"

	"freshet/internal/extract"
	"freshet/internal/freshet"
)

func itemsNamed(keys ...string) (items []freshet.Item) {
	for _, key := range keys {
		items = append(items, freshet.Item{Key: key, Title: "T" + key})
	}
	return items
}

// Every item is new once and no more, whatever goes and comes back, across saving.
func TestItemsAreNewOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m extract.ItemMemory
		ever, last := map[string]bool{}, map[string]bool{}
		for range rapid.IntRange(1, 8).Draw(t, "versions") {
			keys := rapid.SliceOfNDistinct(rapid.SampledFrom(strings.Split("abcdefgh", "")), 0, 8, rapid.ID).Draw(t, "keys")
			c := m.Compare(extract.ListOf(itemsNamed(keys...)))
			if c == nil {
				c = &freshet.ItemChanges{}
			}
			var added, back, gone int
			now := map[string]bool{}
			for _, k := range keys {
				now[k] = true
				if !ever[k] {
					added++
				} else if !last[k] {
					back++
				}
				ever[k] = true
			}
			for k := range last {
				if !now[k] {
					gone++
				}
			}
			if c.AddedCount != added || c.BackCount != back || c.GoneCount != gone || c.UpdatedCount != 0 {
				t.Fatalf("%v: %+v, want %d new, %d back, %d gone", keys, c, added, back, gone)
			}
			last = now
			var again extract.ItemMemory
			if err := again.UnmarshalBinary(m.MarshalBinary()); err != nil {
				t.Fatal(err)
			}
			m = again
		}
	})
}

// What is remembered and what is told is bounded.
func TestItemMemoryIsBounded(t *testing.T) {
	var m extract.ItemMemory
	for v := range 40 {
		var items []freshet.Item
		for i := range 1000 {
			items = append(items, freshet.Item{Key: fmt.Sprintf("%d/%d", v, i), Text: strings.Repeat("x", 1000), Fields: freshet.Fields{"a": strings.Repeat("y", 1000)}})
		}
		c := m.Compare(extract.ListOf(items))
		told, err := json.Marshal(c)
		if err != nil || len(told) > 32<<10 || c.AddedCount != 1000 || len(c.Added) == 0 {
			t.Fatalf("a change tells of %d items in %d bytes (%v)", c.AddedCount, len(told), err)
		}
	}
	if b := m.MarshalBinary(); len(b) > 512<<10 {
		t.Errorf("the memory has %d bytes", len(b))
	}
	if c := m.Compare(extract.ListOf(itemsNamed("0/1"))); c.AddedCount != 1 {
		t.Errorf("an item that was forgotten long ago is %+v", c)
	}
	if c := m.Compare(extract.ListOf(itemsNamed("39/1"))); c.BackCount != 1 {
		t.Errorf("an item that was there a moment ago is %+v", c)
	}
}

// The reported changes of an item do not depend on how many names of values the memory has seen.
func TestItemMemoryForgetsNames(t *testing.T) {
	var m extract.ItemMemory
	for v := range 10 {
		items := []freshet.Item{{Key: "a", Fields: freshet.Fields{"price": float64(v), "name": "kettle"}}, {Key: "b", Fields: freshet.Fields{}}}
		for i := range 200 {
			items[1].Fields[fmt.Sprintf("f%d.%d", v, i)] = "x"
		}
		c := m.Compare(extract.ListOf(items))
		if v == 0 {
			continue
		}
		var want freshet.FieldChange
		if c != nil && c.UpdatedCount == 2 && len(c.Updated[0].Values) == 1 {
			want = c.Updated[0].Values[0]
		}
		if want != (freshet.FieldChange{Name: "price", From: float64(v - 1), To: float64(v)}) {
			t.Fatalf("version %d: %+v", v, c)
		}
	}
	if b := m.MarshalBinary(); len(b) > 16<<10 {
		t.Errorf("the memory of %d names has %d bytes", 202, len(b))
	}
}

// A value that comes under another name is another value, also when the memory starts with a new table of names.
func TestItemMemoryRenames(t *testing.T) {
	var m extract.ItemMemory
	many := freshet.Item{Key: "b", Fields: freshet.Fields{}}
	for i := range 600 {
		many.Fields[fmt.Sprint("f", i)] = "x"
	}
	m.Compare(extract.ListOf([]freshet.Item{{Key: "a", Fields: freshet.Fields{"old": "1"}}, many}))
	c := m.Compare(extract.ListOf([]freshet.Item{{Key: "a", Fields: freshet.Fields{"new": "1"}}, many}))
	if c == nil || c.UpdatedCount != 1 || !slices.Equal(c.Updated[0].Fields, []string{"new", "old"}) {
		t.Errorf("a value that was renamed is told as %+v", c)
	}
}

func FuzzItemMemory(f *testing.F) {
	var m extract.ItemMemory
	m.Compare(extract.ListOf(itemsNamed("a", "b")))
	f.Add(m.MarshalBinary())
	f.Add([]byte{2, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var m extract.ItemMemory
		if m.UnmarshalBinary(b) != nil {
			return
		}
		again := m.MarshalBinary()
		var n extract.ItemMemory
		if err := n.UnmarshalBinary(again); err != nil || !slices.Equal(n.MarshalBinary(), again) {
			t.Errorf("what was read is not written and read again: %v", err)
		}
	})
}
