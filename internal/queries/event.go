package queries

import "freshet/internal/freshet"

// A Subject is the source that an event is about, as it was then.
type Subject struct {
	ID    freshet.SourceID
	Label freshet.Label
	Site  freshet.SourceID // that it is a page of; "" if it is none
}

// An Event is something that happened to a source: a change, or how a poll ended.
// One of the two is set.
type Event struct {
	Subject Subject
	Change  *freshet.Change
	Outcome *freshet.Outcome

	Content Content
}

// noise reports whether a poll saw a difference that does not count, and that is therefore not
// reported as a change.
func (e *Event) noise() bool { return e.Outcome != nil && e.Outcome.Quiet == freshet.QuietNoise }

// suspect reports whether what was seen is probably not the page that is wanted.
func (e *Event) suspect() bool {
	return e.Change != nil && e.Change.Suspect != "" || e.Outcome != nil && e.Outcome.Suspect != ""
}

// Content is what a change is about, beyond what stands in the log of changes. Only
// what [Engine.Needs] asks for has to be there.
type Content struct {
	Added, Removed string // text, line by line
	Text           string // all of it, as it is now
	TextBefore     string
	Now, Before    freshet.Fields
	Items          *Items // nil means those in the details of the change

	Gone   Need // of what was asked for: what is not kept any more, which is no empty text
	Loaded bool // of a poll: the version that it saw is there, as Text and Now
}

// Items are the items of a source that are other than before.
type Items struct {
	Added, Removed, Back []freshet.Item
	Updated              []ItemUpdate
}

// An ItemUpdate is an item with other values than before.
type ItemUpdate struct {
	Now, Before freshet.Item
	Changed     []string // the names of the values that differ
}

// A Need says what must be loaded for an event.
type Need uint8

// What queries can look at.
const (
	NeedDiff       Need = 1 << iota // Content.Added and Content.Removed
	NeedText                        // Content.Text
	NeedFields                      // Content.Now and Content.Before
	NeedItems                       // Content.Items, with all values; without it, those in the details will do
	NeedTextBefore                  // Content.TextBefore
	NeedPolls                       // the outcomes of polls of the source, as events of their own
)

// Has reports whether something is needed.
func (n Need) Has(what Need) bool { return n&what != 0 }
