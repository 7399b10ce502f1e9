package freshet

import (
	"strings"
	"time"

	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/suspect"
	"freshet/internal/units"
)

// A Poll is a decision to look at a source.
type Poll struct {
	Source Source
	At     time.Time // when it was decided
	Since  time.Time // when the source was last seen; zero if never
	Worth  float64   // the policy's value of the poll, in its own unit
	Cause  Cause     // why it was chosen
	Pushed time.Time // when a hook or hub reported a change; zero if none did
	Robots bool      // read the robots.txt of the first host first
	Host   string    // the host that the first request has a permit for; "" means the source's own

	// Along are other sources of the same document, which share the fetch.
	Along []Companion
}

// A Companion is a source that shares the fetch of another.
type Companion struct {
	Source Source
	Since  time.Time // when it was last seen; zero if never
}

// FirstHost returns the host that the first request has a permit for.
func (p *Poll) FirstHost() string {
	if p.Host != "" {
		return p.Host
	}
	return HostOf(p.Source.URL)
}

// A Cause says why a source is polled.
type Cause uint8

// The causes of a poll.
const (
	ByPolicy   Cause = iota // the policy valued it most
	ByBound                 // the source's MaxGap had passed
	ByHand                  // a user requested it
	ByDoubt                 // a suspect capture is quarantined until a second look
	BySharing               // no fetch of its own: it shared the fetch of another source of the same document
	ByPush                  // a hook or a hub reported a change
	ByStrategy              // a time of the source's strategy, or its first look
)

var causes = [...]string{"policy", "bound", "hand", "doubt", "shared", "push", "strategy"}

// String returns the name of the cause.
func (c Cause) String() string { return units.NameOf(causes[:], int(c)) }

// Wished reports whether the poll was requested, by a user or a push.
func (c Cause) Wished() bool { return c == ByHand || c == ByPush }

// A Result says what a poll found.
type Result uint8

// The results of a poll.
const (
	Unchanged Result = iota // seen, and as before
	Changed                 // seen, and different: a new version and a change
	First                   // seen for the first time, or the first time under this recipe: a new version but no change
	Failed                  // not seen
	Doubted                 // suspect: stored in quarantine until more looks agree
)

var results = [...]string{"unchanged", "changed", "first", "failed", "held"}

// String returns the name of the result.
func (r Result) String() string { return units.NameOf(results[:], int(r)) }

// Seen reports whether the source was seen at all.
func (r Result) Seen() bool { return r != Failed && r != Doubted }

// Captured reports whether the poll brought a new version that is reported.
func (r Result) Captured() bool { return r == Changed || r == First }

// An Outcome is how a poll ended. The log of outcomes is the source of truth:
// learner state is rebuilt from it, and the lab replays it as a trace.
type Outcome struct {
	Cursor Cursor // place in the log of outcomes; zero until stored
	Source SourceID
	Cause  Cause
	Since  time.Time // when the source was last seen before; zero if never
	Pushed time.Time // when a hook or hub reported a change; zero if none did
	Began  time.Time // before the request left
	Ended  time.Time // after the answer was in

	Result   Result
	Version  int   // number of the version seen, or of the one in quarantine; zero if none
	Quiet    Quiet // why the stored version is not reported, if it is not
	Status   int   // of the last HTTP response; zero if none came
	Requests int   // requests made, redirects included; none if the cause is BySharing
	Route    Route // where they went, if not all to the source's own host
	Bytes    int64 // of body taken off the wire

	// Modified is when the source says it last changed (Last-Modified, the
	// newest feed item); zero if it does not say. It is evidence, not truth.
	Modified time.Time

	// Dates are earlier update times that the source reports, such as the dates of the
	// items of a feed: the newest first, at most evidence.MaxDates.
	Dates []time.Time

	// Word is what the source reports about other pages, if it is an index and its
	// report differs from the previous poll.
	Word *evidence.IndexHint

	// Foretold is the source's announcement of its next change. If the poll captured
	// nothing, nil means that the previous announcement holds.
	Foretold *evidence.Announcement

	// Suspect says why the response is probably not the wanted page, and Landed which
	// URL answered, if it is another page than the source's.
	Suspect suspect.Class
	Landed  string

	// FreshFor is how long the response stays fresh according to the server
	// (Cache-Control, the ttl of a feed). It is a hint, not a promise.
	FreshFor time.Duration

	// LookAgain is the delay until a second look at a capture in quarantine.
	LookAgain time.Duration

	// NotBefore is the end of the back-off that the last host asked for.
	NotBefore time.Time

	Failure failure.Class // the class of what went wrong, if Failed
	Err     string        // the same in words
}

// FreshUntil returns when the response stops being fresh according to the server; zero if
// it does not say.
func (o Outcome) FreshUntil() time.Time {
	if o.FreshFor <= 0 {
		return time.Time{}
	}
	return o.Ended.Add(o.FreshFor)
}

// LookAgainAt returns the time of the second look; zero if none is wanted.
func (o Outcome) LookAgainAt() time.Time {
	if o.LookAgain <= 0 {
		return time.Time{}
	}
	return o.Ended.Add(o.LookAgain)
}

// Belies reports whether the outcome refutes a server that declared the source fresh until
// a moment.
func (o Outcome) Belies(until time.Time) bool {
	return o.Result == Changed && o.Began.Before(until)
}

// An Attempt is what a poll sent or was about to send. Attempts survive a crash, so that
// the budget and the politeness hold across it. A finished poll is one attempt; each
// request of an unfinished one is an attempt of its own.
type Attempt struct {
	Source   SourceID // "" if the source has been purged
	Began    time.Time
	Ended    time.Time // zero if no outcome was recorded
	Requests int       // as in Outcome; at least 1
	Route    Route     // as in Outcome
}

// A Route is the hosts that the requests of a poll went to, in order, with a
// space between two. It is empty if all went to the source's own host.
type Route string

// Hosts returns the hosts of the route.
func (r Route) Hosts() []string { return strings.Fields(string(r)) }
