-- +goose Up

-- Times are nanoseconds since 1970, durations nanoseconds; NULL is the zero time.
-- Every table but changes gets its keys from the one process that writes, so
-- nothing here needs AUTOINCREMENT but the log whose places outlive its rows.

CREATE TABLE sources (
	key           INTEGER PRIMARY KEY,
	id            TEXT NOT NULL UNIQUE,
	url           TEXT NOT NULL,
	recipe        TEXT NOT NULL, -- canonical JSON
	name          TEXT NOT NULL,
	tags          TEXT NOT NULL, -- JSON array of strings
	weight        REAL NOT NULL,
	paused        INTEGER NOT NULL,
	min_gap       INTEGER NOT NULL,
	max_gap       INTEGER NOT NULL,
	keep_age      INTEGER NOT NULL,
	keep_versions INTEGER NOT NULL,
	keep_bytes    INTEGER NOT NULL,
	origin        TEXT NOT NULL,
	created       INTEGER,
	removed       INTEGER NOT NULL DEFAULT 0 -- no longer watched; its history stays
);
CREATE INDEX sources_by_url ON sources (url);

-- How things stand with a source. The first columns change with a capture and
-- are written with it. The others are what its outcomes add up to: they are
-- written now and then, and the outcomes after the last mark are folded in
-- when the store is opened.
CREATE TABLE standings (
	source        INTEGER PRIMARY KEY REFERENCES sources (key) ON DELETE CASCADE,
	head          INTEGER NOT NULL DEFAULT 0,
	head_recipe   TEXT NOT NULL DEFAULT '',
	etag          TEXT NOT NULL DEFAULT '',
	last_modified TEXT NOT NULL DEFAULT '',
	changes       INTEGER NOT NULL DEFAULT 0,
	changed_at    INTEGER,
	last_change   INTEGER NOT NULL DEFAULT 0,

	begun         INTEGER,
	seen          INTEGER,
	not_before    INTEGER,
	failures      INTEGER NOT NULL DEFAULT 0,
	failure       TEXT NOT NULL DEFAULT '',
	err           TEXT NOT NULL DEFAULT '',
	requests      INTEGER NOT NULL DEFAULT 0,
	polls         INTEGER NOT NULL DEFAULT 0,
	last_outcome  INTEGER NOT NULL DEFAULT 0
);

-- Polls that have begun and not ended. Like outcomes it has no foreign key: the
-- check would be paid by every poll.
CREATE TABLE attempts (
	source INTEGER NOT NULL,
	began  INTEGER NOT NULL,
	PRIMARY KEY (source, began)
) WITHOUT ROWID;

-- The log of outcomes. An index by source would dirty one more page for every
-- poll; instead each outcome points to the one before it of the same source.
CREATE TABLE outcomes (
	cursor     INTEGER PRIMARY KEY,
	source     INTEGER NOT NULL,
	prev       INTEGER NOT NULL,
	began      INTEGER,
	gap        INTEGER, -- from since to began
	took       INTEGER, -- from began to ended
	cause      INTEGER NOT NULL,
	result     INTEGER NOT NULL,
	version    INTEGER NOT NULL,
	status     INTEGER NOT NULL,
	requests   INTEGER NOT NULL,
	bytes      INTEGER NOT NULL,
	modified   INTEGER,
	not_before INTEGER,
	failure    TEXT,
	err        TEXT
);

-- A mark says that the standings hold all outcomes up to it, and that none of
-- those began after latest.
CREATE TABLE marks (
	upto   INTEGER PRIMARY KEY,
	latest INTEGER
);

-- A body is a raw response or an extracted text, each kept once per source.
CREATE TABLE bodies (
	id     INTEGER PRIMARY KEY,
	source INTEGER NOT NULL REFERENCES sources (key) ON DELETE CASCADE,
	sum    INTEGER NOT NULL, -- XXH64
	size   INTEGER NOT NULL,
	base   INTEGER NOT NULL, -- the body it is encoded against; 0 if none
	depth  INTEGER NOT NULL, -- bodies to decode before it
	frame  BLOB NOT NULL
);
CREATE INDEX bodies_by_sum ON bodies (source, sum);

-- An envelope is what responses of a source have in common from one version
-- to the next.
CREATE TABLE envelopes (
	id         INTEGER PRIMARY KEY,
	source     INTEGER NOT NULL REFERENCES sources (key) ON DELETE CASCADE,
	status     INTEGER NOT NULL,
	url        TEXT NOT NULL,
	media_type TEXT NOT NULL,
	title      TEXT NOT NULL,
	header     BLOB NOT NULL
);
CREATE INDEX envelopes_by_source ON envelopes (source);

CREATE TABLE versions (
	source   INTEGER NOT NULL REFERENCES sources (key) ON DELETE CASCADE,
	number   INTEGER NOT NULL,
	hash     BLOB NOT NULL, -- SHA-256 of the text
	seen     INTEGER,
	text     INTEGER NOT NULL, -- body
	raw      INTEGER NOT NULL, -- body
	envelope INTEGER NOT NULL,
	header   BLOB NOT NULL, -- what differs from version to version
	PRIMARY KEY (source, number)
) WITHOUT ROWID;

-- The log of changes, chained by source like that of outcomes.
CREATE TABLE changes (
	cursor    INTEGER PRIMARY KEY AUTOINCREMENT,
	source    INTEGER NOT NULL,
	prev      INTEGER NOT NULL,
	seq       INTEGER NOT NULL,
	number    INTEGER NOT NULL,
	from_hash BLOB NOT NULL,
	to_hash   BLOB NOT NULL,
	after     INTEGER,
	before    INTEGER,
	modified  INTEGER,
	summary   TEXT NOT NULL
);

CREATE TABLE places (
	reader TEXT PRIMARY KEY,
	place  INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE debts (
	reader   TEXT NOT NULL,
	change   INTEGER NOT NULL REFERENCES changes (cursor) ON DELETE CASCADE,
	attempts INTEGER NOT NULL,
	due      INTEGER, -- 0 is at once, NULL is given up
	err      TEXT NOT NULL,
	PRIMARY KEY (reader, change)
) WITHOUT ROWID;
CREATE INDEX debts_by_due ON debts (reader, due, change);
CREATE INDEX debts_by_change ON debts (change);

CREATE TABLE beliefs (
	estimator TEXT NOT NULL,
	source    INTEGER NOT NULL REFERENCES sources (key) ON DELETE CASCADE,
	upto      INTEGER NOT NULL,
	memory    BLOB NOT NULL,
	PRIMARY KEY (estimator, source)
) WITHOUT ROWID;
CREATE INDEX beliefs_by_source ON beliefs (source);
