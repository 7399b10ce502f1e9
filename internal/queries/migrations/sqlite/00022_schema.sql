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

CREATE INDEX matches_by_query ON matches (query);

CREATE TABLE parcels (
	cursor   INTEGER PRIMARY KEY,
	query    INTEGER NOT NULL,
	first    INTEGER NOT NULL, -- numbers of matches
	last     INTEGER NOT NULL,
	held     TEXT,
	at       INTEGER,
	checksum INTEGER,
	name     TEXT
);

CREATE INDEX parcels_by_query ON parcels (query);

CREATE TABLE query_notes (
	query    INTEGER NOT NULL,
	name     TEXT NOT NULL,
	body     BLOB NOT NULL,
	checksum INTEGER,
	PRIMARY KEY (query, name)
) WITHOUT ROWID;

CREATE INDEX matches_by_number ON matches (query, number);
