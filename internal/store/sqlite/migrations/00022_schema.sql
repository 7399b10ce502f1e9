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

CREATE TABLE places (
	reader   TEXT PRIMARY KEY,
	place    INTEGER NOT NULL,
	checksum INTEGER,
	stream   INTEGER
) WITHOUT ROWID;

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

CREATE TABLE retired (
	reader   TEXT NOT NULL,
	endpoint TEXT NOT NULL, checksum INTEGER,
	PRIMARY KEY (reader, endpoint)
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

CREATE TABLE shelves (
	site     INTEGER PRIMARY KEY, -- a source
	base     TEXT NOT NULL,       -- such as https://a.example
	waiting  INTEGER NOT NULL,
	watched  INTEGER NOT NULL,
	gone     INTEGER NOT NULL,
	refused  INTEGER NOT NULL,
	covered  INTEGER NOT NULL,
	sitemaps INTEGER NOT NULL,
	feeds    INTEGER NOT NULL,
	links    INTEGER NOT NULL,
	checksum INTEGER
);

CREATE TABLE pages (
	site     INTEGER NOT NULL,
	hash     INTEGER NOT NULL,
	url      TEXT NOT NULL,
	state    INTEGER NOT NULL, -- 0 waiting, 1 watched, 2 gone, 3 refused, 4 covered
	found    INTEGER NOT NULL, -- 0 by a sitemap, 1 by a feed, 2 by a link
	depth    INTEGER NOT NULL,
	flags    INTEGER NOT NULL, -- 1 it is new, 2 it was told to be gone
	seen     INTEGER NOT NULL,
	date     INTEGER,
	listed   INTEGER, -- after it was seen
	gone     INTEGER, -- after it was seen
	source   INTEGER,
	checksum INTEGER,
	PRIMARY KEY (site, hash)
) WITHOUT ROWID;

CREATE INDEX pages_by_state ON pages (site, state);

CREATE INDEX pages_waiting ON pages (site, depth) WHERE state = 0;

CREATE TABLE evidence (
	outcome  INTEGER PRIMARY KEY, -- its cursor
	said     BLOB NOT NULL,
	checksum INTEGER
);

CREATE TABLE sinks (
	name       TEXT PRIMARY KEY,
	definition BLOB,
	revision   INTEGER NOT NULL,
	failing    INTEGER, -- since when
	held       INTEGER, -- since when
	err        TEXT NOT NULL,
	checksum   INTEGER
) WITHOUT ROWID;

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

CREATE INDEX changes_by_before ON changes (before);

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

CREATE INDEX matches_by_number ON matches (query, number);

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

CREATE TABLE moves (
	id       INTEGER PRIMARY KEY CHECK (id = 1),
	state    TEXT NOT NULL,    -- incoming, complete, away
	move     TEXT NOT NULL,    -- its name, the same at both ends
	other    TEXT NOT NULL,    -- the store at the other end
	at       INTEGER NOT NULL,
	checksum INTEGER
);
