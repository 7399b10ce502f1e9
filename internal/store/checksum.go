package store

import (
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// A checksum tells whether a row is as it was written. It is XXH64: it finds
// damage and edits by hand, but not edits that compute it anew.
type checksum = int64

// How a value begins in what is summed up, so that no two rows look alike.
const (
	summedNull = iota
	summedInteger
	summedReal
	summedText
	summedBlob
	summedLate // and the place of a late column, before its value
)

// sumRow returns the checksum of a row of a table. In a log, before is the
// checksum of the entry before it, so that each entry covers all those before.
// It writes over room.
//
// Of the values of late columns only those that are not NULL count: a row from
// before there was the column keeps its checksum.
func sumRow(room []byte, t *table, before checksum, values []driver.Value) (checksum, []byte) {
	b := append(room[:0], t.Name...)
	b = binary.LittleEndian.AppendUint64(b, uint64(before))
	early := len(t.Columns) - t.Late
	for i, v := range values {
		if i >= early {
			if v == nil {
				continue
			}
			b = append(b, summedLate, byte(i-early))
		}
		b = appendSummed(b, v)
	}
	return checksum(xxhash.Sum64(b)), b
}

// appendSummed appends what is summed of a value.
func appendSummed(b []byte, v driver.Value) []byte {
	switch v := v.(type) {
	case nil:
		b = append(b, summedNull)
	case int64:
		b = binary.LittleEndian.AppendUint64(append(b, summedInteger), uint64(v))
	case float64:
		b = binary.LittleEndian.AppendUint64(append(b, summedReal), math.Float64bits(v))
	case string:
		b = binary.LittleEndian.AppendUint64(append(b, summedText), uint64(len(v)))
		b = append(b, v...)
	case []byte:
		b = binary.LittleEndian.AppendUint64(append(b, summedBlob), uint64(len(v)))
		b = binary.LittleEndian.AppendUint64(b, xxhash.Sum64(v))
	}
	return b
}

// A tableSum tells whether rows of a table are missing. Of a log it is where the log ends, with the
// checksum of the last entry; of another table it is the number of rows, with the sum of their
// checksums. The table seals keeps them.
type tableSum struct {
	upto  int64
	value checksum
}

// sum returns the checksum of a row.
func (w *Writer) sum(t *table, before checksum, values []driver.Value) (sum checksum) {
	sum, w.room = sumRow(w.room, t, before, values)
	return sum
}

// plus returns the sum of the rows of both.
func (s tableSum) plus(more tableSum) tableSum {
	return tableSum{s.upto + more.upto, s.value + more.value}
}

// A rowWriter writes rows with their checksums, and keeps the sums of their tables.
type rowWriter struct {
	*Writer
	schema *Schema
	sums   *[maxSums]tableSum
	summed [maxSums]bool // sums to be written
}

// count notes that rows were added to a table, or taken out of it.
func (w *rowWriter) count(t *table, rows tableSum) {
	if t.index == uncounted {
		return
	}
	w.sums[t.index] = w.sums[t.index].plus(rows)
	w.summed[t.index] = true
}

// insert writes a new row.
func (w *rowWriter) insert(t *table, values ...driver.Value) error {
	sum := w.sum(t, 0, values)
	w.count(t, tableSum{1, sum})
	return w.doRow(t.insertion, values, sum)
}

// insertNew writes a row unless there is one with its key. It returns what that
// adds to the sum of the table.
func (w *rowWriter) insertNew(t *table, values ...driver.Value) (added tableSum, err error) {
	sum := w.sum(t, 0, values)
	n, err := w.Exec(t.addition, append(slices.Clone(values), sum)...)
	added = tableSum{n, n * sum}
	w.count(t, added)
	return added, err
}

// put writes a row, in place of the one with the same key if there is one.
func (w *rowWriter) put(t *table, values ...driver.Value) error {
	if t.index != uncounted {
		err := w.Query(t.lookup, values[:t.Key], func(v []driver.Value) error {
			old, _ := v[0].(int64)
			w.count(t, tableSum{-1, -old})
			return nil
		})
		if err != nil {
			return err
		}
	}
	sum := w.sum(t, 0, values)
	w.count(t, tableSum{1, sum})
	return w.doRow(t.upsert, values, sum)
}

// remove deletes the rows for which a condition holds.
func (w *rowWriter) remove(t *table, where string, args ...driver.Value) error {
	if t.index == uncounted {
		return w.Do("DELETE FROM "+t.Name+" WHERE "+where, args...)
	}
	return w.Query("DELETE FROM "+t.Name+" WHERE "+where+" RETURNING "+t.sum, args, func(v []driver.Value) error {
		old, _ := v[0].(int64)
		w.count(t, tableSum{-1, -old})
		return nil
	})
}

// amend changes the rows for which a condition holds.
func (w *rowWriter) amend(t *table, where string, args []driver.Value, change func(row []driver.Value)) error {
	var rows [][]driver.Value
	err := w.Query(t.selection+" WHERE "+where, args, func(v []driver.Value) error {
		rows = append(rows, cloneRow(v[:len(t.Columns)]))
		return nil
	})
	if err != nil {
		return err
	}
	for _, row := range rows {
		change(row)
		if err := w.put(t, row...); err != nil {
			return err
		}
	}
	return nil
}

// cloneRow returns a copy of values that are good only for a moment.
func cloneRow(values []driver.Value) []driver.Value {
	row := slices.Clone(values)
	for i, v := range row {
		if b, ok := v.([]byte); ok {
			row[i] = append([]byte{}, b...)
		}
	}
	return row
}

// appendTo adds an entry to a log. Its checksum covers the entry before.
func (w *rowWriter) appendTo(t *table, values ...driver.Value) error {
	s := &w.sums[t.index]
	s.upto = values[0].(int64)
	s.value = w.sum(t, s.value, values)
	w.summed[t.index] = true
	query, values := t.withoutNulls(values)
	return w.doRow(query, values, s.value)
}

// writeSums writes the sums of tables that have changed.
func (w *rowWriter) writeSums() error {
	for i, t := range w.schema.counted {
		if !w.summed[i] {
			continue
		}
		values := []driver.Value{t.Name, w.sums[i].upto, w.sums[i].value}
		if err := w.Do(sumsTable.upsert, append(values, w.sum(&sumsTable, 0, values))...); err != nil {
			return err
		}
	}
	return nil
}

// sumPage is how many rows are given checksums at once.
const sumPage = 2000

// AddChecksums gives every row its checksum and every table its sum: in a new store, and in one whose
// rows were saved from a damaged one. Ends returns where a log ended, also if its last entries are gone.
// AddChecksums reports its progress to say.
func (s *Schema) AddChecksums(w *Writer, ends func(log string) (int64, error), say func(table string, rows int64)) error {
	var sums [maxSums]tableSum
	for _, t := range s.tables {
		err := w.Within(func() error {
			if t.isLog() {
				if _, err := w.Exec("DELETE FROM cuts WHERE log = ?", t.Name); err != nil {
					return err
				}
			}
			sum, err := w.sumTable(t, func(rows int64) { say(t.Name, rows) })
			if err == nil && t.isLog() {
				sum, err = w.sumEnd(t, sum, ends)
			}
			if t.index != uncounted {
				sums[t.index] = sum
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("checksums of %s: %w", t.Name, err)
		}
	}
	return w.Within(func() error {
		for i, t := range s.counted {
			values := []driver.Value{t.Name, sums[i].upto, sums[i].value}
			if _, err := w.Exec(sumsTable.upsert, append(values, w.sum(&sumsTable, 0, values))...); err != nil {
				return err
			}
		}
		return nil
	})
}

// Within does something in a transaction.
func (w *Writer) Within(do func() error) error {
	if _, err := w.Exec("BEGIN"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		_, err = w.Exec("COMMIT")
	}
	if err != nil {
		_, _ = w.Exec("ROLLBACK") // the database may have done so already
	}
	return err
}

// sumTable gives the rows of a table their checksums and returns its sum.
func (w *Writer) sumTable(t *table, say func(rows int64)) (s tableSum, err error) {
	keys := strings.Join(t.Columns[:t.Key], ", ")
	marks := strings.TrimSuffix(strings.Repeat("?, ", t.Key), ", ")
	first := fmt.Sprintf("%s ORDER BY %s LIMIT %d", t.selection, keys, sumPage)
	next := fmt.Sprintf("%s WHERE (%s) > (%s) ORDER BY %s LIMIT %d", t.selection, keys, marks, keys, sumPage)
	var after []driver.Value
	for rows := int64(0); ; say(rows) {
		query := next
		if after == nil {
			query = first
		}
		var page [][]driver.Value
		err := w.Query(query, after, func(v []driver.Value) error {
			page = append(page, cloneRow(v[:len(t.Columns)]))
			return nil
		})
		if err != nil {
			return s, err
		}
		for _, row := range page {
			if s, err = w.sumNext(t, s, row); err != nil {
				return s, err
			}
		}
		rows += int64(len(page))
		if len(page) < sumPage {
			return s, nil
		}
		after = page[len(page)-1][:t.Key]
	}
}

// sumNext gives a row its checksum, and returns the sum of the table with it. A gap between two entries
// of a log is a truncation.
func (w *Writer) sumNext(t *table, s tableSum, row []driver.Value) (tableSum, error) {
	before := checksum(0)
	if t.isLog() {
		cursor := row[0].(int64)
		if cursor > s.upto+1 {
			if err := w.putTruncation(t, s.upto+1, cursor-1, s.value); err != nil {
				return s, err
			}
		}
		before = s.value
	}
	sum := w.sum(t, before, row)
	if t.isLog() {
		s = tableSum{row[0].(int64), sum}
	} else {
		s = tableSum{s.upto + 1, s.value + sum}
	}
	_, err := w.Exec(t.stamp, append([]driver.Value{sum}, row[:t.Key]...)...)
	return s, err
}

// putTruncation records that entries of a log are gone. Their checksums are not known, so the entry after
// them covers the one before them.
func (w *Writer) putTruncation(t *table, first, last int64, around checksum) error {
	values := []driver.Value{t.Name, int64(0), first, last, around, around}
	_, err := w.Exec(truncationsTable.upsert, append(values, w.sum(&truncationsTable, 0, values))...)
	return err
}

// sumEnd returns the sum of a log with the entries that are gone from its end.
func (w *Writer) sumEnd(t *table, s tableSum, ends func(log string) (int64, error)) (tableSum, error) {
	end, err := ends(t.Name)
	if err != nil || end <= s.upto {
		return s, err
	}
	err = w.putTruncation(t, s.upto+1, end, s.value)
	s.upto = end
	return s, err
}
