package store

import (
	"database/sql/driver"
	"fmt"
	"strings"
)

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
