package store

import (
	"database/sql/driver"
	"slices"
)

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
