package client

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Noise says which parts of a source change at nearly every poll.
type Noise struct {
	Polls  int          `json:"polls" doc:"Polls that were looked at"`
	Differ int          `json:"differ" doc:"Polls that found another text"`
	Only   int          `json:"only_noise" doc:"Polls that found only noise; with noise auto they report no change"`
	Places []NoisePlace `json:"places" nullable:"false" doc:"Where the source changes at nearly every poll"`
}

// A NoisePlace is a part of a source that changes at nearly every poll.
type NoisePlace struct {
	Kind    string `json:"kind" doc:"What differs there: a date, a time, an age, an id, a counter, a number, a price, a version, words, or the order of lines"`
	Pattern string `json:"pattern" doc:"The line, with a mark such as <date> for what differs; or a line that was there"`
	Times   int    `json:"times" doc:"How often it differed"`
	Noise   bool   `json:"noise" doc:"False means that it may be wanted, and is always reported as a change"`
	Step    any    `json:"step,omitempty" doc:"Add this to the steps of the source (read) to leave the place out"`
}

// String says how often a source changes, and in how many places.
func (n Noise) String() string {
	where := "in this place"
	if len(n.Places) != 1 {
		where = fmt.Sprintf("in these %d places", len(n.Places))
	}
	return fmt.Sprintf("changes in %d of %d polls, %s", n.Differ, n.Polls, where)
}

// String says what differs in a place, how often, and how to leave it out.
func (p NoisePlace) String() string {
	text := fmt.Sprintf("%s (%s, %d times)", p.Pattern, p.Kind, p.Times)
	if !p.Noise {
		text += ", always reported as a change: you may be watching it"
	}
	var step strings.Builder
	e := json.NewEncoder(&step)
	e.SetEscapeHTML(false)
	if p.Step != nil && e.Encode(p.Step) == nil {
		text += "; to leave it out, add the step " + strings.TrimSpace(step.String())
	}
	return text
}
