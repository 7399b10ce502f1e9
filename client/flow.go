package client

import (
	"time"
)

// A Flow is what became of polls over the last hours.
type Flow struct {
	Step  Duration  `json:"step" doc:"Length of each stretch"`
	Items []Stretch `json:"items" nullable:"false" doc:"The oldest first; the last is not over yet"`
}

// A Stretch is a stretch of time and what was found in it.
type Stretch struct {
	At      time.Time `json:"at" doc:"When it begins"`
	Polls   int       `json:"polls"`
	Changes int       `json:"changes" doc:"Polls that found a change"`
	Failed  int       `json:"failed"`
	Missed  float64   `json:"missed" doc:"Changes that are thought to have come and gone unseen; 0 while that is not known"`
}
