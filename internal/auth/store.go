package auth

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/store"
)

// A Store keeps users, credentials, the audit log and the answers to repeatable requests. While
// there are users, one of them is an admin.
type Store struct{ db *store.DB }

// NewStore returns the store in a database.
func NewStore(db *store.DB) *Store { return &Store{db} }

const userColumns = "name, role, password, coalesce(subject, ''), created, changed, revision"

// users returns the users for which a condition holds.
func (s *Store) users(ctx context.Context, doing, where string, args ...any) (found []User, err error) {
	err = s.db.Each(ctx, doing, "SELECT "+userColumns+" FROM users "+where, args, func(scan func(...any) error) error {
		var u User
		var created, changed store.Moment
		err := scan(&u.Name, &u.Role, &u.Password, &u.Subject, &created, &changed, &u.Revision)
		u.Created, u.Set = created.Time(), changed.Time()
		found = append(found, u)
		return err
	})
	return found, err
}

// Users returns all users in the order of their names.
func (s *Store) Users(ctx context.Context) ([]User, error) {
	return s.users(ctx, "reading the users", "ORDER BY name")
}

// User returns one user, or ErrNotFound.
func (s *Store) User(ctx context.Context, name string) (User, error) {
	found, err := s.users(ctx, "reading a user", "WHERE name = ?", name)
	return one(found, err, unknownUser(name))
}

// UserBySubject returns the user with a Subject, or ErrNotFound.
func (s *Store) UserBySubject(ctx context.Context, subject string) (User, error) {
	found, err := s.users(ctx, "reading a user", "WHERE subject = ?", subject)
	return one(found, err, fmt.Errorf("a user who is %s: %w", subject, freshet.ErrNotFound))
}

// one returns the first of what was found, or none if there is nothing.
func one[T any](found []T, err, none error) (first T, _ error) {
	switch {
	case err != nil:
		return first, err
	case len(found) == 0:
		return first, none
	}
	return found[0], nil
}

func unknownUser(name string) error { return fmt.Errorf("user %s: %w", name, freshet.ErrNotFound) }

// userRow returns when a user was created and in which revision it is stored; zero if
// there is none.
func userRow(tx *store.Tx, name string) (created driver.Value, revision int64, err error) {
	err = tx.Query("SELECT created, revision FROM users WHERE name = ?", []driver.Value{name}, func(v []driver.Value) error {
		created = v[0]
		revision, _ = v[1].(int64)
		return nil
	})
	return created, revision, err
}

func putUser(tx *store.Tx, u User, created driver.Value) error {
	if u.Subject != "" {
		taken := ""
		err := tx.Query("SELECT name FROM users WHERE subject = ? AND name <> ?", []driver.Value{u.Subject, u.Name}, func(v []driver.Value) error {
			taken, _ = v[0].(string)
			return nil
		})
		if err != nil {
			return err
		}
		if taken != "" {
			return fmt.Errorf("user %s is %s: %w", taken, u.Subject, freshet.ErrConflict)
		}
	}
	if err := tx.Put("users", u.Name, string(u.Role), u.Password, store.TextOrNull(u.Subject), created, store.MomentOf(u.Set).Value(), u.Revision); err != nil {
		return err
	}
	return keepAdmin(tx)
}

// keepAdmin refuses to leave users without an admin.
func keepAdmin(tx *store.Tx) error {
	var users, admins int64
	err := tx.Query("SELECT count(*), count(*) FILTER (WHERE role = 'admin') FROM users", nil, func(v []driver.Value) error {
		users, _ = v[0].(int64)
		admins, _ = v[1].(int64)
		return nil
	})
	if err == nil && users > 0 && admins == 0 {
		err = invalid.Errorf("role", "there must be a user with the role admin")
	}
	return err
}

// AddUser adds a user and returns it as stored. It returns ErrConflict if there is one of this
// name, and an *invalid.Error if it would be the first and is no admin.
func (s *Store) AddUser(ctx context.Context, u User) (User, error) {
	err := s.db.Write(ctx, "adding a user", func(tx *store.Tx) error {
		_, revision, err := userRow(tx, u.Name)
		switch {
		case err != nil:
			return err
		case revision != 0:
			return fmt.Errorf("user %s: %w", u.Name, freshet.ErrConflict)
		}
		u.Revision = 1
		return putUser(tx, u, store.MomentOf(u.Created).Value())
	})
	return u, err
}

