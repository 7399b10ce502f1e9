package store

import (
	"context"
	"database/sql/driver"
	"iter"
	"slices"

	"github.com/cespare/xxhash/v2"
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

// Moved are the tables that make up a store: what is in them is all that it has. Those that
// others refer to come first.
func Moved() (list []Rows) {
	for _, t := range append(slices.Clone(checkedTables), &sealsTable) {
		if t == &movesTable {
			continue
		}
		at := slices.IndexFunc(list, func(r Rows) bool { return r.Name == t.name })
		if at < 0 {
			at = len(list)
			list = append(list, Rows{Name: t.name, Keys: t.keys})
		}
		for _, c := range append(slices.Clone(t.columns), t.sum) {
			if !slices.Contains(list[at].Columns, c) { // the keys are in both parts of a standing
				list[at].Columns = append(list[at].Columns, c)
			}
		}
	}
	bodies := Rows{Name: bodiesTable.name, Keys: bodiesTable.keys, Columns: []string{"id", "source", "sum", "size", "base", "depth", "frame"}}
	return slices.Insert(list, 1, bodies)
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
