package sinks

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/mask"
	"freshet/internal/queries"
)

// MostMatches is how many matches a batch lists. The others are counted, and can be read over the
// API.
const MostMatches = 500

// A Batch is what a query tells at once, with what is known of its matches.
type Batch struct {
	queries.Batch
	Matches []Match // up to MostMatches, the oldest first
	Repeats bool    // until they are acknowledged

	// Topics are what the query asks the model of a sink about, with relevant("...").
	Topics []string
}

// A Match is a match with what is known of it.
type Match struct {
	queries.Match
	Change *freshet.Change // that completed it; nil if there is none, or it is not kept any more
	Label  freshet.Label   // of its source, if there is no change
	Texts  Texts           // of the change
}

// Source returns the source that all matches are of; "" if they are of several.
func (p Batch) Source() freshet.SourceID {
	for _, m := range p.Matches {
		if m.Source != p.Matches[0].Source {
			return ""
		}
	}
	if len(p.Matches) == 0 || p.Count() > int64(len(p.Matches)) {
		return ""
	}
	return p.Matches[0].Source
}

// MatchOf returns a match as events have it, with the change that completed it.
func MatchOf(m queries.Match, completed *freshet.Change) client.Match {
	told := client.Match{
		Cursor: m.Place(), ID: m.ID(), Query: string(m.Query), Number: m.Number, Cause: string(m.Cause), At: utc(m.At), KnownAt: utc(m.Known),
		Source: m.Source, Group: m.Group, Value: m.Value,
	}
	if completed != nil {
		change := ChangeOf(*completed)
		told.Change = &change
	}
	if len(m.Changes) > 1 {
		told.Changes = m.Changes
	}
	return told
}

// told returns the batch as events have it.
func (p Batch) told() client.MatchBatch {
	told := client.MatchBatch{Query: string(p.Query), Name: p.Name, Summary: p.summary(), Count: p.Count(), First: p.From, Last: p.To, Held: string(p.Delay), At: utc(p.At), Matches: []client.Match{}}
	for _, m := range p.Matches {
		told.Matches = append(told.Matches, MatchOf(m.Match, m.Change))
	}
	return told
}

// summary returns the batch in a line.
func (p Batch) summary() string {
	if p.Count() > 1 || len(p.Matches) != 1 {
		return fmt.Sprintf("%d matches", p.Count())
	}
	return p.Matches[0].summary()
}

// summary returns the match in a line.
func (m Match) summary() string {
	if m.Change != nil && m.Cause != queries.MatchSilent {
		return m.Change.Summary
	}
	return causes[m.Cause]
}

// BatchEnvelope returns the event of a batch. Base is as for Envelope.
func BatchEnvelope(p Batch, base string) client.MatchEvent {
	e := client.MatchEvent{
		SpecVersion: "1.0", ID: p.ID(), Source: queryLink(p.Query, base), Type: client.MatchEventType, Time: utc(p.At),
		DataContentType: "application/json", Data: p.told(),
	}
	if len(p.Matches) == 1 {
		e.Subject = mask.URL(p.Matches[0].label().URL)
	}
	return e
}

// queryLink returns where a query is in the API.
func queryLink(id queries.ID, base string) string {
	return strings.TrimSuffix(base, "/") + "/api/v1/queries/" + url.PathEscape(string(id))
}

// label returns what the source of a match is called.
func (m Match) label() freshet.Label {
	if m.Change != nil {
		return m.Change.Label
	}
	return m.Label
}

// causes say what made a query match, where no change says it.
var causes = map[queries.MatchCause]string{
	queries.MatchPoll:   "a poll made the condition true",
	queries.MatchHeld:   "the condition held long enough",
	queries.MatchSilent: "no change has fitted for as long as was asked",
}

// NewMatchEvent returns what templates see of a match of a query with a name.
func NewMatchEvent(ctx context.Context, m Match, name, base string) *Event {
	var e *Event
	if m.Change != nil {
		e = NewEvent(ctx, *m.Change, base, m.Texts)
	} else {
		label := m.label()
		at := m.At
		if m.Known.After(at) {
			at = m.Known
		}
		e = &Event{
			Source: m.Source, Title: titleOf(freshet.Change{Source: m.Source, Label: label}), Name: label.Name, URL: mask.URL(label.URL), Tags: label.Tags,
			Before: utc(at), rendering: rendering{base: base, ctx: ctx},
		}
	}
	e.Summary = m.summary()
	if e.Title == "" { // all sources are counted together
		e.Title = m.Group
	}
	e.ID, e.Kind, e.Query, e.QueryName, e.Link = m.ID(), kindMatch, m.Query, name, queryLink(m.Query, base)
	e.Match, e.Cause, e.Group, e.Value, e.Count = m.Number, string(m.Cause), m.Group, m.Value, 1
	return e
}

