package auth

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"freshet/internal/auth/access"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// A User is a person who may use the API and the page.
type User struct {
	Name     string
	Role     access.Role
	Password string    // its hash, in the form of package auth; "" if the user cannot log in with one
	Subject  string    // who the user is at an OpenID provider; "" if at none
	Created  time.Time // never changes
	Set      time.Time // when the password was set last; zero if there is none
	Revision int64     // grows with every edit
}

var userName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._@+-]{0,127}$`)

// ValidUserName reports whether a user can have a name.
func ValidUserName(name string) bool { return userName.MatchString(name) }

// Check returns what is wrong with a user as an *invalid.Error.
func (u User) Check() error {
	switch {
	case !ValidUserName(u.Name):
		return invalid.Errorf("name", "%.80q cannot name a user; use up to 128 letters, digits, '.', '_', '@', '+' and '-'", u.Name)
	case !slices.Contains(access.Roles, u.Role):
		return invalid.Errorf("role", "%.40q is not one of viewer, editor or admin", string(u.Role))
	}
	return nil
}

// A Credential lets its holder in: a session, a token or a share link. Only its holder knows
// the secret; a hash of it is stored.
type Credential struct {
	ID      string // by which it is listed and revoked; says nothing of the secret
	Kind    CredentialKind
	Secret  freshet.Hash // of the secret
	User    string       // whose it is; "" if it belongs to nobody
	Name    string       // what a token or share is for, in the words of its author
	Parent  string       // ID of the credential that it was obtained with and ends with; "" if there is none
	From    string       // address at which a session began
	Limit   Limit
	Created time.Time
	Expires time.Time // zero means never
	Used    time.Time // roughly; zero means never
}

// A Limit is what a credential is good for.
type Limit struct {
	Scopes []access.Right   `json:"scopes,omitempty"` // none means all that its user may do
	Tag    string           `json:"tag,omitempty"`    // only sources with this tag
	Source freshet.SourceID `json:"source,omitempty"` // only this source
	Query  string           `json:"query,omitempty"`  // only this query and its matches
}

// A CredentialKind is a kind of credential.
type CredentialKind string

// The kinds of credential.
const (
	SessionKind CredentialKind = "session" // of a browser
	TokenKind   CredentialKind = "token"   // of a program
	ShareKind   CredentialKind = "share"   // a link that shows one source or query to anyone who has it
)

// Check returns what is wrong with a token or a share link as an *invalid.Error.
func (p Credential) Check() error {
	for _, s := range p.Limit.Scopes {
		if !slices.Contains(access.Rights, s) {
			return invalid.Errorf("scopes", "%.40q is not one of read, write, admin or hand", string(s))
		}
	}
	switch {
	case len(p.Name) > 200 || strings.ContainsFunc(p.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return invalid.Errorf("name", "must be up to 200 bytes without control characters")
	case p.Kind == TokenKind && len(p.Limit.Scopes) == 0:
		return invalid.Errorf("scopes", "say what the token is for: read, write, admin or hand")
	case p.Kind == ShareKind && (p.Limit.Source == "") == (p.Limit.Query == ""):
		return invalid.Errorf("source", "a link shows one source or one query")
	case p.Limit.Tag != "" && slices.Contains(p.Limit.Scopes, access.Administer):
		return invalid.Errorf("tag", "a token with the scope admin cannot be limited to a tag")
	case !p.Expires.IsZero() && !p.Expires.After(p.Created):
		return invalid.Errorf("expires", "%s is in the past", p.Expires.Format(time.RFC3339))
	}
	return nil
}

// An AuditEntry is an entry of the audit log: an operation of a user.
type AuditEntry struct {
	Cursor  freshet.Cursor // its place in the log; zero until it is stored
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
func (d AuditEntry) String() string {
	who := d.Who
	if who == "" {
		who = d.Via
	}
	return fmt.Sprintf("%s: %s %s", who, d.What, d.Subject)
}

// An AuditQuery selects part of the audit log.
type AuditQuery struct {
	Before  freshet.Cursor // only older entries; zero means from the end
	Who     string         // only of this user
	Subject string         // only what was done to this
	Limit   int
}

// MaxAuditEntries is how many entries of the audit log are kept, however new they are.
const MaxAuditEntries = 1_000_000

// A CredentialFilter selects credentials to remove. Empty fields match all, but one must be set.
type CredentialFilter struct {
	ID   string
	User string
	Kind CredentialKind
	But  string // ID of a credential that stays
}
