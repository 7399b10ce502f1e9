package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
)

// A StateQuery asks for the states of sources at one time.
type StateQuery struct {
	Query  string    // such as "min(price) by shop"; docs/reference/queries.md has the language
	AsOf   time.Time // zero means now
	Tag    string    // only sources with this tag
	Offset int
	Limit  int // zero means 100; at most 1000
}

// A StateTable is the answer to a StateQuery.
type StateTable struct {
	AsOf    time.Time  `json:"as_of"`
	Columns []string   `json:"columns" nullable:"false" doc:"What the values of the rows are"`
	Items   []StateRow `json:"items" nullable:"false" doc:"The rows"`
	Total   int        `json:"total" doc:"Rows in all"`
	Next    *int       `json:"next" doc:"Pass this as offset to get more; null if there are none"`
	Sources int        `json:"sources" doc:"Sources after from, or all, that had a state"`
	Without int        `json:"without,omitempty" doc:"Those of which no version is stored from before that time"`
	Missing int        `json:"missing,omitempty" doc:"Rows left out because a value of the condition is missing or has another type"`
	Unread  int        `json:"unread,omitempty" doc:"States whose items cannot be read, because the source is read in another way now or the response is not stored any more"`
}

// A StateRow is a row of a StateTable. One that is about a group of rows has values alone.
type StateRow struct {
	Source  freshet.SourceID `json:"source,omitempty"`
	Name    string           `json:"name,omitempty" doc:"Name or title of the source"`
	Version int              `json:"version,omitempty"`
	SeenAt  time.Time        `json:"seen_at,omitzero" doc:"When this version was first seen"`
	Values  []any            `json:"values" nullable:"false" doc:"One for each column; null where there is none"`
}

// States evaluates a query about the states of sources, now or at a time.
func (c *Client) States(ctx context.Context, q StateQuery) (StateTable, error) {
	asked := query{"query": {q.Query}}
	asked.text("tag", q.Tag)
	if !q.AsOf.IsZero() {
		asked.text("as_of", q.AsOf.UTC().Format(time.RFC3339Nano))
	}
	asked.number("offset", int64(q.Offset))
	asked.number("limit", int64(q.Limit))
	return get[StateTable](ctx, c, "/states", asked)
}
