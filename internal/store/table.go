package store

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"freshet/internal/freshet"
)

// A Table says which columns of a table the checksums of its rows cover.
type Table struct {
	Name    string
	Key     int      // how many of the columns are the primary key
	Columns []string // those of the key first
	Late    int      // how many columns at the end were added after the checksums

	// Describe names a row in a Damage, whose Table is set already.
	Describe func(r Row, d *Damage)

	// Repair saves a damaged row and says what becomes of it. Nil means that the row is deleted.
	Repair func(w *Writer, key []driver.Value) (what string, err error)
}

// IsKey is the condition that a row has a key.
func (t *Table) IsKey() string { return strings.Join(t.Columns[:t.Key], " = ? AND ") + " = ?" }

// A Row is a row of a table that is verified.
type Row struct {
	table  *Table
	values []driver.Value
	source func(key int64) freshet.SourceID
}

// Int returns a number, zero if the column holds none.
func (r Row) Int(column string) int64 { return whole(r.values[slices.Index(r.table.Columns, column)]) }

// Text returns a text, "" if the column holds none.
func (r Row) Text(column string) string {
	s, _ := r.values[slices.Index(r.table.Columns, column)].(string)
	return s
}

// Source returns the ID of the source whose key a column holds.
func (r Row) Source(column string) freshet.SourceID { return r.source(r.Int(column)) }

// A table is a Table of a schema, with its statements.
type table struct {
	Table
	sum   string // the column with the checksum
	index int    // of its checksum in a schema; uncounted if the table has none

	insertion, addition, upsert, selection, stamp, lookup string

	insertions []string // insertion of the first columns, by their number: the others are NULL
}

// newTable returns a table with its statements.
func newTable(described Table, sum string, index int) table {
	t := table{Table: described, sum: sum, index: index}
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(t.Columns)+1), ", ")
	columns := strings.Join(t.Columns, ", ")
	t.insertion = fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (%s)", t.Name, columns, t.sum, marks)
	for n := range len(t.Columns) + 1 {
		t.insertions = append(t.insertions, fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (%s?)", t.Name,
			strings.Join(t.Columns[:n], ", "), t.sum, strings.Repeat("?, ", n)))
	}
	t.addition = t.insertion + " ON CONFLICT DO NOTHING"
	var sets []string
	for _, c := range append(slices.Clone(t.Columns[t.Key:]), t.sum) {
		sets = append(sets, c+" = excluded."+c)
	}
	t.upsert = fmt.Sprintf("%s ON CONFLICT (%s) DO UPDATE SET %s", t.insertion, strings.Join(t.Columns[:t.Key], ", "), strings.Join(sets, ", "))
	t.selection = fmt.Sprintf("SELECT %s, %s FROM %s", columns, t.sum, t.Name)
	t.stamp = fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s", t.Name, t.sum, t.IsKey())
	t.lookup = fmt.Sprintf("SELECT %s FROM %s WHERE %s", t.sum, t.Name, t.IsKey())
	return t
}

// withoutNulls returns a statement that inserts a row of a log, and its values without those at the
// end that are NULL, of which most entries have many. The columns of the logs have no other defaults.
func (t *table) withoutNulls(values []driver.Value) (string, []driver.Value) {
	n := len(values)
	for n > 0 && values[n-1] == nil {
		n--
	}
	return t.insertions[n], values[:n]
}

// isLog reports whether the checksum of each row covers the row before.
func (t *table) isLog() bool { return t.index == sumOutcomes || t.index == sumChanges }

// Where the checksums of the tables of the store are in those of a schema. The tables of features
// follow.
const (
	sumOutcomes = iota
	sumChanges
	sumSources
	sumAttempts
	sumMarks
	sumEpochs
	sumTombstones
	sumCounters
	sumLabels
	sumEvidence
	ownSums

	uncounted = -1

	// maxSums bounds the tables of a schema: an array of checksums is copied for every transaction
	// without an allocation.
	maxSums = 32
)

