package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// A Querier answers queries: a store, or a transaction on one.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type querier = Querier

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

// eachRow hands the rows of an answer to row, one by one.
func eachRow(ctx context.Context, q querier, query string, args []any, row func(scan func(...any) error) error) (err error) {
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
