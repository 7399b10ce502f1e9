package client

import (
	"context"
	"encoding/json"
	"time"

	"freshet/internal/auth/access"
	"freshet/internal/freshet"
)

// A Token is what a program shows to be let in, without its secret.
type Token struct {
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	User    string         `json:"user,omitempty" doc:"The owner; absent if there is none"`
	Scopes  []access.Right `json:"scopes" nullable:"false" enum:"read,write,admin,hand" doc:"Its scopes; never more than the rights of its user"`
	Tag     string         `json:"tag,omitempty" doc:"Only for sources with this tag"`
	Created time.Time      `json:"created_at"`
	Expires time.Time      `json:"expires_at,omitzero"`
	Used    time.Time      `json:"used_at,omitzero" doc:"When it was used last, to within five minutes"`
}

// A NewToken is a token to make.
type NewToken struct {
	Name    string         `json:"name" minLength:"1" maxLength:"200" doc:"What it is for"`
	Scopes  []access.Right `json:"scopes" minItems:"1" maxItems:"4" nullable:"false" enum:"read,write,admin,hand"`
	Tag     string         `json:"tag,omitempty" maxLength:"64" doc:"Only for sources with this tag"`
	Expires string         `json:"expires,omitempty" maxLength:"40" doc:"When it ends: how long from now, such as 90d, or a time; absent means never"`
}

// A MadeToken is a new token with its secret, which is not shown again.
type MadeToken struct {
	Token
	Secret string `json:"secret" doc:"Send it as Authorization: Bearer SECRET"`
}

// A TokenList is tokens.
type TokenList struct {
	Items []Token `json:"items" nullable:"false"`
	Next  string  `json:"next,omitempty" doc:"Pass this as after to get more; absent if there is none"`
}

// A Share is a link that shows one source or one query to anybody who has the link.
type Share struct {
	ID      string           `json:"id"`
	Name    string           `json:"name,omitempty"`
	User    string           `json:"user,omitempty" doc:"Who made it"`
	Source  freshet.SourceID `json:"source,omitempty"`
	Query   string           `json:"query,omitempty"`
	Created time.Time        `json:"created_at"`
	Expires time.Time        `json:"expires_at,omitzero"`
	Used    time.Time        `json:"used_at,omitzero" doc:"When it was used last, to within five minutes"`
}

// A NewShare is a share link to make, of a source or a query.
type NewShare struct {
	Name    string           `json:"name,omitempty" maxLength:"200" doc:"Who it is for"`
	Source  freshet.SourceID `json:"source,omitempty" maxLength:"64"`
	Query   string           `json:"query,omitempty" maxLength:"64"`
	Expires string           `json:"expires,omitempty" maxLength:"40" doc:"When it ends: how long from now, such as 30d, or a time; absent means never"`
}

// A MadeShare is a new share link with its secret, which is not shown again.
type MadeShare struct {
	Share
	Secret string `json:"secret"`
	Path   string `json:"path" doc:"Of the page for people"`
	Feed   string `json:"feed" doc:"Path of the Atom feed"`
	URL    string `json:"url,omitempty" doc:"Of the page, if the daemon knows its own address (api.url)"`
}

// A ShareList is share links.
type ShareList struct {
	Items []Share `json:"items" nullable:"false"`
	Next  string  `json:"next,omitempty" doc:"Pass this as after to get more; absent if there is none"`
}

// An AuditEntry says who did what.
type AuditEntry struct {
	Cursor  int64           `json:"cursor"`
	At      time.Time       `json:"at"`
	User    string          `json:"user,omitempty" doc:"The user; absent if no login was required"`
	Via     string          `json:"via,omitempty" doc:"How they were let in"`
	From    string          `json:"from,omitempty" doc:"Address that the request came from"`
	What    string          `json:"what" doc:"The operation"`
	Method  string          `json:"method,omitempty"`
	Path    string          `json:"path,omitempty"`
	Subject string          `json:"subject,omitempty" doc:"What it was done to, such as source news"`
	Status  int             `json:"status,omitempty" doc:"Of the answer"`
	Before  json.RawMessage `json:"before,omitempty" doc:"The fields that were changed, as they were; secrets as ***"`
	After   json.RawMessage `json:"after,omitempty" doc:"Likewise, as they are"`
}

// An AuditPage is part of the audit log, newest first.
type AuditPage struct {
	Items []AuditEntry `json:"items" nullable:"false"`
	Next  int64        `json:"next,omitempty" doc:"Ask with before for the next page; absent at the end"`
}

// An AuditQuery selects part of the audit log. What is zero does not matter.
type AuditQuery struct {
	Before  int64
	User    string
	Subject string
	Limit   int
}

// Audit returns part of the audit log.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (AuditPage, error) {
	asked := query{}
	asked.number("before", q.Before)
	asked.text("user", q.User)
	asked.text("subject", q.Subject)
	asked.number("limit", int64(q.Limit))
	return get[AuditPage](ctx, c, "/audit", asked)
}
