CREATE TABLE places (
	reader   TEXT PRIMARY KEY,
	place    INTEGER NOT NULL,
	checksum INTEGER,
	stream   INTEGER
) WITHOUT ROWID;

CREATE TABLE retired (
	reader   TEXT NOT NULL,
	endpoint TEXT NOT NULL, checksum INTEGER,
	PRIMARY KEY (reader, endpoint)
) WITHOUT ROWID;

CREATE TABLE sinks (
	name       TEXT PRIMARY KEY,
	definition BLOB,
	revision   INTEGER NOT NULL,
	failing    INTEGER, -- since when
	held       INTEGER, -- since when
	err        TEXT NOT NULL,
	checksum   INTEGER
) WITHOUT ROWID;

CREATE TABLE "debts" (
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

CREATE INDEX debts_by_due ON debts (reader, due, change) WHERE waits IS NULL;

CREATE INDEX debts_by_change ON debts (change);

CREATE INDEX debts_in_line ON debts (reader, source, change) WHERE source IS NOT NULL AND due IS NOT NULL;
