package store

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"freshet/internal/freshet"
)

// A Feature is a part of the program that keeps tables of its own in the store. It reads and writes
// them with a [DB].
type Feature struct {
	Tables []Table
	Logs   []FeatureLog

	// Migrations has the statements that make its tables, in a folder for each database: see
	// [Schema.Migrations].
	Migrations fs.FS

	// Sites keeps the pages of sites in step with their sources. One feature has it.
	Sites SiteHook

	// PurgeChange, if set, is called in the transaction that deletes a change.
	PurgeChange func(tx *Tx, at freshet.Cursor) error

	// Verify, if set, verifies its tables with [Verification.Rows] and more. Otherwise only the
	// checksums of the rows are verified.
	Verify func(v *Verification) error

	// Repair, if set, deletes and mends rows that refer to lost ones. It is called after the damaged
	// rows of all tables were deleted, and the rows of the store that refer to those.
	Repair func(r *Repair) error
}

// A Log names a log: the table that it is in.
type Log string

// The logs of the store.
const (
	Changes  Log = "changes"
	Outcomes Log = "outcomes"
)

// A FeatureLog is a log of a feature, whose entries the store numbers.
type FeatureLog struct {
	Log     Log    // a table with the numbers in its column cursor
	Counter string // under which the last number is kept, so that none is given out again
	Epochs  bool   // its numbers are of the epochs of the store; of all features, one log has them
}

// maxLogs bounds the logs of all features.
const maxLogs = 4

// A Schema is the tables of a store: its own, and those of features.
type Schema struct {
	features []Feature
	tables   []*table // whose rows have checksums; those of features after the store's own, the logs last
	counted  []*table // by the index of their checksums
	logs     []FeatureLog
	sites    SiteHook

	readEnds     string // reads the ends of the logs
	readCounters string // reads the last numbers that are in the tables
}

// ErrNoFeatures means that a store was opened without its features: their tables would be missing, or
// differ from those of the store.
var ErrNoFeatures = errors.New("the store was opened without its features")

// NewSchema returns the schema of a store with features.
func NewSchema(features []Feature) *Schema {
	s := &Schema{features: features, counted: make([]*table, ownSums, maxSums)}
	for _, t := range ownTables {
		if t.index >= 0 {
			s.counted[t.index] = t
		}
	}
	s.tables = slices.DeleteFunc(slices.Clone(ownTables), (*table).isLog)
	for _, f := range features {
		for _, described := range f.Tables {
			t := newTable(described, "checksum", len(s.counted))
			s.tables, s.counted = append(s.tables, &t), append(s.counted, &t)
		}
		s.logs = append(s.logs, f.Logs...)
		if f.Sites != nil {
			s.sites = f.Sites
		}
	}
	if len(s.counted) > maxSums || len(s.logs) > maxLogs {
		panic("store: maxSums or maxLogs is too small for the features")
	}
	s.tables = append(s.tables, &outcomesTable, &changesTable)
	s.readEnds = "SELECT (SELECT upto FROM seals WHERE name = 'outcomes'), (SELECT upto FROM seals WHERE name = 'changes')" + s.lastEntries()
	s.readCounters = `SELECT (SELECT coalesce(max(key), 0) FROM sources), (SELECT coalesce(max(id), 0) FROM bodies), (SELECT coalesce(max(id), 0) FROM envelopes),
		(SELECT coalesce(max(id), 0) FROM labels), (SELECT coalesce(max(cursor), 0) FROM outcomes), (SELECT coalesce(max(upto), 0) FROM marks),
		(SELECT coalesce(max(cursor), 0) FROM changes), (SELECT max(latest) FROM marks)` + s.lastEntries()
	return s
}

// lastEntries are columns of a query: the last entries of the logs of features.
func (s *Schema) lastEntries() (columns string) {
	for _, l := range s.logs {
		columns += ", (SELECT coalesce(max(cursor), 0) FROM " + string(l.Log) + ")"
	}
	return columns
}

