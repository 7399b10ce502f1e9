package rest

import "freshet/internal/auth/access"

// A Rule is the access rule of a route.
type Rule struct {
	Need  access.Right // "" means everybody, including strangers
	Self  bool         // any authenticated caller may: the route is about the caller
	Share ShareRule
	Tag   TagRule
	Probe bool // answered even if callers cannot be authenticated because the store does not answer
	Quiet bool // has no entry in the audit log

	// Secret reports whether the request or its response holds a secret. Neither the response nor a
	// fast hash of the request is then stored for an idempotency key.
	Secret bool

	// Repeatable reports whether an interrupted request is performed again under its idempotency
	// key, because it stores nothing, takes several transactions or is idempotent.
	Repeatable bool
}

// open reports whether strangers may use a route.
func (r Rule) open() bool { return r.Need == "" && !r.Self }

// A ShareRule tells which share links open a route.
type ShareRule int

// The share rules.
const (
	NoShare     ShareRule = iota
	SourceShare           // if the id in the path is the source of the link
	QueryShare            // if the id in the path is the query of the link
	FoundShare            // if the link is of a source: the handler serves no other
)

// A TagRule tells what a token that is limited to a tag may do with a route.
type TagRule int

// The tag rules.
const (
	NoTag    TagRule = iota // closed
	TagPath                 // open if the source with the id in the path has the tag
	TagParam                // limited by its parameter tag
	TagFound                // open: the handler serves only sources with the tag
)
