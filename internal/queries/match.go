package queries

import (
	"fmt"
	"time"

	"freshet/internal/freshet"
)

// A Match is an event that a query reports. Its ID never changes.
type Match struct {
	Cursor freshet.Cursor // position in the log of all matches; zero until stored
	Epoch  freshet.Epoch  // in which it was stored
	Query  ID
	Number int64 // of this query's matches, from 1, without gaps

	Cause   MatchCause
	At      time.Time           // when it happened: the time of the change, or the end of a length of time
	Known   time.Time           // when it could be reported first
	Source  freshet.SourceID    // of the change or the silence
	Changes []freshet.ChangeRef // that made it match, the one that completed it last; empty if none did
	Group   string              // in which it was counted, if the query has Window.By
	Value   any                 // of the query's Value: a string, a number, a boolean, a list or an object
}

// ID returns the name under which the match is delivered, such as "cheap.3~k3f9q2xw".
func (m Match) ID() string { return m.Epoch.Qualify(fmt.Sprintf("%s.%d", m.Query, m.Number)) }

// Place returns the position of the match in the log of all matches.
func (m Match) Place() freshet.Place { return freshet.Place{Cursor: m.Cursor, Epoch: m.Epoch} }

// A MatchCause is what made a query match.
type MatchCause string

// The causes of a match.
const (
	MatchChange MatchCause = "change" // a change meets the condition
	MatchPoll   MatchCause = "poll"   // a poll made the condition true
	MatchHeld   MatchCause = "held"   // the condition has been true for Window.For
	MatchSilent MatchCause = "silent" // no change has met the condition for Window.Silent
)

// A MatchQuery selects part of the log of matches.
type MatchQuery struct {
	Query  ID // only its matches; "" means those of all queries
	After  freshet.Cursor
	Newest bool // the newest first
	Limit  int  // 0 means no limit

	// Only those of the query with numbers from First, and up to Last unless that is zero.
	First, Last int64
}

// A Batch is the matches of a query that are delivered together: those with the numbers from
// From to To. The batches of a query follow each other without a gap, so that no delayed match is
// lost; one with DelayRepeat delivers again what was in earlier ones.
type Batch struct {
	Cursor   freshet.Cursor // position in the log of all batches; zero until stored
	Query    ID
	Name     string // of the query at the time
	From, To int64
	End      freshet.Place // of the last match in the log of matches; zero until stored
	Delay    Delay         // the last reason for which they waited
	At       time.Time     // when they are delivered
}

// Count returns the number of matches.
func (b Batch) Count() int64 { return b.To - b.From + 1 }

// ID returns the name under which the batch is delivered: that of its match, or such as
// "cheap.3-7~k3f9q2xw" if it has several. One that repeats others adds its time, so that receivers do not
// drop it.
func (b Batch) ID() string {
	name := fmt.Sprintf("%s.%d", b.Query, b.From)
	if b.To > b.From {
		name = fmt.Sprintf("%s-%d", name, b.To)
	}
	if b.Delay == DelayRepeat {
		name = fmt.Sprintf("%s.%d", name, b.At.Unix())
	}
	return b.End.Epoch.Qualify(name)
}

// A Delay is the reason why matches are not delivered at once.
type Delay string

// The reasons.
const (
	DelayNone   Delay = ""       // they are delivered at once
	DelayDigest Delay = "digest" // they are delivered together
	DelayQuiet  Delay = "quiet"  // quiet hours
	DelayRate   Delay = "rate"   // the rate is used up
	DelayRepeat Delay = "repeat" // they were delivered before, and nobody has acknowledged them
)

// A Step is the result of a step in running queries.
type Step struct {
	States  []State
	Matches []Match
	Batches []Batch
}

// A State is a named part of the state that queries are run with.
type State struct {
	Query ID // "" if it belongs to all of them together
	Name  string
	Body  []byte // nil deletes it
}
