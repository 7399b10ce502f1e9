package search

import (
	"time"

	"freshet/internal/freshet"
)

// An Order is the order of hits.
type Order string

// The orders.
const (
	ByRank   Order = "rank"   // by BM25 score
	ByNewest Order = "newest" // by when it appeared
	ByOldest Order = "oldest"
)

// A Request is a search. Only Words is needed.
type Request struct {
	Words   string           // as Parse reads them
	Source  freshet.SourceID // only in this source
	Site    freshet.SourceID // only in this site and its pages
	Tag     string           // only in sources that have it
	Seen    freshet.Between  // only what was there at some time of it
	Current bool             // only what is there now
	Order   Order
	Offset  int // leave out so many
	Limit   int // zero means 20
}

// A Result is part of the hits.
type Result struct {
	Hits    []Hit
	Total   int  // number of all hits
	Cut     bool // there is so much that only the newest was searched
	Waiting int  // versions that are not in the index yet
}

// A Hit is a run of consecutive versions of a source that all match.
type Hit struct {
	Source  freshet.SourceID
	Label   freshet.Label // as it is now
	Title   string
	Removed bool // the source is not watched any more

	First, Last int       // numbers of the versions, as far as they are kept
	Versions    int       // kept in between
	Since       time.Time // when the first was seen
	Until       time.Time // when a version that does not match was seen; zero if it is current

	Passages []Passage
	Score    float64 // BM25; higher is better
}

// Current reports whether the newest version matches.
func (h Hit) Current() bool { return h.Until.IsZero() }

// A Passage is a piece of a text with the matching parts marked.
type Passage struct {
	Text  string
	Marks [][2]int // in bytes of the text
}
