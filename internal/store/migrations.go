package store

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"freshet/internal/freshet"
)

// A Migration is the statements that lead to a data format.
type Migration struct {
	Format int64
	SQL    string
}

// Migrations reads the migrations in files, whose names begin with their formats, oldest first. The
// first one is the whole schema of a new store.
func Migrations(files fs.FS) ([]Migration, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	var all []Migration
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
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

// CheckOldest refuses a store whose format is older than the first that there are migrations from.
func CheckOldest(name string, format int64, all []Migration) error {
	if format == 0 || format >= all[0].Format {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("%s has data format %d, but this version of freshet reads only formats from %d on", name, format, all[0].Format),
		"start the version of freshet before this one once on it, to update the format")
}
