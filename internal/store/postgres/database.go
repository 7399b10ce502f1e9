package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"freshet/internal/clock"
	"freshet/internal/freshet"
	"freshet/internal/store"
)

// A database is the PostgreSQL database of a store as package store sees it.
type database struct {
	*Store
	holder string

	count    clock.Count
	until    atomic.Int64  // of the count, up to which the lease is sure to last
	resigned bool          // the holder before gave the lease up
	lost     chan struct{} // closed when nothing more is written
	lose     func()

	blocked   atomic.Pointer[string] // what a transaction waits for, or waited for when it was last tried
	blockedAt atomic.Int64           // of the count, when that was last seen

	// These belong to the goroutine that leads the queue of the store.
	conn    *conn
	writer  *store.Writer
	epoch   int64     // of the lease
	over    bool      // which was given up
	batch   int64     // the number of the last transaction
	room    int64     // up to which outcomes have partitions
	growing int64     // likewise, once the transaction is committed
	told    time.Time // when others were last notified
	edited  int64     // the last transaction that edited sources
	editing int64     // likewise, once the transaction is committed
	bounded bool      // a statement may take only so long

	begun atomic.Int64 // of the count, when a transaction last began
}

// insertNewBody inserts a body unless the source has one that looks the same.
const insertNewBody = `INSERT INTO bodies (id, source, sum, size, base, depth, frame)
	SELECT CAST(?1 AS BIGINT), CAST(?5 AS BIGINT), CAST(?6 AS BIGINT), CAST(?7 AS BIGINT), CAST(?8 AS BIGINT), CAST(?9 AS BIGINT), CAST(?10 AS BYTEA)
	WHERE NOT EXISTS (SELECT 1 FROM bodies WHERE source = ?2 AND sum = ?3 AND size = ?4)`

// Judge implements [store.Database].
func (d *database) Judge(err error) store.Verdict {
	code := codeOf(err)
	if _, queued := errors.AsType[*queuedError](err); queued {
		return store.Failed
	}
	switch {
	case err == nil:
		return store.NotOfDatabase
	case errors.Is(err, ErrFenced), errors.Is(err, errDoubt):
		d.lose()
		return store.InDoubt
	case errors.Is(err, store.ErrAgain):
		return store.Failed
	case code == "":
		return store.NotOfDatabase
	}
	switch code[:2] {
	case "22", "23": // of data, of integrity
		return store.Refused
	case "XX": // internal, data corrupted
		d.lose()
		return store.InDoubt
	}
	return store.Failed
}

// Codes of PostgreSQL.
const (
	diskFull    = "53100"
	lockTimeout = "55P03"
	cancelled   = "57014" // by an administrator, or by statement_timeout
)

// An unreachable is why there is no connection: nothing can be written.
type unreachable struct{ error }

// Unwrap returns what it is.
func (u unreachable) Unwrap() []error { return []error{freshet.ErrStorage, u.error} }

