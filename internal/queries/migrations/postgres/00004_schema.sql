CREATE TABLE queries (
	key        BIGINT NOT NULL,
	id         TEXT COLLATE "C" NOT NULL UNIQUE,
	definition TEXT COLLATE "C" NOT NULL,
	origin     TEXT COLLATE "C" NOT NULL,
	created    BIGINT,
	revision   BIGINT NOT NULL,
	began      BIGINT NOT NULL,
	last       BIGINT NOT NULL,
	told       BIGINT NOT NULL,
	checksum   BIGINT,
	PRIMARY KEY (key)
);

CREATE TABLE matches (
	cursor   BIGINT NOT NULL,
	query    BIGINT NOT NULL,
	number   BIGINT NOT NULL,
	cause    TEXT COLLATE "C" NOT NULL,
	at       BIGINT,
	known    BIGINT,
	source   TEXT COLLATE "C",
	changes  TEXT COLLATE "C",
	grouped  TEXT COLLATE "C",
	value    TEXT COLLATE "C",
	checksum BIGINT,
	PRIMARY KEY (cursor)
);

CREATE TABLE parcels (
	cursor   BIGINT NOT NULL,
	query    BIGINT NOT NULL,
	first    BIGINT NOT NULL,
	last     BIGINT NOT NULL,
	held     TEXT COLLATE "C",
	at       BIGINT,
	name     TEXT COLLATE "C",
	checksum BIGINT,
	PRIMARY KEY (cursor)
);

CREATE TABLE query_notes (
	query    BIGINT NOT NULL,
	name     TEXT COLLATE "C" NOT NULL,
	body     BYTEA NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (query, name)
);

CREATE INDEX matches_by_query ON matches (query);

CREATE INDEX parcels_by_query ON parcels (query);

CREATE INDEX matches_by_number ON matches (query, number);
