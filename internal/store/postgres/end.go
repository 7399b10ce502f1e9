package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"

	"freshet/internal/store"
)

// An End is the store in a database at one end of a move. It implements [store.End].
type End struct {
	*Store
	done   func()   // ends what keeps the lease
	filled []string // tables
}

// OpenEnd takes the lease of a database, as it is, and keeps it. If fresh is set, tables are
// made where there are none, or brought up to date. With cfg.ReadOnly it can only be looked
// at, and its lease is not taken.
func OpenEnd(ctx context.Context, cfg Config, fresh bool) (_ *End, err error) {
	looked := cfg
	looked.ReadOnly = cfg.ReadOnly || !fresh // to bring it up to date would change it
	s, err := connect(ctx, looked)
	if err != nil {
		return nil, err
	}
	s.cfg.ReadOnly = cfg.ReadOnly
	e := &End{Store: s, done: func() {}}
	if !cfg.ReadOnly {
		if err := s.base.lead(ctx); err != nil {
			return nil, errors.Join(err, s.release())
		}
		_, e.done = s.hold(context.WithoutCancel(ctx)) // every commit checks the lease, too
		if err := s.migrate(ctx); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	s.lay()
	return e, nil
}

// renewLease renews the lease, if it is still that of an epoch.
const renewLease = "UPDATE leases SET renewed = clock_timestamp() WHERE name = 'brain' AND epoch = ?"

// Name implements [store.End].
func (e *End) Name() string { return e.name }

// Snapshot implements [store.End].
func (e *End) Snapshot(ctx context.Context) (*store.Writer, error) {
	w, err := e.base.Snapshot(ctx)
	return w, e.base.Fault("reading the store", err)
}

// Alone implements [store.End].
func (e *End) Alone(ctx context.Context, do func(*store.Writer) error) error {
	d := e.base
	err := d.Begin(d.writer)
	if err == nil {
		if err = do(d.writer); err == nil {
			err = d.Commit(d.writer)
		}
		if err != nil {
			err = errors.Join(err, d.Rollback(d.writer))
		}
	}
	return d.Fault("writing", err)
}

// Clear implements [store.End]. It does not wait for ever for readers.
func (e *End) Clear(ctx context.Context) error {
	err := e.Alone(ctx, func(w *store.Writer) error {
		if err := w.Do("SET LOCAL lock_timeout = '10s'"); err != nil {
			return err
		}
		parts, err := partitions(w)
		if err != nil {
			return err
		}
		for _, p := range parts {
			if err := w.Do("DROP TABLE " + p.name()); err != nil {
				return err
			}
		}
		if err := w.Do("DELETE FROM facts"); err != nil {
			return err
		}
		filled, err := filledTables(w, e.schema)
		if err != nil || len(filled) == 0 {
			return err
		}
		return w.Do("TRUNCATE " + strings.Join(filled, ", "))
	})
	if err == nil {
		e.base.room = 0
	}
	return err
}

// filledTables returns the tables of a store that have rows, and those of its index.
func filledTables(w *store.Writer, schema *store.Schema) (names []string, err error) {
	all := []string{"search_place", "search_sources", "search_passages"}
	for _, t := range schema.Tables() {
		all = append(all, t.Name)
	}
	for i, name := range all {
		all[i] = fmt.Sprintf("SELECT '%[1]s' WHERE EXISTS (SELECT 1 FROM %[1]s)", name)
	}
	err = w.Query(strings.Join(all, " UNION ALL "), nil, func(row []driver.Value) error {
		name, _ := row[0].(string)
		names = append(names, name)
		return nil
	})
	return names, err
}

// Fill implements [store.End], by COPY. Rows that end with an error end it; a connection that
// is interrupted instead would be lost, and the lease with it.
func (e *End) Fill(ctx context.Context, t store.Rows, rows iter.Seq2[[]driver.Value, error]) (err error) {
	ctx = context.WithoutCancel(ctx)
	d := e.base
	next, stop := iter.Pull2(rows)
	defer stop()
	in := &inflow{next: next, log: t.Name == "outcomes", upto: d.room}
	in.pull()
	tx, err := d.conn.Conn.Conn().Begin(ctx)
	if err != nil {
		return d.Fault("filling "+t.Name, err)
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback(ctx) // the connection may be lost
			err = d.Fault("filling "+t.Name, err)
		}
	}()
	d.growing = d.room
	if in.row != nil {
		e.filled = append(e.filled, t.Name)
	}
	for in.row != nil {
		if in.log {
			if err := e.grow(ctx, in); err != nil {
				return err
			}
		}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{t.Name}, t.Columns, in); err != nil {
			return err
		}
	}
	if in.err != nil {
		return in.err
	}
	held, err := tx.Exec(ctx, rebind(renewLease), d.epoch)
	if err != nil {
		return err
	}
	if held.RowsAffected() == 0 {
		return ErrFenced
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	d.room = d.growing
	return nil
}

