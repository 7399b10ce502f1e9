package postgres

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"freshet/internal/lazyregexp"
)

// A backlog is statements that are not sent yet. Those that differ only in their values become
// one with many rows: of what a poll costs PostgreSQL, most is to begin and to end its three
// statements.
//
// Statements keep their order, but for rows to insert and rows to delete by a key that are queued
// one after the other: first all are inserted, then all are deleted. A row that comes after one
// with its key was deleted does not join them. No table has a trigger or refers to another.
type backlog struct {
	ready            pgx.Batch // statements as they are sent
	inserts, deletes []*merged // that wait for more rows
	rows             int       // of these
}

// len returns how many statements were queued, about.
func (b *backlog) len() int { return b.ready.Len() + b.rows }

// add queues a statement that cannot be merged.
func (b *backlog) add(query string, values []any) {
	b.close()
	b.ready.Queue(query, values...)
}

// merge queues a statement of some shape.
func (b *backlog) merge(s *shape, values []any) {
	like := &b.deletes
	if !s.deletes {
		if b.isDeleted(s, values) {
			b.close()
		}
		like = &b.inserts
	}
	i := slices.IndexFunc(*like, func(m *merged) bool { return m.shape == s })
	if i < 0 {
		i = len(*like)
		*like = append(*like, newMerged(s))
	}
	(*like)[i].add(values)
	b.rows++
}

// isDeleted reports whether a row to insert has the key of one that waits to be deleted.
func (b *backlog) isDeleted(s *shape, values []any) bool {
	return slices.ContainsFunc(b.deletes, func(m *merged) bool {
		return m.shape.table == s.table && m.keys[m.shape.key(s, values)]
	})
}

// close has what waits be sent as it is.
func (b *backlog) close() {
	for _, m := range slices.Concat(b.inserts, b.deletes) {
		m.queue(&b.ready)
	}
	b.inserts, b.deletes, b.rows = nil, nil, 0
}

// A shape is a statement that can be merged: one that inserts a row, or deletes those with a key.
type shape struct {
	one, many string // the statement for one row, and for any number
	table     string
	columns   []string
	texts     []bool // which of them are; the others are numbers
	deletes   bool
}

// plainInsert and plainDelete are the statements that can be merged, as they are rebound.
var (
	plainInsert = lazyregexp.New(`^INSERT INTO (\w+) \(([\w, ]+)\) VALUES \([$\d, ]+\)$`)
	plainDelete = lazyregexp.New(`^DELETE FROM (\w+) WHERE (\w+ = \$\d+(?: AND \w+ = \$\d+)*)$`)
)

// mergeable reports whether a statement could have a shape.
func mergeable(query string) bool {
	return plainInsert.MatchString(query) || plainDelete.MatchString(query)
}

// shapeOf returns the shape of a statement whose parameters have some types, or nil if it has none.
func shapeOf(query string, types []uint32) *shape {
	s := &shape{one: query}
	if m := plainInsert.FindStringSubmatch(query); m != nil {
		s.table, s.columns = m[1], strings.Split(m[2], ", ")
	} else if m := plainDelete.FindStringSubmatch(query); m != nil {
		s.table, s.deletes = m[1], true
		for i, part := range strings.Split(m[2], " AND ") {
			column, mark, _ := strings.Cut(part, " = ")
			if mark != "$"+strconv.Itoa(i+1) {
				return nil
			}
			s.columns = append(s.columns, column)
		}
	}
	if s.table == "" || len(s.columns) != len(types) {
		return nil
	}
	var arrays []string
	for i, t := range types {
		if t != pgtype.Int8OID && t != pgtype.TextOID {
			return nil // the others are rare, or long
		}
		s.texts = append(s.texts, t == pgtype.TextOID)
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, map[bool]string{false: "int8", true: "text"}[s.texts[i]]))
	}
	columns, rows := strings.Join(s.columns, ", "), "SELECT * FROM unnest("+strings.Join(arrays, ", ")+")"
	s.many = fmt.Sprintf("INSERT INTO %s (%s) %s", s.table, columns, rows)
	if s.deletes {
		s.many = fmt.Sprintf("DELETE FROM %s WHERE (%s) IN (%s)", s.table, columns, rows)
	}
	return s
}

// fits reports whether values have the types of the columns.
func (s *shape) fits(values []any) bool {
	for i, v := range values {
		switch v.(type) {
		case nil:
		case int64:
			if s.texts[i] {
				return false
			}
		case string:
			if !s.texts[i] {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// key returns the key of a row that a statement of another shape has, or of its own.
func (s *shape) key(of *shape, values []any) string {
	var key []byte
	for _, column := range s.columns {
		i := slices.Index(of.columns, column)
		if i < 0 {
			continue // then all rows have the same
		}
		switch v := values[i].(type) {
		case int64:
			key = binary.LittleEndian.AppendUint64(key, uint64(v))
		case string:
			key = append(strconv.AppendQuote(key, v), ' ')
		}
	}
	return string(key)
}

// A merged is a statement with its rows.
type merged struct {
	shape   *shape
	first   []any           // the values of the first row
	rows    int             //
	columns []column        // of all rows
	keys    map[string]bool // of the rows, if it deletes them
}

// A column is the values of one parameter, of one of both types.
type column struct {
	numbers []pgtype.Int8
	texts   []pgtype.Text
}

func newMerged(s *shape) *merged {
	return &merged{shape: s, columns: make([]column, len(s.columns)), keys: map[string]bool{}}
}

// add adds a row.
func (m *merged) add(values []any) {
	if m.rows++; m.rows == 1 {
		m.first = values
	}
	if m.shape.deletes {
		m.keys[m.shape.key(m.shape, values)] = true
	}
	for i, v := range values {
		c := &m.columns[i]
		if m.shape.texts[i] {
			text, ok := v.(string)
			c.texts = append(c.texts, pgtype.Text{String: text, Valid: ok})
		} else {
			number, ok := v.(int64)
			c.numbers = append(c.numbers, pgtype.Int8{Int64: number, Valid: ok})
		}
	}
}

// queue adds the statement to those that are sent.
func (m *merged) queue(to *pgx.Batch) {
	if m.rows == 1 {
		to.Queue(m.shape.one, m.first...)
		return
	}
	values := make([]any, len(m.columns))
	for i, c := range m.columns {
		if values[i] = c.numbers; m.shape.texts[i] {
			values[i] = c.texts
		}
	}
	to.Queue(m.shape.many, values...)
}
