package freshet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"freshet/internal/freshet/suspect"
)

// A Hash names a text by its content.
type Hash [sha256.Size]byte

// HashOf returns the hash of a text.
func HashOf(text []byte) Hash { return sha256.Sum256(text) }

// String returns the hash in hexadecimal, or "" for the zero Hash.
func (h Hash) String() string {
	if h == (Hash{}) {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// A Version is one state of a source, as extracted.
type Version struct {
	Source SourceID
	Number int  // 1 is the first; never given twice, see Catalog.RemoveSource
	Hash   Hash // of the text
	SeenAt time.Time

	TextBytes int64 // size of the extracted text
	RawBytes  int64 // size of the response body
	Picture   int64 // size of the screenshot; 0 if there is none
	MediaType string
	Title     string // of the page or feed, if it has one
	URL       string // that answered, after redirects
	Suspect   suspect.Class
	Quiet     Quiet  // why no change was reported, if none was
	Fields    Fields // named values; nil if the recipe extracts none
}

// A Raw is a response as it was received and decoded, kept beside the text so
// that history can be read again under another recipe.
type Raw struct {
	Status int
	URL    string      // that answered, after redirects
	Header http.Header // without secrets; of versions from before Method was kept only a few
	Body   []byte      // without its content coding
	Method string      // of the request; "" means that it was not kept
}

// Validators are the validators of a response, for a conditional request.
type Validators struct {
	ETag         string
	LastModified string // as received
}

// A Cursor is a position in a log. Cursors only grow, and a store issues none twice; zero is
// the beginning. Two stores can issue the same cursor, and so can a restored copy of a store:
// clients therefore use a [Place].
type Cursor int64

// A Change is the step from one version of a source to the next. It happened
// after After and no later than Before; nothing narrower is known, so nothing
// narrower is said.
type Change struct {
	Cursor        Cursor // place in the log of all changes
	Epoch         Epoch  // in which it was written
	Source        SourceID
	Seq           int // of this source's changes, from 1, without gaps; one that was purged goes on after its last
	Number        int // of the version it led to
	From, To      Hash
	After, Before time.Time
	Modified      time.Time     // when the source says it happened, if that lies in between
	Summary       string        // a few words: what was added and what went
	Suspect       suspect.Class // as in the Outcome that it was seen by
	Landed        string        // likewise
	Label         Label         // of the source, as it was then
	Details       Details       // the named values and items that changed
}

// A Label names a source in messages.
type Label struct {
	URL, Name string
	Tags      []string
	Title     string // of its page, in messages about a source without a name
}

// Place returns the place of the change in the log of all changes.
func (c Change) Place() Place { return Place{c.Cursor, c.Epoch} }

// ID returns the id under which the change is delivered, such as "prices.3~k3f9q2xw". It is
// the same for every delivery and unique among changes.
func (c Change) ID() string { return c.Epoch.Qualify(fmt.Sprintf("%s.%d", c.Source, c.Seq)) }

// A ChangeRef names a change.
type ChangeRef struct {
	Source SourceID `json:"source"`
	Seq    int      `json:"seq"`
	Cursor Cursor   `json:"cursor"` // place in the log of all changes
}

// Ref returns the name of the change.
func (c Change) Ref() ChangeRef { return ChangeRef{c.Source, c.Seq, c.Cursor} }

// At returns the time of the change: the source's own date if it lies between After and Before,
// and Before otherwise.
func (c Change) At() time.Time {
	if c.Modified.After(c.After) && !c.Modified.After(c.Before) {
		return c.Modified
	}
	return c.Before
}
