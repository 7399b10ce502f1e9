package client

import (
	"context"
	"time"
)

// An Overview is what a person wants to know first.
type Overview struct {
	At        time.Time   `json:"at"`
	Status    Status      `json:"status"`
	Sources   StateCounts `json:"sources"`
	Spending  *Spending   `json:"spending,omitempty" doc:"What polls take of the budget; missing if nobody polls"`
	Captured  *Captured   `json:"captured,omitempty" doc:"What became of changes of late; missing if nothing is learnt from polls"`
	Attention []Attention `json:"attention" nullable:"false" doc:"What needs somebody's attention, the most urgent first"`
	Changes   []Change    `json:"changes" nullable:"false" doc:"The latest, the newest first"`
}

// StateCounts say how many sources are in which state.
type StateCounts struct {
	All     int `json:"all"`
	Failing int `json:"failing"`
	Paused  int `json:"paused"`
	Unseen  int `json:"unseen"`
	Suspect int `json:"suspect"`
	Noisy   int `json:"noisy" doc:"That differ at nearly every poll"`
}

// Spending is what polls take of the budget.
type Spending struct {
	Budget string `json:"budget"`
	Used   int    `json:"used" doc:"Requests in the present stretch of the budget, such as the last minute of 60/m"`
	Most   int    `json:"most" doc:"Requests that the budget allows in it"`
}

// An Attention is something that somebody should look at.
type Attention struct {
	Kind    string `json:"kind" enum:"trouble,stopped,disk,webhook,failing,suspect,moved,noisy,levels" doc:"What it is about"`
	Text    string `json:"text" doc:"In words"`
	Command string `json:"command,omitempty" doc:"That helps, or shows more"`
}

// Overview returns what a person wants to know first.
func (c *Client) Overview(ctx context.Context) (o Overview, err error) {
	err = c.get(ctx, "/overview", nil, &o)
	return o, err
}
