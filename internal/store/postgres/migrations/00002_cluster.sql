-- Several nodes on one database: see package postgres.

-- Where the one that writes is reached; "" if it serves nobody.
ALTER TABLE leases ADD COLUMN address TEXT NOT NULL DEFAULT '';

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
