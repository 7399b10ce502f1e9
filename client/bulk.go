package client

import (
	"context"
	"net/url"

	"freshet/internal/freshet"
)

// A BulkAction is what can be done to many sources.
type BulkAction string

// The actions.
const (
	BulkPoll   BulkAction = "poll"   // as soon as the budget and the hosts allow
	BulkPause  BulkAction = "pause"  // until somebody resumes them
	BulkResume BulkAction = "resume" // polling
	BulkTag    BulkAction = "tag"    // give them a tag
	BulkUntag  BulkAction = "untag"  // take a tag from them
	BulkRemove BulkAction = "remove" // stop watching; the history is kept
	BulkLevel  BulkAction = "level"  // say how soon their changes are wanted
	BulkRead   BulkAction = "read"   // say what of them is compared
)

// A BulkEdit is an edit of many sources.
type BulkEdit struct {
	Action BulkAction         `json:"action" enum:"poll,pause,resume,tag,untag,remove,level,read"`
	Tag    string             `json:"tag,omitempty" maxLength:"64" doc:"To add or remove"`
	Level  string             `json:"level,omitempty" maxLength:"100" doc:"How soon changes are wanted, such as 90% within 10m; missing means that none is asked for"`
	Read   []any              `json:"read,omitempty" nullable:"false" maxItems:"32" doc:"Steps that they are read by, as of a source; missing means the whole text"`
	IDs    []freshet.SourceID `json:"ids,omitempty" maxItems:"10000" doc:"The sources"`
	Filter *BulkFilter        `json:"filter,omitempty" doc:"Or what selects them; an empty one selects all but the pages of sites"`
	DryRun bool               `json:"dry_run,omitempty" doc:"Only say how many there are"`
}

// A BulkFilter selects sources as a list does.
type BulkFilter struct {
	Q     string `json:"q,omitempty"`
	Tag   string `json:"tag,omitempty"`
	Host  string `json:"host,omitempty"`
	State State  `json:"state,omitempty" enum:"failing,noisy,paused,unseen,suspect,well"`
}

// A BulkEdited is what became of an edit of many sources.
type BulkEdited struct {
	Matched int    `json:"matched" doc:"Sources that were selected"`
	Changed int    `json:"changed" doc:"Of those, that are other than before, or would be"`
	Refused int    `json:"refused,omitempty" doc:"Of the selected, that cannot be so: two sources would watch the same, or the steps do not suit one"`
	Undo    string `json:"undo,omitempty" doc:"By which it can be undone"`
}

// EditMany does something to many sources.
func (r Sources) EditMany(ctx context.Context, e BulkEdit) (BulkEdited, error) {
	return post[BulkEdited](ctx, r.c, "/sources/bulk", nil, e)
}

// UndoEdit undoes an edit of many sources.
func (r Sources) UndoEdit(ctx context.Context, edit string) (BulkEdited, error) {
	return post[BulkEdited](ctx, r.c, "/sources/bulk/"+url.PathEscape(edit)+"/undo", nil, nil)
}
