package store

import (
	"sync"

	"freshet/internal/freshet"
)

// A stateCache holds the state of sources that their polls read and write: to read it from the database
// takes as long as all that is written for a change. It also knows which sources have none, as most have
// no items. Sources are known by their keys, so that one which is purged and comes back has nothing of before.
type stateCache struct {
	mu      sync.Mutex
	room    int64
	of      map[stateOf]keptState
	dropped int // how often something was dropped to make room
}

// A stateOf names a state of a source.
type stateOf struct {
	key    string
	source int64
}

// A keptState is a state as it is in the database, or that there is none.
type keptState struct {
	upto  freshet.Cursor
	value []byte
	there bool
}

// A newState is a state that a batch writes.
type newState struct {
	stateOf
	keptState
}

func newStateCache(bytes int64) stateCache {
	return stateCache{room: bytes, of: map[stateOf]keptState{}}
}

// get returns a state, whose value must not be changed, and what add needs if it is not known.
func (c *stateCache) get(k stateOf) (state keptState, known bool, when int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state, known = c.of[k]
	return state, known, c.dropped
}

// add adds a state that get did not know, as it was read after that. One that has been written meanwhile is newer:
// it is there, or something has been dropped.
func (c *stateCache) add(k stateOf, state keptState, when int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, newer := c.of[k]; newer || when != c.dropped {
		return
	}
	c.put(k, state)
}

// written takes over what a batch has written.
func (c *stateCache) written(states []newState) {
	if len(states) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range states {
		s.value = append([]byte{}, s.value...) // which is not nil in the database either
		c.put(s.stateOf, s.keptState)
	}
}

// put adds a state, and drops others, whichever they are, if there is no room.
func (c *stateCache) put(k stateOf, state keptState) {
	c.drop(k)
	c.of[k] = state
	c.room -= state.cost()
	for other := range c.of {
		if c.room >= 0 {
			return
		}
		c.drop(other)
		c.dropped++
	}
}

func (c *stateCache) drop(k stateOf) {
	if state, ok := c.of[k]; ok {
		c.room += state.cost()
		delete(c.of, k)
	}
}

// cost is what a state takes of the cache.
func (s keptState) cost() int64 { return int64(cap(s.value)) + 150 }
