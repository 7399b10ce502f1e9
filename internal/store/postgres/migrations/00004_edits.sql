-- Which sources are not as they were, other than by polls, so that a node that stands by need not
-- read all of them: see tables.EditLog. Old rows are deleted; the last two stay.
CREATE TABLE edits (
	batch   BIGINT NOT NULL,                                -- the transaction, as leases count them
	term    BIGINT NOT NULL,                                -- epoch of the lease
	at      TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
	sources TEXT NOT NULL,                                  -- IDs, as a JSON array
	PRIMARY KEY (batch)
);
INSERT INTO edits (batch, term, sources) SELECT batch, epoch, '[]' FROM leases WHERE name = 'brain';
