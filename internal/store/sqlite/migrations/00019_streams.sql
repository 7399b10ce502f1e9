-- +goose Up

-- A reader follows the log of changes or, where this is 1, that of parcels.
ALTER TABLE places ADD COLUMN stream INTEGER;

-- What is owed of parcels stands among what is owed of changes: see package sqlite. It
-- says what it is of, because its query can be removed before it is delivered.
CREATE TABLE debts_of_streams (
	reader   TEXT NOT NULL,
	change   INTEGER NOT NULL, -- or, above all changes, the parcel
	attempts INTEGER NOT NULL,
	due      INTEGER, -- 0 is at once, NULL is given up
	err      TEXT NOT NULL,
	message  BLOB,
	checksum INTEGER,
	source   INTEGER, -- or, above all sources, the query
	waits    INTEGER,
	event    TEXT,
	query    TEXT,
	about    TEXT,    -- the source
	PRIMARY KEY (reader, change)
) WITHOUT ROWID;
INSERT INTO debts_of_streams (reader, change, attempts, due, err, message, checksum, source, waits)
	SELECT reader, change, attempts, due, err, message, checksum, source, waits FROM debts;
DROP TABLE debts;
ALTER TABLE debts_of_streams RENAME TO debts;
CREATE INDEX debts_by_due ON debts (reader, due, change) WHERE waits IS NULL;
CREATE INDEX debts_by_change ON debts (change);
CREATE INDEX debts_in_line ON debts (reader, source, change) WHERE source IS NOT NULL AND due IS NOT NULL;

-- Name of the query when it was told.
ALTER TABLE parcels ADD COLUMN name TEXT;
CREATE INDEX matches_by_number ON matches (query, number);
