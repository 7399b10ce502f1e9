package sqlite

import (
	"database/sql/driver"
	"fmt"
	"strings"
)

// sealedVersion is the user_version of a database whose rows all have
// checksums.
const sealedVersion = 1

// sealPage is how many rows are given checksums at once.
const sealPage = 2000

// sealRows gives every row its checksum and every table its seal, if that has
// not been done: the rows of a store that an older Freshet has written, or that
// have been saved from a damaged one. It says how far it is.
func sealRows(w *writer, say func(table string, rows int64)) error {
	version, err := w.number("PRAGMA user_version")
	if err != nil || version >= sealedVersion {
		return err
	}
	var seals [sealsEnd]seal
	for _, t := range checkedTables {
		err := w.within(func() (err error) {
			if t.seal.isLog() {
				if _, err := w.exec("DELETE FROM cuts WHERE log = ?", t.name); err != nil {
					return err
				}
			}
			seals[t.seal], err = w.sealTable(t, func(rows int64) { say(t.name, rows) })
			return err
		})
		if err != nil {
			return fmt.Errorf("checksums of %s: %w", t.name, err)
		}
	}
	return w.within(func() error {
		for _, t := range sealedTables {
			s := seals[t.seal]
			values := []driver.Value{t.name, s.upto, s.value}
			if _, err := w.exec(sealsTable.upsert, append(values, w.sum(&sealsTable, 0, values))...); err != nil {
				return err
			}
		}
		_, err := w.exec(fmt.Sprintf("PRAGMA user_version = %d", sealedVersion))
		return err
	})
}

// within does something in a transaction.
func (w *writer) within(do func() error) error {
	if _, err := w.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do()
	if err == nil {
		_, err = w.exec("COMMIT")
	}
	if err != nil {
		_, _ = w.exec("ROLLBACK") // SQLite may have done so already
	}
	return err
}

// sealTable gives the rows of a table their checksums and returns its seal.
func (w *writer) sealTable(t *table, say func(rows int64)) (s seal, err error) {
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
		err := w.query(query, after, func(v []driver.Value) error {
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
			return w.sealEnd(t, s)
		}
		after = page[len(page)-1][:len(t.keys)]
	}
}

// sealRow gives a row its checksum, and returns the seal with it. What is not
// there between two entries of a log is a cut.
func (w *writer) sealRow(t *table, s seal, row []driver.Value) (seal, error) {
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
	_, err := w.exec(t.stamp, append([]driver.Value{sum}, row[:len(t.keys)]...)...)
	return s, err
}

// sealCut notes that entries of a log are gone. Nobody knows what they were, so
// the entry after them covers the one before them.
func (w *writer) sealCut(t *table, first, last int64, around checksum) error {
	values := []driver.Value{t.name, int64(0), first, last, around, around}
	_, err := w.exec(cutsTable.upsert, append(values, w.sum(&cutsTable, 0, values))...)
	return err
}

// sealEnd returns the seal of a log with the entries that are gone from its end.
func (w *writer) sealEnd(t *table, s seal) (seal, error) {
	var end int64
	var err error
	switch t.seal {
	case sealOutcomes:
		end, err = w.number(`SELECT max(ifnull((SELECT max(upto) FROM marks), 0), ifnull((SELECT last FROM counters WHERE name = 'outcome'), 0))`)
	case sealChanges:
		end, err = w.number("SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'")
	}
	if err != nil || end <= s.upto {
		return s, err
	}
	err = w.sealCut(t, s.upto+1, end, s.value)
	s.upto = end
	return s, err
}
