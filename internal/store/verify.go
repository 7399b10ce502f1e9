package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
)

// A verifier looks for damages.
type verifier struct {
	database Database
	name     string // of the database
	codec    *codec
	tables   *Schema
}

// A Progress is how far a Verify is.
type Progress struct {
	Doing string // such as "outcomes"
	Done  int64
	Of    int64 // 0 if that is not known
}

// A Verification is one pass over everything that is stored.
type Verification struct {
	*Writer  // to read with
	schema   *Schema
	database Database
	ctx      context.Context
	codec    *codec
	say      func(Progress)
	said     time.Time
	report   Report

	names    map[int64]freshet.SourceID // by key
	before   map[freshet.SourceID]int64 // the last changes of sources that were purged
	standing map[int64]*standingRow
	order    []int64                        // keys of sources, in order
	gone     map[truncationsOf][]truncation // in order
	sums     map[string]tableSum
	sites    map[int64]freshet.SourceID // by the key of a site, one of its pages
}

// A standingRow is what is known of the versions and changes of a source, and
// what the pass has seen of them.
type standingRow struct {
	known                bool
	first, head, changes int64
	newest               int64 // if it is not the head
	lastChange           int64

	seenSeq, seenCount, seenCursor int64
	gaps                           bool // changes are missing, and nothing says why
}

// A truncationsOf says what entries are missing from: a log, or the versions of a source.
type truncationsOf struct {
	log    string
	source int64
}

// A truncation is where entries were deleted.
type truncation struct {
	first, last   int64
	before, after checksum
}

// Check looks through everything that is stored. It returns all that it finds
// wrong, each as ErrDamaged. See Verify.
func (s *verifier) Check(ctx context.Context) error {
	r, err := s.Verify(ctx, nil)
	if err != nil {
		return err
	}
	return r.Err(s.name, s.database.Hint())
}

// Verify looks through everything that is stored, as it is at one moment: the
// pages of the file, the checksum of every row, the chain of checksums over the
// logs, the number of rows, and the hash of every version. It goes through each
// table once, and says how far it is to say, which may be nil. The store can be
// in use meanwhile.
func (s *verifier) Verify(ctx context.Context, say func(Progress)) (Report, error) {
	return s.verify(ctx, say, false)
}

// VerifyAll is Verify, and lists all damages.
func (s *verifier) VerifyAll(ctx context.Context, say func(Progress)) (Report, error) {
	return s.verify(ctx, say, true)
}

