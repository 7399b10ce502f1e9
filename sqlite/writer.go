package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
)

// A writer is the one connection that writes. It speaks to the driver without
// database/sql between them, because the conversions there cost more than the
// statements of an unchanged poll. One goroutine uses it at a time.
//
// Nothing here can be cancelled: the driver must not be interrupted inside a
// transaction.
type writer struct {
	conn  driver.Conn
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
func (w *writer) prepare(query string, args []driver.Value) (*statement, error) {
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

// exec runs a statement and returns how many rows it changed.
func (w *writer) exec(query string, args ...driver.Value) (int64, error) {
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

// execRow runs a statement that takes a row and its checksum.
func (w *writer) execRow(query string, values []driver.Value, sum checksum) (int64, error) {
	w.row = append(append(w.row[:0], values...), sum)
	n, err := w.exec(query, w.row...)
	clear(w.row)
	return n, err
}

// query hands each row of the answer to row, whose values are good only until
// it returns.
func (w *writer) query(query string, args []driver.Value, row func([]driver.Value) error) (err error) {
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

// number returns the one integer that a query answers with, or zero.
func (w *writer) number(query string, args ...driver.Value) (n int64, err error) {
	err = w.query(query, args, func(v []driver.Value) error {
		n, _ = v[0].(int64)
		return nil
	})
	return n, err
}

// close closes the statements and the connection.
func (w *writer) close() error {
	var errs []error
	for _, st := range w.stmts {
		errs = append(errs, st.Close())
	}
	return errors.Join(append(errs, w.conn.Close())...)
}