// Fault implements [store.Database].
func (d *database) Fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	say := func(as error, hint string) error {
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			return freshet.WithHint(unreachable{fmt.Errorf("cannot connect to %s: %w", d.name, err)}, hint)
		}
		return freshet.WithHint(fmt.Errorf("%s in %s: %w: %w", doing, d.name, as, err), hint)
	}
	if failed, ok := errors.AsType[*pgconn.ConnectError](err); ok && strings.Contains(failed.Error(), "server refused TLS") {
		return say(freshet.ErrStorage, "the server has no TLS: set it up there, or add ?sslmode=disable to the URL if the network is private")
	}
	switch code := codeOf(err); code {
	case "":
	case diskFull:
		return say(freshet.ErrStorage, "the disk of PostgreSQL is full: free some disk space, or keep less history")
	case "53300":
		return say(freshet.ErrStorage, "PostgreSQL has no connection left: raise max_connections, or the CONNECTION LIMIT of the role or the database, or end other clients")
	case "25006":
		return say(freshet.ErrStorage, "this server only reads: name the primary in the URL, or both with ?target_session_attrs=read-write")
	case "28P01", "28000":
		return say(freshet.ErrStorage, "check the user, the password in $PGPASSWORD or ~/.pgpass, and pg_hba.conf")
	case "3D000":
		return say(freshet.ErrStorage, "create the database first: createdb NAME")
	case "42501":
		hint := "let this user create tables: GRANT CREATE ON SCHEMA public TO the user, or make it the owner of the database"
		if !strings.Contains(err.Error(), "for schema") {
			hint = "the tables belong to another user: name that one in the URL, or make this one their owner (REASSIGN OWNED BY the other TO this one)"
		}
		return say(freshet.ErrStorage, hint)
	case cancelled:
		return say(freshet.ErrStorage, "somebody cancelled a statement, or it took longer than its statement_timeout: it is tried again")
	case lockTimeout:
		if who := d.blocked.Load(); who != nil {
			err = fmt.Errorf("%w: %s", err, *who)
		}
		return say(freshet.ErrStorage, "end what holds the lock, such as a CREATE INDEX, a LOCK TABLE or a transaction that was left open: SELECT pg_terminate_backend(PID). It is tried again meanwhile")
	case "XX001", "XX002":
		return say(freshet.ErrDamaged, d.Hint())
	}
	switch code := codeOf(err); {
	case errors.Is(err, ErrFenced):
		return say(freshet.ErrStorage, "restart freshet, if it does not go on by itself: it then stands by, and takes over when the other ends")
	case errors.Is(err, freshet.ErrStorage), errors.Is(err, freshet.ErrDamaged), errors.Is(err, freshet.ErrNotFound):
		return fmt.Errorf("%s: %w", doing, err)
	case errors.Is(err, store.ErrAgain), isConnectError(err):
		return say(freshet.ErrStorage, "check that PostgreSQL runs and can be reached: psql URL")
	case strings.HasPrefix(code, "40"), strings.HasPrefix(code, "53"), strings.HasPrefix(code, "55"), strings.HasPrefix(code, "57"), strings.HasPrefix(code, "58"):
		return say(freshet.ErrStorage, "PostgreSQL could not do it now, and it is tried again; its log says more")
	}
	return fmt.Errorf("%s in %s: %w", doing, d.name, err)
}

// Hint implements [store.Database].
func (d *database) Hint() string {
	return "restore a backup of the database with pg_restore, or fail over to a standby"
}

// Snapshot implements [store.Database].
func (d *database) Snapshot(ctx context.Context) (*store.Writer, error) {
	c, err := d.connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w := store.NewWriter(c)
	if _, err := w.Exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Inspect implements [store.Database]. PostgreSQL finds damaged pages when they are read.
func (d *database) Inspect(context.Context, *store.Writer, func(string)) error { return nil }

// Held implements [store.Database]. Bodies are counted one by one: what their deletion
// frees shows in the size of their table only when that has been vacuumed.
func (d *database) Held(w *store.Writer) (int64, error) {
	return w.Number(`SELECT CAST((SELECT coalesce(sum(length(frame) + 100), 0) FROM bodies) + (
		SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname <> 'bodies' AND relname NOT LIKE 'search_%') AS BIGINT)`)
}

// Shrink implements [store.Database]. PostgreSQL vacuums by itself.
func (d *database) Shrink(context.Context, func(func(*store.Writer) error) error) error { return nil }

// Size is how much room the store takes.
func (s *Store) Size(ctx context.Context) (size store.Size, err error) {
	err = s.reader.QueryRowContext(ctx, `SELECT (SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class
			WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname NOT LIKE 'search_%'),
		CAST(coalesce(sum(length(frame)), 0) AS BIGINT), CAST(coalesce(sum(size), 0) AS BIGINT) FROM bodies`).Scan(&size.File, &size.Bodies, &size.Full)
	return size, s.base.Fault("measuring the store", err)
}

// SearchSize returns how many bytes the index takes.
func (s *Store) SearchSize() (size int64) {
	err := s.reader.QueryRowContext(context.Background(), `SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS BIGINT) FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relname LIKE 'search_%'`).Scan(&size)
	if err != nil {
		return 0
	}
	return size
}

// number reads a whole number.
func number(v driver.Value) int64 {
	n, _ := v.(int64)
	return n
}
