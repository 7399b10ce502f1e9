package store_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/store"
)

// What the cache knows is what is in the database, however reads of that and writes come between each other.
func TestStateCacheIsTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const room = 1000
		c := store.NewStateCache(room)
		type read struct {
			state string
			when  int
		}
		database, reads := map[int64]string{}, map[int64]read{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			source := rapid.Int64Range(1, 8).Draw(t, "source")
			state, known, when := c.Get(source)
			if known && state != database[source] {
				t.Fatalf("source %d is known to have %q, and has %q", source, state, database[source])
			}
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				database[source] = strings.Repeat(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "state"), rapid.IntRange(1, 400).Draw(t, "size"))
				c.Write(source, database[source])
			case 1:
				if !known {
					reads[source] = read{database[source], when}
				}
			default:
				if r, ok := reads[source]; ok {
					c.Add(source, r.state, r.when)
					delete(reads, source)
				}
			}
			if c.Room() < 0 || c.Room() > room {
				t.Fatalf("%d of %d bytes are left", c.Room(), room)
			}
		}
	})
}

func TestStateCacheKnowsWhatFits(t *testing.T) {
	c := store.NewStateCache(10_000)
	_, _, when := c.Get(1)
	c.Add(1, "", when)
	c.Write(2, "two")
	for source, want := range map[int64]string{1: "", 2: "two"} {
		if state, known, _ := c.Get(source); !known || state != want {
			t.Errorf("source %d has %q (known: %v), want %q", source, state, known, want)
		}
	}
	c.Write(3, strings.Repeat("x", 20_000))
	if state, known, _ := c.Get(3); known {
		t.Errorf("a state of %d bytes is kept, larger than all the room", len(state))
	}
}
