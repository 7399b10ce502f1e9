package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"freshet/internal/freshet"
)

const userColumns = "name, role, password, subject, created, changed, revision"

func scanUser(scan func(...any) error) (u freshet.User, err error) {
	var subject sql.NullString
	var created, changed moment
	err = scan(&u.Name, &u.Role, &u.Password, &subject, &created, &changed, &u.Revision)
	u.Subject, u.Created, u.Set = subject.String, created.time(), changed.time()
	return u, err
}

// Users implements [freshet.UserStore].
func (s *Store) Users(ctx context.Context) (found []freshet.User, err error) {
	err = eachRow(ctx, s.reader, "SELECT "+userColumns+" FROM users ORDER BY name", nil, func(scan func(...any) error) error {
		u, err := scanUser(scan)
		found = append(found, u)
		return err
	})
	return found, s.fault("reading the users", err)
}

// User implements [freshet.UserStore].
func (s *Store) User(ctx context.Context, name string) (freshet.User, error) {
	u, err := scanUser(s.reader.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users WHERE name = ?", name).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return u, unknownUser(name)
	}
	return u, s.fault("reading a user", err)
}

// UserAt implements [freshet.UserStore].
func (s *Store) UserAt(ctx context.Context, subject string) (freshet.User, error) {
	u, err := scanUser(s.reader.QueryRowContext(ctx, "SELECT "+userColumns+" FROM users WHERE subject = ?", subject).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return u, fmt.Errorf("a user who is %s: %w", subject, freshet.ErrNotFound)
	}
	return u, s.fault("reading a user", err)
}

func unknownUser(name string) error { return fmt.Errorf("user %s: %w", name, freshet.ErrNotFound) }

// userRow returns when a user was created and in which revision it is stored; zero if
// there is none.
func (b *batch) userRow(name string) (created driver.Value, revision int64, err error) {
	err = b.Query("SELECT created, revision FROM users WHERE name = ?", []driver.Value{name}, func(v []driver.Value) error {
		created = v[0]
		revision, _ = v[1].(int64)
		return nil
	})
	return created, revision, err
}

func (b *batch) putUser(u freshet.User, created driver.Value) error {
	var subject driver.Value
	if u.Subject != "" {
		subject = u.Subject
		taken := ""
		err := b.Query("SELECT name FROM users WHERE subject = ? AND name <> ?", []driver.Value{u.Subject, u.Name}, func(v []driver.Value) error {
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
	if err := b.put(&usersTable, u.Name, string(u.Role), u.Password, subject, created, momentOf(u.Set).value(), u.Revision); err != nil {
		return err
	}
	return b.keepAdmin()
}

// keepAdmin refuses to leave users without an admin.
func (b *batch) keepAdmin() error {
	var users, admins int64
	err := b.Query("SELECT count(*), count(*) FILTER (WHERE role = 'admin') FROM users", nil, func(v []driver.Value) error {
		users, _ = v[0].(int64)
		admins, _ = v[1].(int64)
		return nil
	})
	if err == nil && users > 0 && admins == 0 {
		err = &freshet.InvalidError{Field: "role", Reason: "there must be a user with the role admin"}
	}
	return err
}

// AddUser implements [freshet.UserStore].
func (s *Store) AddUser(ctx context.Context, u freshet.User) (freshet.User, error) {
	err := s.write(ctx, "adding a user", func(b *batch) error {
		_, revision, err := b.userRow(u.Name)
		switch {
		case err != nil:
			return err
		case revision != 0:
			return fmt.Errorf("user %s: %w", u.Name, freshet.ErrConflict)
		}
		u.Revision = 1
		return b.putUser(u, momentOf(u.Created).value())
	})
	return u, err
}

// UpdateUser implements [freshet.UserStore].
func (s *Store) UpdateUser(ctx context.Context, u freshet.User) (stored freshet.User, err error) {
	err = s.write(ctx, "editing a user", func(b *batch) error {
		created, revision, err := b.userRow(u.Name)
		switch {
		case err != nil:
			return err
		case revision == 0:
			return unknownUser(u.Name)
		case u.Revision != 0 && u.Revision != revision:
			return &freshet.StaleError{Kind: "user", Source: freshet.SourceID(u.Name), Given: u.Revision, Stored: revision}
		}
		var at moment
		if err := at.Scan(created); err != nil {
			return err
		}
		stored = u
		stored.Created, stored.Revision = at.time(), revision+1
		return b.putUser(stored, created)
	})
	return stored, err
}

// RemoveUser implements [freshet.UserStore].
func (s *Store) RemoveUser(ctx context.Context, name string) error {
	return s.write(ctx, "removing a user", func(b *batch) error {
		_, revision, err := b.userRow(name)
		switch {
		case err != nil:
			return err
		case revision == 0:
			return unknownUser(name)
		}
		if _, err := b.removePasses("user = ?", name); err != nil {
			return err
		}
		if err := b.remove(&usersTable, "name = ?", name); err != nil {
			return err
		}
		return b.keepAdmin()
	})
}
