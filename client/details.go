package client

import (
	"context"
	"strconv"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/rendering"
)

// A FieldChange is a named value that is other than before.
type FieldChange struct {
	Name string `json:"name"`
	From any    `json:"from" doc:"Null if there was none"`
	To   any    `json:"to" doc:"Null if there is none"`
}

// ItemChanges say which items of a source are other than before. Lists are cut at 50
// items; the counts are not.
type ItemChanges struct {
	AddedCount   int           `json:"added_count"`
	UpdatedCount int           `json:"updated_count"`
	GoneCount    int           `json:"gone_count"`
	BackCount    int           `json:"back_count" doc:"Items that were gone and are back; they are not new"`
	Added        []Item        `json:"added,omitempty"`
	Updated      []ItemChange  `json:"updated,omitempty"`
	Gone         []ItemMention `json:"gone,omitempty"`
	Back         []ItemMention `json:"back,omitempty"`
}

// An Item is one of several things that a response tells.
type Item struct {
	Key    string         `json:"key" doc:"Identifies the item in later versions"`
	Title  string         `json:"title,omitempty"`
	Link   string         `json:"link,omitempty"`
	Date   string         `json:"date,omitempty"`
	Text   string         `json:"text,omitempty"`
	Fields freshet.Fields `json:"fields,omitempty"`
}

// An ItemChange is an item with other values than before.
type ItemChange struct {
	Key    string   `json:"key"`
	Title  string   `json:"title,omitempty"`
	Fields []string `json:"fields" nullable:"false" doc:"What is other: title, link, date, text or named fields"`

	Values []FieldChange `json:"values,omitempty" doc:"What short ones of them were and are; from is null if it was not known before"`
}

// A TextChange says which lines of the text are other than before.
type TextChange struct {
	AddedCount   int      `json:"added_count" doc:"Lines in all, moved ones too"`
	RemovedCount int      `json:"removed_count"`
	Added        []string `json:"added,omitempty" doc:"At most 20 lines of at most 400 bytes, 1000 bytes in all; a line that is cut says by how much"`
	Removed      []string `json:"removed,omitempty"`
	Cut          bool     `json:"cut,omitempty" doc:"The list is cut; the diff has all of it while the versions are stored"`
}

// A PictureChange says how much of a picture is other than before, and where.
type PictureChange struct {
	Share   float64               `json:"share" doc:"Of the picture, from 0 to 1, without what is ignored"`
	Count   int                   `json:"region_count" doc:"Places in all"`
	Regions []rendering.Rectangle `json:"regions,omitempty" doc:"The first 20 places, from top to bottom, in pixels"`
}

// An ItemMention names an item.
type ItemMention struct {
	Key   string `json:"key"`
	Title string `json:"title,omitempty"`
}

// FieldChangesOf returns changed values as the API tells them.
func FieldChangesOf(changes []freshet.FieldChange) (told []FieldChange) {
	for _, c := range changes {
		told = append(told, FieldChange(c))
	}
	return told
}

// ItemChangesOf returns changed items as the API tells them.
func ItemChangesOf(c *freshet.ItemChanges) *ItemChanges {
	if c == nil {
		return nil
	}
	told := &ItemChanges{AddedCount: c.AddedCount, UpdatedCount: c.UpdatedCount, GoneCount: c.GoneCount, BackCount: c.BackCount}
	for _, i := range c.Added {
		told.Added = append(told.Added, Item(i))
	}
	for _, u := range c.Updated {
		told.Updated = append(told.Updated, ItemChange{Key: u.Key, Title: u.Title, Fields: u.Fields, Values: FieldChangesOf(u.Values)})
	}
	for _, m := range c.Gone {
		told.Gone = append(told.Gone, ItemMention(m))
	}
	for _, m := range c.Back {
		told.Back = append(told.Back, ItemMention(m))
	}
	return told
}

// Plain returns changed items as the root package knows them.
func (c *ItemChanges) Plain() *freshet.ItemChanges {
	if c == nil {
		return nil
	}
	plain := &freshet.ItemChanges{AddedCount: c.AddedCount, UpdatedCount: c.UpdatedCount, GoneCount: c.GoneCount, BackCount: c.BackCount}
	for _, i := range c.Added {
		plain.Added = append(plain.Added, freshet.Item(i))
	}
	for _, u := range c.Updated {
		updated := freshet.ItemChange{Key: u.Key, Title: u.Title, Fields: u.Fields}
		for _, v := range u.Values {
			updated.Values = append(updated.Values, freshet.FieldChange(v))
		}
		plain.Updated = append(plain.Updated, updated)
	}
	for _, m := range c.Gone {
		plain.Gone = append(plain.Gone, freshet.ItemMention(m))
	}
	for _, m := range c.Back {
		plain.Back = append(plain.Back, freshet.ItemMention(m))
	}
	return plain
}

// A FieldValue is a named value of a version.
type FieldValue struct {
	Version int       `json:"version"`
	SeenAt  time.Time `json:"seen_at"`
	Value   any       `json:"value" doc:"Null if there was none"`
}

// A FieldPage is part of the history of a named value, the newest first.
type FieldPage struct {
	Items []FieldValue `json:"items" nullable:"false"`
	Next  *int         `json:"next" doc:"Pass this as before to get older values; null if there are none"`
}

// FieldAt returns the value that a source had at a time; none if that version has none.
func (r Sources) FieldAt(ctx context.Context, id freshet.SourceID, name string, at time.Time) ([]FieldValue, error) {
	got, err := get[FieldPage](ctx, r.c, r.sourcePath(id, "fields", name), query{"at": {at.UTC().Format(time.RFC3339Nano)}})
	return got.Items, err
}

// Field returns the history of a named value, the newest first, in versions that were first
// seen in a span of time. A limit of zero means all.
func (r Sources) Field(ctx context.Context, id freshet.SourceID, name string, in freshet.Between, limit int) ([]FieldValue, error) {
	found, asked := []FieldValue{}, query{}
	asked.between(in)
	for {
		asked["limit"] = []string{strconv.Itoa(1000)}
		got, err := get[FieldPage](ctx, r.c, r.sourcePath(id, "fields", name), asked)
		if err != nil {
			return nil, err
		}
		found = append(found, got.Items...)
		if limit > 0 && len(found) >= limit {
			return found[:limit], nil
		}
		if got.Next == nil {
			return found, nil
		}
		asked["before"] = []string{strconv.Itoa(*got.Next)}
	}
}
