package client

import (
	"context"

	"freshet/internal/freshet"
)

// A Held is a source whose poll is wanted, and what it waits for.
type Held struct {
	Source freshet.SourceID `json:"source"`
	Hold   *Hold            `json:"hold" doc:"What the poll waits for; of the kind none if nothing is in its way"`
}

// A Round is what asking for polls of many sources brought.
type Round struct {
	After   freshet.Place `json:"after" doc:"The outcomes of the round come after this place in the log of outcomes"`
	Asked   []Held        `json:"asked" nullable:"false" doc:"Sources that will be polled as soon as the budget and their hosts allow, in this order"`
	Skipped []Held        `json:"skipped" nullable:"false" doc:"Sources that are left out: paused ones and, with spare, those that are best left alone for now"`
}

// A Wanted are requested polls that have not been made yet.
type Wanted struct {
	Items []Held `json:"items" nullable:"false" doc:"Includes all running polls"`
	Next  string `json:"next,omitempty" doc:"The after of the next page; not there on the last"`
}

// A RoundQuery says which sources are polled in a round, and how.
type RoundQuery struct {
	Tag   string // only sources with this tag
	Now   bool   // do not wait for the min_gap of a source
	Spare bool   // skip sources that failed or were polled a moment ago, or that their servers say are fresh
}

// RequestPolls asks for a poll of every source that is not paused. It does not wait for them.
func (c *Client) RequestPolls(ctx context.Context, q RoundQuery) (Round, error) {
	asked := query{}
	asked.text("tag", q.Tag)
	asked.flag("now", q.Now)
	asked.flag("spare", q.Spare)
	return post[Round](ctx, c, "/polls", asked, nil)
}

// RequestedPolls returns the polls that users have requested and that have not been made yet.
func (c *Client) RequestedPolls(ctx context.Context) ([]Held, error) {
	return listAll[Held](ctx, c, "/polls")
}
