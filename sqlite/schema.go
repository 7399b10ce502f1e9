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

	"github.com/pressly/goose/v3"

	"freshet"
)

//go:embed migrations/*.sql
var migrations embed.FS

// versionTable is where goose notes which migrations have been made.
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
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true), goose.WithSlog(s.log))
	if err != nil {
		return err
	}
	if err := s.checkSchema(ctx, db); err != nil {
		return err
	}
	done, err := p.Up(ctx)
	if err != nil {
		return err
	}
	for _, m := range done {
		s.log.InfoContext(ctx, "schema migrated", "to", m.Source.Version)
	}
	return os.Chmod(s.path, 0o600)
}

// checkSchema refuses a database that a newer Freshet has written.
func (s *Store) checkSchema(ctx context.Context, db *sql.DB) error {
	known, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	var version sql.NullInt64
	err = db.QueryRowContext(ctx, "SELECT max(version_id) FROM "+versionTable).Scan(&version)
	if err != nil && strings.Contains(err.Error(), "no such table") {
		if s.cfg.ReadOnly {
			return fmt.Errorf("%s is not a store: %w", s.path, freshet.ErrNotFound)
		}
		return nil // it is new
	}
	if err != nil {
		return err
	}
	if version.Int64 > int64(len(known)) {
		return freshet.WithHint(
			fmt.Errorf("%s has schema %d, and this freshet knows only up to %d", s.path, version.Int64, len(known)),
			"a newer freshet has written it: use that one, or restore a backup from before")
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
