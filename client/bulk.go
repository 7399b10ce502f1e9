package client

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"freshet/internal/freshet"
)

// A BulkAction is what can be done to many sources.
type BulkAction string

// The actions.
const (
	BulkPoll   BulkAction = "poll"   // as soon as the budget and the hosts allow
	BulkPause  BulkAction = "pause"  // until they are resumed
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

// A BulkProgress is a line of the response to an edit of many sources: its progress or its result.
// Exactly one field is set.
type BulkProgress struct {
	Progress *BulkEdited `json:"progress,omitempty"`
	Done     *BulkEdited `json:"done,omitempty"`
	Problem  *Problem    `json:"problem,omitempty"`
}

// EditMany edits many sources. It calls report, unless that is nil, with the progress. Canceling
// ctx stops the edit; changes made so far stay.
func (r Sources) EditMany(ctx context.Context, e BulkEdit, report func(BulkEdited)) (BulkEdited, error) {
	return r.editMany(ctx, "/sources/bulk", e, report)
}

// UndoEdit undoes an edit of many sources. See EditMany for report.
func (r Sources) UndoEdit(ctx context.Context, edit string, report func(BulkEdited)) (BulkEdited, error) {
	return r.editMany(ctx, "/sources/bulk/"+url.PathEscape(edit)+"/undo", nil, report)
}

func (r Sources) editMany(ctx context.Context, path string, body any, report func(BulkEdited)) (done BulkEdited, err error) {
	if report == nil {
		return post[BulkEdited](ctx, r.c, path, nil, body)
	}
	var payload []byte
	if body != nil {
		if payload, err = json.Marshal(body); err != nil {
			return done, err
		}
	}
	header := http.Header{"Accept": {"application/x-ndjson"}, "Idempotency-Key": {rand.Text()}}
	resp, err := r.c.sendAgain(ctx, http.MethodPost, path, nil, header, payload)
	if err != nil {
		return done, err
	}
	defer resp.Body.Close()
	lines := json.NewDecoder(resp.Body)
	for {
		var line BulkProgress
		if err := lines.Decode(&line); err != nil {
			return done, freshet.WithHint(fmt.Errorf("the response of the daemon ended early: %w", err), "changes made so far stay; repeat the edit to complete it")
		}
		switch {
		case line.Problem != nil:
			return done, line.Problem
		case line.Done != nil:
			return *line.Done, nil
		case line.Progress != nil:
			done = *line.Progress
			report(done)
		}
	}
}

// SourcesToAdd are definitions of sources to add.
type SourcesToAdd struct {
	Sources []NewSource `json:"sources" nullable:"false" minItems:"1" maxItems:"1000"`
	DryRun  bool        `json:"dry_run,omitempty" doc:"Only say what would become of them"`
}

// AddedSources are the results of AddMany.
type AddedSources struct {
	DryRun bool          `json:"dry_run,omitempty" doc:"Nothing was added"`
	Added  int           `json:"added" doc:"Sources that were added, or would be"`
	Known  int           `json:"known" doc:"Sources that are watched already"`
	Wrong  int           `json:"wrong" doc:"Sources that cannot be watched"`
	Items  []AddedSource `json:"items" nullable:"false" doc:"In the order of the request"`
}

// An AddedSource is the result of adding one source.
type AddedSource struct {
	Result string           `json:"result" enum:"added,known,wrong"`
	ID     freshet.SourceID `json:"id,omitempty" doc:"Of the source that watches it, if there is one"`
	Field  string           `json:"field,omitempty" doc:"What is wrong with it, if that is one field"`
	Error  string           `json:"error,omitempty" doc:"Why it cannot be watched"`
	Hint   string           `json:"hint,omitempty" doc:"What to do about it"`
}

// AddMany adds many sources. Sources that exist already stay unchanged.
func (r Sources) AddMany(ctx context.Context, list SourcesToAdd) (AddedSources, error) {
	return post[AddedSources](ctx, r.c, "/sources/batch", nil, list)
}
