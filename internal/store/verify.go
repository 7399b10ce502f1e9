package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
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
}

// A Progress is how far a Verify is.
type Progress struct {
	Doing string // such as "outcomes"
	Done  int64
	Of    int64 // 0 if nobody knows
}

// A verification is one pass over all that is stored.
type verification struct {
	*Writer  // to read with
	database Database
	ctx      context.Context
	codec    *codec
	say      func(Progress)
	said     time.Time
	report   Report

	names    map[int64]freshet.SourceID // by key
	before   map[freshet.SourceID]int64 // the last changes of sources that were purged
	standing map[int64]*standingRow
	order    []int64          // keys of sources, in order
	cuts     map[cutsOf][]cut // in order
	seals    map[string]seal
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

// A cutsOf says what cuts are in: a log, or the versions of a source.
type cutsOf struct {
	log    string
	source int64
}

// A cut is where entries were taken out.
type cut struct {
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
	v := &verification{
		Writer: w, database: s.database, ctx: ctx, codec: s.codec, say: say,
		report: Report{all: all},
		names:  map[int64]freshet.SourceID{}, before: map[freshet.SourceID]int64{}, standing: map[int64]*standingRow{}, cuts: map[cutsOf][]cut{}, seals: map[string]seal{}, sites: map[int64]freshet.SourceID{},
	}
	defer func() { err = errors.Join(err, v.Close()) }()
	if err := v.run(); err != nil {
		return r, faultOf(s.database, "checking the store", err)
	}
	return v.report, nil
}

// run makes the pass within one transaction, which only reads.
func (v *verification) run() error {
	steps := []struct {
		name string
		do   func() error
	}{
		{"file", v.file}, {"seals", v.readSeals}, {"tombstones", v.tombstones}, {"sources", v.sources}, {"standings", v.standings}, {"cuts", v.readCuts},
		{"tables", v.others}, {"pages", v.pages}, {"outcomes", v.outcomes}, {"evidence", v.evidence}, {"changes", v.changes}, {"versions", v.versions},
	}
	for _, step := range steps {
		err := step.do()
		switch {
		case v.ctx.Err() != nil:
			return context.Cause(v.ctx)
		case v.database.Judge(err) == InDoubt: // the pages could not be read
			v.found(Damage{Table: step.name, What: fmt.Sprintf("reading the %s: %v", step.name, err)})
		case err != nil:
			return err
		}
	}
	return nil
}

func (v *verification) found(d Damage) { v.report.add(d) }

// progress says now and then how far a step is, and that the pass was given up.
func (v *verification) progress(doing string, done, of int64) error {
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
func (v *verification) nameOf(key int64) freshet.SourceID {
	if id, ok := v.names[key]; ok || key == 0 {
		return id
	}
	return freshet.SourceID(fmt.Sprintf("#%d", key))
}

// file has the database look for damages by itself.
func (v *verification) file() error {
	v.say(Progress{Doing: "file"})
	return v.database.Inspect(v.ctx, v.Writer, func(what string) { v.found(Damage{Table: "file", What: what}) })
}

// rows verifies the checksum of each row of a table that is no log, and hands
// the rows on.
func (v *verification) rows(t *table, each func(row []driver.Value) error) error {
	var held seal
	err := v.Query(t.selection+" ORDER BY "+strings.Join(t.keys, ", "), nil, func(row []driver.Value) error {
		v.report.Rows++
		if err := v.progress(t.name, held.upto, 0); err != nil {
			return err
		}
		values := row[:len(t.columns)]
		sum, ok := row[len(t.columns)].(int64)
		held = seal{held.upto + 1, held.value + sum}
		if !ok || sum != v.sum(t, 0, values) {
			d := v.subject(t, values)
			d.What += " is not as it was written"
			v.found(d)
		}
		if each == nil {
			return nil
		}
		return each(values)
	})
	if err != nil || t.seal == noSeal {
		return err
	}
	v.compareSeal(t, held)
	return nil
}

// compareSeal holds the number of rows of a table against what its seal says.
func (v *verification) compareSeal(t *table, held seal) {
	want, ok := v.seals[t.name]
	switch {
	case !ok:
		v.found(Damage{Table: "seals", What: "the seal of " + t.name + " is gone"})
	case want.upto != held.upto:
		v.found(Damage{Table: t.name, What: fmt.Sprintf("%s has %d rows where there were %d", t.name, held.upto, want.upto)})
	case want.value != held.value:
		v.found(Damage{Table: t.name, What: fmt.Sprintf("the %d rows of %s are not those that were written", held.upto, t.name)})
	}
}

func (v *verification) tombstones() error {
	return v.rows(&tombstonesTable, func(row []driver.Value) error {
		id, _ := row[0].(string)
		v.before[freshet.SourceID(id)], _ = row[2].(int64)
		return nil
	})
}

func (v *verification) sources() error {
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

func (v *verification) standings() error {
	err := v.rows(&headsTable, func(row []driver.Value) error {
		whole := func(i int) int64 { n, _ := row[i].(int64); return n }
		if v.standing[whole(0)] == nil {
			d := v.subject(&headsTable, row)
			d.What += " is there, and the source is not"
			v.found(d)
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
			v.found(Damage{Table: "standings", Source: v.nameOf(key), What: fmt.Sprintf("how things stand with source %s is gone", v.nameOf(key))})
		}
	}
	return v.rows(&talliesTable, nil)
}

func (v *verification) readCuts() error {
	return v.rows(&cutsTable, func(row []driver.Value) error {
		whole := func(i int) int64 { n, _ := row[i].(int64); return n }
		log, _ := row[0].(string)
		of := cutsOf{log, whole(1)}
		v.cuts[of] = append(v.cuts[of], cut{whole(2), whole(3), whole(4), whole(5)})
		return nil
	})
}

func (v *verification) readSeals() error {
	return v.rows(&sealsTable, func(row []driver.Value) error {
		name, _ := row[0].(string)
		upto, _ := row[1].(int64)
		value, _ := row[2].(int64)
		v.seals[name] = seal{upto, value}
		return nil
	})
}

// others verifies the tables that nothing else looks at.
func (v *verification) others() error {
	for _, t := range []*table{&attemptsTable, &marksTable, &placesTable, &debtsTable, &retiredTable, &sinksTable, &beliefsTable, &commonBeliefsTable,
		&epochsTable, &countersTable, &labelsTable, &queriesTable, &matchesTable, &parcelsTable, &queryNotesTable, &usersTable, &passesTable, &deedsTable, &answersTable, &movesTable} {
		if err := v.rows(t, nil); err != nil {
			return err
		}
	}
	return nil
}

// A Damage is one thing in a store that is not as it was written.
type Damage struct {
	Table  string           `json:"table,omitempty"`
	Source freshet.SourceID `json:"source,omitempty"`
	Number int64            `json:"number,omitempty"` // of a version, a change or a body of the source
	Cursor freshet.Cursor   `json:"cursor,omitempty"` // in a log
	Reader string           `json:"reader,omitempty"` // of the outbox
	What   string           `json:"what"`             // in words

	row *table         // that is damaged, if it is a row
	key []driver.Value // of the row
}

// Row returns the table and the key of the row that is damaged, if it is a row.
func (d Damage) Row() (t *table, key []driver.Value) { return d.row, d.key }

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

// aboveChanges is where the keys of deliveries of batches begin: above those of changes.
const aboveChanges = 1 << 62

// subject names the row of a table as a Damage without saying what is wrong.
func (v *verification) subject(t *table, row []driver.Value) Damage {
	whole := func(column string) int64 { n, _ := row[slices.Index(t.columns, column)].(int64); return n }
	text := func(column string) string { s, _ := row[slices.Index(t.columns, column)].(string); return s }
	d := Damage{Table: t.name, row: t, key: cloneRow(row[:len(t.keys)])}
	if slices.Contains(t.columns, "source") && t != &pagesTable && t != &matchesTable {
		d.Source = v.nameOf(whole("source"))
	}
	switch t {
	case &sourcesTable:
		d.Source = freshet.SourceID(text("id"))
		d.What = fmt.Sprintf("source %s", d.Source)
	case &headsTable:
		d.What = fmt.Sprintf("what is known of the newest version of source %s", d.Source)
	case &talliesTable:
		d.What = fmt.Sprintf("what the polls of source %s add up to", d.Source)
	case &attemptsTable:
		d.What = fmt.Sprintf("an attempt of source %s", d.Source)
	case &marksTable:
		d.Cursor = freshet.Cursor(whole("upto"))
		d.What = fmt.Sprintf("the mark at outcome %d", d.Cursor)
	case &evidenceTable:
		d.Cursor = freshet.Cursor(whole("outcome"))
		d.What = fmt.Sprintf("what the source said at outcome %d", d.Cursor)
	case &envelopesTable:
		d.Number = whole("id")
		d.What = fmt.Sprintf("envelope %d of source %s", d.Number, d.Source)
	case &versionsTable:
		d.Number = whole("number")
		d.What = fmt.Sprintf("version %d of source %s", d.Number, d.Source)
	case &placesTable:
		d.Reader = text("reader")
		d.What = "the place of " + d.Reader
	case &debtsTable:
		d.Reader, d.Cursor = text("reader"), freshet.Cursor(whole("change"))
		d.What = fmt.Sprintf("the delivery of the change at cursor %d to %s", d.Cursor, d.Reader)
		if d.Cursor > aboveChanges {
			d.Cursor -= aboveChanges
			d.What = fmt.Sprintf("the delivery of %s to %s", text("event"), d.Reader)
		}
	case &retiredTable:
		d.Reader = text("reader")
		d.What = "an endpoint that " + d.Reader + " has retired"
	case &sinksTable:
		d.Reader = text("name")
		d.What = "sink " + d.Reader
	case &beliefsTable:
		d.What = fmt.Sprintf("what %s has learnt of source %s", text("estimator"), d.Source)
	case &commonBeliefsTable:
		d.What = fmt.Sprintf("what %s has learnt of all sources", text("estimator"))
	case &epochsTable:
		d.Number = whole("number")
		d.What = fmt.Sprintf("epoch %d", d.Number)
	case &tombstonesTable:
		d.Source = freshet.SourceID(text("id"))
		d.What = fmt.Sprintf("the last numbers of source %s, which was purged,", d.Source)
	case &countersTable:
		d.What = fmt.Sprintf("the last number given to a new %s", text("name"))
	case &labelsTable:
		d.Number = whole("id")
		d.What = fmt.Sprintf("label %d of source %s", d.Number, d.Source)
	case &shelvesTable:
		d.Source = v.nameOf(whole("site"))
		d.What = fmt.Sprintf("the count of the pages of site %s", d.Source)
	case &pagesTable:
		d.Source = v.nameOf(whole("site"))
		d.What = fmt.Sprintf("page %s of site %s", text("url"), d.Source)
	case &queriesTable:
		d.What = "query " + text("id")
	case &matchesTable:
		d.Cursor, d.Number = freshet.Cursor(whole("cursor")), whole("number")
		d.What = fmt.Sprintf("match %d of query #%d", d.Number, whole("query"))
	case &parcelsTable:
		d.Cursor = freshet.Cursor(whole("cursor"))
		d.What = fmt.Sprintf("what was told together of the matches %d to %d of query #%d", whole("first"), whole("last"), whole("query"))
	case &queryNotesTable:
		d.What = fmt.Sprintf("what is remembered as %s to run query #%d", text("name"), whole("query"))
	case &usersTable:
		d.What = "user " + text("name")
	case &passesTable:
		d.What = fmt.Sprintf("%s %s of user %s", text("kind"), text("id"), text("user"))
	case &deedsTable:
		d.Cursor = freshet.Cursor(whole("cursor"))
		d.What = fmt.Sprintf("entry %d of the audit log", d.Cursor)
	case &answersTable:
		d.What = "an answer that was kept for a client that asks again"
	case &cutsTable:
		d.Cursor = freshet.Cursor(whole("first"))
		d.What = fmt.Sprintf("the cut at %d of %s", d.Cursor, text("log"))
	case &outcomesTable:
		d.Cursor = freshet.Cursor(whole("cursor"))
		d.What = fmt.Sprintf("outcome %d of source %s", d.Cursor, d.Source)
	case &changesTable:
		d.Cursor, d.Number = freshet.Cursor(whole("cursor")), whole("seq")
		d.What = fmt.Sprintf("change %d of source %s at cursor %d", d.Number, d.Source, d.Cursor)
	case &sealsTable:
		d.What = "the seal of " + text("name")
	}
	return d
}

// pageCounts are how many pages a site has in each state, then by each way of finding them, as in the
// columns of its shelf.
type pageCounts [8]int64

// pages verifies the pages of sites against the counts in their shelves.
func (v *verification) pages() error {
	const states, ways, watched = 5, 3, 1
	shelves, counted := map[int64]pageCounts{}, map[int64]pageCounts{}
	err := v.rows(&shelvesTable, func(row []driver.Value) error {
		var n pageCounts
		for i := range n {
			n[i] = whole(row[2+i])
		}
		shelves[whole(row[0])], counted[whole(row[0])] = n, pageCounts{}
		return nil
	})
	if err != nil {
		return err
	}
	err = v.rows(&pagesTable, func(row []driver.Value) error {
		site, state, found, source := whole(row[0]), whole(row[3]), whole(row[4]), whole(row[11])
		if state < 0 || state >= states || found < 0 || found >= ways {
			return nil // its checksum is wrong
		}
		n := counted[site]
		n[state]++
		n[states+found]++
		counted[site] = n
		if _, there := v.names[source]; source != 0 && !there || source == 0 && state == watched {
			d := v.subject(&pagesTable, row)
			d.What += " is watched by no source"
			d.row = nil // it waits again
			v.found(d)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, n := range counted {
		if want, there := shelves[key]; !there || want != n {
			v.found(Damage{Table: "shelves", Source: v.nameOf(key), What: fmt.Sprintf("site %s has %d pages, and its count is another", v.nameOf(key), n[0]+n[1]+n[2]+n[3]+n[4])})
		}
	}
	for key := range shelves {
		if _, there := v.names[key]; !there {
			v.found(Damage{Table: "shelves", What: fmt.Sprintf("there are pages of site #%d, and the site is not there", key)})
		}
	}
	for key, page := range v.sites {
		if _, there := shelves[key]; !there {
			v.found(Damage{Table: "sources", Source: page, What: fmt.Sprintf("source %s is a page of a site that is not there", page)})
		}
	}
	return nil
}

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
