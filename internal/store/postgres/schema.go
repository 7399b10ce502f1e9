package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// oldestServer is the first release of PostgreSQL that is supported by its makers.
const oldestServer = 14

// examine refuses a server that does not keep what is written, and notes what an operator
// should know.
func (s *Store) examine(ctx context.Context) error {
	var version int
	var fsync, pages, encoding, standby, sums string
	err := s.reader.QueryRowContext(ctx, `SELECT current_setting('server_version_num')::int, current_setting('fsync'), current_setting('full_page_writes'),
		current_setting('server_encoding'), current_setting('synchronous_standby_names'), current_setting('data_checksums')`).
		Scan(&version, &fsync, &pages, &encoding, &standby, &sums)
	if err != nil {
		return s.base.Fault("connecting", err)
	}
	if version/10000 < oldestServer {
		return freshet.WithHint(fmt.Errorf("%s runs PostgreSQL %d", s.name, version/10000), fmt.Sprintf("use PostgreSQL %d or newer", oldestServer))
	}
	for setting, value := range map[string]string{"fsync": fsync, "full_page_writes": pages} {
		if value == "off" {
			return freshet.WithHint(fmt.Errorf("%s: %w: %s is off, so a crash of its machine can lose or damage everything", s.name, freshet.ErrStorage, setting),
				fmt.Sprintf("set %s = on in postgresql.conf, and reload", setting))
		}
	}
	if encoding != "UTF8" {
		return freshet.WithHint(fmt.Errorf("%s has the encoding %s", s.name, encoding), "create the database with: createdb --encoding UTF8 --template template0 NAME")
	}
	if standby == "" {
		s.warnings = append(s.warnings, "PostgreSQL has no synchronous standby: what was written last is lost if its disk is; see synchronous_standby_names")
	}
	if sums == "off" {
		s.warnings = append(s.warnings, "PostgreSQL has no data checksums: a damaged page is found only by freshet check; see pg_checksums")
	}
	return nil
}

// ErrOldFormat means that a store has to be opened for writing once before it can be read.
var ErrOldFormat = errors.New("the format is older")

// ErrNewFormat means that a newer version of freshet has updated a store.
var ErrNewFormat = errors.New("the format is newer")

// A formatError is one whose words say more.
type formatError struct{ error }

// Is reports whether it is that of a newer format.
func (formatError) Is(target error) bool { return target == ErrNewFormat }

// Unwrap returns the error with its hint.
func (e formatError) Unwrap() error { return e.error }

// prepare sees to it that there is a schema that this version of freshet can work with.
func (s *Store) prepare(ctx context.Context) error {
	version, err := s.format(ctx)
	if err != nil {
		return s.base.Fault("reading the schema", err)
	}
	if version == 0 || s.cfg.ReadOnly {
		return s.migrate(ctx)
	}
	all, err := s.schema.Migrations(migrations, "postgres")
	if err != nil {
		return err
	}
	return s.known(ctx, version, all)
}

// usable refuses a schema in which no tables can be made, or whose tables this version of freshet does not know.
func (s *Store) usable(ctx context.Context) error {
	version, err := s.format(ctx)
	if err != nil {
		return s.base.Fault("reading the schema", err)
	}
	if version > 0 {
		all, err := s.schema.Migrations(migrations, "postgres")
		if err != nil {
			return err
		}
		return s.known(ctx, version, all)
	}
	var may bool
	if err := s.reader.QueryRowContext(ctx, "SELECT coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)").Scan(&may); err != nil {
		return s.base.Fault("reading the schema", err)
	}
	if !may {
		return freshet.WithHint(fmt.Errorf("%s: this user can make no tables", s.name), "make it the owner of the database, or create a schema of its own and add ?search_path=NAME to the URL")
	}
	return nil
}

// known refuses a schema of a newer version of freshet, and one that is too old.
func (s *Store) known(ctx context.Context, version int64, all []store.Migration) error {
	known := all[len(all)-1].Format
	if version <= known {
		return store.CheckOldest(s.name, version, all)
	}
	var program string // a format that is not known may have other columns
	_ = s.reader.QueryRowContext(ctx, "SELECT coalesce(program, '') FROM schema_versions WHERE version = $1", version).Scan(&program)
	return formatError{store.NewerFormat(s.name, version, known, program)}
}

