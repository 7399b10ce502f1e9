package rest

import "freshet/internal/auth/access"

// A Rule says who may use a route.
type Rule struct {
	Need  access.Right // "" means that everybody may, strangers too
	Self  bool         // any known caller may: the route is about the caller
	Share ShareRule
	Tag   TagRule
	Probe bool // it is answered also while the store is not: nobody has to be known
	Quiet bool // the audit log has no entry for it: nothing changes that anybody would look for

	// Secret says that the request or its answer holds a secret, so that neither the answer
	// nor a quick hash of the request is kept for an idempotency key.
	Secret bool

	// Again says that what the request does is not stored, takes several transactions, or comes to
	// the same when it is done twice. One that was cut off is done again under its idempotency key.
	Again bool
}

// open reports whether strangers may use a route.
func (r Rule) open() bool { return r.Need == "" && !r.Self }

// A ShareRule says whether a share link opens a route.
type ShareRule int

// The share rules.
const (
	NoShare     ShareRule = iota
	SourceShare           // if the id in the path is the source of the link
	QueryShare            // if the id in the path is the query of the link
)

// A TagRule says what a route is to a token that is limited to a tag.
type TagRule int

// The tag rules.
const (
	NoTag    TagRule = iota // closed
	TagPath                 // open if the source with the id in the path has the tag
	TagParam                // limited by its parameter tag
)
