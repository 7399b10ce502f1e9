package freshet

import (
	"context"
	"iter"
	"time"

	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/suspect"
)

// A Status is what the logs of a source add up to, so that polling can continue
// after a restart.
type Status struct {
	Upto      Cursor        // the newest outcome it rests on; zero if there is none
	Begun     time.Time     // the last attempt, whether or not it ended
	Seen      time.Time     // Began of the last poll that saw the source
	NotBefore time.Time     // the latest such request of the host, if not yet past
	Failures  int           // failed polls since it was last seen
	Failure   failure.Class // of the last of them
	Err       string        // likewise, in words
	Requests  int           // that the last poll took
	Route     Route         // where they went, as in Outcome
	Polls     int64         // made in all
	Suspect   suspect.Class // as in the Outcome of the last poll that saw the source, or of what is held
	Landed    string        // likewise
	Fresh     time.Time     // FreshUntil of the last poll that saw the source
	Belied    bool          // an outcome belied such a time: its server's hints are not believed

	Held   Held   // a capture that is stored and not reported yet
	Quiets Quiets // versions that were stored without a change, in all

	Head       Version // the newest version that is not held; Number is zero if there is none
	Recipe     string  // Key of the recipe that the head was read with
	Validators Validators
	Moved      Moved
	Changes    int       // Seq of the newest change
	ChangedAt  time.Time // Before of the newest change
}

// A SourceWithStatus is a source with its status.
type SourceWithStatus struct {
	Source
	Status Status
}

// A Catalog keeps the sources.
type Catalog interface {
	// AddSource adds s and returns it as stored. If a source with the same
	// URL and recipe is watched already, or another with its ID, it returns a
	// *ConflictError. If s has the ID of a source that has been removed, it takes
	// up its history. If s has no ID, it takes up the ID and the history of a
	// removed source with the same URL and recipe; otherwise an ID is made up.
	// Its revision is 1, or the next if there was a source with its ID before.
	//
	// Of a page of a site (Of is set) only what differs from its site is kept: an edit
	// of the site holds for its pages at once.
	AddSource(ctx context.Context, s Source) (Source, error)

	// AddSources, UpdateSources and RemoveSources make many edits in one transaction: none is
	// recorded if the error is not nil. Refused has the error with which AddSource, UpdateSource or
	// RemoveSource would refuse each edit; refused edits do not affect the others. Sites and their
	// pages must be edited one at a time.
	AddSources(ctx context.Context, list []Source) (added []Source, refused []error, err error)
	UpdateSources(ctx context.Context, list []Source) (refused []error, err error)
	RemoveSources(ctx context.Context, ids []SourceID) (refused []error, err error)

	// UpdateSource replaces the source with the same ID, or returns
	// ErrNotFound, or a *ConflictError. If s has a revision that is not the one
	// stored, it returns a *StaleError and changes nothing. The revision of the
	// source then grows by one. A page stays with its site and has the URL that it has.
	// A source that is a site no more lets go of its pages, as RemoveSource does.
	UpdateSource(ctx context.Context, s Source) error

	// RemoveSource stops watching a source. Its history stays, and is taken
	// up again if the source comes back, unless purge is set: then all of it
	// is deleted but its last numbers. A source that takes the ID later goes on
	// after them, so that no version, change or revision has a number that
	// another had.
	//
	// With a site go all of its pages, those that are watched and those that wait. A
	// page that is removed alone is not promoted again.
	RemoveSource(ctx context.Context, id SourceID, purge bool) error

	// Source returns one watched source, or ErrNotFound.
	Source(ctx context.Context, id SourceID) (SourceWithStatus, error)

	// SourceAsWritten is Source for one that was just written. If the stored definition has
	// the revision of s it is that of s, and is not decoded.
	SourceAsWritten(ctx context.Context, s Source) (SourceWithStatus, error)

	// Sources yields all watched sources in the order of their IDs.
	Sources(ctx context.Context) iter.Seq2[SourceWithStatus, error]

	// ListSources returns a part of a list of sources, as SourceQuery.List does of all of
	// them, without reading all of them.
	ListSources(ctx context.Context, q SourceQuery) (SourceList, error)

	// NamedSources returns sources by their IDs, in that order, without those that are not
	// watched; or, if it is asked for removed ones, without those that were not removed.
	NamedSources(ctx context.Context, ids []SourceID, removed bool) ([]SourceWithStatus, error)

	// SourcesAt returns the watched sources that have one of the URLs.
	SourcesAt(ctx context.Context, urls []string) ([]SourceWithStatus, error)

	// SourceIDs returns the IDs of all sources that a filter lets through, in their order.
	SourceIDs(ctx context.Context, f SourceFilter) ([]SourceID, error)

	// CountSources counts the watched sources, as Count does.
	CountSources(ctx context.Context) (SourceCounts, error)

	// RemovedSource returns one source that has been removed and whose history
	// is kept, or ErrNotFound.
	RemovedSource(ctx context.Context, id SourceID) (SourceWithStatus, error)

	// RemovedSources yields those that watched a URL, or all of them if it is
	// empty, in the order of their IDs.
	RemovedSources(ctx context.Context, url string) iter.Seq2[SourceWithStatus, error]
}

