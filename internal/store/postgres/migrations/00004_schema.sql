-- The schema of data format 4.
--
-- Tables and columns are those of package sqlite, where their migrations say what they
-- hold. Numbers and moments are BIGINT; texts are compared byte by byte.

CREATE TABLE sources (
	key        BIGINT NOT NULL,
	id         TEXT COLLATE "C" NOT NULL UNIQUE,
	url        TEXT COLLATE "C" NOT NULL,
	recipe     TEXT COLLATE "C" NOT NULL,
	definition TEXT COLLATE "C" NOT NULL DEFAULT '{}',
	revision   BIGINT NOT NULL DEFAULT 1,
	origin     TEXT COLLATE "C" NOT NULL,
	created    BIGINT,
	removed    BIGINT NOT NULL DEFAULT 0,
	label      BIGINT NOT NULL DEFAULT 0,
	site       BIGINT,
	checksum   BIGINT,
	PRIMARY KEY (key)
);

CREATE TABLE standings (
	source         BIGINT NOT NULL,
	first          BIGINT NOT NULL DEFAULT 0,
	head           BIGINT NOT NULL DEFAULT 0,
	head_recipe    TEXT COLLATE "C" NOT NULL DEFAULT '',
	etag           TEXT COLLATE "C" NOT NULL DEFAULT '',
	last_modified  TEXT COLLATE "C" NOT NULL DEFAULT '',
	changes        BIGINT NOT NULL DEFAULT 0,
	changed_at     BIGINT,
	last_change    BIGINT NOT NULL DEFAULT 0,
	moved          TEXT COLLATE "C" NOT NULL DEFAULT '',
	moved_at       BIGINT,
	suspect        TEXT COLLATE "C",
	landed         TEXT COLLATE "C",
	belied         BIGINT,
	newest         BIGINT,
	held           TEXT COLLATE "C",
	quiet_suspect  BIGINT,
	quiet_noise    BIGINT,
	begun          BIGINT,
	seen           BIGINT,
	not_before     BIGINT,
	failures       BIGINT NOT NULL DEFAULT 0,
	failure        TEXT COLLATE "C" NOT NULL DEFAULT '',
	err            TEXT COLLATE "C" NOT NULL DEFAULT '',
	requests       BIGINT NOT NULL DEFAULT 0,
	route          TEXT COLLATE "C",
	polls          BIGINT NOT NULL DEFAULT 0,
	last_outcome   BIGINT NOT NULL DEFAULT 0,
	fresh          BIGINT,
	checksum       BIGINT,
	tally_checksum BIGINT,
	PRIMARY KEY (source)
);

CREATE TABLE outcomes (
	cursor     BIGINT NOT NULL,
	source     BIGINT NOT NULL,
	prev       BIGINT NOT NULL,
	began      BIGINT,
	gap        BIGINT,
	took       BIGINT,
	cause      BIGINT NOT NULL,
	result     BIGINT NOT NULL,
	version    BIGINT NOT NULL,
	status     BIGINT NOT NULL,
	requests   BIGINT NOT NULL,
	route      TEXT COLLATE "C",
	bytes      BIGINT NOT NULL,
	modified   BIGINT,
	not_before BIGINT,
	failure    TEXT COLLATE "C",
	err        TEXT COLLATE "C",
	suspect    TEXT COLLATE "C",
	landed     TEXT COLLATE "C",
	fresh      BIGINT,
	quiet      TEXT COLLATE "C",
	look_again BIGINT,
	checksum   BIGINT,
	PRIMARY KEY (cursor)
) PARTITION BY RANGE (cursor);

CREATE TABLE marks (
	upto     BIGINT NOT NULL,
	latest   BIGINT,
	checksum BIGINT,
	PRIMARY KEY (upto)
);

CREATE TABLE bodies (
	id     BIGINT NOT NULL,
	source BIGINT NOT NULL,
	sum    BIGINT NOT NULL,
	size   BIGINT NOT NULL,
	base   BIGINT NOT NULL,
	depth  BIGINT NOT NULL,
	frame  BYTEA NOT NULL,
	PRIMARY KEY (id)
);

