CREATE TABLE users (
	name     TEXT PRIMARY KEY,
	role     TEXT NOT NULL,
	password TEXT NOT NULL, -- hashed; empty if there is none
	subject  TEXT,          -- at an OpenID provider
	created  INTEGER,
	changed  INTEGER,       -- when the password was set
	revision INTEGER NOT NULL,
	checksum INTEGER
) WITHOUT ROWID;

CREATE UNIQUE INDEX users_by_subject ON users (subject) WHERE subject IS NOT NULL;

CREATE TABLE passes (
	id       TEXT PRIMARY KEY,
	kind     TEXT NOT NULL,
	secret   BLOB NOT NULL UNIQUE,
	user     TEXT NOT NULL, -- empty if it belongs to nobody
	name     TEXT NOT NULL,
	parent   TEXT NOT NULL,
	address  TEXT NOT NULL,
	bounds   TEXT NOT NULL, -- JSON
	created  INTEGER,
	expires  INTEGER,
	used     INTEGER,
	checksum INTEGER
) WITHOUT ROWID;

CREATE TABLE deeds (
	cursor   INTEGER PRIMARY KEY,
	at       INTEGER,
	who      TEXT NOT NULL,
	via      TEXT NOT NULL,
	address  TEXT NOT NULL,
	what     TEXT NOT NULL,
	method   TEXT NOT NULL,
	path     TEXT NOT NULL,
	subject  TEXT NOT NULL,
	status   INTEGER NOT NULL,
	earlier  TEXT, -- JSON
	later    TEXT, -- JSON
	checksum INTEGER
);

CREATE INDEX deeds_by_who ON deeds (who);

CREATE INDEX deeds_by_subject ON deeds (subject);

CREATE TABLE answers (
	key      BLOB PRIMARY KEY,
	request  BLOB NOT NULL,
	at       INTEGER,
	status   INTEGER NOT NULL, -- 0 as long as there is no answer
	header   TEXT NOT NULL,    -- JSON
	body     BLOB,
	checksum INTEGER
) WITHOUT ROWID;

CREATE INDEX answers_by_time ON answers (at);
