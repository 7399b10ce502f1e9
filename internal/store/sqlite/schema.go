package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable lists the migrations that have been made.
const versionTable = "schema_versions"

// oldestSQLite is the first release without the bug that could damage a
// database when its log was reset.
var oldestSQLite = [3]int{3, 51, 3}

// migrate brings the schema up to date.
func (s *Store) migrate(ctx context.Context, db *sql.DB) error {
	db.SetMaxOpenConns(1)
	if err := checkLibrary(ctx, db); err != nil {
		return err
	}
	all, err := s.schema.Migrations(migrations, "sqlite")
	if err != nil {
		return err
	}
	version, known, err := s.format(ctx, db)
	if err != nil || version == known {
		return err
	}
	for _, m := range all {
		if m.Format <= version {
			continue
		}
		if err := apply(ctx, db, m); err != nil {
			return err
		}
	}
	if version > 0 { // a new store has nothing to tell
		s.log.InfoContext(ctx, "data format updated", "from", version, "to", known)
	}
	err = os.Chmod(s.path, 0o600)
	if s.cfg.VFS != "" && errors.Is(err, fs.ErrNotExist) {
		return nil // it lies on another disk
	}
	return err
}

// apply makes a migration, all of it or nothing.
func apply(ctx context.Context, db *sql.DB, m store.Migration) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for _, query := range []string{
		"CREATE TABLE IF NOT EXISTS " + versionTable + " (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
		m.SQL,
		fmt.Sprintf("INSERT INTO %s (version_id, is_applied) VALUES (%d, 1)", versionTable, m.Format),
	} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// format returns the version of the schema, zero if there is none yet, and the
// newest that is known. It refuses a database that a newer Freshet has written, and one that is too
// old.
func (s *Store) format(ctx context.Context, db *sql.DB) (version, known int64, err error) {
	all, err := s.schema.Migrations(migrations, "sqlite")
	if err != nil {
		return 0, 0, err
	}
	known = all[len(all)-1].Format
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = ?", versionTable).Scan(&tables); err != nil {
		return 0, 0, err
	}
	if tables == 0 {
		return 0, known, nil
	}
	if err := db.QueryRowContext(ctx, "SELECT ifnull(max(version_id), 0) FROM "+versionTable).Scan(&version); err != nil {
		return 0, 0, err
	}
	if version > known {
		return 0, 0, freshet.WithHint(
			fmt.Errorf("%s has data format %d, but this version of freshet knows only formats up to %d", s.path, version, known),
			"it was written by a newer version of freshet: use that version, or restore an older backup")
	}
	return version, known, store.CheckOldest(s.path, version, all)
}

// checkSchema refuses to look at a database that this Freshet cannot read.
func (s *Store) checkSchema(ctx context.Context, db *sql.DB) error {
	version, known, err := s.format(ctx, db)
	if err != nil {
		return err
	}
	if version == 0 {
		return fmt.Errorf("%s is not a Freshet database: %w", s.path, freshet.ErrNotFound)
	}
	if version < known {
		return freshet.WithHint(
			fmt.Errorf("%s has data format %d, but this version of freshet reads only format %d", s.path, version, known),
			"start freshet serve once on it, to update the format")
	}
	return nil
}

// checkLibrary refuses a version of SQLite that is known to lose data.
func checkLibrary(ctx context.Context, db *sql.DB) error {
	var version string
	if err := db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	for i, part := range strings.SplitN(version, ".", 3) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("SQLite calls itself %q", version)
		}
		if n > oldestSQLite[i] {
			return nil
		}
		if n < oldestSQLite[i] {
			return errors.New("SQLite " + version + " can lose data; 3.51.3 or newer is needed")
		}
	}
	return nil
}
