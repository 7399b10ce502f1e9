package freshet

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A QueryID names a query for as long as it is known. It is made of the same
// characters as a SourceID.
type QueryID string

// A Query is what somebody wants to hear of for as long as they like: which changes,
// of which sources, and how the matches are told. Package query runs it.
type Query struct {
	ID    QueryID `json:"id,omitempty"`
	Name  string  `json:"name"` // for people
	Scope Scope   `json:"scope,omitzero"`

	// When is the condition, in CEL. "" holds for every change.
	When string `json:"when,omitempty"`

	// Value is what a match carries besides its changes, in CEL. "" means nothing.
	Value string `json:"value,omitempty"`

	// Importance is as how many changes one that matches counts, for what polls of its
	// source are worth. 0 means 1, as for a change that matches nothing.
	Importance float64 `json:"importance,omitempty"`

	Window Window     `json:"window,omitzero"` // what it says over time and over sources
	Digest Digest     `json:"digest,omitzero"` // matches are told together
	Quiet  QuietHours `json:"quiet,omitzero"`  // when none are told
	Rate   MatchRate  `json:"rate,omitzero"`   // how many are told at most
	Paused bool       `json:"paused,omitempty"`

	Origin   Origin    `json:"-"` // who added it
	Created  time.Time `json:"-"` // when it was first added
	Revision int64     `json:"-"` // how often it has been written, from 1
	From     Cursor    `json:"-"` // it looks at changes after this place in their log
	Last     int64     `json:"-"` // number of its newest match
}

// A Scope says which sources a query is about: those that are named, those that have
// one of the tags, and the sites with their pages. An empty one means all.
type Scope struct {
	Sources []SourceID `json:"sources,omitempty"`
	Tags    []string   `json:"tags,omitempty"`
	Sites   []SourceID `json:"sites,omitempty"`
	All     bool       `json:"all,omitempty"` // the same as an empty scope, said aloud
}

// Everything reports whether all sources are in the scope.
func (s Scope) Everything() bool {
	return len(s.Sources)+len(s.Tags)+len(s.Sites) == 0
}

// Has reports whether a source is in the scope: by its ID, its tags, and the site that
// it is a page of, if any.
func (s Scope) Has(id SourceID, tags []string, site SourceID) bool {
	return s.Everything() || slices.Contains(s.Sources, id) ||
		slices.Contains(s.Sites, id) || site != "" && slices.Contains(s.Sites, site) ||
		slices.ContainsFunc(s.Tags, func(tag string) bool { return slices.Contains(tags, tag) })
}

const (
	maxCondition = 4096 // bytes of a condition
	maxScope     = 1000 // sources, tags or sites of a scope
)

