package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"sync"
)

// A Querier answers queries: a store, or a transaction on one.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// A reader is a few connections that only read. Statements are prepared once:
// it takes longer to read most of ours than to answer them.
type reader struct {
	*sql.DB
	mu    sync.Mutex
	stmts map[string]*sql.Stmt
}

// QueryContext runs a query, which must be one of the few in this package.
func (r *reader) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	r.mu.Lock()
	st := r.stmts[query]
	r.mu.Unlock()
	if st == nil {
		var err error
		if st, err = r.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
		r.mu.Lock()
		if first := r.stmts[query]; first != nil {
			err, st = st.Close(), first
		} else {
			r.stmts[query] = st
		}
		r.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
	return st.QueryContext(ctx, args...)
}

// close closes the statements.
func (r *reader) close() error {
	var errs []error
	for _, st := range r.stmts {
		errs = append(errs, st.Close())
	}
	clear(r.stmts)
	return errors.Join(errs...)
}

// brief returns a context for a query of a row or a few. To watch over one that can be
// cancelled, database/sql and the driver start a goroutine each, which takes longer than
// such a query does.
func brief(ctx context.Context) context.Context { return context.WithoutCancel(ctx) }

// EachRow calls row for each row of the answer to a query.
func EachRow(ctx context.Context, q Querier, query string, args []any, row func(scan func(...any) error) error) (err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// A Writer is the one connection that writes. It speaks to the driver without
// database/sql between them, because the conversions there cost more than the
// statements of an unchanged poll. One goroutine uses it at a time.
//
// Nothing here can be cancelled: the driver must not be interrupted inside a
// transaction.
type Writer struct {
	conn  driver.Conn
	send  func(query string, args []driver.Value) error // what needs no answer; nil means exec
	stmts map[string]*statement
	room  []byte         // to sum up rows in
	row   []driver.Value // and to complete them in
}

// A statement is prepared once and keeps room for its arguments.
type statement struct {
	driver.Stmt
	args []driver.NamedValue
}

// prepare returns the statement for query, bound to args.
func (w *Writer) prepare(query string, args []driver.Value) (*statement, error) {
	st := w.stmts[query]
	if st == nil {
		s, err := w.conn.Prepare(query)
		if err != nil {
			return nil, err
		}
		st = &statement{Stmt: s}
		w.stmts[query] = st
	}
	st.args = st.args[:0]
	for i, v := range args {
		st.args = append(st.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	return st, nil
}

// NewWriter returns a writer on a connection.
func NewWriter(conn driver.Conn) *Writer {
	return &Writer{conn: conn, stmts: map[string]*statement{}}
}

// NewSender returns a writer on a connection that is given statements whose answers are not
// waited for by send. It must have made them before any other that follows.
func NewSender(conn driver.Conn, send func(query string, args []driver.Value) error) *Writer {
	w := NewWriter(conn)
	w.send = send
	return w
}

// Renew puts another connection in the place of one that is lost.
func (w *Writer) Renew(conn driver.Conn) {
	w.conn = conn
	clear(w.stmts)
}

// Exec runs a statement and returns how many rows it changed.
func (w *Writer) Exec(query string, args ...driver.Value) (int64, error) {
	st, err := w.prepare(query, args)
	if err != nil {
		return 0, err
	}
	res, err := st.Stmt.(driver.StmtExecContext).ExecContext(context.Background(), st.args)
	clear(st.args)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Do runs a statement, and does not ask how many rows it changed.
func (w *Writer) Do(query string, args ...driver.Value) error {
	if w.send != nil {
		return w.send(query, args)
	}
	_, err := w.Exec(query, args...)
	return err
}

// doRow runs a statement that takes a row and its checksum.
func (w *Writer) doRow(query string, values []driver.Value, sum checksum) error {
	w.row = append(append(w.row[:0], values...), sum)
	err := w.Do(query, w.row...)
	clear(w.row)
	return err
}

// Query hands each row of the answer to row, whose values are good only until
// it returns.
func (w *Writer) Query(query string, args []driver.Value, row func([]driver.Value) error) (err error) {
	st, err := w.prepare(query, args)
	if err != nil {
		return err
	}
	rows, err := st.Stmt.(driver.StmtQueryContext).QueryContext(context.Background(), st.args)
	clear(st.args)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(values); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
}

// Number returns the one integer that a query answers with, or zero.
func (w *Writer) Number(query string, args ...driver.Value) (n int64, err error) {
	err = w.Query(query, args, func(v []driver.Value) error {
		n, _ = v[0].(int64)
		return nil
	})
	return n, err
}

// Close closes the statements and the connection.
func (w *Writer) Close() error {
	var errs []error
	for _, st := range w.stmts {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}
