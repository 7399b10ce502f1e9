package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
)

// An End is a database at one end of a move. This process has it for itself, as it is: nothing
// in it has been loaded, finished or begun.
type End interface {
	// Name returns the name of the database, without a password.
	Name() string

	// Snapshot returns a connection in a transaction that only reads.
	Snapshot(ctx context.Context) (*Writer, error)

	// Alone does something in a transaction. It fails if this process does not have the
	// database for itself any more.
	Alone(ctx context.Context, do func(*Writer) error) error

	// Clear deletes the rows of all tables, but for the mark.
	Clear(ctx context.Context) error

	// Fill puts rows into a table, in the order of its key. The values of a row are good
	// until the next one is asked for. If it fails, some of them may be in.
	Fill(ctx context.Context, t Rows, rows iter.Seq2[[]driver.Value, error]) error

	// Settle does what is left to do when all tables are filled.
	Settle(ctx context.Context) error

	// Settings returns what was set while the daemon ran, as JSON; "" if nothing was.
	// TakeSettings keeps it.
	Settings(ctx context.Context) (string, error)
	TakeSettings(ctx context.Context, text string) error

	// Verify looks through everything, as Store.Verify does.
	Verify(ctx context.Context, say func(Progress)) (Report, error)

	Close() error
}

// Rows are the rows of a table, with all its columns.
type Rows struct {
	Name    string
	Keys    []string
	Columns []string
}

// A Digest is what the rows of a table come to, in whatever order.
type Digest struct {
	Count int64
	sum   uint64
	room  []byte
}

// Add adds a row.
func (d *Digest) Add(values []driver.Value) {
	b := d.room[:0]
	for _, v := range values {
		b = appendSummed(b, v)
	}
	d.room = b
	d.Count++
	d.sum += xxhash.Sum64(b)
}

// Equals reports whether two digests are of the same rows.
func (d *Digest) Equals(other *Digest) bool {
	return d.Count == other.Count && d.sum == other.sum
}

// A MarkState says where a store stands in a move.
type MarkState string

// Where a store can stand.
const (
	Unmarked MarkState = ""
	Incoming MarkState = "incoming" // it is being filled, or that was cut off
	Complete MarkState = "complete" // it is filled; the other store may not be marked yet
	Away     MarkState = "away"     // its data is in another store now
)

// A Mark is what a move leaves in a store, so that no two stores with the same data are written.
type Mark struct {
	State MarkState
	Move  string // the name of the move; both stores have the same
	Other string // the store at the other end
	At    time.Time
}

// ReadMark returns the mark of a store.
func ReadMark(w *Writer) (m Mark, err error) {
	err = w.Query("SELECT state, move, other, at FROM moves", nil, func(v []driver.Value) error {
		state, _ := v[0].(string)
		m.Move, _ = v[1].(string)
		m.Other, _ = v[2].(string)
		at, _ := v[3].(int64)
		m.State, m.At = MarkState(state), time.Unix(0, at)
		return nil
	})
	return m, err
}

// PutMark puts a mark in the place of the one that is there.
func PutMark(w *Writer, m Mark) error {
	if m.State == Unmarked {
		return w.Do("DELETE FROM moves")
	}
	values := []driver.Value{int64(1), string(m.State), m.Move, m.Other, m.At.UnixNano()}
	return w.doRow(movesTable.upsert, values, w.sum(&movesTable, 0, values))
}

// checkMark refuses a store that a move has left, or has not finished.
func (s *mirror) checkMark(ctx context.Context) error {
	var m Mark
	err := EachRow(ctx, s.reader, "SELECT state, move, other, at FROM moves", nil, func(scan func(...any) error) error {
		var at int64
		err := scan(&m.State, &m.Move, &m.Other, &at)
		m.At = time.Unix(0, at)
		return err
	})
	if err != nil {
		return s.fault("reading the store", err)
	}
	switch m.State {
	case Unmarked:
		return nil
	case Away:
		return freshet.WithHint(&MoveError{s.cfg.Where, fmt.Sprintf("its data was moved to %s on %s", m.Other, m.At.UTC().Format("2 January 2006 15:04 UTC"))},
			fmt.Sprintf("use %s. To go on from the older data here instead: freshet cluster move --undo --from %s", m.Other, s.cfg.Where))
	}
	return freshet.WithHint(&MoveError{s.cfg.Where, fmt.Sprintf("it is incomplete, because a move of %s to it was not finished", m.Other)},
		fmt.Sprintf("run the move again: freshet cluster move --from %s --to %s", m.Other, s.cfg.Where))
}

// A MoveError says why a store cannot be used or moved, as [freshet.ErrConflict].
type MoveError struct{ Store, Reason string }

// Error names the store, and what is wrong.
func (e *MoveError) Error() string { return e.Store + ": " + e.Reason }

// Is reports whether target is what the error is.
func (e *MoveError) Is(target error) bool { return target == freshet.ErrConflict }
