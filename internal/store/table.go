package store

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
)

// A table is what has to be known of a table to keep and to verify the
// checksums of its rows.
type table struct {
	name    string
	keys    []string // the primary key
	columns []string // that the checksum covers, those of the key first
	late    int      // of the columns, how many at the end came after the checksums
	sum     string   // the column that holds it
	seal    sealName // of the log or of the number of rows; none if neither is kept

	insertion, addition, upsert, selection, stamp, lookup string // statements: see newTable

	insertions []string // insertion of the first columns, by their number: the others are NULL
}

// newTable returns t with its statements.
func newTable(t table) table {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(t.columns)+1), ", ")
	columns := strings.Join(t.columns, ", ")
	t.insertion = fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (%s)", t.name, columns, t.sum, marks)
	for n := range len(t.columns) + 1 {
		t.insertions = append(t.insertions, fmt.Sprintf("INSERT INTO %s (%s, %s) VALUES (%s?)", t.name,
			strings.Join(t.columns[:n], ", "), t.sum, strings.Repeat("?, ", n)))
	}
	t.addition = t.insertion + " ON CONFLICT DO NOTHING"
	var sets []string
	for _, c := range append(slices.Clone(t.columns[len(t.keys):]), t.sum) {
		sets = append(sets, c+" = excluded."+c)
	}
	t.upsert = fmt.Sprintf("%s ON CONFLICT (%s) DO UPDATE SET %s", t.insertion, strings.Join(t.keys, ", "), strings.Join(sets, ", "))
	t.selection = fmt.Sprintf("SELECT %s, %s FROM %s", columns, t.sum, t.name)
	t.stamp = fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s", t.name, t.sum, t.IsKey())
	t.lookup = fmt.Sprintf("SELECT %s FROM %s WHERE %s", t.sum, t.name, t.IsKey())
	return t
}

// leaving returns a statement that inserts a row of a log, and the values that it takes:
// those that are NULL at the end, of which most entries have many, are left out. The
// columns of the logs have no other defaults.
func (t *table) leaving(values []driver.Value) (string, []driver.Value) {
	n := len(values)
	for n > 0 && values[n-1] == nil {
		n--
	}
	return t.insertions[n], values[:n]
}

// IsKey is the condition that a row has a key.
func (t *table) IsKey() string { return strings.Join(t.keys, " = ? AND ") + " = ?" }