// A Record is all that one finished poll leaves behind.
type Record struct {
	Outcome    Outcome
	URL        string     // of the source when the poll began; what follows is kept only if it is still that
	Validators Validators // as received; kept for the next request
	Sums       Sums       // of what was seen; kept for the next poll
	Moved      Moved      // likewise
	Capture    *Capture   // set if the outcome is Captured, or stores a version quietly
	Held       Held       // what is held from now on, if the outcome is Doubted
	Noise      []byte     // what is known of the noise of the source by now, kept under NoiseState; nil leaves what is kept
	Items      []byte     // which items the source has had, kept under ItemState; nil leaves what is kept
}

// A Capture is a new version of a source, with the step that led to it.
//
// One with a Quiet is stored and numbered like every other, but no change is reported, counted or
// delivered. QuietNoise goes with an Unchanged outcome: the version becomes
// the head. QuietSuspect goes with a Doubted one: the head stays, and the version is
// held.
//
// Nobody changes its bytes once it is committed: the store may keep them in memory as they are.
type Capture struct {
	Quiet   Quiet
	Recipe  string // Key of the recipe it was read with
	Text    []byte
	Hash    Hash // of Text
	Raw     Raw
	Title   string
	Summary string // of the change from the version before
	Picture []byte // of the page as a browser shows it, in PNG; nil if there is none
	Fields  Fields // named values, if the recipe asks for any
	Details Details
}

// A VersionLog lists versions.
type VersionLog interface {
	// Versions returns up to limit versions of a source that were first seen in a span of
	// time, with numbers below before (zero means no bound), the newest first.
	Versions(ctx context.Context, id SourceID, in Between, before, limit int) ([]Version, error)
}

// An Archive keeps what polls found.
type Archive interface {
	VersionLog

	// Begin records that a poll is about to be made, and returns what the poll
	// compares with. When it returns, the attempt survives a crash: budget and
	// politeness are kept by it.
	Begin(ctx context.Context, p Poll) (Head, error)

	// Head returns what a source is compared with, as Begin does, for one that is read
	// from the poll of another: it sends nothing, and nothing is recorded.
	Head(ctx context.Context, id SourceID) (Head, error)

	// Hop records that a poll that has begun is about to send one more request, at
	// a moment to a host. Like Begin it returns when that survives a crash. A poll
	// without a source needs no Begin: it is a visit, of which nothing else is kept.
	Hop(ctx context.Context, p Poll, at time.Time, host string) error

	// Commit records a finished poll: the outcome and, if it captured a
	// version, the version and the change, all or nothing. When it returns
	// without error all of it survives a crash. It returns the outcome as
	// stored, with its Cursor and Version, and the change if there was one.
	//
	// An outcome whose cause is BySharing ends no attempt: none was made for it.
	//
	// A Changed outcome whose capture has the held text makes a change of the held version. Any
	// outcome that saw the source ends what is held. Of held versions that never became a change,
	// only the newest few are kept.
	Commit(ctx context.Context, r Record) (Outcome, Change, error)

	// ImportVersion stores a version that another program captured at a moment, as one that is
	// quiet by QuietImported: no outcome and no change come of it. It returns ErrConflict if the source
	// has been polled, or has a version of that moment or of a later one.
	ImportVersion(ctx context.Context, id SourceID, at time.Time, c Capture) error

	// Confirm makes a change of the held version: the user accepts it as the page. It returns
	// ErrNotFound if the version of that number is not held. That is no poll, and leaves no outcome:
	// the next poll that sees the version as it is ends as Changed, without another change. A head
	// that is marked as suspect loses the mark; that is no change, and the change returned is zero.
	Confirm(ctx context.Context, id SourceID, number int) (Change, error)

	// Attempts returns what polls sent at or after a moment, oldest first. What
	// was sent stays on record when its source is purged.
	Attempts(ctx context.Context, since time.Time) ([]Attempt, error)

	// Unlogged returns those of the attempts that have no outcome in the log: they are
	// under way, or were cut off, or their sources were purged.
	Unlogged(ctx context.Context, since time.Time) ([]Attempt, error)

	// VersionWith returns the number of the newest version of a source that has a text
	// and a number above a bound; zero if there is none.
	VersionWith(ctx context.Context, id SourceID, text Hash, above int) (int, error)

	// Version returns one version, or ErrNotFound.
	Version(ctx context.Context, id SourceID, number int) (Version, error)

	// Text returns the extracted text of a version, or ErrNotFound, or
	// ErrDamaged if it no longer hashes to its name.
	Text(ctx context.Context, id SourceID, number int) ([]byte, error)

	// Raw returns the response that a version was extracted from.
	Raw(ctx context.Context, id SourceID, number int) (Raw, error)

	// Picture returns the picture that was taken of a version, in PNG, or ErrNotFound if there is none.
	Picture(ctx context.Context, id SourceID, number int) ([]byte, error)

	// Prune drops what is older or more than the bounds allow: those of each
	// source, and overall for all of them together. Outcomes and attempts
	// older than logs (zero means for ever) go too.
	Prune(ctx context.Context, now time.Time, overall Keep, logs time.Duration) (Pruned, error)

	// WouldPrune returns what Prune would drop now, and drops nothing. Versions under
	// bounds on bytes, and the bytes themselves, are close to it and no more: what a body
	// takes depends on those that stay.
	WouldPrune(ctx context.Context, now time.Time, overall Keep, logs time.Duration) (Pruned, error)
}

