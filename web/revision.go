package web

import (
	"strconv"
	"strings"

	"freshet"
	"freshet/client"
)

// An editedSource is a source with the tag of its revision: an edit can name it
// in If-Match.
type editedSource struct {
	ETag string `header:"ETag"`
	Body client.Source
}

// tagOf returns the entity tag of a revision.
func tagOf(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// An ifMatch is the header If-Match: the tags of revisions, or a star for any.
type ifMatch string

// check reports a *freshet.StaleError if what has a revision has none of those. The kind
// is that of the error.
func (m ifMatch) check(kind, id string, revision int64) error {
	if m == "" {
		return nil
	}
	var given int64
	for tag := range strings.SplitSeq(string(m), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || tag == tagOf(revision) {
			return nil
		}
		if n, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64); err == nil {
			given = n
		}
	}
	return &freshet.StaleError{Kind: kind, Source: freshet.SourceID(id), Given: given, Stored: revision}
}
