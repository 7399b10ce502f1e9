package deliver

import (
	"strings"
	"time"

	"freshet"
	"freshet/client"
)

// ChangeOf returns c as it is told, where s is the source that changed.
func ChangeOf(c freshet.Change, s freshet.Source) client.Change {
	return client.Change{
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

// Envelope returns the event that tells of c, where s is the source that
// changed. Base is put before the path of the source in the API, such as
// "https://freshet.example"; it may be empty.
func Envelope(c freshet.Change, s freshet.Source, base string) client.Event {
	return client.Event{
		SpecVersion:     "1.0",
		ID:              c.ID(),
		Source:          strings.TrimSuffix(base, "/") + "/api/v1/sources/" + string(c.Source),
		Type:            client.EventType,
		Time:            c.Before.UTC(),
		Subject:         s.URL,
		DataContentType: "application/json",
		Data:            ChangeOf(c, s),
	}
}
