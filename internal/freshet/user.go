package freshet

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A User is somebody who may use the API and the page.
type User struct {
	Name     string
	Role     Role
	Password string    // its hash, in the form of package who; "" if the user cannot log in with one
	Subject  string    // who the user is at an OpenID provider; "" if at none
	Created  time.Time // never changes
	Set      time.Time // when the password was set last; zero if there is none
	Revision int64     // grows with every edit
}

// A Role is what a user may do: each may do all that the ones before it may.
type Role string

// The roles.
const (
	Viewer Role = "viewer" // reads all but users, tokens and the audit log
	Editor Role = "editor" // also edits sources, queries and sinks
	Admin  Role = "admin"  // may do everything
)

// Roles are all roles, the one that may do least first.
var Roles = []Role{Viewer, Editor, Admin}

// Rights returns what a role may do.
func (r Role) Rights() []Right {
	switch r {
	case Viewer:
		return []Right{RightRead}
	case Editor:
		return []Right{RightRead, RightWrite}
	case Admin:
		return []Right{RightRead, RightWrite, RightAdmin, RightHand}
	}
	return nil
}

// A Right is one kind of thing that a token may be used for.
type Right string

// The rights.
const (
	RightRead  Right = "read"  // read sources, versions, changes and numbers
	RightWrite Right = "write" // edit sources, queries and sinks, and poll
	RightAdmin Right = "admin" // users, tokens, settings and the audit log
	RightHand  Right = "hand"  // make polls for the daemon from another machine
)

// Rights are all rights.
var Rights = []Right{RightRead, RightWrite, RightAdmin, RightHand}

var userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._@+-]{0,127}$`)

// ValidUserName reports whether a user can have a name.
func ValidUserName(name string) bool { return userName.MatchString(name) }

// Check returns what is wrong with a user as an *InvalidError.
func (u User) Check() error {
	switch {
	case !ValidUserName(u.Name):
		return wrong("name", "%.80q cannot name a user; use up to 128 letters, digits, '.', '_', '@', '+' and '-'", u.Name)
	case !slices.Contains(Roles, u.Role):
		return wrong("role", "%.40q is not one of viewer, editor or admin", string(u.Role))
	}
	return nil
}

// A Pass is what somebody shows to be let in: a session, a token or a share link. Its
// secret is known to its holder alone; what is kept is a hash.
type Pass struct {
	ID      string // by which it is listed and revoked; says nothing of the secret
	Kind    PassKind
	Secret  Hash   // of the secret
	User    string // whose it is; "" if it belongs to nobody
	Name    string // what a token or share is for, in the words of whoever made it
	Parent  string // ID of the pass that it was got with and ends with; "" if there is none
	From    string // address at which a session began
	Limit   Limit
	Created time.Time
	Expires time.Time // zero means never
	Used    time.Time // roughly; zero means never
}

// A Limit is what a pass is good for.
type Limit struct {
	Scopes []Right  `json:"scopes,omitempty"` // none means all that its user may do
	Tag    string   `json:"tag,omitempty"`    // only sources with this tag
	Source SourceID `json:"source,omitempty"` // only this source
	Query  QueryID  `json:"query,omitempty"`  // only this query and its matches
}

// A PassKind is a kind of pass.
type PassKind string

// The kinds of pass.
const (
	PassSession PassKind = "session" // of a browser
	PassToken   PassKind = "token"   // of a program
	PassShare   PassKind = "share"   // a link that shows one source or query to whoever has it
)

// Check returns what is wrong with a token or a share link as an *InvalidError.
func (p Pass) Check() error {
	for _, s := range p.Limit.Scopes {
		if !slices.Contains(Rights, s) {
			return wrong("scopes", "%.40q is not one of read, write, admin or hand", string(s))
		}
	}
	switch {
	case len(p.Name) > 200 || strings.ContainsFunc(p.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return wrong("name", "must be up to 200 bytes without control characters")
	case p.Kind == PassToken && len(p.Limit.Scopes) == 0:
		return wrong("scopes", "say what the token is for: read, write, admin or hand")
	case p.Kind == PassShare && (p.Limit.Source == "") == (p.Limit.Query == ""):
		return wrong("source", "a link shows one source or one query")
	case p.Limit.Tag != "" && slices.Contains(p.Limit.Scopes, RightAdmin):
		return wrong("tag", "a token with the scope admin cannot be limited to a tag")
	case !p.Expires.IsZero() && !p.Expires.After(p.Created):
		return wrong("expires", "%s is in the past", p.Expires.Format(time.RFC3339))
	}
	return nil
}

// A Deed is an entry of the audit log: something that somebody did.
type Deed struct {
	Cursor  Cursor // its place in the log; zero until it is stored
	At      time.Time
	Who     string // name of the user; "" if nobody had to say
	Via     string // how they were let in, such as "session", "token ci" or "open"
	From    string // the address that the request came from
	What    string // the operation, such as "edit-source"
	Method  string
	Path    string // without the query, which may hold a secret
	Subject string // what it was done to, such as "source news"
	Status  int    // of the answer
	Before  string // what was changed, as a JSON object of the fields that differ; never a secret
	After   string // likewise
}

// String says who did what.
func (d Deed) String() string {
	who := d.Who
	if who == "" {
		who = d.Via
	}
	return fmt.Sprintf("%s: %s %s", who, d.What, d.Subject)
}

// A DeedQuery selects part of the audit log.
type DeedQuery struct {
	Before  Cursor // only older entries; zero means from the end
	Who     string // only of this user
	Subject string // only what was done to this
	Limit   int
}

// MostDeeds is how many entries of the audit log are kept, however new they are.
const MostDeeds = 1_000_000