CREATE TABLE envelopes (
	id         BIGINT NOT NULL,
	source     BIGINT NOT NULL,
	status     BIGINT NOT NULL,
	url        TEXT COLLATE "C" NOT NULL,
	media_type TEXT COLLATE "C" NOT NULL,
	title      TEXT COLLATE "C" NOT NULL,
	header     BYTEA NOT NULL,
	checksum   BIGINT,
	PRIMARY KEY (id)
);

CREATE TABLE versions (
	source   BIGINT NOT NULL,
	number   BIGINT NOT NULL,
	hash     BYTEA NOT NULL,
	seen     BIGINT,
	text     BIGINT NOT NULL,
	raw      BIGINT NOT NULL,
	envelope BIGINT NOT NULL,
	header   BYTEA NOT NULL,
	suspect  TEXT COLLATE "C",
	quiet    TEXT COLLATE "C",
	picture  BIGINT,
	fields   TEXT COLLATE "C",
	checksum BIGINT,
	PRIMARY KEY (source, number)
);

CREATE TABLE changes (
	cursor    BIGINT NOT NULL,
	source    BIGINT NOT NULL,
	prev      BIGINT NOT NULL,
	seq       BIGINT NOT NULL,
	number    BIGINT NOT NULL,
	from_hash BYTEA NOT NULL,
	to_hash   BYTEA NOT NULL,
	after     BIGINT,
	before    BIGINT,
	modified  BIGINT,
	summary   TEXT COLLATE "C" NOT NULL,
	label     BIGINT NOT NULL DEFAULT 0,
	suspect   TEXT COLLATE "C",
	landed    TEXT COLLATE "C",
	details   TEXT COLLATE "C",
	checksum  BIGINT,
	PRIMARY KEY (cursor)
);

CREATE TABLE beliefs (
	estimator TEXT COLLATE "C" NOT NULL,
	source    BIGINT NOT NULL,
	upto      BIGINT NOT NULL,
	memory    BYTEA NOT NULL,
	checksum  BIGINT,
	PRIMARY KEY (estimator, source)
);

CREATE TABLE common_beliefs (
	estimator TEXT COLLATE "C" NOT NULL,
	upto      BIGINT NOT NULL,
	memory    BYTEA NOT NULL,
	checksum  BIGINT,
	PRIMARY KEY (estimator)
);

CREATE TABLE attempts (
	source   BIGINT NOT NULL,
	began    BIGINT NOT NULL,
	hop      BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	route    TEXT COLLATE "C",
	ended    BIGINT,
	requests BIGINT NOT NULL DEFAULT 1,
	checksum BIGINT,
	PRIMARY KEY (source, began, hop)
);

CREATE TABLE epochs (
	number   BIGINT NOT NULL,
	name     TEXT COLLATE "C" NOT NULL,
	change   BIGINT NOT NULL,
	outcome  BIGINT NOT NULL,
	match    BIGINT,
	checksum BIGINT,
	PRIMARY KEY (number)
);

CREATE TABLE tombstones (
	id       TEXT COLLATE "C" NOT NULL,
	version  BIGINT NOT NULL,
	change   BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (id)
);

CREATE TABLE counters (
	name     TEXT COLLATE "C" NOT NULL,
	last     BIGINT NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (name)
);

CREATE TABLE labels (
	id       BIGINT NOT NULL,
	source   BIGINT NOT NULL,
	url      TEXT COLLATE "C" NOT NULL,
	name     TEXT COLLATE "C" NOT NULL,
	tags     TEXT COLLATE "C" NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (id)
);

CREATE TABLE cuts (
	log      TEXT COLLATE "C" NOT NULL,
	source   BIGINT NOT NULL,
	first    BIGINT NOT NULL,
	last     BIGINT NOT NULL,
	before   BIGINT NOT NULL,
	after    BIGINT NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (log, source, first)
);

CREATE TABLE seals (
	name     TEXT COLLATE "C" NOT NULL,
	upto     BIGINT NOT NULL,
	value    BIGINT NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (name)
);

CREATE TABLE evidence (
	outcome  BIGINT NOT NULL,
	said     BYTEA NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (outcome)
);

CREATE INDEX sources_by_url ON sources (url);

CREATE INDEX bodies_by_sum ON bodies (source, sum);

CREATE INDEX envelopes_by_source ON envelopes (source);

