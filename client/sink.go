package client

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"freshet/internal/freshet"
)

// A Sink is how far the deliveries to one sink are.
type Sink struct {
	Name    string        `json:"name"`
	Kind    string        `json:"kind,omitempty" doc:"Kind of sink, such as webhook, slack or email"`
	State   SinkState     `json:"state" enum:"ok,failing,held,gone,paused,broken" doc:"ok; failing: it has accepted nothing for a while, or a secret is missing; held: for days, so that it is tried once an hour; gone: it answered 410; paused; broken: its settings cannot be used"`
	Place   freshet.Place `json:"place" doc:"Position in the change log or, if it follows queries, in the log of matches"`
	Behind  bool          `json:"behind,omitempty" doc:"It has not read everything that is stored"`
	Open    int           `json:"open" doc:"Deliveries waiting"`
	Dead    int           `json:"dead" doc:"Deliveries given up"`
	Failing time.Time     `json:"failing_since,omitzero" doc:"Since when it has accepted nothing"`
	Held    time.Time     `json:"held_since,omitzero" doc:"Since when it is held"`
	Error   string        `json:"error,omitempty" doc:"What went wrong first, or why the settings cannot be used"`
	Hint    string        `json:"hint,omitempty" doc:"What to do about it"`
}

// A SinkState says in a word how a sink is doing.
type SinkState string

// The states of a sink.
const (
	SinkOK      SinkState = "ok"
	SinkFailing SinkState = "failing"
	SinkHeld    SinkState = "held"
	SinkGone    SinkState = "gone"
	SinkPaused  SinkState = "paused"
	SinkBroken  SinkState = "broken"
)

// A NewSink is what is set of a sink. Secrets are never returned: those that are stored
// are shown as ***, and a sink that is put back with *** keeps them.
type NewSink struct {
	Kind     string             `json:"kind,omitempty" doc:"Kind of sink; may be left out if the scheme of the URL says it"`
	URL      string             `json:"url,omitempty" maxLength:"8192" doc:"Where to send; a shorthand such as slack://hook:A-B-C@webhook or ntfy://ntfy.sh/topic works too"`
	Queries  []string           `json:"queries,omitempty" nullable:"false" doc:"Matches of these queries instead of changes"`
	Tags     []string           `json:"tags,omitempty" nullable:"false" doc:"Only changes of sources with one of these tags"`
	Sources  []freshet.SourceID `json:"sources,omitempty" nullable:"false" doc:"Changes of these sources besides; no tags and no sources means all changes"`
	Template string             `json:"template,omitempty" maxLength:"65536" doc:"Text of the message, in the syntax of Go's text/template; empty means the default of the kind"`
	Settings map[string]string  `json:"settings,omitempty" nullable:"false" doc:"Settings of the kind; secrets as ${secret:NAME}"`
	Headers  map[string]string  `json:"headers,omitempty" nullable:"false" doc:"HTTP headers to send; secrets as ${secret:NAME}"`
	Paused   bool               `json:"paused,omitempty" doc:"Send nothing; everything waits"`
}

// A SinkInfo is a sink with how it is doing.
type SinkInfo struct {
	Name     string         `json:"name"`
	Origin   freshet.Origin `json:"origin" enum:"api,file" doc:"file: from the configuration file, where alone it can be changed"`
	Revision int64          `json:"revision,omitempty" doc:"Grows with each edit"`
	NewSink
	Standing Sink `json:"standing"`
}

// A SinkList is all sinks.
type SinkList struct {
	Items []SinkInfo `json:"items" nullable:"false"`
	Next  string     `json:"next,omitempty" doc:"Pass this as after to get more; absent if there is none"`
}

// A SinkTrial is a message that was made, and perhaps sent, for a look.
type SinkTrial struct {
	ID       string `json:"id" doc:"ID of the event"`
	Body     string `json:"body" doc:"Message as it is sent, without secrets"`
	Sent     bool   `json:"sent"`
	Accepted bool   `json:"accepted" doc:"The receiver took it"`
	Answer   string `json:"answer,omitempty" doc:"Response of the receiver"`
	Error    string `json:"error,omitempty" doc:"Why it was not accepted"`
	Hint     string `json:"hint,omitempty" doc:"What to do about it"`
}

// A DeadLetter is a delivery that was given up.
type DeadLetter struct {
	ID       string    `json:"id" doc:"ID of the event"`
	Change   *Change   `json:"change,omitempty" doc:"The change that it reports"`
	Query    string    `json:"query,omitempty" doc:"The query whose matches it reports"`
	First    int64     `json:"first,omitempty" doc:"Number of the first match; missing if the query was removed"`
	Last     int64     `json:"last,omitempty" doc:"Number of the last match"`
	At       time.Time `json:"at,omitzero" doc:"When the change was seen, or the matches were sent"`
	Attempts int       `json:"attempts"`
	Error    string    `json:"error" doc:"Of the last attempt"`
	Body     string    `json:"body,omitempty" doc:"Message as it was sent, without secrets; missing if it could not be made"`
}

// A DeadLetterPage is part of what a sink has given up.
type DeadLetterPage struct {
	Items []DeadLetter `json:"items" nullable:"false"`
	Next  string       `json:"next" doc:"What to give as after to continue"`
}

