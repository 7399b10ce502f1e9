package freshet

import (
	"context"
	"time"
)

// A UserStore keeps who may use the API, and the log of what they did. While there are
// users, one of them is an admin.
type UserStore interface {
	// Users returns all users in the order of their names.
	Users(ctx context.Context) ([]User, error)

	// User returns one user, or ErrNotFound.
	User(ctx context.Context, name string) (User, error)

	// UserAt returns the user with a Subject, or ErrNotFound.
	UserAt(ctx context.Context, subject string) (User, error)

	// AddUser adds a user and returns it as stored, or returns ErrConflict if there is
	// one of this name, or an *InvalidError if it would be the first and is no admin.
	AddUser(ctx context.Context, u User) (User, error)

	// UpdateUser replaces the user of the same name and returns it as stored, or returns
	// ErrNotFound, a *StaleError if u has another revision than the one stored, or an
	// *InvalidError if no admin would be left. When it was created stays as it is.
	UpdateUser(ctx context.Context, u User) (User, error)

	// RemoveUser removes a user with all passes, or returns ErrNotFound, or an
	// *InvalidError if other users would be left without an admin.
	RemoveUser(ctx context.Context, name string) error

	// AddPass keeps a pass, or returns ErrNotFound if its user or its parent is gone.
	AddPass(ctx context.Context, p Pass) error

	// PassWith returns the pass whose secret has a hash, or ErrNotFound.
	PassWith(ctx context.Context, secret Hash) (Pass, error)

	// Passes returns the passes of a kind, the newest first.
	Passes(ctx context.Context, kind PassKind) ([]Pass, error)

	// UsePass notes when a pass was used last. Nothing happens if it is gone.
	UsePass(ctx context.Context, id string, at time.Time) error

	// RemovePasses removes those for which a condition holds, with those that were got
	// with them, and returns their IDs.
	RemovePasses(ctx context.Context, which Passing) ([]string, error)

	// Tell appends to the audit log.
	Tell(ctx context.Context, d Deed) error

	// Deeds returns part of the audit log, newest first.
	Deeds(ctx context.Context, q DeedQuery) ([]Deed, error)

	// Sweep removes passes that had expired at a moment or were not used since another if
	// they are sessions, and entries of the audit log from before a third or beyond
	// MostDeeds.
	Sweep(ctx context.Context, now, idle, deeds time.Time) error
}

// A Passing selects passes to remove. What is empty does not matter, but something must
// be set.
type Passing struct {
	ID   string
	User string
	Kind PassKind
	But  string // ID of a pass that stays
}
