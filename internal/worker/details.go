package worker

import (
	"context"
	"encoding/json"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/extract"
	"freshet/internal/freshet"
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
func (o *Order) fieldChanges(ctx context.Context, fields freshet.Fields) []freshet.FieldChange {
	if fields == nil || o.Fields == nil || o.Head.Number == 0 {
		return nil
	}
	before, err := o.Fields(ctx)
	if err != nil {
		return nil
	}
	return fields.ChangesFrom(before)
}

// tellDetails notes which named values and which items differ from the head. A page
// that is probably another one says nothing about the items of this.
func (f *Finding) tellDetails(ctx context.Context, o *Order, r extract.Reading, fields []freshet.FieldChange) {
	f.Capture.Details.Fields = fields
	if f.Suspect != "" || o.Items == nil {
		return
	}
	known, err := o.Items(ctx)
	if err != nil || known == nil && len(r.Items) == 0 {
		return
	}
	var m extract.ItemMemory
	if m.UnmarshalBinary(known) != nil {
		m = extract.ItemMemory{} // damaged, or of another version: it begins anew
	}
	f.Capture.Details.Items = m.Compare(r.Items)
	f.Items = m.MarshalBinary()
}

// remember notes the items of a first version.
func (f *Finding) remember(r extract.Reading) {
	if len(r.Items) == 0 || f.Suspect != "" {
		return
	}
	var m extract.ItemMemory
	m.Compare(r.Items)
	f.Items = m.MarshalBinary()
}