// A SinkReplay says what to deliver again. If nothing is set it is everything that was
// given up.
type SinkReplay struct {
	Letters []string  `json:"letters,omitempty" nullable:"false" doc:"IDs or cursors of dead letters"`
	After   string    `json:"after,omitempty" doc:"Everything after this cursor of a change or, if the sink follows queries, of a match; 0 means from the beginning"`
	Since   time.Time `json:"since,omitzero" doc:"Everything since this time"`
	DryRun  bool      `json:"dry_run,omitempty" doc:"Count what would be delivered, and deliver nothing"`
}

// A SinkReplayed says what will be delivered again.
type SinkReplayed struct {
	Deliveries int           `json:"deliveries" doc:"Number of deliveries that were given up and are made again; with dry_run all that would be made"`
	More       bool          `json:"more,omitempty" doc:"It would be more than that; not all were counted"`
	Place      freshet.Place `json:"place" doc:"Position that the sink continues from, as in its standing"`
	DryRun     bool          `json:"dry_run,omitempty" doc:"Nothing was done"`
}

// A SinkKind says what a kind of sink is.
type SinkKind struct {
	Name     string        `json:"name"`
	About    string        `json:"about"`
	URL      string        `json:"url,omitempty" doc:"What its URL is like; missing if it needs none"`
	Settings []SinkSetting `json:"settings" nullable:"false"`
	Template string        `json:"template,omitempty" doc:"Its own words; missing if it sends data"`
}

// A SinkSetting is what a kind of sink needs or takes besides a URL.
type SinkSetting struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Needed bool   `json:"needed,omitempty"`
	Secret bool   `json:"secret,omitempty" doc:"Nobody sees it again"`
}

// A SinkKindList is all kinds of sink.
type SinkKindList struct {
	Items []SinkKind `json:"items" nullable:"false"`
}

// A PendingDelivery is a delivery that a sink waits for.
type PendingDelivery struct {
	DeadLetter
	Next time.Time `json:"next" doc:"When it is tried next"`
}

// A PendingList is what a sink waits for.
type PendingList struct {
	Items []PendingDelivery `json:"items" nullable:"false"`
	Next  *int              `json:"next" doc:"Pass this as offset to get more; null if there are none"`
}

// An Attempt is one attempt at telling a sink of something.
type Attempt struct {
	ID       string    `json:"id" doc:"ID of the event"`
	At       time.Time `json:"at" doc:"When it ended"`
	Node     string    `json:"node,omitempty" doc:"Address of the node that made it, if there are several"`
	Attempt  int       `json:"attempt" doc:"Number of the attempt, from 1"`
	Took     float64   `json:"took_ms" doc:"How long it took, in milliseconds"`
	Accepted bool      `json:"accepted" doc:"The receiver took it"`
	Error    string    `json:"error,omitempty" doc:"Why it was not accepted"`
	Hint     string    `json:"hint,omitempty" doc:"What to do about it"`
	GivenUp  bool      `json:"given_up,omitempty" doc:"There will be no further attempt"`
}

// An AttemptList is the last attempts at telling a sink.
type AttemptList struct {
	Items []Attempt `json:"items" nullable:"false" doc:"The newest first"`
	Next  string    `json:"next,omitempty" doc:"Pass this as after to get more; absent if there is none"`
}

// Sinks are the receivers of changes and matches. Removing one removes its pending deliveries.
type Sinks struct {
	endpoint
	lister[SinkInfo]
	getter[string, SinkInfo]
	editor[string, SinkInfo]
	remover[string]
}

// Add adds a sink. There must be none of its name.
func (r Sinks) Add(ctx context.Context, name string, s NewSink) (added SinkInfo, err error) {
	err = r.c.Call(ctx, http.MethodPut, r.at(name), url.Values{"new": {"true"}}, s, &added)
	return added, err
}

// Test makes the message of a sample or, if at is set, of a change, and sends it unless only a
// preview is wanted.
func (r Sinks) Test(ctx context.Context, name string, at freshet.Place, preview bool) (SinkTrial, error) {
	q := query{}
	q.place("change", at)
	q.flag("preview", preview)
	return post[SinkTrial](ctx, r.c, r.at(name, "test"), q, nil)
}

// Preview makes the message that a sink would be sent which has not been added.
func (r Sinks) Preview(ctx context.Context, s NewSink) (SinkTrial, error) {
	return post[SinkTrial](ctx, r.c, "/sinks-preview", nil, s)
}

// DeadLetters returns a page of what a sink has given up. Zero for limit means 100.
func (r Sinks) DeadLetters(ctx context.Context, name, after string, limit int) (DeadLetterPage, error) {
	q := query{}
	q.text("after", after)
	q.number("limit", int64(limit))
	return get[DeadLetterPage](ctx, r.c, r.at(name, "letters"), q)
}

// Pending returns what a sink waits for, the next to be tried first, without the first offset.
// Zero for limit means 100.
func (r Sinks) Pending(ctx context.Context, name string, offset, limit int) (PendingList, error) {
	q := query{}
	q.number("offset", int64(offset))
	q.number("limit", int64(limit))
	return get[PendingList](ctx, r.c, r.at(name, "owed"), q)
}

// Attempts returns the last attempts at telling a sink, the newest first.
func (r Sinks) Attempts(ctx context.Context, name string) ([]Attempt, error) {
	return listAll[Attempt](ctx, r.c, r.at(name, "attempts"))
}

// Replay has a sink deliver again.
func (r Sinks) Replay(ctx context.Context, name string, what SinkReplay) (SinkReplayed, error) {
	return post[SinkReplayed](ctx, r.c, r.at(name, "replay"), nil, what)
}