CREATE INDEX beliefs_by_source ON beliefs (source);

CREATE INDEX labels_by_source ON labels (source);

CREATE INDEX sources_by_site ON sources (site) WHERE site IS NOT NULL;

CREATE INDEX changes_by_before ON changes (before);

-- Bodies are compressed already.
ALTER TABLE bodies ALTER COLUMN frame SET STORAGE EXTERNAL;
ALTER TABLE evidence ALTER COLUMN said SET STORAGE EXTERNAL;

-- Numbers from before there were epochs belong to the one without a name.
INSERT INTO epochs (number, name, change, outcome) VALUES (1, '', 0, 0);

-- Who may write. Each holder has an epoch of its own, and every transaction that it makes
-- raises its number: see package postgres.
CREATE TABLE leases (
	name    TEXT COLLATE "C" NOT NULL,
	epoch   BIGINT NOT NULL,
	holder  TEXT NOT NULL,
	renewed TIMESTAMPTZ NOT NULL,
	batch   BIGINT NOT NULL,
	address TEXT NOT NULL DEFAULT '', -- where the one that writes is reached; '' if it serves nobody
	PRIMARY KEY (name)
);
INSERT INTO leases (name, epoch, holder, renewed, batch) VALUES ('brain', 0, '', '-infinity', 0);

-- The index of what versions say: see store.Index. It is derived from the versions.
CREATE TABLE search_place (
	id   BIGINT NOT NULL CHECK (id = 1),
	upto TEXT NOT NULL,
	PRIMARY KEY (id)
);

CREATE TABLE search_sources (
	key     BIGINT NOT NULL,
	upto    BIGINT NOT NULL,
	first   BIGINT NOT NULL,
	present BYTEA NOT NULL,
	PRIMARY KEY (key)
);

CREATE TABLE search_passages (
	id     BIGINT NOT NULL,
	source BIGINT NOT NULL,
	sum    BIGINT NOT NULL, -- XXH64 of its text
	first  BIGINT NOT NULL, -- version
	gone   BIGINT,          -- the first version without it
	since  BIGINT NOT NULL, -- when those were seen
	until  BIGINT,
	words  TSVECTOR NOT NULL,
	PRIMARY KEY (id)
);
CREATE INDEX search_by_source ON search_passages (source, gone);
CREATE INDEX search_by_words ON search_passages USING gin (words);

-- Several nodes on one database: see package postgres.

-- Who is there, by a name for the run of each. What is not seen for a while is gone.
CREATE TABLE nodes (
	name    TEXT COLLATE "C" NOT NULL,
	address TEXT NOT NULL,
	role    TEXT NOT NULL,
	version TEXT NOT NULL,
	upto    BIGINT NOT NULL,      -- outcomes that it has heard of
	pass    BYTEA NOT NULL,       -- hash of what it shows to another node
	told    TEXT NOT NULL,        -- what it says of the hands that work for it, as JSON
	started TIMESTAMPTZ NOT NULL,
	seen    TIMESTAMPTZ NOT NULL,
	PRIMARY KEY (name)
);

-- What all nodes have to know beside what is stored, by name: settings that were set while
-- they ran, and by what to recognise the key of the secrets.
CREATE TABLE facts (
	name  TEXT COLLATE "C" NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (name)
);

-- Where this store stands in a move to or from another: see package move. There is one row
-- at most, and none in a store that is in use.
CREATE TABLE moves (
	id       BIGINT NOT NULL CHECK (id = 1),
	state    TEXT COLLATE "C" NOT NULL,
	move     TEXT COLLATE "C" NOT NULL,
	other    TEXT COLLATE "C" NOT NULL,
	at       BIGINT NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (id)
);

-- Which sources are not as they were, other than by polls, so that a node that stands by need not
-- read all of them: see store.EditLog. Old rows are deleted; the last two stay.
CREATE TABLE edits (
	batch   BIGINT NOT NULL,                                -- the transaction, as leases count them
	term    BIGINT NOT NULL,                                -- epoch of the lease
	at      TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
	sources TEXT NOT NULL,                                  -- IDs, as a JSON array
	PRIMARY KEY (batch)
);
INSERT INTO edits (batch, term, sources) SELECT batch, epoch, '[]' FROM leases WHERE name = 'brain';
