package client

import (
	"context"
	"time"

	"freshet/internal/freshet"
)

// VersionsToImport are versions of a source that another program captured, the oldest first.
type VersionsToImport struct {
	Versions []VersionToImport `json:"versions" minItems:"1" maxItems:"1000" nullable:"false"`
}

// A VersionToImport is a version with its own time: its text, or a response that is read as the
// source says.
type VersionToImport struct {
	SeenAt    time.Time `json:"seen_at" doc:"When it was captured"`
	Text      string    `json:"text,omitempty" doc:"What was compared of it, if the response is not known"`
	Body      []byte    `json:"body,omitempty" doc:"The response, in base64"`
	MediaType string    `json:"media_type,omitempty" maxLength:"200" doc:"Content-Type of the response"`
	Header    []string  `json:"header,omitempty" nullable:"false" maxItems:"1000" doc:"All headers of the response, if they are known, such as Server: nginx"`
}

// An ImportedVersions is what became of versions.
type ImportedVersions struct {
	Added   int `json:"added" doc:"Versions that are stored now"`
	Known   int `json:"known" doc:"Versions that are not newer than those that are stored, or have the text of the one before"`
	Unread  int `json:"unread" doc:"Responses that the settings of the source cannot read"`
	Learned int `json:"learned" doc:"Changes that the learner has learned from them"`
}

// ImportVersions adds versions that another program captured to a source that has not been polled yet.
// They are marked as imported; a version that is not newer than the newest is left out.
func (r Sources) ImportVersions(ctx context.Context, id freshet.SourceID, versions []VersionToImport) (ImportedVersions, error) {
	return post[ImportedVersions](ctx, r.c, r.sourcePath(id, "versions"), nil, VersionsToImport{versions})
}