// migrate brings the schema up to date. Of several processes that do so at once, one does.
func (s *Store) migrate(ctx context.Context) error {
	all, err := s.schema.Migrations(migrations, "postgres")
	if err != nil {
		return err
	}
	version, err := s.format(ctx)
	if err != nil {
		return s.base.Fault("reading the schema", err)
	}
	if err := s.known(ctx, version, all); err != nil {
		return err
	}
	known := all[len(all)-1].Format
	switch {
	case version == known:
		return nil
	case s.cfg.ReadOnly && version == 0:
		return freshet.WithHint(fmt.Errorf("no Freshet data in %s: %w", s.name, freshet.ErrNotFound), "use the database that freshet serve uses")
	case s.cfg.ReadOnly:
		return freshet.WithHint(fmt.Errorf("%s has data format %d, but this version of freshet reads only format %d: %w", s.name, version, known, ErrOldFormat),
			"start freshet serve once on it, to update the format")
	}
	if err := s.update(ctx, all); err != nil {
		return s.base.Fault("updating the schema", err)
	}
	if version > 0 { // a new store has nothing to tell
		s.cfg.Log.InfoContext(ctx, "data format updated", "from", version, "to", known)
	}
	return nil
}

// format returns the version of the schema, zero if there is none.
func (s *Store) format(ctx context.Context) (version int64, err error) {
	var there bool
	err = s.reader.QueryRowContext(ctx, "SELECT to_regclass(quote_ident(current_schema()) || '.schema_versions') IS NOT NULL").Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = s.reader.QueryRowContext(ctx, "SELECT coalesce(max(version), 0) FROM schema_versions").Scan(&version)
	return version, err
}

// update makes the migrations that have not been made yet.
func (s *Store) update(ctx context.Context, all []store.Migration) (err error) {
	one, err := s.reader.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, one.Close()) }()
	return one.Raw(func(raw any) error {
		c := raw.(*conn)
		exec := func(query string) error {
			_, err := c.Conn.Conn().PgConn().Exec(ctx, query).ReadAll()
			return err
		}
		w := store.NewWriter(c)
		var schema string
		if err := c.Conn.Conn().QueryRow(ctx, "SELECT coalesce(current_schema(), '')").Scan(&schema); err != nil {
			return err
		}
		if schema == "" {
			return freshet.WithHint(fmt.Errorf("%w: the schema of the search_path does not exist", freshet.ErrStorage), "create it, or leave out search_path")
		}
		lock := fnv.New64a()
		lock.Write([]byte("freshet " + schema)) // never fails
		if err := exec(fmt.Sprintf("SELECT pg_advisory_lock(%d)", int64(lock.Sum64()))); err != nil {
			return err
		}
		defer func() { _ = exec(fmt.Sprintf("SELECT pg_advisory_unlock(%d)", int64(lock.Sum64()))) }()
		if err := exec("CREATE TABLE IF NOT EXISTS schema_versions (version BIGINT PRIMARY KEY, made TIMESTAMPTZ NOT NULL DEFAULT now())"); err != nil {
			return err
		}
		version, err := w.Number("SELECT coalesce(max(version), 0) FROM schema_versions")
		if err != nil {
			return err
		}
		if err := exec(s.statements(all, version)); err != nil {
			_ = exec("ROLLBACK")
			return fmt.Errorf("data format %d: %w", all[len(all)-1].Format, err)
		}
		if version == 0 {
			return s.schema.AddChecksums(w, func(string) (int64, error) { return 0, nil }, func(string, int64) {})
		}
		return nil
	})
}

// statements returns the migrations from a format on, of which all are made or none, so that the version of freshet
// before this one can use the store if they fail.
func (s *Store) statements(all []store.Migration, version int64) string {
	var b strings.Builder
	b.WriteString("BEGIN;")
	for _, m := range all {
		if m.Format > version {
			fmt.Fprintf(&b, "%s; INSERT INTO schema_versions (version) VALUES (%d);", m.SQL, m.Format)
		}
	}
	if s.cfg.Program != "" {
		fmt.Fprintf(&b, "UPDATE schema_versions SET program = '%s' WHERE version = %d;", strings.ReplaceAll(s.cfg.Program, "'", "''"), all[len(all)-1].Format)
	}
	b.WriteString("COMMIT")
	return b.String()
}