func (s *verifier) verify(ctx context.Context, say func(Progress), all bool) (r Report, err error) {
	if say == nil {
		say = func(Progress) {}
	}
	w, err := s.database.Snapshot(ctx)
	if err != nil {
		return r, faultOf(s.database, "checking the store", err)
	}
	v := &Verification{
		Writer: w, schema: s.tables, database: s.database, ctx: ctx, codec: s.codec, say: say,
		report: Report{all: all},
		names:  map[int64]freshet.SourceID{}, before: map[freshet.SourceID]int64{}, standing: map[int64]*standingRow{}, gone: map[truncationsOf][]truncation{}, sums: map[string]tableSum{}, sites: map[int64]freshet.SourceID{},
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if err := v.run(); err != nil {
		return r, faultOf(s.database, "checking the store", err)
	}
	return v.report, nil
}

// run makes the pass within one transaction, which only reads.
func (v *Verification) run() error {
	steps := []struct {
		name string
		do   func() error
	}{
		{"file", v.file}, {"seals", v.readSums}, {"tombstones", v.tombstones}, {"sources", v.sources}, {"standings", v.standings}, {"cuts", v.readTruncations},
		{"tables", v.others}, {"tables of features", v.features}, {"outcomes", v.outcomes}, {"evidence", v.evidence}, {"changes", v.changes}, {"versions", v.versions},
	}
	for _, step := range steps {
		err := step.do()
		switch {
		case v.ctx.Err() != nil:
			return context.Cause(v.ctx)
		case v.database.Judge(err) == InDoubt: // the pages could not be read
			v.Found(Damage{Table: step.name, What: fmt.Sprintf("reading the %s: %v", step.name, err)})
		case err != nil:
			return err
		}
	}
	return nil
}

// progress says now and then how far a step is, and that the pass was given up.
func (v *Verification) progress(doing string, done, of int64) error {
	if done%256 != 0 {
		return nil
	}
	if time.Since(v.said) > 100*time.Millisecond {
		v.said = time.Now()
		v.say(Progress{doing, done, of})
	}
	return v.ctx.Err()
}

// nameOf returns the ID of a source by its key.
func (v *Verification) nameOf(key int64) freshet.SourceID {
	if id, ok := v.names[key]; ok || key == 0 {
		return id
	}
	return freshet.SourceID(fmt.Sprintf("#%d", key))
}

// file has the database look for damages by itself.
func (v *Verification) file() error {
	v.say(Progress{Doing: "file"})
	return v.database.Inspect(v.ctx, v.Writer, func(what string) { v.Found(Damage{Table: "file", What: what}) })
}

// rows verifies the checksum of each row of a table that is no log, and hands
// the rows on.
func (v *Verification) rows(t *table, each func(row []driver.Value) error) error {
	var held tableSum
	err := v.Query(t.selection+" ORDER BY "+strings.Join(t.Columns[:t.Key], ", "), nil, func(row []driver.Value) error {
		v.report.Rows++
		if err := v.progress(t.Name, held.upto, 0); err != nil {
			return err
		}
		values := row[:len(t.Columns)]
		sum, ok := row[len(t.Columns)].(int64)
		held = tableSum{held.upto + 1, held.value + sum}
		if !ok || sum != v.sum(t, 0, values) {
			d := v.subject(t, values)
			d.What += " is not as it was written"
			v.Found(d)
		}
		if each == nil {
			return nil
		}
		return each(values)
	})
	if err != nil || t.index == uncounted {
		return err
	}
	v.compareSum(t, held)
	return nil
}

// compareSum compares the rows of a table with its sum.
func (v *Verification) compareSum(t *table, held tableSum) {
	want, ok := v.sums[t.Name]
	switch {
	case !ok:
		v.Found(Damage{Table: "seals", What: "the seal of " + t.Name + " is gone"})
	case want.upto != held.upto:
		v.Found(Damage{Table: t.Name, What: fmt.Sprintf("%s has %d rows where there were %d", t.Name, held.upto, want.upto)})
	case want.value != held.value:
		v.Found(Damage{Table: t.Name, What: fmt.Sprintf("the %d rows of %s are not those that were written", held.upto, t.Name)})
	}
}

func (v *Verification) tombstones() error {
	return v.rows(&tombstonesTable, func(row []driver.Value) error {
		id, _ := row[0].(string)
		v.before[freshet.SourceID(id)], _ = row[2].(int64)
		return nil
	})
}

func (v *Verification) sources() error {
	return v.rows(&sourcesTable, func(row []driver.Value) error {
		key, _ := row[0].(int64)
		id, _ := row[1].(string)
		v.names[key] = freshet.SourceID(id)
		if site, ok := row[10].(int64); ok {
			v.sites[site] = freshet.SourceID(id)
		}
		v.order = append(v.order, key)
		v.standing[key] = &standingRow{seenSeq: v.before[freshet.SourceID(id)]}
		return nil
	})
}

func (v *Verification) standings() error {
	err := v.rows(&headsTable, func(row []driver.Value) error {
		whole := func(i int) int64 { n, _ := row[i].(int64); return n }
		if v.standing[whole(0)] == nil {
			d := v.subject(&headsTable, row)
			d.What += " is there, and the source is not"
			v.Found(d)
		}
		v.standing[whole(0)] = &standingRow{
			known: true, first: whole(1), head: whole(2), changes: whole(6), lastChange: whole(8), newest: whole(14),
			seenSeq: v.before[v.names[whole(0)]],
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range v.order {
		if !v.standing[key].known {
			v.Found(Damage{Table: "standings", Source: v.nameOf(key), What: fmt.Sprintf("how things stand with source %s is gone", v.nameOf(key))})
		}
	}
	return v.rows(&talliesTable, nil)
}

func (v *Verification) readTruncations() error {
	return v.rows(&truncationsTable, func(row []driver.Value) error {
		whole := func(i int) int64 { n, _ := row[i].(int64); return n }
		log, _ := row[0].(string)
		of := truncationsOf{log, whole(1)}
		v.gone[of] = append(v.gone[of], truncation{whole(2), whole(3), whole(4), whole(5)})
		return nil
	})
}

func (v *Verification) readSums() error {
	return v.rows(&sumsTable, func(row []driver.Value) error {
		name, _ := row[0].(string)
		upto, _ := row[1].(int64)
		value, _ := row[2].(int64)
		v.sums[name] = tableSum{upto, value}
		return nil
	})
}

// others verifies the tables of the store that nothing else looks at.
func (v *Verification) others() error {
	for _, t := range []*table{&attemptsTable, &marksTable, &statesTable, &commonStatesTable, &epochsTable, &countersTable, &labelsTable, &movesTable} {
		if err := v.rows(t, nil); err != nil {
			return err
		}
	}
	return nil
}

// features verifies the tables of the features.
func (v *Verification) features() error {
	for _, f := range v.schema.features {
		if f.Verify != nil {
			if err := f.Verify(v); err != nil {
				return err
			}
			continue
		}
		for _, t := range f.Tables {
			if err := v.rows(v.schema.featureTable(t.Name), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// Rows verifies the checksum of each row of a table of a feature and the number of rows, and calls each
// with the rows.
func (v *Verification) Rows(table string, each func(Row) error) error {
	t := v.schema.featureTable(table)
	return v.rows(t, func(values []driver.Value) error { return each(v.row(t, values)) })
}

// row returns a row of a table.
func (v *Verification) row(t *table, values []driver.Value) Row {
	return Row{&t.Table, values, v.nameOf}
}

// Found records a damage.
func (v *Verification) Found(d Damage) { v.report.add(d) }

// HasSource reports whether there is a source with a key.
func (v *Verification) HasSource(key int64) bool {
	_, there := v.names[key]
	return there
}

// Name returns the ID of the source with a key, or its key.
func (v *Verification) Name(key int64) freshet.SourceID { return v.nameOf(key) }

// PagesOf yields the keys of the sites that sources are pages of, each with one of its pages.
func (v *Verification) PagesOf() iter.Seq2[int64, freshet.SourceID] { return maps.All(v.sites) }

// A Damage is one thing in a store that is not as it was written.
type Damage struct {
	Table  string           `json:"table,omitempty"`
	Source freshet.SourceID `json:"source,omitempty"`
	Number int64            `json:"number,omitempty"` // of a version, a change or a body of the source
	Cursor freshet.Cursor   `json:"cursor,omitempty"` // in a log
	Reader string           `json:"reader,omitempty"` // of the outbox
	What   string           `json:"what"`             // in words

	row *Table         // that is damaged, if it is a row
	key []driver.Value // of the row
}

// Row returns the table and the key of the row that is damaged, if it is a row.
func (d Damage) Row() (t *Table, key []driver.Value) { return d.row, d.key }

// A Report is what Verify found.
type Report struct {
	Rows    int64    `json:"rows"`   // that were looked at
	Bodies  int64    `json:"bodies"` // that were decoded
	Damages []Damage `json:"damages"`
	More    int      `json:"more,omitempty"` // damages that are not listed

	all bool // damages are listed
}

// mostDamages is how many damages are listed.
const mostDamages = 1000

// Err returns the damages as one error, each of them ErrDamaged with a hint, or nil.
func (r Report) Err(name, hint string) error {
	errs := make([]error, 0, len(r.Damages)+1)
	for _, d := range r.Damages {
		errs = append(errs, freshet.WithHint(fmt.Errorf("%s: %w: %s", name, freshet.ErrDamaged, d.What), hint))
	}
	if r.More > 0 {
		errs = append(errs, fmt.Errorf("%s: %w: %d damages more", name, freshet.ErrDamaged, r.More))
	}
	return errors.Join(errs...)
}

func (r *Report) add(d Damage) {
	if len(r.Damages) >= mostDamages && !r.all {
		r.More++
		return
	}
	r.Damages = append(r.Damages, d)
}

// subject names the row of a table as a Damage without saying what is wrong.
func (v *Verification) subject(t *table, row []driver.Value) Damage {
	d := Damage{Table: t.Name, row: &t.Table, key: cloneRow(row[:t.Key])}
	if t.Describe != nil {
		t.Describe(v.row(t, row), &d)
	}
	return d
}

// A chainWalk follows the chain of checksums over a log.
type chainWalk struct {
	v     *Verification
	t     *table
	gone  []truncation // still to come
	at    int64        // the last place that was accounted for
	value checksum
	other checksum // what value would be if only the last checksum was altered
	blind bool     // what comes before the next entry is not known
}

// outcomes verifies the log of outcomes.
func (v *Verification) outcomes() error {
	w := &chainWalk{v: v, t: &outcomesTable, gone: v.gone[truncationsOf{log: "outcomes"}]}
	return w.run(func(row []driver.Value) {
		if key, _ := row[1].(int64); v.standing[key] == nil {
			v.Found(Damage{Table: "outcomes", Cursor: freshet.Cursor(w.at), What: fmt.Sprintf("outcome %d is of a source that is not there", w.at)})
		}
	})
}

// evidence verifies what sources said at outcomes.
func (v *Verification) evidence() error {
	if err := v.rows(&evidenceTable, nil); err != nil {
		return err
	}
	return v.Query("SELECT outcome FROM evidence WHERE outcome NOT IN (SELECT cursor FROM outcomes)", nil, func(row []driver.Value) error {
		at, _ := row[0].(int64)
		v.Found(Damage{Table: "evidence", Cursor: freshet.Cursor(at), What: fmt.Sprintf("what a source said at outcome %d is there, and the outcome is not", at)})
		return nil
	})
}

// changes verifies the log of changes, and that those of each source are
// numbered without a gap.
func (v *Verification) changes() error {
	w := &chainWalk{v: v, t: &changesTable, gone: v.gone[truncationsOf{log: "changes"}]}
	err := w.run(func(row []driver.Value) {
		key, _ := row[1].(int64)
		seq, _ := row[3].(int64)
		st := v.standing[key]
		if st == nil {
			v.Found(Damage{Table: "changes", Cursor: freshet.Cursor(w.at), What: fmt.Sprintf("change %d at cursor %d is of a source that is not there", seq, w.at)})
			return
		}
		if seq != st.seenSeq+1 && !v.truncatedWithin(truncationsOf{log: "changes"}, st.seenCursor+1, w.at-1) {
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
		lost := v.truncatedWithin(truncationsOf{log: "changes"}, st.seenCursor+1, v.sums["changes"].upto)
		switch {
		case !st.known, st.seenCount == 0 && st.changes == 0:
		case st.gaps, st.seenSeq > st.changes, st.seenSeq < st.changes && !lost:
			v.Found(Damage{Table: "changes", Source: id, What: fmt.Sprintf("source %s has %d changes numbered up to %d, and had %d", id, st.seenCount, st.seenSeq, st.changes)})
		case st.lastChange != st.seenCursor:
			v.Found(Damage{Table: "changes", Source: id, What: fmt.Sprintf("the newest change of source %s is at cursor %d, not at %d", id, st.seenCursor, st.lastChange)})
		}
	}
	return nil
}

// truncatedWithin reports whether something was taken out between two places.
func (v *Verification) truncatedWithin(of truncationsOf, first, last int64) bool {
	gone := v.gone[of]
	at, _ := slices.BinarySearchFunc(gone, first, func(c truncation, first int64) int { return cmp.Compare(c.last, first) })
	return at < len(gone) && gone[at].first <= last
}

// run goes through the log and hands on its entries.
func (w *chainWalk) run(each func(row []driver.Value)) error {
	t, n := w.t, int64(0)
	err := w.v.Query(t.selection+" ORDER BY cursor", nil, func(row []driver.Value) error {
		w.v.report.Rows++
		n++
		if err := w.v.progress(t.Name, n, 0); err != nil {
			return err
		}
		values := row[:len(t.Columns)]
		cursor, _ := values[0].(int64)
		w.reach(cursor)
		sum, _ := row[len(t.Columns)].(int64)
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
	for len(w.gone) > 0 && w.gone[0].first < cursor {
		c := w.gone[0]
		w.gone = w.gone[1:]
		if c.first > w.at+1 {
			w.missing(w.at+1, c.first-1)
		} else if !w.blind && c.before != w.value && c.before != w.other {
			w.found(c.first, fmt.Sprintf("the cut in the %s at %d does not follow what is before it", w.t.Name, c.first))
		}
		w.at, w.value, w.other, w.blind = c.last, c.after, c.after, false
	}
	switch {
	case cursor <= w.at:
		w.v.Found(Damage{Table: w.t.Name, Cursor: freshet.Cursor(cursor), row: &w.t.Table, key: []driver.Value{cursor},
			What: fmt.Sprintf("the entry at %d of the %s was taken out, and is there", cursor, w.t.Name)})
		w.blind = true
	case cursor > w.at+1:
		w.missing(w.at+1, cursor-1)
	}
}

// missing says that entries are gone.
func (w *chainWalk) missing(first, last int64) {
	w.blind = true
	if first == last {
		w.found(first, fmt.Sprintf("the entry at %d of the %s is missing", first, w.t.Name))
		return
	}
	w.found(first, fmt.Sprintf("the entries from %d to %d of the %s are missing", first, last, w.t.Name))
}

func (w *chainWalk) found(cursor int64, what string) {
	w.v.Found(Damage{Table: w.t.Name, Cursor: freshet.Cursor(cursor), What: what})
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
		w.v.Found(d)
	}
	if w.blind {
		expected = sum
	}
	w.at, w.value, w.other, w.blind = cursor, sum, expected, false
}

// end holds the end of the log against its sum.
func (w *chainWalk) end() {
	s, ok := w.v.sums[w.t.Name]
	if !ok {
		w.v.Found(Damage{Table: "seals", What: "the seal of " + w.t.Name + " is gone"})
		return
	}
	w.reach(s.upto + 1)
	if w.at == s.upto && !w.blind && s.value != w.value && s.value != w.other {
		w.found(w.at, fmt.Sprintf("the %s do not end as they were written", w.t.Name))
	}
}
