package sqlite

import (
	"fmt"

	"freshet/internal/store"
)

// checksumsVersion is the user_version of a database whose rows all have checksums.
const checksumsVersion = 1

// addChecksums gives every row its checksum and every table its sum, if that has not been done. It
// reports its progress to say.
func (s *Store) addChecksums(w *store.Writer, say func(table string, rows int64)) error {
	version, err := w.Number("PRAGMA user_version")
	if err != nil || version >= checksumsVersion {
		return err
	}
	if err := s.schema.AddChecksums(w, func(log string) (int64, error) { return endOf(w, log) }, say); err != nil {
		return err
	}
	_, err = w.Exec(fmt.Sprintf("PRAGMA user_version = %d", checksumsVersion))
	return err
}

// endOf returns where a log ended, also if its last entries are gone.
func endOf(w *store.Writer, log string) (int64, error) {
	if log == "changes" {
		return w.Number("SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'")
	}
	return w.Number(`SELECT max(ifnull((SELECT max(upto) FROM marks), 0), ifnull((SELECT last FROM counters WHERE name = 'outcome'), 0))`)
}
