-- +goose Up

-- A query that was removed leaves its row with the last numbers, so that none is given
-- out twice.
CREATE TABLE queries (
	key        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	definition TEXT NOT NULL,    -- JSON; empty if it was removed
	origin     TEXT NOT NULL,
	created    INTEGER,          -- NULL if it was removed
	revision   INTEGER NOT NULL,
	began      INTEGER NOT NULL, -- the place in the log of changes after which it looks at them
	last       INTEGER NOT NULL, -- number of its newest match
	told       INTEGER NOT NULL, -- likewise, that is in a parcel
	checksum   INTEGER
);

-- The log of what queries matched.
CREATE TABLE matches (
	cursor   INTEGER PRIMARY KEY,
	query    INTEGER NOT NULL,
	number   INTEGER NOT NULL,
	cause    TEXT NOT NULL,
	at       INTEGER,
	known    INTEGER,
	source   TEXT,
	changes  TEXT, -- JSON
	grouped  TEXT,
	value    TEXT, -- JSON
	checksum INTEGER
);
CREATE INDEX matches_by_query ON matches (query); -- and the cursor, which is the row

-- The log of matches that are told together.
CREATE TABLE parcels (
	cursor   INTEGER PRIMARY KEY,
	query    INTEGER NOT NULL,
	first    INTEGER NOT NULL, -- numbers of matches
	last     INTEGER NOT NULL,
	held     TEXT,
	at       INTEGER,
	checksum INTEGER
);
CREATE INDEX parcels_by_query ON parcels (query);

-- What is remembered to run queries; query 0 is all of them together.
CREATE TABLE query_notes (
	query    INTEGER NOT NULL,
	name     TEXT NOT NULL,
	body     BLOB NOT NULL,
	checksum INTEGER,
	PRIMARY KEY (query, name)
) WITHOUT ROWID;

-- Where each epoch begins in the log of matches.
ALTER TABLE epochs ADD COLUMN match INTEGER;

INSERT OR REPLACE INTO seals (name, upto, value, checksum) VALUES
	('queries', 0, 0, 4673156834862930173), ('matches', 0, 0, 1509231655580724364), ('query_notes', 0, 0, 3461525606061706089), ('parcels', 0, 0, -8985283050299537927);
