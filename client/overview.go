package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
)

// An Overview is what a person wants to know first.
type Overview struct {
	At        time.Time   `json:"at"`
	Status    Status      `json:"status"`
	Sources   StateCounts `json:"sources"`
	Spending  *Spending   `json:"spending,omitempty" doc:"Requests used of the budget; missing if no daemon is running"`
	Captured  *Captured   `json:"captured,omitempty" doc:"What share of changes was captured lately; missing if the policy does not learn"`
	Attention []Attention `json:"attention" nullable:"false" doc:"What needs attention, most urgent first"`
	Changes   []Change    `json:"changes" nullable:"false" doc:"The latest changes, newest first"`
}

// StateCounts say how many sources are in which state.
type StateCounts struct {
	All     int `json:"all"`
	Failing int `json:"failing"`
	Paused  int `json:"paused"`
	Unseen  int `json:"unseen"`
	Suspect int `json:"suspect"`
	Noisy   int `json:"noisy" doc:"Sources that change at almost every poll"`
}

// Spending is what polls take of the budget.
type Spending struct {
	Budget string `json:"budget"`
	Used   int    `json:"used" doc:"Requests made in the present period of the budget, such as the last minute for 60/m"`
	Most   int    `json:"most" doc:"Requests that the budget allows in it"`
}

// An Attention is a problem that needs a person.
type Attention struct {
	Kind    string `json:"kind" enum:"trouble,stopped,disk,webhook,failing,suspect,moved,noisy,levels" doc:"Kind of problem"`
	Text    string `json:"text" doc:"The problem in words"`
	Command string `json:"command,omitempty" doc:"Command that helps or shows more"`

	Source freshet.SourceID `json:"source,omitempty" doc:"The source, if it is about one"`
}

// Overview returns what a person wants to know first.
func (c *Client) Overview(ctx context.Context) (Overview, error) {
	return get[Overview](ctx, c, "/overview", nil)
}
