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
// damage and edits by hand, and does not stop somebody who computes it anew.
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
	b := append(room[:0], t.name...)
	b = binary.LittleEndian.AppendUint64(b, uint64(before))
	early := len(t.columns) - t.late
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

// A sealName says what a seal is of.
type sealName int

// What has a seal.
const (
	noSeal sealName = iota
	sealOutcomes
	sealChanges
	sealSources
	sealAttempts
	sealMarks
	sealPlaces
	sealDebts
	sealRetired
	sealEpochs
	sealTombstones
	sealCounters
	sealLabels
	sealShelves
	sealPages
	sealEvidence
	sealSinks
	sealQueries
	sealMatches
	sealParcels
	sealQueryNotes
	sealUsers
	sealPasses
	sealDeeds
	sealAnswers
	sealsEnd
)

// A seal says what a table holds, so that a row that is gone is missed. That of
// a log is where it ends, with the checksum of its last entry; that of another
// table is the number of its rows, with the sum of their checksums.
type seal struct {
	upto  int64
	value checksum
}

// isLog reports whether the seal is that of a log.
func (n sealName) isLog() bool { return n == sealOutcomes || n == sealChanges }

// sum returns the checksum of a row.
func (w *Writer) sum(t *table, before checksum, values []driver.Value) (sum checksum) {
	sum, w.room = sumRow(w.room, t, before, values)
	return sum
}

// plus returns what two seals come to together.
func (s seal) plus(more seal) seal { return seal{s.upto + more.upto, s.value + more.value} }

// A rowWriter writes rows with their checksums, and keeps the seals of their tables.
type rowWriter struct {
	*Writer
	seals    *[sealsEnd]seal
	resealed [sealsEnd]bool // seals to be written
}

// reseal notes that rows were added to a table, or taken out of it.
func (w *rowWriter) reseal(t *table, rows seal) {
	if t.seal == noSeal {
		return
	}
	w.seals[t.seal] = w.seals[t.seal].plus(rows)
	w.resealed[t.seal] = true
}

// insert writes a new row.
func (w *rowWriter) insert(t *table, values ...driver.Value) error {
	sum := w.sum(t, 0, values)
	w.reseal(t, seal{1, sum})
	return w.doRow(t.insertion, values, sum)
}

// insertNew writes a row unless there is one with its key. It returns what that
// adds to the seal of the table.
func (w *rowWriter) insertNew(t *table, values ...driver.Value) (added seal, err error) {
	sum := w.sum(t, 0, values)
	n, err := w.Exec(t.addition, append(slices.Clone(values), sum)...)
	added = seal{n, n * sum}
	w.reseal(t, added)
	return added, err
}

// put writes a row, in place of the one with the same key if there is one.
func (w *rowWriter) put(t *table, values ...driver.Value) error {
	if t.seal != noSeal {
		err := w.Query(t.lookup, values[:len(t.keys)], func(v []driver.Value) error {
			old, _ := v[0].(int64)
			w.reseal(t, seal{-1, -old})
			return nil
		})
		if err != nil {
			return err
		}
	}
	sum := w.sum(t, 0, values)
	w.reseal(t, seal{1, sum})
	return w.doRow(t.upsert, values, sum)
}

// remove deletes the rows for which a condition holds.
func (w *rowWriter) remove(t *table, where string, args ...driver.Value) error {
	if t.seal == noSeal {
		return w.Do("DELETE FROM "+t.name+" WHERE "+where, args...)
	}
	return w.Query("DELETE FROM "+t.name+" WHERE "+where+" RETURNING "+t.sum, args, func(v []driver.Value) error {
		old, _ := v[0].(int64)
		w.reseal(t, seal{-1, -old})
		return nil
	})
}

