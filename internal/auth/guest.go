package auth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"freshet/internal/auth/access"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// A Guest is a person whom an OpenID provider has authenticated.
type Guest struct {
	Subject string      // who they are there, and nobody else is
	Name    string      // what they are called there
	Role    access.Role // that they have by it; "" means none
	From    string      // their address

	Life time.Duration // the longest that the session lasts; zero means as long as any other
}

// Why a guest is not let in.
var (
	ErrNoRole    = errors.New("the provider knows you, but you have no role here")
	ErrNoAdmin   = errors.New("the first user must be an admin, and you are not one")
	ErrLastAdmin = errors.New("you are no longer an admin, and there is no other; add one with access to the data directory")
)

// Guest reports whether a user is one of the provider's, who alone says what they may do.
func (g *Gate) Guest(u User) bool {
	return g.Provider != "" && strings.HasPrefix(u.Subject, strings.TrimSuffix(g.Provider, "/")+"#")
}

// Attempt uses up one of the tries to log in that an address has, or returns a
// *TooManyError. The function gives it back, because it was no failure.
func (g *Gate) Attempt(from string) (back func(), err error) {
	return func() { g.tries.back("", from) }, g.tries.take("", from)
}

// Welcome returns a session for a guest, and its secret. The user is made at the first
// login, and has the role that the provider says at each. When that is lower than before,
// or none, all passes that are good for more end.
func (g *Gate) Welcome(ctx context.Context, guest Guest) (Credential, string, error) {
	u, err := g.admit(ctx, guest)
	if err != nil {
		return Credential{}, "", err
	}
	p := Credential{Kind: SessionKind, User: u.Name, From: guest.From}
	if guest.Life > 0 {
		p.Expires = g.Now().UTC().Add(guest.Life)
	}
	return g.Issue(ctx, p)
}

// admit returns the user that a guest is from now on.
func (g *Gate) admit(ctx context.Context, guest Guest) (User, error) {
	g.welcoming.Lock()
	defer g.welcoming.Unlock()
	u, err := g.Store.UserBySubject(ctx, guest.Subject)
	isNew := errors.Is(err, freshet.ErrNotFound)
	switch {
	case err != nil && !isNew:
		return u, err
	case isNew && guest.Role == "":
		return u, ErrNoRole
	case isNew:
		return g.addGuest(ctx, guest)
	case guest.Role == "":
		return u, g.dismiss(ctx, u)
	}
	return g.adjust(ctx, u, guest.Role)
}

// addGuest makes a user of a guest. A name that another user has
// already is never reused: the guest gets another one.
func (g *Gate) addGuest(ctx context.Context, guest Guest) (User, error) {
	u := User{Name: userNameOf(guest.Name), Role: guest.Role, Subject: guest.Subject}
	if !g.HasUsers() && u.Role != access.Admin {
		return u, ErrNoAdmin
	}
	added, err := g.AddUser(ctx, u, "")
	if errors.Is(err, freshet.ErrConflict) {
		sum := sha256.Sum256([]byte(guest.Subject))
		u.Name += "-" + hex.EncodeToString(sum[:4])
		return g.AddUser(ctx, u, "")
	}
	return added, err
}

// userNameOf returns a name that a user can have, as near to another as may be.
func userNameOf(name string) string {
	name = strings.Map(func(r rune) rune {
		if ValidUserName("x" + string(r)) {
			return r
		}
		return '-'
	}, name)
	name = strings.TrimLeft(name[:min(len(name), 100)], ".@+-")
	if name == "" {
		return "somebody"
	}
	return name
}

// adjust gives a user the role that the provider says.
func (g *Gate) adjust(ctx context.Context, u User, role access.Role) (User, error) {
	lowered := slices.Index(access.Roles, role) < slices.Index(access.Roles, u.Role)
	least := u.Role
	if lowered {
		least = role
	}
	// Before the role changes, so that nothing comes to life again if it rises.
	if err := g.strip(ctx, u.Name, least, lowered); err != nil || role == u.Role {
		return u, err
	}
	u.Role = role
	edited, err := g.EditUser(ctx, u, "", "")
	if _, last := errors.AsType[*invalid.Error](err); last && lowered {
		return u, errors.Join(ErrLastAdmin, g.Revoke(ctx, CredentialFilter{User: u.Name}))
	}
	if err == nil && lowered { // what was made meanwhile
		err = g.strip(ctx, u.Name, role, true)
	}
	return edited, err
}

// dismiss ends all that a user has, who has no role any more.
func (g *Gate) dismiss(ctx context.Context, u User) error {
	if err := g.Revoke(ctx, CredentialFilter{User: u.Name}); err != nil {
		return err
	}
	if u.Role != access.Viewer {
		u.Role = access.Viewer
		// The last admin keeps the name of the role, and has no way in.
		if _, err := g.EditUser(ctx, u, "", ""); err != nil {
			if _, last := errors.AsType[*invalid.Error](err); !last {
				return err
			}
		}
	}
	return errors.Join(ErrNoRole, g.Revoke(ctx, CredentialFilter{User: u.Name}))
}

// strip ends what a user has that is good for more than a role: tokens with other rights,
// share links of those who may not make any, and with sessions all of these.
func (g *Gate) strip(ctx context.Context, user string, role access.Role, sessions bool) error {
	rights := role.Rights()
	if sessions {
		if err := g.Revoke(ctx, CredentialFilter{User: user, Kind: SessionKind}); err != nil {
			return err
		}
	}
	for _, kind := range []CredentialKind{TokenKind, ShareKind} {
		passes, err := g.Store.Credentials(ctx, kind)
		if err != nil {
			return err
		}
		for _, p := range passes {
			more := slices.ContainsFunc(p.Limit.Scopes, func(r access.Right) bool { return !slices.Contains(rights, r) }) ||
				kind == ShareKind && !slices.Contains(rights, access.Write)
			if p.User != user || !more {
				continue
			}
			if err := g.Revoke(ctx, CredentialFilter{ID: p.ID}); err != nil {
				return err
			}
		}
	}
	return nil
}
