package worker

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/reading"
)

// sumOf returns a fast hash of what a reading says: its text, and its named values
// if there are any.
func sumOf(r extract.Reading) uint64 {
	if r.Fields == nil {
		return xxhash.Sum64(r.Text)
	}
	d := xxhash.New()
	d.Write(r.Text)
	text, err := json.Marshal(r.Fields)
	if err != nil {
		panic(err) // of texts, numbers and lists
	}
	d.Write(text)
	return d.Sum64()
}

// fieldChanges returns which named values differ from those of the head. Values
// that cannot be read differ from nothing.
func (w *Worker) fieldChanges(ctx context.Context, t *Task, fields freshet.Fields, resp freshet.Response) []freshet.FieldChange {
	if fields == nil || t.Head.Number == 0 {
		return nil
	}
	before, err := t.History.Fields(ctx)
	if err != nil {
		return nil
	}
	if before.Lack(fields) {
		before = w.fieldsOfHead(ctx, t, resp, before)
	}
	return fields.ChangesFrom(before)
}

// fieldsOfHead extracts the named values of the source from the response of the head, which was
// captured before all of them were extracted. Without this, a new value would look like a change
// from none. If that fails, it returns the values that were stored.
func (w *Worker) fieldsOfHead(ctx context.Context, t *Task, resp freshet.Response, stored freshet.Fields) freshet.Fields {
	body, err := t.History.Body(ctx)
	if err != nil || len(body) == 0 {
		return stored
	}
	resp.Body = body
	read, err := w.read(ctx, t.Source.Recipe, resp)
	if err != nil {
		return stored
	}
	return read.Fields
}

// addDetails notes which named values and which items differ from the head. A page
// that is probably another one says nothing about the items of this.
func (f *Result) addDetails(ctx context.Context, t *Task, r extract.Reading, fields []freshet.FieldChange) {
	f.Capture.Details.Fields = fields
	if f.Suspect != "" {
		return
	}
	known, err := t.History.Items(ctx)
	if err != nil || known == nil && r.Items.Len() == 0 {
		return
	}
	var m extract.ItemMemory
	if m.UnmarshalBinary(known) != nil {
		m = extract.ItemMemory{} // damaged, or of another version: it starts again
	}
	f.Capture.Details.Items = m.Compare(r.Items)
	f.Items = m.MarshalBinary()
}

// rememberItems notes the items of a first version.
func (f *Result) rememberItems(r extract.Reading) {
	if r.Items.Len() == 0 || f.Suspect != "" {
		return
	}
	var m extract.ItemMemory
	m.Compare(r.Items)
	f.Items = m.MarshalBinary()
}

// announced returns what a source that was read says of when it will change; nil if that is
// nothing.
func (t *Task) announced(rd extract.Reading, took time.Duration) *evidence.Announcement {
	now, setting := t.At.Add(took), t.Source.NextChange
	zone := setting.Location()
	f := evidence.Announcement{Rests: rd.Announced.Rests}
	for _, n := range rd.Announced.Next {
		if passed := now.Sub(n.At); passed >= 0 { // of a schedule, the next is wanted
			n.At = n.At.Add(passed.Truncate(n.Every) + n.Every)
		}
		f.Next = append(f.Next, n)
	}
	switch rd.Kind {
	case reading.HTML, reading.Text, reading.PDF:
		if n, ok := extract.Announced(rd.Text, now, zone); ok {
			f.Next = append(f.Next, n)
		}
	}
	if n, ok := announcedBy(rd.Fields[setting.Field], now, zone); ok {
		f.Next = append(f.Next, n)
	}
	if len(f.Next) == 0 && f.Rests == 0 {
		return nil
	}
	for i := range f.Next {
		f.Next[i].At = f.Next[i].At.Truncate(time.Second)
	}
	return &f
}

// announcedBy returns when the next change comes by the value that a user has named.
func announcedBy(v any, now time.Time, zone *time.Location) (next evidence.Next, ok bool) {
	switch v := v.(type) {
	case string:
		return extract.AnnouncedBy(v, now, zone)
	case float64:
		const millis = 1e11 // seconds since 1970 are fewer
		if v > millis {
			v /= 1000
		}
		if at := time.Unix(int64(v), 0).UTC(); v > 0 && v < millis && at.After(now) {
			return evidence.Next{By: evidence.NextByField, At: at}, true
		}
	}
	return next, false
}
