-- The schema of data format 22. Times are nanoseconds since 1970, durations nanoseconds; NULL is
-- the zero time. Every table but changes gets its keys from the one process that writes, so only
-- the log whose cursors outlive its rows needs AUTOINCREMENT. checksum covers the columns that
-- internal/store/table.go lists.

CREATE TABLE sources (
	key        INTEGER PRIMARY KEY,
	id         TEXT NOT NULL UNIQUE,
	url        TEXT NOT NULL,
	recipe     TEXT NOT NULL, -- canonical JSON
	origin     TEXT NOT NULL,
	created    INTEGER,
	removed    INTEGER NOT NULL DEFAULT 0, -- no longer watched; its history stays
	definition TEXT NOT NULL DEFAULT '{}',
	revision   INTEGER NOT NULL DEFAULT 1,
	label      INTEGER NOT NULL DEFAULT 0,
	checksum   INTEGER,
	site       INTEGER
);

CREATE INDEX sources_by_url ON sources (url);

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
	last_outcome  INTEGER NOT NULL DEFAULT 0,
	route TEXT,
	moved TEXT NOT NULL DEFAULT '',
	moved_at INTEGER,
	checksum INTEGER,
	tally_checksum INTEGER,
	first INTEGER NOT NULL DEFAULT 0,
	suspect TEXT,
	landed TEXT,
	fresh INTEGER,
	belied INTEGER,
	newest INTEGER,
	held TEXT,
	quiet_suspect INTEGER,
	quiet_noise INTEGER
);

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
	err        TEXT,
	route      TEXT,
	checksum   INTEGER,
	suspect    TEXT,
	landed     TEXT,
	fresh      INTEGER,
	quiet      TEXT,
	look_again INTEGER
);

CREATE TABLE marks (
	upto     INTEGER PRIMARY KEY,
	latest   INTEGER,
	checksum INTEGER
);

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

CREATE TABLE envelopes (
	id         INTEGER PRIMARY KEY,
	source     INTEGER NOT NULL REFERENCES sources (key) ON DELETE CASCADE,
	status     INTEGER NOT NULL,
	url        TEXT NOT NULL,
	media_type TEXT NOT NULL,
	title      TEXT NOT NULL,
	header     BLOB NOT NULL,
	checksum   INTEGER
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
	header   BLOB NOT NULL, checksum INTEGER, suspect TEXT, quiet TEXT, picture INTEGER, fields TEXT, -- what differs from version to version
	PRIMARY KEY (source, number)
) WITHOUT ROWID;

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
	summary   TEXT NOT NULL,
	label     INTEGER NOT NULL DEFAULT 0,
	checksum  INTEGER,
	suspect   TEXT,
	landed    TEXT,
	details   TEXT
);

CREATE TABLE beliefs (
	estimator TEXT NOT NULL,
	source    INTEGER NOT NULL REFERENCES sources (key) ON DELETE CASCADE,
	upto      INTEGER NOT NULL,
	memory    BLOB NOT NULL, checksum INTEGER,
	PRIMARY KEY (estimator, source)
) WITHOUT ROWID;

CREATE INDEX beliefs_by_source ON beliefs (source);

CREATE TABLE common_beliefs (
	estimator TEXT PRIMARY KEY,
	upto      INTEGER NOT NULL,
	memory    BLOB NOT NULL,
	checksum  INTEGER
) WITHOUT ROWID;

CREATE TABLE "attempts" (
	source   INTEGER NOT NULL,
	began    INTEGER NOT NULL,
	hop      INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	route    TEXT,
	ended    INTEGER,
	requests INTEGER NOT NULL DEFAULT 1, checksum INTEGER,
	PRIMARY KEY (source, began, hop)
) WITHOUT ROWID;

CREATE TABLE epochs (
	number   INTEGER PRIMARY KEY,
	name     TEXT NOT NULL,
	change   INTEGER NOT NULL, -- the last one before it
	outcome  INTEGER NOT NULL,
	checksum INTEGER,
	match    INTEGER
);

CREATE TABLE tombstones (
	id       TEXT PRIMARY KEY,
	version  INTEGER NOT NULL,
	change   INTEGER NOT NULL,
	revision INTEGER NOT NULL,
	checksum INTEGER
) WITHOUT ROWID;

CREATE TABLE counters (
	name     TEXT PRIMARY KEY,
	last     INTEGER NOT NULL,
	checksum INTEGER
) WITHOUT ROWID;

CREATE TABLE labels (
	id       INTEGER PRIMARY KEY,
	source   INTEGER NOT NULL,
	url      TEXT NOT NULL,
	name     TEXT NOT NULL,
	tags     TEXT NOT NULL, -- JSON array of strings
	checksum INTEGER
);

CREATE INDEX labels_by_source ON labels (source);

CREATE TABLE cuts (
	log      TEXT NOT NULL,
	source   INTEGER NOT NULL, -- of versions; 0 in a log
	first    INTEGER NOT NULL,
	last     INTEGER NOT NULL,
	before   INTEGER NOT NULL,
	after    INTEGER NOT NULL,
	checksum INTEGER,
	PRIMARY KEY (log, source, first)
) WITHOUT ROWID;

CREATE TABLE seals (
	name     TEXT PRIMARY KEY,
	upto     INTEGER NOT NULL,
	value    INTEGER NOT NULL,
	checksum INTEGER
) WITHOUT ROWID;

CREATE INDEX sources_by_site ON sources (site) WHERE site IS NOT NULL;

CREATE TABLE evidence (
	outcome  INTEGER PRIMARY KEY, -- its cursor
	said     BLOB NOT NULL,
	checksum INTEGER
);

CREATE INDEX changes_by_before ON changes (before);

CREATE TABLE moves (
	id       INTEGER PRIMARY KEY CHECK (id = 1),
	state    TEXT NOT NULL,    -- incoming, complete, away
	move     TEXT NOT NULL,    -- its name, the same at both ends
	other    TEXT NOT NULL,    -- the store at the other end
	at       INTEGER NOT NULL,
	checksum INTEGER
);
