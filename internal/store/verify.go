package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
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
