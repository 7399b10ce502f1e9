package store

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"freshet/internal/freshet"
)

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