// newBatchEvent returns what templates see of a batch.
func newBatchEvent(ctx context.Context, p Batch, base string) *Event {
	var e *Event
	if p.Count() == 1 && len(p.Matches) == 1 {
		e = NewMatchEvent(ctx, p.Matches[0], p.Name, base)
	} else {
		e = &Event{
			Kind: kindDigest, Query: p.Query, QueryName: p.Name, Link: queryLink(p.Query, base), Source: p.Source(), Count: p.Count(), Match: p.From,
			Title: p.Name, Before: utc(p.At), Summary: heldWords[p.Delay],
			rendering: rendering{base: base, ctx: ctx},
		}
		for _, m := range p.Matches {
			e.Entries = append(e.Entries, NewMatchEvent(ctx, m, p.Name, base))
		}
	}
	e.ID, e.Hold, e.batch = p.ID(), string(p.Delay), &p
	return e
}

// heldWords say why matches come together.
var heldWords = map[queries.Delay]string{
	queries.DelayQuiet: "held back in quiet hours",
	queries.DelayRate:  "held back by its limit of messages",

	queries.DelayRepeat: "not acknowledged yet",
}

// Top returns the first entries of a digest, at most so many.
func (e *Event) Top(n int) []*Event { return e.Entries[:max(min(n, len(e.Entries)), 0)] }

// Beyond returns how many matches a digest has beyond so many.
func (e *Event) Beyond(n int) int64 {
	if len(e.Entries) == 0 {
		return 0
	}
	return max(e.Count-int64(max(min(n, len(e.Entries)), 0)), 0)
}

// ValueText returns what the value of the query came to as text; "" if there is none.
func (e *Event) ValueText() (string, error) {
	switch v := e.Value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	default:
		text, err := json.Marshal(v)
		return string(text), err
	}
}

// Heading returns the event in a few words: the source, the query, or both.
func (e *Event) Heading() string {
	switch e.Kind {
	case kindDigest:
		return fmt.Sprintf("%s: %d matches", e.QueryName, e.Count)
	case kindMatch:
		return e.QueryName + ": " + e.Title
	}
	return e.Title
}

// entryHTML returns an entry of a digest as HTML.
func entryHTML(e *Event, news string) (string, error) {
	var b strings.Builder
	b.WriteString("<h3>" + html.EscapeString(e.Title) + "</h3>\n")
	value, err := e.ValueText()
	for _, line := range []string{e.Summary, value} {
		if line != "" {
			b.WriteString("<p>" + html.EscapeString(line) + "</p>\n")
		}
	}
	if e.URL != "" {
		b.WriteString("<p>" + linkHTML(e.URL) + "</p>\n")
	}
	return b.String() + newsHTML(news), err
}

// SampleBatch returns a batch of a made-up query, for previews and tests: one match, or several.
func SampleBatch(id string, query queries.ID, count int64, now time.Time) Batch {
	p := Batch{Batch: queries.Batch{
		Cursor: 1, Query: query, Name: "Sample query", From: 1, To: count, End: freshet.Place{Cursor: freshet.Cursor(count), Epoch: freshet.Epoch(id)}, At: now,
	}}
	if count > 1 {
		p.Delay = queries.DelayDigest
	}
	for n := range count {
		c, texts := Sample(id, now)
		c.Seq, c.Number = int(n)+1, int(n)+2
		p.Matches = append(p.Matches, Match{
			Match: queries.Match{
				Cursor: freshet.Cursor(n + 1), Epoch: freshet.Epoch(id), Query: query, Number: n + 1, Cause: queries.MatchChange, At: now, Known: now, Source: c.Source,
				Changes: []freshet.ChangeRef{c.Ref()}, Value: 9.5,
			},
			Change: &c, Texts: texts,
		})
	}
	return p
}
