package queries

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/strictjson"
	"freshet/internal/units"
)

// An ID names a query. It consists of the same characters as a SourceID.
type ID string

// A Query is a continuous query: which changes match, of which sources, and when the matches are
// delivered.
type Query struct {
	ID    ID     `json:"id,omitempty"`
	Name  string `json:"name"` // for people
	Scope Scope  `json:"scope,omitzero"`

	// When is the condition, in CEL. "" holds for every change.
	When string `json:"when,omitempty"`

	// Trigger says when a true condition matches. Check makes "" the usual one of the condition.
	Trigger Trigger `json:"trigger,omitempty"`

	// Value is what a match carries besides its changes, in CEL. "" means nothing.
	Value string `json:"value,omitempty"`

	// Importance weights matching changes when polls are ranked. 0 means 1, the weight of a change
	// that matches nothing.
	Importance float64 `json:"importance,omitempty"`

	Window Window     `json:"window,omitzero"` // over time and over sources
	Digest Digest     `json:"digest,omitzero"` // delivers matches together
	Quiet  QuietHours `json:"quiet,omitzero"`  // when none are delivered
	Rate   Rate       `json:"rate,omitzero"`   // how many are delivered at most
	Repeat Repeat     `json:"repeat,omitzero"` // delivers matches again until they are acknowledged
	Paused bool       `json:"paused,omitempty"`

	// Acknowledged is the number of the newest match that needs no repetition.
	Acknowledged int64 `json:"acknowledged,omitempty"`

	Origin   freshet.Origin `json:"-"` // who added it
	Created  time.Time      `json:"-"` // when it was first added
	Revision int64          `json:"-"` // how often it has been written, from 1
	From     freshet.Cursor `json:"-"` // it evaluates the changes after this cursor
	Last     int64          `json:"-"` // number of its newest match
}

// A Scope selects sources: those that are named, those that have one of the tags, and sites with
// their pages. An empty one means all.
type Scope struct {
	Sources []freshet.SourceID `json:"sources,omitempty"`
	Tags    []string           `json:"tags,omitempty"`
	Sites   []freshet.SourceID `json:"sites,omitempty"`
	All     bool               `json:"all,omitempty"` // the same as an empty scope, made explicit
}

// Everything reports whether all sources are in the scope.
func (s Scope) Everything() bool {
	return len(s.Sources)+len(s.Tags)+len(s.Sites) == 0
}

// Has reports whether a source is in the scope: by its ID, its tags, and the site that
// it is a page of, if any.
func (s Scope) Has(id freshet.SourceID, tags []string, site freshet.SourceID) bool {
	return s.Everything() || slices.Contains(s.Sources, id) ||
		slices.Contains(s.Sites, id) || site != "" && slices.Contains(s.Sites, site) ||
		slices.ContainsFunc(s.Tags, func(tag string) bool { return slices.Contains(tags, tag) })
}

const (
	maxName      = 200  // runes
	maxCondition = 4096 // bytes of a condition
	maxScope     = 1000 // sources, tags or sites of a scope
)

// Validate returns the query in its normal form, or an *InvalidError that names the field as the
// user wrote it. It does not compile the conditions: see [Check].
func (q Query) Validate() (Query, error) {
	for _, check := range []func(*Query) error{
		(*Query).checkNames, (*Query).checkScope, (*Query).checkConditions, (*Query).checkImportance,
		func(q *Query) error { return q.Window.check() },
		func(q *Query) error { return q.Digest.check() },
		func(q *Query) error { return q.Quiet.check() },
		func(q *Query) error { return q.Rate.check() },
		func(q *Query) error { return q.Repeat.check() },
	} {
		if err := check(&q); err != nil {
			return q, err
		}
	}
	return q, nil
}

func (q *Query) checkNames() error {
	if q.ID != "" && !freshet.ValidSourceID(freshet.SourceID(q.ID)) {
		return invalid.Errorf("id", "%.80q is not a valid id; use up to 64 letters, digits, '.', '_' and '-'", q.ID)
	}
	q.Name = strings.TrimSpace(q.Name)
	switch {
	case q.Name == "" && q.ID == "":
		return invalid.Errorf("name", "the query has no name")
	case utf8.RuneCountInString(q.Name) > maxName:
		return invalid.Errorf("name", "is longer than %d characters", maxName)
	case strings.ContainsFunc(q.Name, unicode.IsControl):
		return invalid.Errorf("name", "contains a control character")
	}
	return nil
}

