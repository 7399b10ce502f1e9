package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
)

// A SearchPage is part of what was found.
type SearchPage struct {
	Items   []SearchHit `json:"items" nullable:"false"`
	Total   int         `json:"total" doc:"Hits in all"`
	Next    *int        `json:"next" doc:"Pass this as offset to get more; null if there are none"`
	Cut     bool        `json:"cut,omitempty" doc:"There is so much that only the newest 200,000 passages of a word were looked at"`
	Waiting int         `json:"waiting" doc:"Versions that are not in the index yet"`
}

// A SearchHit is a run of versions of a source, one after the other, that all have what
// was looked for.
type SearchHit struct {
	Source  freshet.SourceID `json:"source"`
	URL     string           `json:"url"`
	Name    string           `json:"name,omitempty"`
	Title   string           `json:"title,omitempty" doc:"Of the newest version"`
	Tags    []string         `json:"tags,omitempty"`
	Removed bool             `json:"removed,omitempty" doc:"The source is not watched any more"`

	First    int       `json:"first_version" doc:"Number of the first version with the words that is stored"`
	Last     int       `json:"last_version" doc:"Number of the last one of the run"`
	Versions int       `json:"versions" doc:"Stored in the run"`
	Since    time.Time `json:"since" doc:"When the first version with the words was seen"`
	Until    time.Time `json:"until,omitzero" doc:"When a version without them was seen; missing if they are there now"`
	Current  bool      `json:"current" doc:"The words are there now"`

	Passages []SearchPassage `json:"passages" nullable:"false" doc:"Where the words stand, at most three"`
	Score    float64         `json:"score" doc:"How much the words stand out (BM25); more is more"`
}

// A SearchPassage is a piece of a text, cut to a few hundred bytes around what was looked
// for.
type SearchPassage struct {
	Text  string `json:"text"`
	Marks []Mark `json:"marks" nullable:"false" doc:"Where the words stand in the text"`
}

// A SearchQuery says what to look for. Only Words is needed.
type SearchQuery struct {
	Words   string
	Source  freshet.SourceID
	Site    freshet.SourceID
	Tag     string
	Seen    freshet.Between // what was there at some time of this
	Current bool            // only what is there now
	Order   string
	Offset  int
	Limit   int // zero means 20; at most 1000
}

// Search returns what versions say, now and in the past.
func (c *Client) Search(ctx context.Context, q SearchQuery) (SearchPage, error) {
	asked := query{"q": {q.Words}}
	asked.text("source", string(q.Source))
	asked.text("site", string(q.Site))
	asked.text("tag", q.Tag)
	asked.between(q.Seen)
	if q.Current {
		asked.text("current", "true")
	}
	asked.text("sort", string(q.Order))
	asked.number("offset", int64(q.Offset))
	asked.number("limit", int64(q.Limit))
	return get[SearchPage](ctx, c, "/search", asked)
}
