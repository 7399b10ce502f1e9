package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// A NewQuery is the definition of a query.
type NewQuery struct {
	ID      string `json:"id,omitempty" doc:"Made of the name if it is left out"`
	Name    string `json:"name,omitempty" doc:"For people"`
	Scope   *Scope `json:"scope,omitempty" doc:"Which sources the query is about; all if it is left out"`
	When    string `json:"when,omitempty" doc:"Condition in CEL, such as added.contains(\"security\"); every change in scope matches if it is left out. See docs/reference/queries.md"`
	Trigger string `json:"trigger,omitempty" enum:"becomes,first,each,poll" doc:"When a true condition matches: when it becomes true for a source (becomes, the default of conditions on now and text alone, and of those on polls), likewise and at the first look at the source (first), at each change or poll for which it is true (each), or at each poll that sees a source for which it is true (poll)"`
	Value   string `json:"value,omitempty" doc:"What a match carries besides its changes, in CEL, such as now.price"`

	Importance float64 `json:"importance,omitempty" exclusiveMinimum:"0" maximum:"1000" doc:"As how many changes one that matches counts, for what polls of its source are worth; 1 if it is left out"`

	Window any    `json:"window,omitempty" doc:"How more than one change is looked at: an object with by, over, for, lasting and silent, or a length of time for over"`
	Digest any    `json:"digest,omitempty" doc:"Tell matches together: an object with every, at, on, zone and count, or such as daily 08:00 Europe/Berlin"`
	Quiet  any    `json:"quiet,omitempty" doc:"Quiet hours, when nothing is sent: an object with from, to, zone and days, or such as 22:00-07:00 Europe/Berlin"`
	Rate   string `json:"rate,omitempty" doc:"Most matches to send, such as 10/h; the rest follows in one digest"`
	Repeat string `json:"repeat,omitempty" doc:"Send matches again after this length of time, such as 30m, until somebody acknowledges them"`
	Paused bool   `json:"paused,omitempty"`
}

// A Scope says which sources a query is about.
type Scope struct {
	Sources []freshet.SourceID `json:"sources,omitempty"`
	Tags    []string           `json:"tags,omitempty" doc:"Sources that have one of these tags"`
	Sites   []freshet.SourceID `json:"sites,omitempty" doc:"Sites, with their pages"`
	All     bool               `json:"all,omitempty" doc:"The same as no scope, but explicit"`
}

// A Query is a query as the API tells it.
type Query struct {
	NewQuery
	Origin         freshet.Origin `json:"origin" enum:"api,file" doc:"Where the query comes from"`
	CreatedAt      time.Time      `json:"created_at"`
	Matches        int64          `json:"matches" doc:"Number of its newest match"`
	Behind         bool           `json:"catching_up,omitempty" doc:"It still goes through what is stored"`
	Waiting        *Waiting       `json:"waiting,omitempty" doc:"Matches that are not sent yet"`
	Unacknowledged int64          `json:"unacknowledged,omitempty" doc:"Matches that are sent again until somebody acknowledges them"`
	Words          string         `json:"words,omitempty" doc:"The condition in words, if it is a short form of alerts; an alert takes them as its condition"`
	Warnings       []string       `json:"warnings,omitempty" doc:"Probable mistakes; only in the response to an edit"`

	// Revision is how often the query has been written, as its ETag says.
	Revision int64 `json:"-"`
}

func (q *Query) setRevision(r int64) { q.Revision = r }

// Waiting is how many matches are not sent yet, and what they wait for.
type Waiting struct {
	Count int64     `json:"count"`
	For   string    `json:"for" enum:"digest,quiet,rate"`
	Until time.Time `json:"until,omitzero" doc:"When they are sent at the latest; missing if that depends on their number"`
}

// A Match is something that a query had to tell.
type Match struct {
	Cursor  freshet.Place    `json:"cursor" doc:"Position in the log of matches"`
	ID      string           `json:"id" doc:"The same on every delivery, and never reused"`
	Query   string           `json:"query"`
	Number  int64            `json:"number" doc:"Number of this match of the query, from 1 without gaps"`
	Cause   string           `json:"cause" enum:"change,poll,held,silent" doc:"A change that fits, a poll that made the condition true, a condition that was true for long enough, or a silence"`
	At      time.Time        `json:"at" doc:"When it happened: the time of the change, or the end of the length of time"`
	KnownAt time.Time        `json:"known_at" doc:"When it became known"`
	Source  freshet.SourceID `json:"source,omitempty"`
	Group   string           `json:"group,omitempty" doc:"What its changes have in common, if the query groups them"`
	Value   any              `json:"value,omitempty"`
	Change  *Change          `json:"change,omitempty" doc:"The change that completed it"`

	Changes []freshet.ChangeRef `json:"changes,omitempty" doc:"All changes that made it match, if there are several"`
}

