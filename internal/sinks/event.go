package sinks

import (
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
	"freshet/internal/mask"
	"freshet/internal/queries"
)

// ChangeOf returns c as events have it. Nothing goes into it that can change later.
func ChangeOf(c freshet.Change) client.Change {
	return client.Change{
		Cursor: c.Place(), Source: c.Source, Seq: c.Seq, Number: c.Number,
		From: c.From.String(), To: c.To.String(),
		After: c.After.UTC(), Before: c.Before.UTC(), Modified: utc(c.Modified),
		Summary: c.Summary, Suspect: client.SuspectOf(c.Suspect, c.Landed),
		Fields: client.FieldChangesOf(c.Details.Fields), Items: client.ItemChangesOf(c.Details.Items), Page: c.Details.Page, Text: (*client.TextChange)(c.Details.Text), Picture: (*client.PictureChange)(c.Details.Picture),
		URL: mask.URL(c.Label.URL), Name: c.Label.Name, Title: c.Label.Title, Tags: c.Label.Tags,
	}
}

// utc returns t in UTC, and the zero time unchanged.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// Envelope returns the event of c. Base is put before the path of the
// source in the API, such as "https://freshet.example"; it may be empty.
func Envelope(c freshet.Change, base string) client.Event {
	return client.Event{
		SpecVersion:     "1.0",
		ID:              c.ID(),
		Source:          strings.TrimSuffix(base, "/") + "/api/v1/sources/" + string(c.Source),
		Type:            client.EventType,
		Time:            c.Before.UTC(),
		Subject:         mask.URL(c.Label.URL),
		DataContentType: "application/json",
		Data:            ChangeOf(c),
	}
}

// A Message is what a sink is sent, the same on every attempt.
type Message struct {
	ID     string           // of the event
	Source freshet.SourceID // that it is of; "" if it is of several
	Query  queries.ID       // whose matches it has; "" if it is of a change
	Body   []byte           // as Render made it
}

// line returns whose events come in order.
func (m Message) line() string {
	if m.Query != "" {
		return string(m.Query)
	}
	return string(m.Source)
}
