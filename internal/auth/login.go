package auth

import (
	"context"
	"errors"

	"freshet/internal/freshet"
)

// ErrWrong means that a name and a password do not belong together. Which of them is
// wrong is not said.
var ErrWrong = errors.New("the user name or the password is wrong")

// Login returns a session for a user with a password, and its secret.
func (g *Gate) Login(ctx context.Context, name, password, from string) (Credential, string, error) {
	if _, err := g.Verify(ctx, name, password, from); err != nil {
		return Credential{}, "", err
	}
	return g.Issue(ctx, Credential{Kind: SessionKind, User: name, From: from})
}

// Verify returns the user with a name and a password, or ErrWrong, ErrOverloaded or a
// *TooManyError. It takes as long for a name that nobody has.
func (g *Gate) Verify(ctx context.Context, name, password, from string) (User, error) {
	if err := g.tries.take(name, from); err != nil {
		return User{}, err
	}
	u, err := g.Store.User(ctx, name)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		g.tries.back(name, from)
		return u, err
	}
	hash := u.Password
	if err != nil || hash == "" {
		hash = g.decoy
	}
	right := false
	if len(password) <= mostPassword {
		if failed := g.hashes.do(ctx, from, func() { right = matches(hash, password) }); failed != nil {
			g.tries.back(name, from)
			return u, failed
		}
	}
	if !right || err != nil || u.Password == "" || g.Guest(u) {
		return User{}, ErrWrong
	}
	g.tries.back(name, from)
	g.hashes.welcome(from)
	return u, nil
}

// Enter returns a session for the holder of a token or a share link.
func (g *Gate) Enter(ctx context.Context, secret, from string) (Credential, string, error) {
	if err := g.tries.take("", from); err != nil {
		return Credential{}, "", err
	}
	c, err := g.Known(ctx, secret)
	if errors.Is(err, ErrUnknown) || err == nil && (c.Credential.ID == "" || c.Credential.Kind == SessionKind) {
		return Credential{}, "", ErrUnknown
	}
	if err != nil {
		return Credential{}, "", err
	}
	g.tries.back("", from)
	p := Credential{Kind: SessionKind, User: c.User, Name: c.Credential.Name, Parent: c.Credential.ID, From: from, Limit: c.Credential.Limit, Expires: c.Credential.Expires}
	return g.Issue(ctx, p)
}
