package freshet

import (
	"context"
	"time"
)

// A Searcher finds what versions say. What it finds them by is an index that follows the
// record at its own pace: it is derived from the versions, can be made anew from them at
// any time, and never holds up a poll.
type Searcher interface {
	// Search returns what the index knows of words. Versions that are held are not
	// searched. The error is an *InvalidError with the field "words" if they cannot be
	// meant.
	Search(ctx context.Context, q SearchQuery) (SearchResult, error)

	// Index brings the texts of up to so many versions into the index, and takes out
	// what is no longer kept. It returns how many versions wait still. What it has done
	// survives a crash, or is done again.
	Index(ctx context.Context, most int) (waiting int, err error)
}

// A SearchOrder says what is found first.
type SearchOrder string

// The orders of what is found.
const (
	ByRank   SearchOrder = "rank"   // where the words stand out most
	ByNewest SearchOrder = "newest" // what appeared last
	ByOldest SearchOrder = "oldest"
)

// A SearchQuery says what to look for, and where. Only Words is needed.
type SearchQuery struct {
	Words   string   // as package words reads them
	Source  SourceID // only in this source
	Site    SourceID // only in this site and its pages
	Tag     string   // only in sources that have it
	Seen    Between  // only what was there at some time of this
	Current bool     // only what is there now
	Order   SearchOrder
	Offset  int // leave out so many
	Limit   int // zero means 20
}

// A SearchResult is part of what was found.
type SearchResult struct {
	Hits    []Hit
	Total   int  // found in all
	Cut     bool // there is so much that only the newest of it was looked at
	Waiting int  // versions that are not in the index yet
}

// A Hit is a run of versions of a source, one after the other, that all have what was
// looked for.
type Hit struct {
	Source  SourceID
	Label   Label // as it is now
	Title   string
	Removed bool // the source is not watched any more

	First, Last int       // numbers of the versions, as far as they are kept
	Versions    int       // kept in between
	Since       time.Time // when the first was seen
	Until       time.Time // when a version without it was seen; zero if it is there now

	Passages []Passage
	Score    float64 // how much the words stand out; more is more
}

// Current reports whether what was found is there now.
func (h Hit) Current() bool { return h.Until.IsZero() }

// A Passage is a piece of a text, with the parts that were looked for.
type Passage struct {
	Text  string
	Marks [][2]int // in bytes of the text
}