// The tables of the store. Bodies have no checksums: a body is verified by the hash of its content, and
// by the versions that have it.
var (
	sourcesTable = newTable(Table{Name: "sources", Key: 1, Late: 1,
		Columns: []string{"key", "id", "url", "recipe", "definition", "revision", "origin", "created", "removed", "label", "site"},
		Describe: func(r Row, d *Damage) {
			d.Source = freshet.SourceID(r.Text("id"))
			d.What = fmt.Sprintf("source %s", d.Source)
		}}, "checksum", sumSources)

	// The status of a source is two rows in one: the first part is written with each capture, the
	// other when tallies are flushed.
	headsTable = newTable(Table{Name: "standings", Key: 1, Late: 7,
		Columns: []string{"source", "first", "head", "head_recipe", "etag", "last_modified", "changes", "changed_at", "last_change",
			"moved", "moved_at", "suspect", "landed", "belied", "newest", "held", "quiet_suspect", "quiet_noise"},
		Describe: func(r Row, d *Damage) {
			d.Source = r.Source("source")
			d.What = fmt.Sprintf("what is known of the newest version of source %s", d.Source)
		}}, "checksum", uncounted)
	talliesTable = newTable(Table{Name: "standings", Key: 1, Late: 1,
		Columns: []string{"source", "begun", "seen", "not_before", "failures", "failure", "err", "requests", "route", "polls", "last_outcome", "fresh"},
		Describe: func(r Row, d *Damage) {
			d.Source = r.Source("source")
			d.What = fmt.Sprintf("what the polls of source %s add up to", d.Source)
		}}, "tally_checksum", uncounted)

	attemptsTable = newTable(Table{Name: "attempts", Key: 3,
		Columns: []string{"source", "began", "hop", "at", "route", "ended", "requests"},
		Describe: func(r Row, d *Damage) {
			d.Source = r.Source("source")
			d.What = fmt.Sprintf("an attempt of source %s", d.Source)
		}}, "checksum", sumAttempts)
	outcomesTable = newTable(Table{Name: "outcomes", Key: 1, Late: 5,
		Columns: []string{"cursor", "source", "prev", "began", "gap", "took", "cause", "result", "version", "status",
			"requests", "route", "bytes", "modified", "not_before", "failure", "err", "suspect", "landed", "fresh", "quiet", "look_again"},
		Describe: func(r Row, d *Damage) {
			d.Source, d.Cursor = r.Source("source"), freshet.Cursor(r.Int("cursor"))
			d.What = fmt.Sprintf("outcome %d of source %s", d.Cursor, d.Source)
		}}, "checksum", sumOutcomes)
	evidenceTable = newTable(Table{Name: "evidence", Key: 1,
		Columns: []string{"outcome", "said"},
		Describe: func(r Row, d *Damage) {
			d.Cursor = freshet.Cursor(r.Int("outcome"))
			d.What = fmt.Sprintf("what the source said at outcome %d", d.Cursor)
		}}, "checksum", sumEvidence)
	marksTable = newTable(Table{Name: "marks", Key: 1,
		Columns: []string{"upto", "latest"},
		Describe: func(r Row, d *Damage) {
			d.Cursor = freshet.Cursor(r.Int("upto"))
			d.What = fmt.Sprintf("the mark at outcome %d", d.Cursor)
		}}, "checksum", sumMarks)
	envelopesTable = newTable(Table{Name: "envelopes", Key: 1,
		Columns: []string{"id", "source", "status", "url", "media_type", "title", "header"},
		Describe: func(r Row, d *Damage) {
			d.Source, d.Number = r.Source("source"), r.Int("id")
			d.What = fmt.Sprintf("envelope %d of source %s", d.Number, d.Source)
		}}, "checksum", uncounted)
	versionsTable = newTable(Table{Name: "versions", Key: 2, Late: 4,
		Columns: []string{"source", "number", "hash", "seen", "text", "raw", "envelope", "header", "suspect", "quiet", "picture", "fields"},
		Describe: func(r Row, d *Damage) {
			d.Source, d.Number = r.Source("source"), r.Int("number")
			d.What = fmt.Sprintf("version %d of source %s", d.Number, d.Source)
		}}, "checksum", uncounted)
	changesTable = newTable(Table{Name: "changes", Key: 1, Late: 4,
		Columns: []string{"cursor", "source", "prev", "seq", "number", "from_hash", "to_hash", "after", "before", "modified", "summary", "label", "suspect", "landed", "details", "packed"},
		Describe: func(r Row, d *Damage) {
			d.Source, d.Cursor, d.Number = r.Source("source"), freshet.Cursor(r.Int("cursor")), r.Int("seq")
			d.What = fmt.Sprintf("change %d of source %s at cursor %d", d.Number, d.Source, d.Cursor)
		}}, "checksum", sumChanges)
	statesTable = newTable(Table{Name: "beliefs", Key: 2,
		Columns: []string{"estimator", "source", "upto", "memory"},
		Describe: func(r Row, d *Damage) {
			d.Source = r.Source("source")
			d.What = fmt.Sprintf("what %s has learnt of source %s", r.Text("estimator"), d.Source)
		}}, "checksum", uncounted)
	commonStatesTable = newTable(Table{Name: "common_beliefs", Key: 1,
		Columns:  []string{"estimator", "upto", "memory"},
		Describe: func(r Row, d *Damage) { d.What = fmt.Sprintf("what %s has learnt of all sources", r.Text("estimator")) },
	}, "checksum", uncounted)

	// The column match is the end of the log of a feature that has epochs.
	epochsTable = newTable(Table{Name: "epochs", Key: 1, Late: 1,
		Columns: []string{"number", "name", "change", "outcome", "match"},
		Describe: func(r Row, d *Damage) {
			d.Number = r.Int("number")
			d.What = fmt.Sprintf("epoch %d", d.Number)
		}}, "checksum", sumEpochs)
	tombstonesTable = newTable(Table{Name: "tombstones", Key: 1,
		Columns: []string{"id", "version", "change", "revision"},
		Describe: func(r Row, d *Damage) {
			d.Source = freshet.SourceID(r.Text("id"))
			d.What = fmt.Sprintf("the last numbers of source %s, which was purged,", d.Source)
		}}, "checksum", sumTombstones)
	countersTable = newTable(Table{Name: "counters", Key: 1,
		Columns:  []string{"name", "last"},
		Describe: func(r Row, d *Damage) { d.What = fmt.Sprintf("the last number given to a new %s", r.Text("name")) },
	}, "checksum", sumCounters)
	labelsTable = newTable(Table{Name: "labels", Key: 1,
		Columns: []string{"id", "source", "url", "name", "tags"},
		Describe: func(r Row, d *Damage) {
			d.Source, d.Number = r.Source("source"), r.Int("id")
			d.What = fmt.Sprintf("label %d of source %s", d.Number, d.Source)
		}}, "checksum", sumLabels)
	movesTable = newTable(Table{Name: "moves", Key: 1,
		Columns: []string{"id", "state", "move", "other", "at"}}, "checksum", uncounted)
	truncationsTable = newTable(Table{Name: "cuts", Key: 3,
		Columns: []string{"log", "source", "first", "last", "before", "after"},
		Describe: func(r Row, d *Damage) {
			d.Source, d.Cursor = r.Source("source"), freshet.Cursor(r.Int("first"))
			d.What = fmt.Sprintf("the cut at %d of %s", d.Cursor, r.Text("log"))
		}}, "checksum", uncounted)
	sumsTable = newTable(Table{Name: "seals", Key: 1,
		Columns:  []string{"name", "upto", "value"},
		Describe: func(r Row, d *Damage) { d.What = "the seal of " + r.Text("name") },
	}, "checksum", uncounted)
)

// bodiesTable has rows without checksums.
var bodiesTable = Table{Name: "bodies", Key: 1, Columns: []string{"id", "source", "sum", "size", "base", "depth", "frame"}}

// ownTables are the tables of the store whose rows have checksums, except that of the checksums of
// tables. The logs come last.
var ownTables = []*table{
	&sourcesTable, &headsTable, &talliesTable, &attemptsTable, &marksTable, &envelopesTable, &versionsTable, &statesTable, &commonStatesTable,
	&epochsTable, &tombstonesTable, &countersTable, &labelsTable, &evidenceTable, &truncationsTable, &movesTable, &outcomesTable, &changesTable,
}

// Tables of the store whose damaged rows are rebuilt from others.
var (
	Sources = &sourcesTable.Table
	Heads   = &headsTable.Table
	Tallies = &talliesTable.Table
)
