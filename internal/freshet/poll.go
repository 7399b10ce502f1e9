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
	Worth  float64   // what the policy put it at, in the policy's own unit
	Cause  Cause     // why it was chosen
	Pushed time.Time // since when a hook or hub says that the source has changed; zero if none does
	Robots bool      // the robots.txt of the first host is to be read first
	Host   string    // that its first request may go to without asking; "" means the source's own

	// Along are other sources that watch the same document. What the poll brings is
	// read for each of them, too.
	Along []Companion
}

// A Companion is a source that is read from the poll of another.
type Companion struct {
	Source Source
	Since  time.Time // when it was last seen; zero if never
}

// FirstHost returns the host that the first request may go to.
func (p *Poll) FirstHost() string {
	if p.Host != "" {
		return p.Host
	}
	return HostOf(p.Source.URL)
}

// A Cause says who wanted a poll.
type Cause uint8

// The causes of a poll.
const (
	ByPolicy   Cause = iota // the policy held it to be the most worth
	ByBound                 // the source's MaxGap had passed
	ByHand                  // somebody asked for it
	ByDoubt                 // a suspect capture is held until a second look
	BySharing               // none of its own: another source of the same document was polled, and this one was read from that
	ByPush                  // a hook or a hub said that it has changed
	ByStrategy              // it is a time of the source's Strategy, or its first look
)

var causes = [...]string{"policy", "bound", "hand", "doubt", "shared", "push", "strategy"}

// String returns the cause in a word.
func (c Cause) String() string { return units.NameOf(causes[:], int(c)) }

// Wished reports whether somebody wanted the poll at once.
func (c Cause) Wished() bool { return c == ByHand || c == ByPush }

// A Result says what a poll found.
type Result uint8

// The results of a poll.
const (
	Unchanged Result = iota // seen, and as before
	Changed                 // seen, and different: a new version and a change
	First                   // seen for the first time, or the first time under this recipe: a new version but no change
	Failed                  // not seen
	Doubted                 // not seen: what came is suspect, and is stored but not told until more looks agree
)

var results = [...]string{"unchanged", "changed", "first", "failed", "held"}

// String returns the result in a word.
func (r Result) String() string { return units.NameOf(results[:], int(r)) }

// Seen reports whether the source was seen at all.
func (r Result) Seen() bool { return r != Failed && r != Doubted }

// Captured reports whether the poll brought a new version that is told of.
func (r Result) Captured() bool { return r == Changed || r == First }

// An Outcome is how a poll ended. The log of outcomes is the truth of the
// system: beliefs are rebuilt from it, and it replays in the lab as a trace.
type Outcome struct {
	Cursor Cursor // place in the log of outcomes; zero until stored
	Source SourceID
	Cause  Cause
	Since  time.Time // when the source was last seen before; zero if never
	Pushed time.Time // since when a hook or hub had said that it has changed; zero if none had
	Began  time.Time // before the request left
	Ended  time.Time // after the answer was in

	Result   Result
	Version  int   // number of the version seen, or of the one that is held; zero if none
	Quiet    Quiet // why the version that it stored is not told of, if it stored one so
	Status   int   // of the last HTTP response; zero if none came
	Requests int   // requests made, redirects included; none if the cause is BySharing
	Route    Route // where they went, if not all to the source's own host
	Bytes    int64 // of body taken off the wire

	// Modified is when the source says it last changed (Last-Modified, the
	// newest feed item), if it says so. It is evidence, not truth.
	Modified time.Time

	// Dates are when the source says that it changed before, the newest first, at most
	// evidence.MaxDates: those of the items of a feed.
	Dates []time.Time

	// Word is what the source says of other pages, if it is an index of them and says
	// anything else than when it was last seen.
	Word *evidence.IndexHint

	// Foretold is what the source says of when it will change. If the poll captured
	// nothing, nil means that it says what it said before.
	Foretold *evidence.Announcement

	// Suspect says why what was seen is probably not the page that is wanted, and
	// Landed which URL answered, if it names another page than the source's.
	Suspect suspect.Class
	Landed  string

	// FreshFor is for how long after the answer the server says that the source
	// stays as it is (Cache-Control, the ttl of a feed). It is a hint, not a promise.
	FreshFor time.Duration

	// LookAgain is how long after the answer a second look is wanted, because what was
	// seen is held until then.
	LookAgain time.Duration

	// NotBefore is the time before which the host that answered last asked not to
	// be polled.
	NotBefore time.Time

	Failure failure.Class // the class of what went wrong, if Failed
	Err     string        // the same in words
}

// FreshUntil returns until when the server says that the source stays as it is; zero
// if it does not say.
func (o Outcome) FreshUntil() time.Time {
	if o.FreshFor <= 0 {
		return time.Time{}
	}
	return o.Ended.Add(o.FreshFor)
}

// LookAgainAt returns when a second look is wanted; zero if none is.
func (o Outcome) LookAgainAt() time.Time {
	if o.LookAgain <= 0 {
		return time.Time{}
	}
	return o.Ended.Add(o.LookAgain)
}

// Belies reports whether the outcome shows that a server was wrong when it said that
// the source stays as it is until a moment.
func (o Outcome) Belies(until time.Time) bool {
	return o.Result == Changed && o.Began.Before(until)
}

// An Attempt is what a poll sent or was about to send: what must be remembered
// through a crash so that the budget and the politeness hold across it. A poll
// that ended is one attempt. Of one that did not, each request is.
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
