package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"freshet/internal/lazyregexp"
	"freshet/internal/store"
)

// A connector makes connections that speak as package store does: with question marks for
// parameters, with whole numbers for truth, and with texts of any bytes.
type connector struct {
	servers []driver.Connector // one each
	rebound *sync.Map          // statements as they are rewritten: there are few
	lines   *lines
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := meet(ctx, inner.Conn()); err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	return &conn{Conn: inner, rebound: c.rebound, shapes: map[string]*shape{}}, nil
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return c.servers[0].Driver() }

// A conn is one connection.
type conn struct {
	*stdlib.Conn
	rebound *sync.Map
	queued  backlog           // statements that are not sent yet
	shapes  map[string]*shape // of statements; nil for one that has none
	lost    bool              // nothing can be done with it any more

	timedOut bool // a statement of the transaction took longer than lock_timeout or statement_timeout allows
}

// Close implements driver.Conn. One that was given up is closed already.
func (c *conn) Close() error {
	if err := c.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *conn) CheckNamedValue(v *driver.NamedValue) (err error) {
	v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value)
	return err
}

// Prepare implements driver.Conn.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.flush(ctx); err != nil {
		return nil, err
	}
	st, err := c.Conn.PrepareContext(ctx, c.rebind(query))
	if err != nil {
		return nil, c.judged(err)
	}
	return &stmt{Stmt: st.(*stdlib.Stmt), conn: c}, nil
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.flush(ctx); err != nil {
		return nil, err
	}
	r, err := c.Conn.ExecContext(ctx, c.rebind(query), encoded(args))
	return r, c.judged(err)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.flush(ctx); err != nil {
		return nil, err
	}
	r, err := c.Conn.QueryContext(ctx, c.rebind(query), encoded(args))
	if err != nil {
		return nil, c.judged(err)
	}
	return rows{r, c}, nil
}

// send queues a statement whose answer nobody waits for. It is made before the next that is.
func (c *conn) send(query string, args []driver.Value) error {
	values := make([]any, len(args))
	for i, v := range args {
		values[i] = encodedValue(v)
	}
	rebound := c.rebind(query)
	s, err := c.shape(rebound)
	if err != nil {
		return err
	}
	if s != nil && s.fits(values) {
		c.queued.merge(s, values)
	} else {
		c.queued.add(rebound, values)
	}
	if c.queued.len() < mostQueued {
		return nil
	}
	return c.flush(context.Background())
}

// shape returns the shape of a statement, or nil if it has none. The first time PostgreSQL is
// asked for the types of its parameters.
func (c *conn) shape(query string) (*shape, error) {
	if s, ok := c.shapes[query]; ok {
		return s, nil
	}
	var types []uint32
	if mergeable(query) {
		if err := c.flush(context.Background()); err != nil {
			return nil, err
		}
		described, err := c.Conn.Conn().Prepare(context.Background(), query, query)
		if err != nil {
			return nil, c.judged(err)
		}
		types = described.ParamOIDs
	}
	s := shapeOf(query, types)
	c.shapes[query] = s
	return s, nil
}

// mostQueued bounds what is held before it is sent.
const mostQueued = 1000

// A queuedError is the error of a statement that was sent some time after it was queued, so that
// its caller is not known.
type queuedError struct{ err error }

func (e *queuedError) Error() string { return e.err.Error() }
func (e *queuedError) Unwrap() error { return e.err }

// flush sends the statements that were queued, all at once.
func (c *conn) flush(ctx context.Context) error {
	c.queued.close()
	if c.queued.ready.Len() == 0 {
		return nil
	}
	batch := c.queued.ready
	c.queued = backlog{}
	if err := c.Conn.Conn().SendBatch(ctx, &batch).Close(); err != nil {
		return &queuedError{c.judged(err)}
	}
	return nil
}

// forget drops the statements that were queued: their transaction is undone.
func (c *conn) forget() { c.queued = backlog{} }

// judged returns an error of the connection. If it is lost, whatever was not committed on it
// has left no trace.
func (c *conn) judged(err error) error {
	if err == nil {
		return nil
	}
	if c.Conn.Conn().IsClosed() || errors.Is(err, driver.ErrBadConn) {
		c.lost = true
		return lostError{err}
	}
	if code := codeOf(err); code == lockTimeout || code == cancelled {
		c.timedOut = true
	}
	return err
}

// isLost reports whether nothing can be done with the connection, also if nobody has noticed yet.
func (c *conn) isLost() bool { return c.lost || c.Conn.Conn().IsClosed() }

