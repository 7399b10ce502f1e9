package api

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"freshet/client"
	"freshet/internal/freshet"
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

// contentTag returns the entity tag of something that has no revision: by what it says.
func contentTag(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // it is sent as JSON next, which says what is wrong
	}
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// checkTag reports a problem if something has none of the tags. An empty tag means that it
// is not there.
func (m ifMatch) checkTag(what, tag string) error {
	if m == "" {
		return nil
	}
	for given := range strings.SplitSeq(string(m), ",") {
		if given = strings.TrimSpace(given); tag != "" && (given == "*" || given == tag) {
			return nil
		}
	}
	p := problem(http.StatusPreconditionFailed, what+" changed since you read it")
	p.Hint = "read it again, then repeat the change"
	return p
}