// Check judges what a user says of a query. It returns the query in its normal form,
// or an *InvalidError that names the field as the user wrote it. Whether the
// conditions can be used is for package query to say.
func (q Query) Check() (Query, error) {
	for _, check := range []func(*Query) error{
		(*Query).checkNames, (*Query).checkScope, (*Query).checkConditions, (*Query).checkImportance,
		func(q *Query) error { return q.Window.check() },
		func(q *Query) error { return q.Digest.check() },
		func(q *Query) error { return q.Quiet.check() },
		func(q *Query) error { return q.Rate.check() },
	} {
		if err := check(&q); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (q *Query) checkNames() error {
	if q.ID != "" && !ValidSourceID(SourceID(q.ID)) {
		return wrong("id", "%.80q is not a valid id; use up to 64 letters, digits, '.', '_' and '-'", q.ID)
	}
	q.Name = strings.TrimSpace(q.Name)
	switch {
	case q.Name == "" && q.ID == "":
		return wrong("name", "the query has no name")
	case utf8.RuneCountInString(q.Name) > maxName:
		return wrong("name", "is longer than %d characters", maxName)
	case strings.ContainsFunc(q.Name, unicode.IsControl):
		return wrong("name", "contains a control character")
	}
	return nil
}

func (q *Query) checkScope() error {
	s := &q.Scope
	if s.All && !s.Everything() {
		return wrong("scope.all", "cannot be used together with sources, tags or sites: leave one out")
	}
	s.All = false
	for _, list := range []struct {
		field string
		ids   *[]SourceID
	}{{"scope.sources", &s.Sources}, {"scope.sites", &s.Sites}} {
		if len(*list.ids) > maxScope {
			return wrong(list.field, "there are too many; the most is %d. Give the sources a tag instead", maxScope)
		}
		for i, id := range *list.ids {
			if !ValidSourceID(id) {
				return wrong(fmt.Sprintf("%s[%d]", list.field, i), "%.80q is not the id of a source", id)
			}
		}
		*list.ids = tidy(*list.ids)
	}
	if len(s.Tags) > maxScope {
		return wrong("scope.tags", "there are too many; the most is %d", maxScope)
	}
	for i, tag := range s.Tags {
		if s.Tags[i] = strings.TrimSpace(tag); s.Tags[i] == "" {
			return wrong(fmt.Sprintf("scope.tags[%d]", i), "must not be empty")
		}
	}
	s.Tags = tidy(s.Tags)
	return nil
}

// tidy returns a list in order and without repeats.
func tidy[T ~string](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func (q *Query) checkConditions() error {
	for _, c := range []struct {
		field string
		text  *string
	}{{"when", &q.When}, {"value", &q.Value}, {"window.by", &q.Window.By}} {
		*c.text = strings.TrimSpace(*c.text)
		if len(*c.text) > maxCondition {
			return wrong(c.field, "is longer than %d bytes", maxCondition)
		}
		if !utf8.ValidString(*c.text) {
			return wrong(c.field, "is not valid UTF-8")
		}
	}
	if q.When == "" && q.Window.For > 0 {
		return wrong("window.for", "needs when: the condition that must hold for so long")
	}
	return nil
}

// mostImportance is the highest importance of a query.
const mostImportance = 1000

func (q *Query) checkImportance() error {
	if !(q.Importance >= 0 && q.Importance <= mostImportance) { // no number is not, either
		return wrong("importance", "must be above 0 and at most %d", mostImportance)
	}
	if q.Importance == 1 {
		q.Importance = 0 // the same, said aloud
	}
	return nil
}

// A Match is one thing that a query had to tell. Its ID never changes.
type Match struct {
	Cursor Cursor // place in the log of all matches; zero until stored
	Epoch  Epoch  // in which it was stored
	Query  QueryID
	Number int64 // of this query's matches, from 1, without gaps

	Cause   MatchCause
	At      time.Time   // when it happened: the time of the change, or the end of a length of time
	Known   time.Time   // when it could be told first
	Source  SourceID    // of the change or the silence
	Changes []ChangeRef // that made it match, the one that completed it last; empty if none did
	Group   string      // in which it was counted, if the query has Window.By
	Value   any         // what the query's Value came to: a text, a number, true or false, a list or an object
}

// ID returns the name under which the match is delivered, such as "cheap.3~k3f9q2xw".
func (m Match) ID() string { return m.Epoch.name(fmt.Sprintf("%s.%d", m.Query, m.Number)) }

// Place returns the place of the match in the log of all matches.
func (m Match) Place() Place { return Place{m.Cursor, m.Epoch} }

// A MatchCause says what made a query match.
type MatchCause string

// The causes of a match.
const (
	MatchChange MatchCause = "change" // a change fits the condition
	MatchPoll   MatchCause = "poll"   // a poll made the condition true
	MatchHeld   MatchCause = "held"   // the condition has been true for as long as was asked
	MatchSilent MatchCause = "silent" // no change has fitted for as long as was asked
)

// A ChangeRef names a change.
type ChangeRef struct {
	Source SourceID `json:"source"`
	Seq    int      `json:"seq"`
	Cursor Cursor   `json:"cursor"` // place in the log of all changes
}

// Ref returns the name of the change.
func (c Change) Ref() ChangeRef { return ChangeRef{c.Source, c.Seq, c.Cursor} }

// At returns the time that a change is counted under: when the source says that it
// happened, if that lies in the time in which it must have, and otherwise the end of
// that time.
func (c Change) At() time.Time {
	if c.Modified.After(c.After) && !c.Modified.After(c.Before) {
		return c.Modified
	}
	return c.Before
}

// QueryIDFor returns an ID that reads like the name of a query.
func QueryIDFor(name string) QueryID {
	var id strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			id.WriteRune(r)
		case id.Len() > 0 && !strings.HasSuffix(id.String(), "-"):
			id.WriteByte('-')
		}
		if id.Len() >= 40 {
			break
		}
	}
	if short := strings.Trim(id.String(), "-"); short != "" {
		return QueryID(short)
	}
	return "query"
}
