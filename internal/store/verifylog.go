package store

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"slices"

	"freshet/internal/freshet"
)

// A chainWalk follows the chain of checksums over a log.
type chainWalk struct {
	v     *verification
	t     *table
	cuts  []cut // still to come
	at    int64 // the last place that was accounted for
	value checksum
	other checksum // what value would be if only the last checksum was altered
	blind bool     // what comes before the next entry is not known
}

// outcomes verifies the log of outcomes.
func (v *verification) outcomes() error {
	w := &chainWalk{v: v, t: &outcomesTable, cuts: v.cuts[cutsOf{log: "outcomes"}]}
	return w.run(func(row []driver.Value) {
		if key, _ := row[1].(int64); v.standing[key] == nil {
			v.found(Damage{Table: "outcomes", Cursor: freshet.Cursor(w.at), What: fmt.Sprintf("outcome %d is of a source that is not there", w.at)})
		}
	})
}

// evidence verifies what sources said at outcomes.
func (v *verification) evidence() error {
	if err := v.rows(&evidenceTable, nil); err != nil {
		return err
	}
	return v.Query("SELECT outcome FROM evidence WHERE outcome NOT IN (SELECT cursor FROM outcomes)", nil, func(row []driver.Value) error {
		at, _ := row[0].(int64)
		v.found(Damage{Table: "evidence", Cursor: freshet.Cursor(at), What: fmt.Sprintf("what a source said at outcome %d is there, and the outcome is not", at)})
		return nil
	})
}

// changes verifies the log of changes, and that those of each source are
// numbered without a gap.
func (v *verification) changes() error {
	w := &chainWalk{v: v, t: &changesTable, cuts: v.cuts[cutsOf{log: "changes"}]}
	err := w.run(func(row []driver.Value) {
		key, _ := row[1].(int64)
		seq, _ := row[3].(int64)
		st := v.standing[key]
		if st == nil {
			v.found(Damage{Table: "changes", Cursor: freshet.Cursor(w.at), What: fmt.Sprintf("change %d at cursor %d is of a source that is not there", seq, w.at)})
			return
		}
		if seq != st.seenSeq+1 && !v.cutWithin(cutsOf{log: "changes"}, st.seenCursor+1, w.at-1) {
			st.gaps = true
		}
		st.seenSeq, st.seenCursor = seq, w.at
		st.seenCount++
	})
	if err != nil {
		return err
	}
	for _, key := range v.order {
		st, id := v.standing[key], v.nameOf(key)
		lost := v.cutWithin(cutsOf{log: "changes"}, st.seenCursor+1, v.seals["changes"].upto)
		switch {
		case !st.known, st.seenCount == 0 && st.changes == 0:
		case st.gaps, st.seenSeq > st.changes, st.seenSeq < st.changes && !lost:
			v.found(Damage{Table: "changes", Source: id, What: fmt.Sprintf("source %s has %d changes numbered up to %d, and had %d", id, st.seenCount, st.seenSeq, st.changes)})
		case st.lastChange != st.seenCursor:
			v.found(Damage{Table: "changes", Source: id, What: fmt.Sprintf("the newest change of source %s is at cursor %d, not at %d", id, st.seenCursor, st.lastChange)})
		}
	}
	return nil
}

// cutWithin reports whether something was taken out between two places.
func (v *verification) cutWithin(of cutsOf, first, last int64) bool {
	cuts := v.cuts[of]
	at, _ := slices.BinarySearchFunc(cuts, first, func(c cut, first int64) int { return cmp.Compare(c.last, first) })
	return at < len(cuts) && cuts[at].first <= last
}

// run goes through the log and hands on its entries.
func (w *chainWalk) run(each func(row []driver.Value)) error {
	t, n := w.t, int64(0)
	err := w.v.Query(t.selection+" ORDER BY cursor", nil, func(row []driver.Value) error {
		w.v.report.Rows++
		n++
		if err := w.v.progress(t.name, n, 0); err != nil {
			return err
		}
		values := row[:len(t.columns)]
		cursor, _ := values[0].(int64)
		w.reach(cursor)
		sum, _ := row[len(t.columns)].(int64)
		w.entry(cursor, values, sum)
		each(values)
		return nil
	})
	if err != nil {
		return err
	}
	w.end()
	return nil
}

// reach accounts for what is not there before an entry.
func (w *chainWalk) reach(cursor int64) {
	for len(w.cuts) > 0 && w.cuts[0].first < cursor {
		c := w.cuts[0]
		w.cuts = w.cuts[1:]
		if c.first > w.at+1 {
			w.missing(w.at+1, c.first-1)
		} else if !w.blind && c.before != w.value && c.before != w.other {
			w.found(c.first, fmt.Sprintf("the cut in the %s at %d does not follow what is before it", w.t.name, c.first))
		}
		w.at, w.value, w.other, w.blind = c.last, c.after, c.after, false
	}
	switch {
	case cursor <= w.at:
		w.v.found(Damage{Table: w.t.name, Cursor: freshet.Cursor(cursor), row: w.t, key: []driver.Value{cursor},
			What: fmt.Sprintf("the entry at %d of the %s was taken out, and is there", cursor, w.t.name)})
		w.blind = true
	case cursor > w.at+1:
		w.missing(w.at+1, cursor-1)
	}
}

// missing says that entries are gone.
func (w *chainWalk) missing(first, last int64) {
	w.blind = true
	if first == last {
		w.found(first, fmt.Sprintf("the entry at %d of the %s is missing", first, w.t.name))
		return
	}
	w.found(first, fmt.Sprintf("the entries from %d to %d of the %s are missing", first, last, w.t.name))
}

func (w *chainWalk) found(cursor int64, what string) {
	w.v.found(Damage{Table: w.t.name, Cursor: freshet.Cursor(cursor), What: what})
}

// entry verifies one entry. If its checksum is wrong, the next may still be
// right: either the row was altered, or the checksum.
func (w *chainWalk) entry(cursor int64, values []driver.Value, sum checksum) {
	expected := w.v.sum(w.t, w.value, values)
	if sum != expected && w.other != w.value {
		expected = w.v.sum(w.t, w.other, values)
	}
	if sum != expected && !w.blind {
		d := w.v.subject(w.t, values)
		d.What += " is not as it was written"
		w.v.found(d)
	}
	if w.blind {
		expected = sum
	}
	w.at, w.value, w.other, w.blind = cursor, sum, expected, false
}

// end holds the end of the log against its seal.
func (w *chainWalk) end() {
	s, ok := w.v.seals[w.t.name]
	if !ok {
		w.v.found(Damage{Table: "seals", What: "the seal of " + w.t.name + " is gone"})
		return
	}
	w.reach(s.upto + 1)
	if w.at == s.upto && !w.blind && s.value != w.value && s.value != w.other {
		w.found(w.at, fmt.Sprintf("the %s do not end as they were written", w.t.name))
	}
}