// The tables whose rows have checksums. Bodies have none: a body is verified by
// the hash of what it decodes to, and by the versions that have it.
var (
	sourcesTable = newTable(table{name: "sources", sum: "checksum", keys: []string{"key"}, seal: sealSources, late: 1,
		columns: []string{"key", "id", "url", "recipe", "definition", "revision", "origin", "created", "removed", "label", "site"}})

	// How things stand with a source is two rows in one: the first part is
	// written with each capture, the other now and then.
	headsTable = newTable(table{name: "standings", sum: "checksum", keys: []string{"source"}, late: 7,
		columns: []string{"source", "first", "head", "head_recipe", "etag", "last_modified", "changes", "changed_at", "last_change",
			"moved", "moved_at", "suspect", "landed", "belied", "newest", "held", "quiet_suspect", "quiet_noise"}})
	talliesTable = newTable(table{name: "standings", sum: "tally_checksum", keys: []string{"source"}, late: 1,
		columns: []string{"source", "begun", "seen", "not_before", "failures", "failure", "err", "requests", "route", "polls", "last_outcome", "fresh"}})

	attemptsTable = newTable(table{name: "attempts", sum: "checksum", keys: []string{"source", "began", "hop"}, seal: sealAttempts,
		columns: []string{"source", "began", "hop", "at", "route", "ended", "requests"}})
	outcomesTable = newTable(table{name: "outcomes", sum: "checksum", keys: []string{"cursor"}, seal: sealOutcomes, late: 5,
		columns: []string{"cursor", "source", "prev", "began", "gap", "took", "cause", "result", "version", "status",
			"requests", "route", "bytes", "modified", "not_before", "failure", "err", "suspect", "landed", "fresh", "quiet", "look_again"}})
	evidenceTable = newTable(table{name: "evidence", sum: "checksum", keys: []string{"outcome"}, seal: sealEvidence,
		columns: []string{"outcome", "said"}})
	marksTable = newTable(table{name: "marks", sum: "checksum", keys: []string{"upto"}, seal: sealMarks,
		columns: []string{"upto", "latest"}})
	envelopesTable = newTable(table{name: "envelopes", sum: "checksum", keys: []string{"id"},
		columns: []string{"id", "source", "status", "url", "media_type", "title", "header"}})
	versionsTable = newTable(table{name: "versions", sum: "checksum", keys: []string{"source", "number"}, late: 4,
		columns: []string{"source", "number", "hash", "seen", "text", "raw", "envelope", "header", "suspect", "quiet", "picture", "fields"}})
	changesTable = newTable(table{name: "changes", sum: "checksum", keys: []string{"cursor"}, seal: sealChanges, late: 3,
		columns: []string{"cursor", "source", "prev", "seq", "number", "from_hash", "to_hash", "after", "before", "modified", "summary", "label", "suspect", "landed", "details"}})
	placesTable = newTable(table{name: "places", sum: "checksum", keys: []string{"reader"}, seal: sealPlaces, late: 1,
		columns: []string{"reader", "place", "stream"}})
	debtsTable = newTable(table{name: "debts", sum: "checksum", keys: []string{"reader", "change"}, seal: sealDebts, late: 5,
		columns: []string{"reader", "change", "attempts", "due", "err", "message", "source", "waits", "event", "query", "about"}})
	retiredTable = newTable(table{name: "retired", sum: "checksum", keys: []string{"reader", "endpoint"}, seal: sealRetired,
		columns: []string{"reader", "endpoint"}})
	sinksTable = newTable(table{name: "sinks", sum: "checksum", keys: []string{"name"}, seal: sealSinks,
		columns: []string{"name", "definition", "revision", "failing", "held", "err"}})
	beliefsTable = newTable(table{name: "beliefs", sum: "checksum", keys: []string{"estimator", "source"},
		columns: []string{"estimator", "source", "upto", "memory"}})
	commonBeliefsTable = newTable(table{name: "common_beliefs", sum: "checksum", keys: []string{"estimator"},
		columns: []string{"estimator", "upto", "memory"}})
	epochsTable = newTable(table{name: "epochs", sum: "checksum", keys: []string{"number"}, seal: sealEpochs, late: 1,
		columns: []string{"number", "name", "change", "outcome", "match"}})
	tombstonesTable = newTable(table{name: "tombstones", sum: "checksum", keys: []string{"id"}, seal: sealTombstones,
		columns: []string{"id", "version", "change", "revision"}})
	countersTable = newTable(table{name: "counters", sum: "checksum", keys: []string{"name"}, seal: sealCounters,
		columns: []string{"name", "last"}})
	labelsTable = newTable(table{name: "labels", sum: "checksum", keys: []string{"id"}, seal: sealLabels,
		columns: []string{"id", "source", "url", "name", "tags"}})
	shelvesTable = newTable(table{name: "shelves", sum: "checksum", keys: []string{"site"}, seal: sealShelves,
		columns: []string{"site", "base", "waiting", "watched", "gone", "refused", "covered", "sitemaps", "feeds", "links"}})
	pagesTable = newTable(table{name: "pages", sum: "checksum", keys: []string{"site", "hash"}, seal: sealPages,
		columns: []string{"site", "hash", "url", "state", "found", "depth", "flags", "seen", "date", "listed", "gone", "source"}})
	queriesTable = newTable(table{name: "queries", sum: "checksum", keys: []string{"key"}, seal: sealQueries,
		columns: []string{"key", "id", "definition", "origin", "created", "revision", "began", "last", "told"}})
	parcelsTable = newTable(table{name: "parcels", sum: "checksum", keys: []string{"cursor"}, seal: sealParcels, late: 1,
		columns: []string{"cursor", "query", "first", "last", "held", "at", "name"}})
	matchesTable = newTable(table{name: "matches", sum: "checksum", keys: []string{"cursor"}, seal: sealMatches,
		columns: []string{"cursor", "query", "number", "cause", "at", "known", "source", "changes", "grouped", "value"}})
	queryNotesTable = newTable(table{name: "query_notes", sum: "checksum", keys: []string{"query", "name"}, seal: sealQueryNotes,
		columns: []string{"query", "name", "body"}})
	usersTable = newTable(table{name: "users", sum: "checksum", keys: []string{"name"}, seal: sealUsers,
		columns: []string{"name", "role", "password", "subject", "created", "changed", "revision"}})
	passesTable = newTable(table{name: "passes", sum: "checksum", keys: []string{"id"}, seal: sealPasses,
		columns: []string{"id", "kind", "secret", "user", "name", "parent", "address", "bounds", "created", "expires", "used"}})
	deedsTable = newTable(table{name: "deeds", sum: "checksum", keys: []string{"cursor"}, seal: sealDeeds,
		columns: []string{"cursor", "at", "who", "via", "address", "what", "method", "path", "subject", "status", "earlier", "later"}})
	answersTable = newTable(table{name: "answers", sum: "checksum", keys: []string{"key"}, seal: sealAnswers,
		columns: []string{"key", "request", "at", "status", "header", "body"}})
	movesTable = newTable(table{name: "moves", sum: "checksum", keys: []string{"id"},
		columns: []string{"id", "state", "move", "other", "at"}})
	cutsTable = newTable(table{name: "cuts", sum: "checksum", keys: []string{"log", "source", "first"},
		columns: []string{"log", "source", "first", "last", "before", "after"}})
	sealsTable = newTable(table{name: "seals", sum: "checksum", keys: []string{"name"},
		columns: []string{"name", "upto", "value"}})
)

