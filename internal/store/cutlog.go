package store

import (
	"database/sql/driver"

	"freshet/internal/freshet"
)

// An entryOf is what has to be known of an entry of a log to take it out.
type entryOf struct {
	cursor int64
	sum    checksum
}

// cutLog takes the entries for which a condition holds out of a log, and
// returns how many. The log can still be verified: what the entries around them
// cover is noted as a cut.
func (b *batch) cutLog(t *table, where string, args ...driver.Value) (int64, error) {
	var gone []entryOf
	err := b.Query("SELECT cursor, "+t.sum+" FROM "+t.Name+" WHERE "+where+" ORDER BY cursor", args, func(v []driver.Value) error {
		sum, _ := v[1].(int64)
		gone = append(gone, entryOf{v[0].(int64), sum})
		return nil
	})
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	for from := 0; from < len(gone); {
		upto := from
		for upto+1 < len(gone) && gone[upto+1].cursor == gone[upto].cursor+1 {
			upto++
		}
		if err := b.noteCut(t, gone[from].cursor, gone[upto]); err != nil {
			return 0, err
		}
		if t == &outcomesTable {
			if err := b.remove(&evidenceTable, "outcome BETWEEN ? AND ?", gone[from].cursor, gone[upto].cursor); err != nil {
				return 0, err
			}
		}
		from = upto + 1
	}
	return int64(len(gone)), b.Do("DELETE FROM "+t.Name+" WHERE "+where, args...)
}

// cutOldest takes the oldest outcomes out of the log that began before a moment, not more
// than a transaction should hold, and returns how many: a part that the database can drop
// at once, or else one by one.
func (b *batch) cutOldest(before int64) (int64, error) {
	database := b.store.cfg.Database
	part, err := database.Stale(b.Writer, before)
	if err != nil {
		return 0, err
	}
	if part == (Stretch{}) {
		return b.cutLog(&outcomesTable, "cursor IN (SELECT cursor FROM outcomes ORDER BY cursor LIMIT ?) AND coalesce(began, 0) < ?", int64(logAtOnce), before)
	}
	n, err := b.Number("SELECT count(*) FROM outcomes WHERE cursor BETWEEN ? AND ?", part.First, part.Last)
	if err != nil {
		return 0, err
	}
	sum, err := b.Number("SELECT checksum FROM outcomes WHERE cursor = ?", part.Last)
	if err != nil {
		return 0, err
	}
	if err := b.remove(&truncationsTable, "log = ? AND source = 0 AND first BETWEEN ? AND ?", outcomesTable.Name, part.First, part.Last); err != nil {
		return 0, err
	}
	if err := b.noteCut(&outcomesTable, part.First, entryOf{part.Last, sum}); err != nil {
		return 0, err
	}
	if err := b.remove(&evidenceTable, "outcome BETWEEN ? AND ?", part.First, part.Last); err != nil {
		return 0, err
	}
	return n, database.DropOutcomes(b.Writer, part)
}

// noteCut notes that the entries from first to last go. Cuts that meet become
// one.
func (b *batch) noteCut(t *table, first int64, last entryOf) error {
	var before driver.Value
	err := b.Query("SELECT first, last, before FROM cuts WHERE log = ? AND source = 0 AND first < ? ORDER BY first DESC LIMIT 1",
		[]driver.Value{t.Name, first}, func(v []driver.Value) error {
			if v[1].(int64) == first-1 {
				first, before = v[0].(int64), v[2]
			}
			return nil
		})
	if err == nil && before == nil {
		before, err = b.Number("SELECT "+t.sum+" FROM "+t.Name+" WHERE cursor = ?", first-1)
	}
	if err != nil {
		return err
	}
	following := last.cursor + 1
	err = b.Query("SELECT last, after FROM cuts WHERE log = ? AND source = 0 AND first = ?", []driver.Value{t.Name, following},
		func(v []driver.Value) error {
			last = entryOf{v[0].(int64), v[1].(int64)}
			return nil
		})
	if err != nil {
		return err
	}
	if err := b.remove(&truncationsTable, "log = ? AND source = 0 AND first = ?", t.Name, following); err != nil {
		return err
	}
	return b.put(&truncationsTable, t.Name, int64(0), first, last.cursor, before, last.sum)
}

// unlog takes all entries of one source out of a log, from the newest back.
func (b *batch) unlog(t *table, last freshet.Cursor) error {
	for at := int64(last); at != 0; {
		prev, err := b.Number("SELECT prev FROM "+t.Name+" WHERE cursor = ?", at)
		if err != nil {
			return err
		}
		if t == &changesTable {
			if err := b.purgeChange(freshet.Cursor(at)); err != nil {
				return err
			}
		}
		if _, err := b.cutLog(t, "cursor = ?", at); err != nil {
			return err
		}
		at = prev
	}
	return nil
}

// purgeChange has the features delete what they keep of a change.
func (b *batch) purgeChange(at freshet.Cursor) error {
	for _, f := range b.schema.features {
		if f.PurgeChange == nil {
			continue
		}
		if err := f.PurgeChange(&Tx{b}, at); err != nil {
			return err
		}
	}
	return nil
}