// featureTable returns a table of a feature. Another name is a mistake of the program.
func (s *Schema) featureTable(name string) *table {
	for _, t := range s.counted[ownSums:] {
		if t.Name == name {
			return t
		}
	}
	panic("store: no feature has a table " + name)
}

// featureLog returns the index of a log of a feature.
func (s *Schema) featureLog(l Log) int {
	at := slices.IndexFunc(s.logs, func(f FeatureLog) bool { return f.Log == l })
	if at < 0 {
		panic("store: no feature has a log " + string(l))
	}
	return at
}

// Tables returns all tables of the store but that of the mark of a move. Those that others refer to
// come first.
func (s *Schema) Tables() (list []Rows) {
	for _, t := range append(slices.Clone(s.tables), &sumsTable) {
		if t == &movesTable {
			continue
		}
		at := slices.IndexFunc(list, func(r Rows) bool { return r.Name == t.Name })
		if at < 0 {
			at = len(list)
			list = append(list, Rows{Name: t.Name, Keys: t.Columns[:t.Key]})
		}
		for _, c := range append(slices.Clone(t.Columns), t.sum) {
			if !slices.Contains(list[at].Columns, c) { // the key of a status is in both of its parts
				list[at].Columns = append(list[at].Columns, c)
			}
		}
	}
	return slices.Insert(list, 1, Rows{Name: bodiesTable.Name, Keys: bodiesTable.Columns[:1], Columns: bodiesTable.Columns})
}

// Repair has the features repair their tables.
func (s *Schema) Repair(r *Repair) error {
	for _, f := range s.features {
		if f.Repair == nil {
			continue
		}
		if err := f.Repair(r); err != nil {
			return err
		}
	}
	return nil
}

// A Migration is the statements that lead to a data format.
type Migration struct {
	Format int64
	SQL    string
}

// Migrations reads the migrations of the store and of its features for a database, such as sqlite,
// oldest first. Those of the store are in the folder migrations of own, those of a feature in
// migrations/sqlite of its files. The name of a file begins with the format. The oldest are the schema
// of a new store.
func (s *Schema) Migrations(own fs.FS, database string) (all []Migration, err error) {
	if all, err = readMigrations(own, "migrations"); err != nil {
		return nil, err
	}
	for _, f := range s.features {
		more, err := readMigrations(f.Migrations, "migrations/"+database)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	slices.SortStableFunc(all, func(a, b Migration) int { return cmp.Compare(a.Format, b.Format) })
	merged := all[:1]
	for _, m := range all[1:] {
		if last := &merged[len(merged)-1]; last.Format == m.Format {
			last.SQL += m.SQL
		} else {
			merged = append(merged, m)
		}
	}
	return merged, nil
}

func readMigrations(files fs.FS, folder string) (all []Migration, err error) {
	names, err := fs.Glob(files, folder+"/*.sql")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, folder+"/"), "_")
		format, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		all = append(all, Migration{format, string(text)})
	}
	return all, nil
}

// NewerFormat returns the error for a store with a data format that only newer versions of freshet know.
// Program is the one that wrote it, if that is known.
func NewerFormat(name string, format, known int64, program string) error {
	writer := "a newer version of freshet"
	if program != "" {
		writer = "freshet " + program
	}
	return freshet.WithHint(fmt.Errorf("%s has data format %d, but this version of freshet knows only formats up to %d", name, format, known),
		fmt.Sprintf("it was written by %s: use that version, or restore an older backup", writer))
}

// CheckOldest refuses a store whose format is older than the first that there are migrations from.
func CheckOldest(name string, format int64, all []Migration) error {
	if format == 0 || format >= all[0].Format {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("%s has data format %d, but this version of freshet reads only formats from %d on", name, format, all[0].Format),
		"start the version of freshet before this one once on it, to update the format")
}
