package store

import (
	"context"
	"errors"
	"sync"

	"freshet/internal/search"
)

// An Index is where it is found by its words what versions say. It holds passages: lines
// and sentences that versions of a source have, one after the other, from one on until
// another, if that has come. So a text that stays is in the index once, however many
// versions have it. What the words of a passage are is in the store alone.
//
// Of each source the passages that are there now are known together, each by its hash and
// its ID: a new version is compared with them without reading any row of theirs.
type Index interface {
	// Use makes the index ready, and returns what to call when it is not used any more.
	// All other methods but Drop are called in between.
	Use(ctx context.Context) (release func(), err error)

	// Begin begins a transaction that changes the index. There is one at a time.
	Begin(ctx context.Context) (IndexTx, error)

	// Place returns the place in the log of outcomes that the index is of; "" if it is new.
	Place(ctx context.Context) (string, error)

	// Indexed returns how far the index is with all sources, by their keys. What is present
	// is left out.
	Indexed(ctx context.Context) (map[int64]Indexed, error)

	// Match yields up to so many passages that have a phrase, those of one source if its key
	// is not zero, the latest first.
	Match(ctx context.Context, phrase search.Query, source int64, most int, each func(Passage) error) error

	// Drop deletes the index. It is made anew when it is used.
	Drop() error
}

// An IndexTx is a transaction that changes an index.
type IndexTx interface {
	PutPlace(place string) error
	Source(key int64) (Indexed, error) // the zero Indexed if the source is not known
	PutSource(key int64, at Indexed) error
	Add(p Passage, text string) (id int64, err error)
	End(id, gone, until int64) error              // a version is without the passage
	ForgetBefore(source int64, first int64) error // passages that no version from one on has
	Forget(source int64) error
	Commit() error
	Rollback() error
}

// An Indexed is how far an index is with a source.
type Indexed struct {
	Upto, First int64  // numbers of versions
	Present     []byte // passages of the newest
}

// A Passage is a passage in an index, and which versions have it.
type Passage struct {
	search.Run
	ID     int64
	Source int64 // its key
	Sum    uint64
	Rank   float64 // less is better
}

// ErrStaleIndex means that an index cannot be used, or is of versions that are not those of
// the store.
var ErrStaleIndex = errors.New("the index is not that of this data")

// A searchIndex is the index of what versions say, and what is not in it yet.
type searchIndex struct {
	Index
	work sync.Mutex // held by who writes

	mu    sync.Mutex
	known bool              // what waits is known
	waits map[int64]waiting // sources that have something to index or to take out, by key
	queue []int64           // their keys, the next one first; also some that do not wait any more
	left  int               // about how many versions that is
}