// A MatchBatch is what a query sends at once: a match, or several of a digest, of quiet hours or
// of what was held back.
type MatchBatch struct {
	Query   string    `json:"query"`
	Name    string    `json:"name,omitempty" doc:"Name of the query when it was sent"`
	Summary string    `json:"summary" doc:"That of the match, or how many there are"`
	Count   int64     `json:"count" doc:"Number of matches"`
	First   int64     `json:"first" doc:"Number of the first match"`
	Last    int64     `json:"last" doc:"Number of the last match"`
	Held    string    `json:"held,omitempty" enum:"digest,quiet,rate,repeat" doc:"What the matches waited for, or repeat if they were sent before"`
	At      time.Time `json:"told_at" doc:"When they were sent"`
	Matches []Match   `json:"matches" nullable:"false" doc:"The matches, oldest first; at most 500. All can be read at /queries/{id}/matches"`
}

// MatchEventType is the CloudEvents type of every MatchEvent.
const MatchEventType = "freshet.match"

// A MatchEvent is what a query tells in a CloudEvents 1.0 envelope, in its JSON format.
type MatchEvent struct {
	SpecVersion     string     `json:"specversion" enum:"1.0"`
	ID              string     `json:"id" doc:"ID of the match, or such as cheap.3-7~k3f9q2xw of several; the same on every delivery, and never reused"`
	Source          string     `json:"source" format:"uri-reference" doc:"URL of the query in the API"`
	Type            string     `json:"type" enum:"freshet.match"`
	Time            time.Time  `json:"time" doc:"When it was sent"`
	Subject         string     `json:"subject,omitempty" doc:"URL of the source, if it is one match"`
	DataContentType string     `json:"datacontenttype"`
	Data            MatchBatch `json:"data"`
}

// A MatchPage is part of the log of matches.
type MatchPage struct {
	Items []Match       `json:"items" nullable:"false"`
	Next  freshet.Place `json:"next" doc:"The cursor to continue after"`
}

// A QueryTest is a query, and over what it is tried.
type QueryTest struct {
	NewQuery
	Since string `json:"since,omitempty" doc:"A time, or a length of time before now, such as 30d; from the beginning if it is left out"`
	Limit int    `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"At most this many matches, the newest; 100 if it is left out"`
}

// A QueryFinding is what a query would have matched.
type QueryFinding struct {
	Items    []Match                      `json:"items" nullable:"false" doc:"The newest matches, oldest first"`
	Found    int                          `json:"found" doc:"Matches in all"`
	Scanned  int                          `json:"scanned" doc:"Changes that were looked at"`
	Missing  int64                        `json:"missing,omitempty" doc:"Changes for which the condition could not be evaluated: a value was missing or of another type"`
	Warnings []string                     `json:"warnings,omitempty" doc:"Probable mistakes"`
	Fields   map[string]reading.ValueType `json:"fields,omitempty" doc:"The values that sources in its scope have, and their types"`
}

// A QueryToAdd is a query with where it begins.
type QueryToAdd struct {
	NewQuery
	Backfill string `json:"backfill,omitempty" doc:"Begin with what happened since this time, or length of time before now, such as 30d; 0 means from the beginning. If it is left out, the query begins now"`
}

// Queries are the continuous queries. Removing one removes its matches.
type Queries struct {
	endpoint
	lister[Query]
	getter[string, Query]
	adder[QueryToAdd, Query]
	editor[string, Query]
	remover[string]
}

// An Acknowledgement says up to which match those of a query need not be sent again.
type Acknowledgement struct {
	UpTo int64 `json:"up_to,omitempty" minimum:"1" doc:"Number of the newest of them; all if it is left out"`
}

// Acknowledge ends the repetition of the matches of a query: of all, or of those up to a number.
func (r Queries) Acknowledge(ctx context.Context, id string, a Acknowledgement) (Query, error) {
	return post[Query](ctx, r.c, r.at(id, "acknowledge"), nil, a)
}

// Test tries a query on what is stored.
func (r Queries) Test(ctx context.Context, t QueryTest) (QueryFinding, error) {
	return post[QueryFinding](ctx, r.c, "/queries/test", nil, t)
}

// A MatchQuery selects part of the log of matches of a query.
type MatchQuery struct {
	After  freshet.Place
	Newest bool // the newest first
	Limit  int  // zero means 100; at most 1000
	Wait   time.Duration
}

// Matches returns part of the log of matches of a query.
func (r Queries) Matches(ctx context.Context, id string, q MatchQuery) (MatchPage, error) {
	asked := query{}
	asked.place("after", q.After)
	asked.number("limit", int64(q.Limit))
	asked.flag("newest", q.Newest)
	if q.Wait > 0 {
		asked.text("wait", q.Wait.String())
	}
	return get[MatchPage](ctx, r.c, r.at(id, "matches"), asked)
}
