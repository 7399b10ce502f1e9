package auth

import (
	"context"
	"slices"

	"freshet/internal/auth/access"
)

// A Caller is the client of a request to the API.
type Caller struct {
	User       string // name; "" if nobody had to say one
	Role       access.Role
	Via        string // how they were let in
	From       string // their address
	Credential Credential
	Limit      Limit // what they are limited to; Scopes are all that they may do
	Known      bool  // false is a stranger, who may do nothing

	Guest  bool // their user is one of the provider's
	Secure bool // they came over https
}

// May reports whether a caller has a right.
func (c Caller) May(right access.Right) bool {
	return c.Known && slices.Contains(c.Limit.Scopes, right)
}

// Share reports whether the caller came by a share link.
func (c Caller) Share() bool { return c.Limit.Source != "" || c.Limit.Query != "" }

// Everybody reports whether the caller may do everything without a pass: nobody has to log in, or
// they have read the data directory.
func (c Caller) Everybody() bool { return c.Known && c.Credential.ID == "" }

type callerKey struct{}

// With returns a context that knows the caller.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// Of returns the caller of a request by its context; a stranger if it has none.
func Of(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
