package sqlite

import (
	"fmt"

	"freshet/internal/store"
)

// sealedVersion is the user_version of a database whose rows all have
// checksums.
const sealedVersion = 1

// sealRows gives every row its checksum and every table its seal, if that has
// not been done. It says how far it is.
func sealRows(w *store.Writer, say func(table string, rows int64)) error {
	version, err := w.Number("PRAGMA user_version")
	if err != nil || version >= sealedVersion {
		return err
	}
	if err := store.Seal(w, func(log string) (int64, error) { return endOf(w, log) }, say); err != nil {
		return err
	}
	_, err = w.Exec(fmt.Sprintf("PRAGMA user_version = %d", sealedVersion))
	return err
}

// endOf returns where a log ended, also if its last entries are gone.
func endOf(w *store.Writer, log string) (int64, error) {
	if log == "changes" {
		return w.Number("SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'")
	}
	return w.Number(`SELECT max(ifnull((SELECT max(upto) FROM marks), 0), ifnull((SELECT last FROM counters WHERE name = 'outcome'), 0))`)
}