func (q *Query) checkScope() error {
	s := &q.Scope
	if s.All && !s.Everything() {
		return invalid.Errorf("scope.all", "cannot be used together with sources, tags or sites: leave one out")
	}
	s.All = false
	for _, list := range []struct {
		field string
		ids   *[]freshet.SourceID
	}{{"scope.sources", &s.Sources}, {"scope.sites", &s.Sites}} {
		if len(*list.ids) > maxScope {
			return invalid.Errorf(list.field, "there are too many; the most is %d. Give the sources a tag instead", maxScope)
		}
		for i, id := range *list.ids {
			if !freshet.ValidSourceID(id) {
				return invalid.Errorf(fmt.Sprintf("%s[%d]", list.field, i), "%.80q is not the id of a source", id)
			}
		}
		*list.ids = sortedUnique(*list.ids)
	}
	if len(s.Tags) > maxScope {
		return invalid.Errorf("scope.tags", "there are too many; the most is %d", maxScope)
	}
	for i, tag := range s.Tags {
		if s.Tags[i] = strings.TrimSpace(tag); s.Tags[i] == "" {
			return invalid.Errorf(fmt.Sprintf("scope.tags[%d]", i), "must not be empty")
		}
	}
	s.Tags = sortedUnique(s.Tags)
	return nil
}

// sortedUnique returns a list in order and without repeats.
func sortedUnique[T ~string](list []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

func (q *Query) checkConditions() error {
	for _, c := range []struct {
		field string
		text  *string
	}{{"when", &q.When}, {"value", &q.Value}, {"window.by", &q.Window.By}} {
		*c.text = strings.TrimSpace(*c.text)
		if len(*c.text) > maxCondition {
			return invalid.Errorf(c.field, "is longer than %d bytes", maxCondition)
		}
		if !utf8.ValidString(*c.text) {
			return invalid.Errorf(c.field, "is not valid UTF-8")
		}
	}
	if q.Trigger != "" && !slices.Contains(triggers, q.Trigger) {
		return invalid.Errorf("trigger", "%.40q is not becomes, first, each or poll", q.Trigger)
	}
	if q.When == "" && q.Window.For > 0 {
		return invalid.Errorf("window.for", "needs when: the condition that must hold for so long")
	}
	return nil
}

const mostImportance = 1000

func (q *Query) checkImportance() error {
	if !(q.Importance >= 0 && q.Importance <= mostImportance) { // nor NaN
		return invalid.Errorf("importance", "must be above 0 and at most %d", mostImportance)
	}
	if q.Importance == 1 {
		q.Importance = 0 // the default
	}
	return nil
}

// IDFor returns an ID that reads like the name of a query.
func IDFor(name string) ID {
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
		return ID(short)
	}
	return "query"
}

// Values of Window.By besides conditions.
const (
	BySource  = "source" // each source alone: the default
	ByNothing = "all"    // all together
)

// A Window relates more than one change. The zero Window relates those of each source alone.
type Window struct {
	// By groups changes: BySource, ByNothing, or the value of a CEL expression, such as
	// source.site or now.sku. A list puts a change into a group for each of its elements.
	By string

	Over   time.Duration // default for functions that look back; zero means that each must name its own
	For    time.Duration // how long the condition must hold
	Silent Silence       // match when no change has met the condition for so long; zero means never

	// Lasting is how long a change must last: it matches unless it is taken back before that.
	Lasting time.Duration
}

// A Silence is a length of time without changes: absolute, or a multiple of the usual time between
// two changes.
type Silence struct {
	For   time.Duration
	Times float64
}

