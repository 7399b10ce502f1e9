-- +goose Up

-- Who is told of changes. A sink of the configuration file has no definition here; that
-- of another is sealed, because it can hold secrets. Failing, held and err say how it
-- stands with its receiver.
CREATE TABLE sinks (
	name       TEXT PRIMARY KEY,
	definition BLOB,
	revision   INTEGER NOT NULL,
	failing    INTEGER, -- since when
	held       INTEGER, -- since when
	err        TEXT NOT NULL,
	checksum   INTEGER
) WITHOUT ROWID;
INSERT OR REPLACE INTO seals (name, upto, value, checksum) VALUES ('sinks', 0, 0, 5104217513507926394);

-- A delivery that waits for an earlier one of its source is not due, whatever it says.
-- Both columns are NULL where the order does not matter, and do not count in a checksum then.
ALTER TABLE debts ADD COLUMN source INTEGER;
ALTER TABLE debts ADD COLUMN waits INTEGER;
DROP INDEX debts_by_due;
CREATE INDEX debts_by_due ON debts (reader, due, change) WHERE waits IS NULL;
CREATE INDEX debts_in_line ON debts (reader, source, change) WHERE source IS NOT NULL AND due IS NOT NULL;