// amend changes the rows for which a condition holds.
func (w *rowWriter) amend(t *table, where string, args []driver.Value, change func(row []driver.Value)) error {
	var rows [][]driver.Value
	err := w.Query(t.selection+" WHERE "+where, args, func(v []driver.Value) error {
		rows = append(rows, cloneRow(v[:len(t.columns)]))
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
	s := &w.seals[t.seal]
	s.upto = values[0].(int64)
	s.value = w.sum(t, s.value, values)
	w.resealed[t.seal] = true
	query, values := t.leaving(values)
	return w.doRow(query, values, s.value)
}

// writeSeals writes the seals that have changed.
func (w *rowWriter) writeSeals() error {
	for _, t := range sealedTables {
		if !w.resealed[t.seal] {
			continue
		}
		s := w.seals[t.seal]
		values := []driver.Value{t.name, s.upto, s.value}
		if err := w.Do(sealsTable.upsert, append(values, w.sum(&sealsTable, 0, values))...); err != nil {
			return err
		}
	}
	return nil
}

// sealPage is how many rows are given checksums at once.
const sealPage = 2000

// Seal gives every row its checksum and every table its seal: the rows of a store that an
// older Freshet has written, or that have been saved from a damaged one. Ends returns where a
// log ended, as far as its rows do not tell. Seal says how far it is.
func Seal(w *Writer, ends func(log string) (int64, error), say func(table string, rows int64)) error {
	var seals [sealsEnd]seal
	for _, t := range checkedTables {
		err := w.Within(func() (err error) {
			if t.seal.isLog() {
				if _, err := w.Exec("DELETE FROM cuts WHERE log = ?", t.name); err != nil {
					return err
				}
			}
			if seals[t.seal], err = w.sealTable(t, func(rows int64) { say(t.name, rows) }); err != nil || !t.seal.isLog() {
				return err
			}
			seals[t.seal], err = w.sealEnd(t, seals[t.seal], ends)
			return err
		})
		if err != nil {
			return fmt.Errorf("checksums of %s: %w", t.name, err)
		}
	}
	return w.Within(func() error {
		for _, t := range sealedTables {
			s := seals[t.seal]
			values := []driver.Value{t.name, s.upto, s.value}
			if _, err := w.Exec(sealsTable.upsert, append(values, w.sum(&sealsTable, 0, values))...); err != nil {
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

// sealTable gives the rows of a table their checksums and returns its seal.
func (w *Writer) sealTable(t *table, say func(rows int64)) (s seal, err error) {
	keys := strings.Join(t.keys, ", ")
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(t.keys)), ", ")
	first := fmt.Sprintf("%s ORDER BY %s LIMIT %d", t.selection, keys, sealPage)
	next := fmt.Sprintf("%s WHERE (%s) > (%s) ORDER BY %s LIMIT %d", t.selection, keys, marks, keys, sealPage)
	var after []driver.Value
	for rows := int64(0); ; say(rows) {
		query := next
		if after == nil {
			query = first
		}
		var page [][]driver.Value
		err := w.Query(query, after, func(v []driver.Value) error {
			page = append(page, cloneRow(v[:len(t.columns)]))
			return nil
		})
		if err != nil {
			return s, err
		}
		for _, row := range page {
			if s, err = w.sealRow(t, s, row); err != nil {
				return s, err
			}
		}
		rows += int64(len(page))
		if len(page) < sealPage {
			return s, nil
		}
		after = page[len(page)-1][:len(t.keys)]
	}
}

// sealRow gives a row its checksum, and returns the seal with it. What is not
// there between two entries of a log is a cut.
func (w *Writer) sealRow(t *table, s seal, row []driver.Value) (seal, error) {
	before := checksum(0)
	if t.seal.isLog() {
		cursor := row[0].(int64)
		if cursor > s.upto+1 {
			if err := w.sealCut(t, s.upto+1, cursor-1, s.value); err != nil {
				return s, err
			}
		}
		before = s.value
	}
	sum := w.sum(t, before, row)
	if t.seal.isLog() {
		s = seal{row[0].(int64), sum}
	} else {
		s = seal{s.upto + 1, s.value + sum}
	}
	_, err := w.Exec(t.stamp, append([]driver.Value{sum}, row[:len(t.keys)]...)...)
	return s, err
}

// sealCut notes that entries of a log are gone. Nobody knows what they were, so
// the entry after them covers the one before them.
func (w *Writer) sealCut(t *table, first, last int64, around checksum) error {
	values := []driver.Value{t.name, int64(0), first, last, around, around}
	_, err := w.Exec(cutsTable.upsert, append(values, w.sum(&cutsTable, 0, values))...)
	return err
}

// sealEnd returns the seal of a log with the entries that are gone from its end.
func (w *Writer) sealEnd(t *table, s seal, ends func(log string) (int64, error)) (seal, error) {
	end, err := ends(t.name)
	if err != nil || end <= s.upto {
		return s, err
	}
	err = w.sealCut(t, s.upto+1, end, s.value)
	s.upto = end
	return s, err
}
