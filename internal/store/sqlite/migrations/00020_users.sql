-- +goose Up

-- Who may use the API.
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

-- Sessions, tokens and share links. Only a hash of the secret is here.
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

-- The log of who changed what. Its last entry is never deleted, so that no number is
-- given out twice.
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

INSERT OR REPLACE INTO seals (name, upto, value, checksum) VALUES
	('users', 0, 0, -8000605708947010374), ('passes', 0, 0, -3098951459309917543), ('deeds', 0, 0, 4514474854435809340);