// grow makes room for the outcome that comes next.
func (e *End) grow(ctx context.Context, in *inflow) error {
	d := e.base
	if err := d.Grow(d.writer, number(in.row[0])); err != nil {
		return err
	}
	in.upto = d.growing
	return d.conn.flush(ctx)
}

// An inflow are rows on their way into a table. It implements pgx.CopyFromSource, up to where
// there is room in the log of outcomes.
type inflow struct {
	next func() ([]driver.Value, error, bool)
	log  bool
	upto int64

	row    []driver.Value // that comes next; nil at the end
	given  bool           // row was taken
	values []any
	err    error
}

// pull takes the next row.
func (in *inflow) pull() {
	row, err, ok := in.next()
	in.given = false
	if in.row, in.err = row, err; !ok || err != nil {
		in.row = nil
	}
}

// Next implements pgx.CopyFromSource.
func (in *inflow) Next() bool {
	if in.given {
		in.pull()
	}
	return in.row != nil && (!in.log || number(in.row[0]) <= in.upto)
}

// Values implements pgx.CopyFromSource.
func (in *inflow) Values() ([]any, error) {
	in.given = true
	in.values = in.values[:0]
	for _, v := range in.row {
		in.values = append(in.values, encodedValue(v))
	}
	return in.values, nil
}

// Err implements pgx.CopyFromSource.
func (in *inflow) Err() error { return in.err }

// Settle implements [store.End]: it has PostgreSQL analyze the tables. The log of edits does not
// have these sources, so followers have to read all of them.
func (e *End) Settle(ctx context.Context) error {
	err := e.Alone(ctx, func(w *store.Writer) error {
		if err := w.Do("DELETE FROM edits"); err != nil {
			return err
		}
		return w.Do("INSERT INTO edits (batch, term, sources) SELECT batch, epoch, '[]' FROM leases WHERE name = 'brain'")
	})
	if err != nil {
		return err
	}
	_, err = e.reader.ExecContext(ctx, "ANALYZE "+strings.Join(e.filled, ", "))
	return e.base.Fault("filling the store", err)
}

// settingsFact is where nodes keep what was set while they ran.
const settingsFact = "settings"

// Settings implements [store.End].
func (e *End) Settings(ctx context.Context) (text string, err error) {
	err = e.reader.QueryRowContext(ctx, "SELECT value FROM facts WHERE name = ?", settingsFact).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return text, e.base.Fault("reading the settings", err)
}

// TakeSettings implements [store.End].
func (e *End) TakeSettings(ctx context.Context, text string) error {
	return e.Alone(ctx, func(w *store.Writer) error {
		return w.Do("INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", settingsFact, text)
	})
}

// Close gives up the lease and closes the connections.
func (e *End) Close() error { return errors.Join(e.Release(), e.close()) }

func (e *End) close() error {
	e.done()
	return errors.Join(e.base.resign(), e.release())
}
