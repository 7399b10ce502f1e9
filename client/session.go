package client

import (
	"time"

	"freshet/internal/auth/access"
	"freshet/internal/freshet"
)

// A Session says who the caller is, and what the caller may do.
type Session struct {
	Known   bool             `json:"known" doc:"false: log in first"`
	User    string           `json:"user,omitempty" doc:"Name of the user; absent if no login was required, and for share links"`
	Role    access.Role      `json:"role,omitempty" enum:"viewer,editor,admin"`
	Via     string           `json:"via,omitempty" doc:"How they were let in: session, token NAME, link ID, open or data directory"`
	Scopes  []access.Right   `json:"scopes" nullable:"false" enum:"read,write,admin,hand" doc:"What they may do"`
	Tag     string           `json:"tag,omitempty" doc:"Only with sources that have this tag"`
	Source  freshet.SourceID `json:"source,omitempty" doc:"Only with this source: it is a share link"`
	Query   string           `json:"query,omitempty" doc:"Only with this query: it is a share link"`
	Expires time.Time        `json:"expires,omitzero" doc:"When the session or token ends at the latest"`

	Open   bool   `json:"open" doc:"Nobody on this machine has to log in"`
	Notice string `json:"notice,omitempty" doc:"What the operator should know about that"`
	Secure bool   `json:"secure" doc:"The request came over https, as far as the daemon knows"`

	Guest    bool   `json:"guest,omitempty" doc:"The user logs in at the OpenID provider, which says the role"`
	Provider string `json:"provider,omitempty" doc:"Name of the OpenID provider at which people can log in, at /login/oidc; absent if there is none"`
}

// A Login holds credentials: a user with a password, a token, or the secret of a share link.
type Login struct {
	User     string `json:"user,omitempty" maxLength:"128"`
	Password string `json:"password,omitempty" maxLength:"1024"`
	Token    string `json:"token,omitempty" maxLength:"200" doc:"A token, or the secret of a share link, instead of user and password"`
}

// A NewPassword replaces the password of the caller.
type NewPassword struct {
	Old string `json:"old" maxLength:"1024"`
	New string `json:"new" minLength:"8" maxLength:"1024"`
}

// A User is a person who may use the API.
type User struct {
	Name     string      `json:"name"`
	Role     access.Role `json:"role" enum:"viewer,editor,admin"`
	Password bool        `json:"password" doc:"Whether the user can log in with a password"`
	Provider bool        `json:"provider,omitempty" doc:"The user logs in at the OpenID provider, which says the role"`
	Created  time.Time   `json:"created_at"`
	Set      time.Time   `json:"password_set_at,omitzero"`
}

// A NewUser is a user to add.
type NewUser struct {
	Name     string      `json:"name" minLength:"1" maxLength:"128"`
	Role     access.Role `json:"role" enum:"viewer,editor,admin"`
	Password string      `json:"password,omitempty" maxLength:"1024" doc:"At least 8 characters"`

	NoPassword bool `json:"no_password,omitempty" doc:"The user cannot log in until an admin sets a password"`
}

// A UserEdit is what to change of a user.
type UserEdit struct {
	Role     access.Role `json:"role,omitempty" enum:"viewer,editor,admin"`
	Password string      `json:"password,omitempty" maxLength:"1024" doc:"Ends the sessions of the user"`
}

// A UserList is all users.
type UserList struct {
	Items []User `json:"items" nullable:"false"`
	Next  string `json:"next,omitempty" doc:"Pass this as after to get more; absent if there is none"`
}
