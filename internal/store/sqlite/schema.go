package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
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
	if err := s.apply(ctx, db, slices.DeleteFunc(all, func(m store.Migration) bool { return m.Format <= version }), known); err != nil {
		return err
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

// apply makes migrations, all of them or nothing, so that the version of freshet before this one can use the store
// if they fail.
func (s *Store) apply(ctx context.Context, db *sql.DB, all []store.Migration, known int64) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	queries := []string{
		"CREATE TABLE IF NOT EXISTS " + versionTable + " (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')))",
	}
	for _, m := range all {
		queries = append(queries, m.SQL, fmt.Sprintf("INSERT INTO %s (version_id, is_applied) VALUES (%d, 1)", versionTable, m.Format))
	}
	for _, query := range queries {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE "+versionTable+" SET program = ? WHERE version_id = ?", store.TextOrNull(s.cfg.Program), known); err != nil {
		return err
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
		var program string // a format that is not known may have other columns
		_ = db.QueryRowContext(ctx, "SELECT ifnull(program, '') FROM "+versionTable+" WHERE version_id = ?", version).Scan(&program)
		return 0, 0, store.NewerFormat(s.path, version, known, program)
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
