package deliver

import (
	"strings"
	"time"

	"freshet"
)

// A Change is a change as it is told to other programs: by the API, by streams
// and by webhooks alike. The URL, name and tags are those that the source has
// when the change is told; they are empty if it is no longer watched.
type Change struct {
	Cursor   freshet.Cursor   `json:"cursor" doc:"Place in the log of all changes"`
	Source   freshet.SourceID `json:"source" doc:"ID of the source that changed"`
	Seq      int              `json:"seq" doc:"Number among this source's changes, from 1, without gaps"`
	Number   int              `json:"number" doc:"Number of the version that the change led to"`
	From     string           `json:"from" doc:"SHA-256 of the text before"`
	To       string           `json:"to" doc:"SHA-256 of the text after"`
	After    time.Time        `json:"after" doc:"When the old text was last seen: the change happened after it"`
	Before   time.Time        `json:"before" doc:"When the new text was first seen: the change happened no later"`
	Modified time.Time        `json:"modified,omitzero" doc:"When the source says it happened, if that lies in between"`
	Summary  string           `json:"summary" doc:"What was added and what went, in a few words"`
	URL      string           `json:"url,omitempty" doc:"Of the source"`
	Name     string           `json:"name,omitempty" doc:"Of the source"`
	Tags     []string         `json:"tags,omitempty" doc:"Of the source"`
}

// ChangeOf returns c as it is told, where s is the source that changed.
func ChangeOf(c freshet.Change, s freshet.Source) Change {
	return Change{
		Cursor: c.Cursor, Source: c.Source, Seq: c.Seq, Number: c.Number,
		From: c.From.String(), To: c.To.String(),
		After: c.After.UTC(), Before: c.Before.UTC(), Modified: utc(c.Modified),
		Summary: c.Summary,
		URL:     s.URL, Name: s.Name, Tags: s.Tags,
	}
}

// utc returns t in UTC, and the zero time unchanged.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC()
}

// EventType is the CloudEvents type of every Event.
const EventType = "freshet.change"

// An Event is a change in a CloudEvents 1.0 envelope, in its JSON format.
type Event struct {
	SpecVersion     string    `json:"specversion" enum:"1.0"`
	ID              string    `json:"id" doc:"Names the change, however often it is sent"`
	Source          string    `json:"source" format:"uri-reference" doc:"Where the source is found in the API"`
	Type            string    `json:"type" enum:"freshet.change"`
	Time            time.Time `json:"time" doc:"When the change was seen"`
	Subject         string    `json:"subject,omitempty" doc:"URL of the source"`
	DataContentType string    `json:"datacontenttype"`
	Data            Change    `json:"data"`
}

// Envelope returns the event that tells of c, where s is the source that
// changed. Base is put before the path of the source in the API, such as
// "https://freshet.example"; it may be empty.
func Envelope(c freshet.Change, s freshet.Source, base string) Event {
	return Event{
		SpecVersion:     "1.0",
		ID:              c.ID(),
		Source:          strings.TrimSuffix(base, "/") + "/api/v1/sources/" + string(c.Source),
		Type:            EventType,
		Time:            c.Before.UTC(),
		Subject:         s.URL,
		DataContentType: "application/json",
		Data:            ChangeOf(c, s),
	}
}