// bodiesTable is that of the bodies, whose rows have no checksums.
var bodiesTable = table{name: "bodies", keys: []string{"id"}}

// checkedTables are all of them but the seals, the logs last.
var checkedTables = []*table{
	&sourcesTable, &headsTable, &talliesTable, &attemptsTable, &marksTable, &envelopesTable, &versionsTable,
	&placesTable, &debtsTable, &retiredTable, &sinksTable, &beliefsTable, &commonBeliefsTable,
	&epochsTable, &tombstonesTable, &countersTable, &labelsTable, &shelvesTable, &pagesTable, &evidenceTable, &cutsTable,
	&queriesTable, &matchesTable, &parcelsTable, &queryNotesTable, &usersTable, &passesTable, &deedsTable, &answersTable, &movesTable, &outcomesTable, &changesTable,
}

// sealedTables are those that have a seal.
var sealedTables = []*table{
	&outcomesTable, &changesTable, &sourcesTable, &attemptsTable, &marksTable, &placesTable, &debtsTable, &retiredTable, &sinksTable,
	&epochsTable, &tombstonesTable, &countersTable, &labelsTable, &shelvesTable, &pagesTable, &evidenceTable,
	&queriesTable, &matchesTable, &parcelsTable, &queryNotesTable, &usersTable, &passesTable, &deedsTable, &answersTable,
}

// A Table is one of the tables whose rows have checksums.
type Table = table

// Tables whose damaged rows are not just dropped.
var (
	Sources = &sourcesTable
	Heads   = &headsTable
	Tallies = &talliesTable
	Shelves = &shelvesTable
	Places  = &placesTable
)

// Name returns the name of the table.
func (t *table) Name() string { return t.name }

// Checked are the tables whose rows have checksums, each with the columns that
// are covered, those of the key first.
func Checked() map[string][]string {
	found := map[string][]string{}
	for _, t := range append(checkedTables, &sealsTable) {
		found[t.name] = append(found[t.name], t.columns...)
	}
	return found
}