// UpdateUser replaces the user of the same name and returns it as stored. It returns
// ErrNotFound, a *StaleError if u has another revision than the one stored, or an
// *invalid.Error if no admin would be left. The time of creation stays as it is.
func (s *Store) UpdateUser(ctx context.Context, u User) (stored User, err error) {
	err = s.db.Write(ctx, "editing a user", func(tx *store.Tx) error {
		created, revision, err := userRow(tx, u.Name)
		switch {
		case err != nil:
			return err
		case revision == 0:
			return unknownUser(u.Name)
		case u.Revision != 0 && u.Revision != revision:
			return &freshet.StaleError{Kind: "user", Source: freshet.SourceID(u.Name), Given: u.Revision, Stored: revision}
		}
		var at store.Moment
		if err := at.Scan(created); err != nil {
			return err
		}
		stored = u
		stored.Created, stored.Revision = at.Time(), revision+1
		return putUser(tx, stored, created)
	})
	return stored, err
}

// RemoveUser removes a user with all credentials. It returns ErrNotFound, or an *invalid.Error
// if other users would be left without an admin.
func (s *Store) RemoveUser(ctx context.Context, name string) error {
	return s.db.Write(ctx, "removing a user", func(tx *store.Tx) error {
		_, revision, err := userRow(tx, name)
		switch {
		case err != nil:
			return err
		case revision == 0:
			return unknownUser(name)
		}
		if _, err := removeCredentials(tx, "user = ?", name); err != nil {
			return err
		}
		if err := tx.Remove("users", "name = ?", name); err != nil {
			return err
		}
		return keepAdmin(tx)
	})
}

const credentialColumns = "id, kind, secret, user, name, parent, address, bounds, created, expires, used"

// credentials returns the credentials for which a condition holds.
func (s *Store) credentials(ctx context.Context, doing, where string, args ...any) (found []Credential, err error) {
	err = s.db.Each(ctx, doing, "SELECT "+credentialColumns+" FROM passes "+where, args, func(scan func(...any) error) error {
		var c Credential
		var secret []byte
		var bounds string
		var created, expires, used store.Moment
		if err := scan(&c.ID, &c.Kind, &secret, &c.User, &c.Name, &c.Parent, &c.From, &bounds, &created, &expires, &used); err != nil {
			return err
		}
		if copy(c.Secret[:], secret) != len(c.Secret) {
			return fmt.Errorf("%s %s: %w", c.Kind, c.ID, freshet.ErrDamaged)
		}
		c.Created, c.Expires, c.Used = created.Time(), expires.Time(), used.Time()
		if err := json.Unmarshal([]byte(bounds), &c.Limit); err != nil {
			return fmt.Errorf("read %s %s: %w", c.Kind, c.ID, err)
		}
		found = append(found, c)
		return nil
	})
	return found, err
}

// AddCredential stores a credential, or returns ErrNotFound if its user or its parent is gone.
func (s *Store) AddCredential(ctx context.Context, c Credential) error {
	bounds, err := json.Marshal(c.Limit)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, "adding a "+string(c.Kind), func(tx *store.Tx) error {
		if c.User != "" {
			if _, revision, err := userRow(tx, c.User); err != nil || revision == 0 {
				return errors.Join(err, unknownUser(c.User))
			}
		}
		if c.Parent != "" {
			found, err := tx.Number("SELECT count(*) FROM passes WHERE id = ?", c.Parent)
			if err != nil || found == 0 {
				return errors.Join(err, fmt.Errorf("pass %s: %w", c.Parent, freshet.ErrNotFound))
			}
		}
		return tx.Insert("passes", c.ID, string(c.Kind), c.Secret[:], c.User, c.Name, c.Parent, c.From, string(bounds),
			store.MomentOf(c.Created).Value(), store.MomentOf(c.Expires).Value(), store.MomentOf(c.Used).Value())
	})
}

// CredentialBySecret returns the credential whose secret has a hash, or ErrNotFound.
func (s *Store) CredentialBySecret(ctx context.Context, secret freshet.Hash) (Credential, error) {
	found, err := s.credentials(ctx, "reading a pass", "WHERE secret = ?", secret[:])
	return one(found, err, fmt.Errorf("pass: %w", freshet.ErrNotFound))
}

// Credentials returns the credentials of a kind, the newest first.
func (s *Store) Credentials(ctx context.Context, kind CredentialKind) ([]Credential, error) {
	return s.credentials(ctx, "reading the passes", "WHERE kind = ? ORDER BY created DESC NULLS LAST, id", string(kind))
}

// MarkUsed notes when a credential was used last. It does nothing if the credential is gone.
func (s *Store) MarkUsed(ctx context.Context, id string, at time.Time) error {
	return s.db.Write(ctx, "noting that a pass was used", func(tx *store.Tx) error {
		return tx.Amend("passes", "id = ?", []driver.Value{id}, func(row []driver.Value) {
			row[len(row)-1] = store.MomentOf(at).Value()
		})
	})
}

