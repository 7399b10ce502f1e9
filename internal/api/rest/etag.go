package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"freshet/internal/freshet"
)

// RevisionTag returns the entity tag of a revision.
func RevisionTag(revision int64) string { return `"` + strconv.FormatInt(revision, 10) + `"` }

// IfMatch is the header If-Match: the tags of revisions, or a star for any.
type IfMatch string

// Check reports a *freshet.StaleError if what has a revision has none of those. The kind
// is that of the error.
func (m IfMatch) Check(kind, id string, revision int64) error {
	if m == "" {
		return nil
	}
	var given int64
	for tag := range strings.SplitSeq(string(m), ",") {
		tag = strings.TrimSpace(tag)
		if tag == "*" || tag == RevisionTag(revision) {
			return nil
		}
		if n, err := strconv.ParseInt(strings.Trim(tag, `"`), 10, 64); err == nil {
			given = n
		}
	}
	return &freshet.StaleError{Kind: kind, Source: freshet.SourceID(id), Given: given, Stored: revision}
}

// ContentTag returns the entity tag of something that has no revision: by what it says.
func ContentTag(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // it is sent as JSON next, which says what is wrong
	}
	sum := sha256.Sum256(text)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// CheckTag reports a problem if something has none of the tags. An empty tag means that it
// is not there.
func (m IfMatch) CheckTag(what, tag string) error {
	if m == "" {
		return nil
	}
	for given := range strings.SplitSeq(string(m), ",") {
		if given = strings.TrimSpace(given); tag != "" && (given == "*" || given == tag) {
			return nil
		}
	}
	p := NewProblem(http.StatusPreconditionFailed, what+" changed since you read it")
	p.Hint = "read it again, then repeat the change"
	return p
}
