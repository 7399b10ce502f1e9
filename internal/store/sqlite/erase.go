package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"freshet/internal/freshet"
)

// RemoveSource implements [freshet.Catalog]. What a purge deletes is overwritten in the database,
// and its log, which still has it, is emptied.
func (s *Store) RemoveSource(ctx context.Context, id freshet.SourceID, purge bool) error {
	if err := s.Store.RemoveSource(ctx, id, purge); err != nil || !purge {
		return err
	}
	if err := s.emptyLog(context.WithoutCancel(ctx)); err != nil { // the purge is done
		s.log.WarnContext(ctx, "what was purged is in the log of the database until it is written over", "err", err)
	}
	return nil
}

// emptyLog copies the write-ahead log into the database and empties it. It uses a connection of
// its own, because the writer may be in a transaction.
func (s *Store) emptyLog(ctx context.Context) (err error) {
	db, err := sql.Open("sqlite", s.dsn(false))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return checkpoint(ctx, db)
}

// errReaders says that a reader holds the log for too long for it to be emptied.
var errReaders = errors.New("it is being read")

// checkpoint empties the log of a database.
func checkpoint(ctx context.Context, db *sql.DB) error {
	var busy, logged, copied int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &logged, &copied); err != nil {
		return err
	}
	if busy != 0 {
		return errReaders
	}
	return nil
}

// erase removes the words of passages that were deleted: until parts of the index are merged,
// they are only marked as deleted.
func (x *searchFile) erase(ctx context.Context) error {
	if _, err := x.db.ExecContext(ctx, "INSERT INTO words (words) VALUES ('optimize')"); err != nil {
		return err
	}
	if err := checkpoint(ctx, x.db); err != nil && !errors.Is(err, errReaders) {
		return err
	}
	return nil
}