// An OutcomeLog is how all polls ended, in the order of the record. A reader
// keeps its own place in it. A reader that follows it to the end and waits learns
// of polls as they end; one that begins at an earlier place learns the same.
type OutcomeLog interface {
	// Outcomes returns part of the log. If the sources said much (Outcome.Word) there
	// may be fewer than the limit, but never none if there are any.
	Outcomes(ctx context.Context, q OutcomeQuery) ([]Outcome, error)

	// WaitOutcome returns when there is an outcome after a place, or with the
	// cause when ctx is done.
	WaitOutcome(ctx context.Context, after Cursor) error

	// LastOutcome returns the end of the log.
	LastOutcome(ctx context.Context) (Cursor, error)

	// OutcomeEpochs returns the epochs of the log.
	OutcomeEpochs(ctx context.Context) (Epochs, error)
}

// An OutcomeCount is how many polls began in a stretch of time.
type OutcomeCount struct {
	At      time.Time // when it begins: a multiple of its length since 1970
	Polls   int
	Changed int
	Failed  int
}

// A DayCount is how often a source changed on a day of UTC.
type DayCount struct {
	Source  SourceID
	Day     time.Time
	Changes int
}

// An OutcomeQuery selects outcomes.
type OutcomeQuery struct {
	Source SourceID // "" means all
	After  Cursor   // only those after this place, oldest first; if Newest, only those before it (zero: from the end)
	Newest bool     // the newest first
	Limit  int
}

// A Pruned counts what a Prune dropped.
type Pruned struct {
	Versions int
	Outcomes int64
	Bytes    int64 // of stored bodies
}

// A ChangeLog is the change stream at rest. A reader keeps its own place in
// it, so a slow reader holds up nobody and a restarted one misses nothing.
type ChangeLog interface {
	// Changes returns part of the log, oldest first.
	Changes(ctx context.Context, q ChangeQuery) ([]Change, error)

	// Wait returns when there is a change after a place, or with the cause
	// when ctx is done.
	Wait(ctx context.Context, after Cursor) error

	// LastChange returns the end of the log.
	LastChange(ctx context.Context) (Cursor, error)

	// ChangeEpochs returns the epochs of the log.
	ChangeEpochs(ctx context.Context) (Epochs, error)
}

// A ChangeQuery selects changes.
type ChangeQuery struct {
	After  Cursor   // only those after this place, oldest first; if Newest, only those before it (zero: from the end)
	Newest bool     // the newest first
	Source SourceID // "" means all
	Limit  int

	// Only those that led to versions with numbers above Above, and up to Upto unless
	// that is zero.
	Above, Upto int

	Seen Between // only those whose Before lies in it
}

// A StateStore keeps keys and values, for sources and for all of them together.
type StateStore interface {
	SaveState(ctx context.Context, states []State) error

	// States yields the values of a key: the one of all sources together first, then
	// those of watched sources in the order of their IDs.
	States(ctx context.Context, key string) iter.Seq2[State, error]

	// State returns the value of a key for one source, watched or removed, or for all
	// of them together if the ID is empty; or ErrNotFound.
	State(ctx context.Context, key string, id SourceID) (State, error)
}

// A Store is one database seen from all its sides. Packages sqlite and postgres implement
// it; storetest holds every implementation to the same behaviour.
type Store interface {
	Catalog
	Archive
	OutcomeLog
	ChangeLog
	StateStore
	Close() error
}
