package store_test

import (
	"reflect"
	"slices"
	"testing"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// What was read from memory stays as it was read, whatever is logged later.
func TestReadOutcomesStay(t *testing.T) {
	var tail store.Tail
	next := freshet.Cursor(1)
	for range 20_000 {
		page, ok := tail.After(max(0, next-51), 50)
		kept := slices.Clone(page)
		tail.Add(freshet.Outcome{Cursor: next})
		next++
		if next > 52 && !ok || !reflect.DeepEqual(page, kept) {
			t.Fatalf("what was read before outcome %d was logged changed from %d to %d", next-1, kept[0].Cursor, page[0].Cursor)
		}
	}
}
