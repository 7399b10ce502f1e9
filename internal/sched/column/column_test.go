package column_test

import (
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/sched/column"
)

// A number is as a slot.
type number int32

// A column holds what a slice would, whatever is done to it.
func TestColumnIsASlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got column.Of[number, int]
		var want []int
		for range rapid.IntRange(0, 5).Draw(t, "rounds") {
			for range rapid.IntRange(0, 1500).Draw(t, "added") {
				if k := got.Add(-len(want)); int(k) != len(want) {
					t.Fatalf("value %d has the number %d", len(want), k)
				}
				want = append(want, -len(want))
			}
			if len(want) > 0 {
				k := rapid.IntRange(0, len(want)-1).Draw(t, "set")
				*got.At(number(k)), want[k] = k*7, k*7
			}
		}
		if got.Len() != len(want) {
			t.Fatalf("%d values, want %d", got.Len(), len(want))
		}
		next := number(0)
		for k, v := range got.All {
			if k != next || *v != want[k] || got.At(k) != v {
				t.Fatalf("value %d is %d at %d, want %d", next, *v, k, want[next])
			}
			next++
		}
		if int(next) != len(want) {
			t.Fatalf("All yields %d values of %d", next, len(want))
		}
	})
}

// A column of some values holds what a map would.
func TestSomeIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var got column.Some[number, int]
		want := map[number]int{}
		keys := rapid.Custom(func(t *rapid.T) number { return number(rapid.IntRange(0, 5000).Draw(t, "key")) })
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			k := keys.Draw(t, "of")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0, 1:
				if v := got.Make(k); *v != want[k] {
					t.Fatalf("the value of %d is %d when it is made, want %d", k, *v, want[k])
				}
				*got.At(k), want[k] = int(k)+1, int(k)+1
			default:
				got.Drop(k)
				delete(want, k)
			}
		}
		for k := range number(6000) {
			v := got.At(k)
			if w, ok := want[k]; (v != nil) != ok || ok && *v != w {
				t.Fatalf("the value of %d is %v, want %d, %v", k, v, w, ok)
			}
		}
	})
}

// A column has room to spare for one piece, and not for a share of what it holds.
func TestColumnIsNotCopied(t *testing.T) {
	var c column.Of[number, [16]byte]
	for range 5000 {
		c.Add([16]byte{})
	}
	at := c.At(2000)
	for range 100_000 {
		c.Add([16]byte{})
	}
	if c.At(2000) != at {
		t.Error("a value was moved as the column grew")
	}
}
