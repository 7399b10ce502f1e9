// Package table keeps the table at which several daemons share a budget where all of them see
// it: in a PostgreSQL database.
package table

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"freshet/internal/cluster/shards"
	"freshet/internal/freshet"
)

// format is that of the table as it is kept. A program that knows only an older one must not
// write.
const format = 1

// kept is the table as it is kept.
type kept struct {
	Format int           `json:"format"`
	Table  *shards.Table `json:"table"`
}

// A Pool is a database with a table. Its methods may be called at any time and from any
// goroutine.
type Pool struct {
	config *pgx.ConnConfig

	mu   sync.Mutex
	conn *pgx.Conn
}

// patience is how long one look at the table may take. Whoever holds it up for as long is cut
// off.
const patience = 5 * time.Second

// Open returns the pool in a database. It connects when that is first needed.
func Open(at string) (*Pool, error) {
	config, err := pgx.ParseConfig(at)
	if err != nil {
		return nil, fmt.Errorf("the URL of the pool: %w", withoutPassword(at, err))
	}
	config.ConnectTimeout = patience
	ms := fmt.Sprint(patience.Milliseconds())
	for _, name := range []string{"lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout"} {
		config.RuntimeParams[name] = ms
	}
	config.RuntimeParams["application_name"] = "freshet pool"
	return &Pool{config: config}, nil
}

// withoutPassword returns an error that does not repeat the password in a URL.
func withoutPassword(at string, err error) error {
	if u, bad := url.Parse(at); bad == nil && u.User != nil {
		return errors.New("it cannot be read; write postgres://USER@HOST:PORT/DATABASE")
	}
	return err
}

// Name returns where the pool is, without a password.
func (p *Pool) Name() string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s", p.config.User, p.config.Host, p.config.Port, p.config.Database)
}

// Close closes the connection.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
}

// drop closes the connection, so that the next look makes another.
func (p *Pool) drop() {
	if p.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.conn.Close(ctx) // it is not used again
	p.conn = nil
}

// Table returns the table; nil if there is none.
func (p *Pool) Table(ctx context.Context) (t *shards.Table, now time.Time, err error) {
	err = p.do(ctx, func(ctx context.Context, tx pgx.Tx) error {
		t, now, err = read(ctx, tx)
		return err
	})
	return t, now, err
}

// Change changes the table while nobody else does. The change is given the table, which is nil
// if there is none, and the time by the clock of the database, and returns the table that is
// kept. If it fails, or what it made cannot be kept, nothing has changed. If the connection
// broke in the end, that is not known.
func (p *Pool) Change(ctx context.Context, change func(*shards.Table, time.Time) (*shards.Table, error)) error {
	return p.do(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('freshet_pool'))"); err != nil {
			return err
		}
		var there bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass('freshet_pool') IS NOT NULL").Scan(&there); err != nil {
			return err
		}
		if !there {
			if _, err := tx.Exec(ctx, "CREATE TABLE freshet_pool (id SMALLINT PRIMARY KEY CHECK (id = 1), document TEXT NOT NULL)"); err != nil {
				return err
			}
		}
		t, now, err := read(ctx, tx)
		if err != nil {
			return err
		}
		if t, err = change(t, now); err != nil {
			return refusal{err}
		}
		text, err := json.Marshal(kept{format, t})
		if err != nil {
			return refusal{err}
		}
		_, err = tx.Exec(ctx, "INSERT INTO freshet_pool (id, document) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET document = $1", string(text))
		return err
	})
}

// A refusal is an error that is not the database's.
type refusal struct{ error }

// Unwrap returns it.
func (r refusal) Unwrap() error { return r.error }

// read reads the table.
func read(ctx context.Context, tx pgx.Tx) (*shards.Table, time.Time, error) {
	var now time.Time
	var there bool
	if err := tx.QueryRow(ctx, "SELECT clock_timestamp(), to_regclass('freshet_pool') IS NOT NULL").Scan(&now, &there); err != nil || !there {
		return nil, now, err
	}
	var text string
	err := tx.QueryRow(ctx, "SELECT document FROM freshet_pool WHERE id = 1").Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, now, nil
	}
	if err != nil {
		return nil, now, err
	}
	var k kept
	if err := json.Unmarshal([]byte(text), &k); err != nil || k.Format < 1 || k.Table == nil {
		return nil, now, refusal{freshet.WithHint(errors.New("the table of the pool cannot be read"), "if it is damaged, stop all its daemons, drop the table freshet_pool, and start them again")}
	}
	if k.Format > format {
		return nil, now, refusal{freshet.WithHint(errors.New("the pool was made by a newer version of freshet"), "install the version that the other shards run")}
	}
	return k.Table, now, nil
}

// do has something done in a transaction.
func (p *Pool) do(ctx context.Context, f func(context.Context, pgx.Tx) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		r, refused := errors.AsType[refusal](err)
		if refused {
			err = r.error
			return
		}
		if err != nil {
			p.drop()
			err = p.fault(err)
		}
	}()
	if p.conn == nil {
		if p.conn, err = pgx.ConnectConfig(ctx, p.config); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, p.conn, func(tx pgx.Tx) error { return f(ctx, tx) })
}

// fault says what to do about an error of the database.
func (p *Pool) fault(err error) error {
	hint := "see whether PostgreSQL runs there, and whether this machine reaches it"
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "42501":
			hint = fmt.Sprintf("let the user make tables: GRANT CREATE ON SCHEMA public TO %s", p.config.User)
		case "28P01", "28000":
			hint = "see whether user and password are right"
		case "3D000":
			hint = "make the database first: createdb " + p.config.Database
		}
	}
	return freshet.WithHint(fmt.Errorf("the pool at %s: %w", p.Name(), err), hint)
}
