package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"
)

// Pages reads the pages of the database in cfg.Dir as they are at one moment, while another process writes it. It calls
// begin with the size of the database, and page with one page after the other, which is valid until page returns.
// Meanwhile the write-ahead log of the database grows.
func Pages(ctx context.Context, cfg Config, begin func(size int64) error, page func(data []byte) error) (err error) {
	cfg.ReadOnly = true
	s := newStore(cfg)
	if err := s.enter(); err != nil {
		return err
	}
	if _, err := s.inspect(); err != nil {
		return err
	}
	connector, err := sqlite.NewConnector(s.dsn(true))
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := s.checkSchema(ctx, db); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fault(s.path, "reading the store", err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	var size int64
	if err := tx.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&size); err != nil {
		return fault(s.path, "reading the store", err)
	}
	if err := begin(size); err != nil {
		return err
	}
	rows, err := tx.QueryContext(ctx, "SELECT data FROM sqlite_dbpage")
	if err != nil {
		return fault(s.path, "reading the store", err)
	}
	defer rows.Close()
	for rows.Next() {
		var data sql.RawBytes
		if err := rows.Scan(&data); err != nil {
			return fault(s.path, "reading the store", err)
		}
		if err := page(data); err != nil {
			return err
		}
	}
	return fault(s.path, "reading the store", rows.Err())
}

// FileName is the name of the database in a data directory.
const FileName = fileName
