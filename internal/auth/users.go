package auth

import (
	"context"
	"errors"
)

// AddUser adds a user with a password; "" means that the user has none.
func (g *Gate) AddUser(ctx context.Context, u User, password string) (User, error) {
	if err := u.Check(); err != nil {
		return u, err
	}
	if password != "" || u.Subject == "" {
		hash, err := g.Hash(ctx, password)
		if err != nil {
			return u, err
		}
		u.Password, u.Set = hash, g.Now().UTC()
	}
	return g.add(ctx, u)
}

// AddWithoutPassword adds a user who cannot log in until a password is set.
func (g *Gate) AddWithoutPassword(ctx context.Context, u User) (User, error) {
	if err := u.Check(); err != nil {
		return u, err
	}
	return g.add(ctx, u)
}

func (g *Gate) add(ctx context.Context, u User) (User, error) {
	u.Created = g.Now().UTC()
	added, err := g.Store.AddUser(ctx, u)
	if err != nil {
		return u, err
	}
	if g.users.Add(1) == 1 {
		g.end(func(c Caller) bool { return c.Known && c.User == "" && c.Credential.ID == "" }, "")
	}
	return added, nil
}

// EditUser changes a user. A password that is not empty is set, and ends the sessions of
// the user but for that of the pass that stays. A user whose role has changed has to log in
// again.
func (g *Gate) EditUser(ctx context.Context, u User, password, stays string) (User, error) {
	if err := u.Check(); err != nil {
		return u, err
	}
	was, err := g.Store.User(ctx, u.Name)
	if err != nil {
		return u, err
	}
	if password != "" {
		if u.Password, err = g.Hash(ctx, password); err != nil {
			return u, err
		}
		u.Set = g.Now().UTC()
	}
	stored, err := g.Store.UpdateUser(ctx, u)
	if err != nil {
		return u, err
	}
	if was.Role != stored.Role {
		g.end(func(c Caller) bool { return c.User == u.Name }, stays)
	}
	if password != "" {
		return stored, g.Revoke(ctx, CredentialFilter{User: u.Name, Kind: SessionKind, But: stays})
	}
	return stored, nil
}

// RemoveUser removes a user and ends all that the user is doing.
func (g *Gate) RemoveUser(ctx context.Context, name string) error {
	if err := g.Store.RemoveUser(ctx, name); err != nil {
		return err
	}
	g.users.Add(-1)
	// Links that the user had made are gone, too, and so are the requests of their holders.
	g.end(func(c Caller) bool { return c.User == name || c.Share() }, "")
	return nil
}

// Revoke removes passes and ends what is done with them.
func (g *Gate) Revoke(ctx context.Context, which CredentialFilter) error {
	gone, err := g.Store.RemoveCredentials(ctx, which)
	for _, id := range gone {
		g.end(func(c Caller) bool { return c.Credential.ID == id }, "")
	}
	return err
}

// MayRemove says why a user cannot be removed: on an address that others reach, one admin has to
// remain.
func (g *Gate) MayRemove(ctx context.Context, name string) error {
	if g.Inside || g.Loopback && g.Mode == Auto || g.Mode == Off {
		return nil // requests from this machine need no login; the store sees to the rest
	}
	users, err := g.Store.Users(ctx)
	if err != nil {
		return err
	}
	if len(users) == 1 && users[0].Name == name {
		return errors.New("this is the only user, and nobody could log in any more")
	}
	return nil
}