// ParseSilence reads "3d", or "2x" for twice the usual time between changes.
func ParseSilence(text string) (Silence, error) {
	if number, ok := strings.CutSuffix(strings.TrimSpace(text), "x"); ok {
		times, err := strconv.ParseFloat(number, 64)
		if err != nil || !(times >= 1) || times > 1000 {
			return Silence{}, fmt.Errorf("%.40q is not a multiple from 1x to 1000x, such as 2x", text)
		}
		return Silence{Times: times}, nil
	}
	d, err := units.ParseDuration(text)
	if err != nil {
		return Silence{}, fmt.Errorf("%.40q is neither a length of time, such as 3d, nor a multiple of the usual one, such as 2x", text)
	}
	return Silence{For: d}, nil
}

// String returns the silence as ParseSilence reads it; "" if there is none.
func (s Silence) String() string {
	switch {
	case s.Times > 0:
		return strconv.FormatFloat(s.Times, 'f', -1, 64) + "x"
	case s.For > 0:
		return units.FormatDuration(s.For)
	}
	return ""
}

// The bounds of lengths of time in a query. Shorter ones are slips, and longer ones would keep state
// forever.
const (
	shortestWindow = time.Second
	longestWindow  = 5 * 366 * units.Day
)

func (w *Window) check() error {
	for _, d := range []struct {
		field  string
		length time.Duration
	}{{"window.over", w.Over}, {"window.for", w.For}, {"window.lasting", w.Lasting}, {"window.silent", w.Silent.For}} {
		if d.length != 0 && d.length < shortestWindow {
			return invalid.Errorf(d.field, "%s is too short; the shortest allowed is %s", units.FormatDuration(d.length), units.FormatDuration(shortestWindow))
		}
		if d.length < 0 || d.length > longestWindow {
			return invalid.Errorf(d.field, "is too long; the longest allowed is %s", units.FormatDuration(longestWindow))
		}
	}
	if t := w.Silent.Times; t != 0 && !(t >= 1 && t <= 1000) || math.IsNaN(t) {
		return invalid.Errorf("window.silent", "must be from 1x to 1000x")
	}
	if w.For > 0 && w.Silent != (Silence{}) {
		return invalid.Errorf("window.silent", "cannot be used together with window.for")
	}
	if w.For > 0 && w.Lasting > 0 {
		return invalid.Errorf("window.lasting", "cannot be used together with window.for: that is about conditions, and this about changes")
	}
	if w.By == BySource {
		w.By = ""
	}
	return nil
}

// windowJSON is a Window in JSON.
type windowJSON struct {
	By     string `json:"by,omitempty"`
	Over   string `json:"over,omitempty"`
	For    string `json:"for,omitempty"`
	Silent string `json:"silent,omitempty"`

	Lasting string `json:"lasting,omitempty"`
}

// MarshalJSON writes what UnmarshalJSON reads.
func (w Window) MarshalJSON() ([]byte, error) {
	out := windowJSON{By: w.By, Silent: w.Silent.String()}
	if w.Over > 0 {
		out.Over = units.FormatDuration(w.Over)
	}
	if w.For > 0 {
		out.For = units.FormatDuration(w.For)
	}
	if w.Lasting > 0 {
		out.Lasting = units.FormatDuration(w.Lasting)
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads an object, or a string for Over.
func (w *Window) UnmarshalJSON(text []byte) error {
	var in windowJSON
	if bytes.HasPrefix(text, []byte(`"`)) {
		if err := json.Unmarshal(text, &in.Over); err != nil {
			return err
		}
	} else {
		var err error
		if in, err = strictjson.Parse[windowJSON](string(text)); err != nil {
			return invalid.Errorf("window", "%v", err)
		}
	}
	*w = Window{By: in.By}
	for _, d := range []struct {
		field, text string
		to          *time.Duration
	}{{"window.over", in.Over, &w.Over}, {"window.for", in.For, &w.For}, {"window.lasting", in.Lasting, &w.Lasting}} {
		if d.text == "" {
			continue
		}
		length, err := units.ParseDuration(d.text)
		if err != nil {
			return invalid.Errorf(d.field, "%v", err)
		}
		*d.to = length
	}
	if in.Silent != "" {
		silence, err := ParseSilence(in.Silent)
		if err != nil {
			return invalid.Errorf("window.silent", "%v", err)
		}
		w.Silent = silence
	}
	return nil
}
