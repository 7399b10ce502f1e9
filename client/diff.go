package client

import (
	"context"

	"freshet/internal/freshet"
)

// A Diff is how two versions of a source differ.
type Diff struct {
	Source  freshet.SourceID `json:"source"`
	From    Version          `json:"from"`
	To      Version          `json:"to"`
	Summary string           `json:"summary"`
	Hunks   []Hunk           `json:"hunks"`
	Added   int              `json:"added"`   // lines
	Removed int              `json:"removed"` // lines
	Moved   int              `json:"moved,omitempty" doc:"Lines that are both added and removed, in blocks that are the same"`

	Fields []FieldChange `json:"fields,omitempty"` // named values that are other
	Items  *ItemChanges  `json:"items,omitempty" doc:"Items that are other: entries of a feed, rows of a table, elements of a list"`

	Picture *PictureChange `json:"picture,omitempty" doc:"How the pictures differ, of two successive versions of a source with render: {compare: picture}"`

	// Coarse is set if the texts are too large to compare line by line: one
	// has replaced the other, all lines were removed and all lines added, and
	// there are no hunks.
	Coarse bool `json:"coarse,omitempty"`
}

// Details returns what became of named values and items.
func (d Diff) Details() (details freshet.Details) {
	for _, f := range d.Fields {
		details.Fields = append(details.Fields, freshet.FieldChange(f))
	}
	details.Items = d.Items.Plain()
	details.Picture = (*freshet.PictureChange)(d.Picture)
	return details
}

// A Hunk is a run of changed lines with the unchanged lines around them. The
// line numbers count from 1.
type Hunk struct {
	OldStart int    `json:"old_start"`
	OldLines int    `json:"old_lines"`
	NewStart int    `json:"new_start"`
	NewLines int    `json:"new_lines"`
	Lines    []Line `json:"lines"`
}

// A Line is a line of a diff. Old and New are its numbers in the two texts,
// from 1; zero where it is not there.
type Line struct {
	Op   string `json:"op"` // " " in both texts, "-" only in the old one, "+" only in the new one
	Old  int    `json:"old,omitempty"`
	New  int    `json:"new,omitempty"`
	Text string `json:"text"` // without its newline

	// Unended is set if the line is the last of its text and has no newline.
	Unended bool `json:"unended,omitempty"`

	// Mark is set if the line was changed only in part.
	Mark *Mark `json:"mark,omitempty"`

	// Moved is set if the line belongs to a block that is elsewhere in the other text.
	Moved int `json:"moved,omitempty" doc:"Number of the line in the other text, if it was moved"`
}

// A Mark is the part of a line that is different, in bytes of its text.
type Mark struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Diff compares two versions of a source. A number of zero means the newest
// version for to, and the one before that for from.
func (r Sources) Diff(ctx context.Context, id freshet.SourceID, from, to int) (Diff, error) {
	return get[Diff](ctx, r.c, r.sourcePath(id, "diff"), diffQuery(from, to))
}

// A DiffFormat is how a diff is written.
type DiffFormat string

// The formats of diffs that are texts.
const (
	DiffUnified   DiffFormat = "unified"    // as diff -u
	DiffWord      DiffFormat = "word"       // as git diff --word-diff
	DiffHTML      DiffFormat = "html"       // a page of its own
	DiffJSONPatch DiffFormat = "json-patch" // RFC 6902; of JSON documents, or else of named values and items
)

// FormattedDiff is Diff in one of the formats.
func (r Sources) FormattedDiff(ctx context.Context, id freshet.SourceID, from, to int, f DiffFormat) (string, error) {
	q := diffQuery(from, to)
	q.text("format", string(f))
	text, err := r.c.bytes(ctx, r.sourcePath(id, "diff"), q)
	return string(text), err
}

func diffQuery(from, to int) query {
	q := query{}
	q.number("from", int64(from))
	q.number("to", int64(to))
	return q
}