// A lostError is one of a connection that is lost. It is a [store.ErrAgain], and for package sql
// a [driver.ErrBadConn]: what is only read is then read over another connection, so that those
// that PostgreSQL closed when it was started again are noticed by nobody.
type lostError struct{ err error }

func (e lostError) Error() string {
	return store.ErrAgain.Error() + ": the connection is lost: " + e.err.Error()
}

// Unwrap returns what it is.
func (e lostError) Unwrap() []error { return []error{store.ErrAgain, driver.ErrBadConn, e.err} }

// A stmt is a prepared statement.
type stmt struct {
	*stdlib.Stmt
	conn *conn
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.flush(ctx); err != nil {
		return nil, err
	}
	r, err := s.Stmt.ExecContext(ctx, encoded(args))
	return r, s.conn.judged(err)
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.flush(ctx); err != nil {
		return nil, err
	}
	r, err := s.Stmt.QueryContext(ctx, encoded(args))
	if err != nil {
		return nil, s.conn.judged(err)
	}
	return rows{r, s.conn}, nil
}

// rows are an answer.
type rows struct {
	driver.Rows
	conn *conn
}

// Next implements driver.Rows.
func (r rows) Next(dest []driver.Value) error {
	if err := r.Rows.Next(dest); err != nil {
		if err == io.EOF {
			return err
		}
		return r.conn.judged(err)
	}
	for i, v := range dest {
		switch v := v.(type) {
		case bool:
			dest[i] = int64(0)
			if v {
				dest[i] = int64(1)
			}
		case string:
			dest[i] = unescape(v)
		}
	}
	return nil
}

func encoded(args []driver.NamedValue) []driver.NamedValue {
	for i := range args {
		args[i].Value = encodedValue(args[i].Value)
	}
	return args
}

// encodedValue returns a value as PostgreSQL takes it.
func encodedValue(v driver.Value) driver.Value {
	switch v := v.(type) {
	case string:
		return escape(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case []byte:
		if v == nil {
			return nil
		}
	}
	return v
}

// PostgreSQL has no texts with the byte 0, or with bytes that are not UTF-8. A header can
// have both. Such a byte is stored as one of 256 runes that nobody uses, and the bytes of
// these runes likewise.
const firstEscape = 0x10FE00

// isEscape reports whether a rune stands for a byte.
func isEscape(r rune) bool { return r >= firstEscape && r < firstEscape+256 }

// escape returns a text as it is stored.
func escape(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r == 0 || isEscape(r) }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == 0 || isEscape(r) || r == utf8.RuneError && size == 1 {
			for _, c := range []byte(s[i : i+size]) {
				b.WriteRune(firstEscape + rune(c))
			}
		} else {
			b.WriteString(s[i : i+size])
		}
		i += size
	}
	return b.String()
}

// unescape returns the text that is stored as s.
func unescape(s string) string {
	if strings.IndexByte(s, 0xF4) < 0 || !strings.ContainsFunc(s, isEscape) { // with which such a rune begins
		return s
	}
	b := make([]byte, 0, len(s))
	for _, r := range s {
		if isEscape(r) {
			b = append(b, byte(r-firstEscape))
		} else {
			b = utf8.AppendRune(b, r)
		}
	}
	return string(b)
}

// rebind is that function, once for each statement.
func (c *conn) rebind(query string) string {
	if done, ok := c.rebound.Load(query); ok {
		return done.(string)
	}
	done := rebind(query)
	c.rebound.Store(query, done)
	return done
}

// userColumn finds the name of a column that is a word of PostgreSQL's own.
var userColumn = lazyregexp.New(`\buser\b`)

// rebind returns a statement as PostgreSQL reads it: with numbered parameters, and without
// what is there for SQLite's planner.
func rebind(query string) string {
	query = userColumn.ReplaceAllLiteralString(query, `"user"`)
	text := strings.NewReplacer("(SELECT ?)", "?", " CROSS JOIN ", " JOIN ",
		"SELECT value FROM json_each(?)", "SELECT json_array_elements_text(CAST(? AS JSON))").Replace(query)
	if before, after, ok := strings.Cut(text, " INDEXED BY "); ok {
		_, rest, _ := strings.Cut(after, " ")
		text = before + " " + rest
	}
	var b strings.Builder
	n, quoted := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\'' {
			quoted = !quoted
		}
		if c != '?' || quoted {
			b.WriteByte(c)
			continue
		}
		if i+1 < len(text) && '1' <= text[i+1] && text[i+1] <= '9' { // it has a number
			b.WriteByte('$')
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}

// codeOf returns the code of PostgreSQL in err, or "".
func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}