// RemoveCredentials removes the credentials that a filter selects, with those that were
// obtained with them, and returns their IDs.
func (s *Store) RemoveCredentials(ctx context.Context, which CredentialFilter) (removed []string, err error) {
	if which.ID == "" && which.User == "" && which.Kind == "" {
		return nil, errors.New("remove credentials: the filter is empty")
	}
	err = s.db.Write(ctx, "removing passes", func(tx *store.Tx) (err error) {
		removed, err = removeCredentials(tx, "(? = '' OR id = ?) AND (? = '' OR user = ?) AND (? = '' OR kind = ?) AND id <> ?",
			which.ID, which.ID, which.User, which.User, string(which.Kind), string(which.Kind), which.But)
		return err
	})
	return removed, err
}

// removeCredentials removes the credentials for which a condition holds, and those that were
// obtained with them.
func removeCredentials(tx *store.Tx, where string, args ...driver.Value) (removed []string, err error) {
	add := func(v []driver.Value) error {
		id, _ := v[0].(string)
		removed = append(removed, id)
		return nil
	}
	err = tx.Query("SELECT id FROM passes WHERE "+where, args, add)
	for i := 0; i < len(removed) && err == nil; i++ {
		err = tx.Query("SELECT id FROM passes WHERE parent = ?", []driver.Value{removed[i]}, add)
	}
	for _, id := range removed {
		if err == nil {
			err = tx.Remove("passes", "id = ?", id)
		}
	}
	return removed, err
}

// AppendAudit appends to the audit log.
func (s *Store) AppendAudit(ctx context.Context, e AuditEntry) error {
	return s.db.Write(ctx, "writing the audit log", func(tx *store.Tx) error {
		last, err := tx.Number("SELECT coalesce(max(cursor), 0) FROM deeds")
		if err != nil {
			return err
		}
		return tx.Insert("deeds", last+1, store.MomentOf(e.At).Value(), e.Who, e.Via, e.From, e.What, e.Method, e.Path, e.Subject, int64(e.Status),
			store.TextOrNull(e.Before), store.TextOrNull(e.After))
	})
}

// AuditLog returns part of the audit log, the newest entries first.
func (s *Store) AuditLog(ctx context.Context, q AuditQuery) (found []AuditEntry, err error) {
	where, args := "WHERE (? = 0 OR cursor < ?)", []any{int64(q.Before), int64(q.Before)}
	if q.Who != "" {
		where, args = where+" AND who = ?", append(args, q.Who)
	}
	if q.Subject != "" {
		where, args = where+" AND subject = ?", append(args, q.Subject)
	}
	where += " ORDER BY cursor DESC"
	if q.Limit > 0 {
		where, args = where+" LIMIT ?", append(args, q.Limit)
	}
	err = s.db.Each(ctx, "reading the audit log", "SELECT cursor, at, who, via, address, what, method, path, subject, status, coalesce(earlier, ''), coalesce(later, '') FROM deeds "+where, args,
		func(scan func(...any) error) error {
			var e AuditEntry
			var at store.Moment
			err := scan(&e.Cursor, &at, &e.Who, &e.Via, &e.From, &e.What, &e.Method, &e.Path, &e.Subject, &e.Status, &e.Before, &e.After)
			e.At = at.Time()
			found = append(found, e)
			return err
		})
	return found, err
}

// auditAtOnce is how many entries of the audit log are deleted in one transaction.
const auditAtOnce = 1000

// Sweep removes credentials that have expired at now, sessions that were not used since idle,
// and entries of the audit log from before audit or beyond MaxAuditEntries.
func (s *Store) Sweep(ctx context.Context, now, idle, audit time.Time) error {
	err := s.db.Write(ctx, "removing expired passes", func(tx *store.Tx) error {
		_, err := removeCredentials(tx, "expires <= ? OR kind = 'session' AND used < ?", int64(store.MomentOf(now)), int64(store.MomentOf(idle)))
		return err
	})
	for more := true; more && err == nil; {
		err = s.db.Write(ctx, "removing old entries of the audit log", func(tx *store.Tx) error {
			before := tx.Rows("deeds")
			err := tx.Remove("deeds", `cursor IN (SELECT cursor FROM (SELECT cursor, at FROM deeds ORDER BY cursor LIMIT ?) d
				WHERE (at < ? OR cursor <= (SELECT max(cursor) FROM deeds) - ?) AND cursor < (SELECT max(cursor) FROM deeds))`,
				int64(auditAtOnce), int64(store.MomentOf(audit)), int64(MaxAuditEntries))
			more = before-tx.Rows("deeds") == auditAtOnce
			return err
		})
	}
	return err
}
