package store

import "fmt"

// A Repair makes a store of the rows that were saved from a damaged one.
type Repair struct {
	*Writer
	Lost []Damage

	// LastChange is at least the last change that rows of features refer to.
	LastChange int64
}

// Drop runs a statement. If it changed rows, they are lost: format says so, with their number and the
// name of the table.
func (r *Repair) Drop(table, format, statement string) error {
	n, err := r.Exec(statement)
	if n > 0 && err == nil {
		r.Lost = append(r.Lost, Damage{Table: table, What: fmt.Sprintf(format, n, table)})
	}
	return err
}
