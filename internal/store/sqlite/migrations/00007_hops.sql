-- +goose Up

-- The hosts that a poll's requests went to, if not all to the source's own: see
-- freshet.Route.
ALTER TABLE outcomes ADD COLUMN route TEXT;
ALTER TABLE standings ADD COLUMN route TEXT;

-- Where permanent redirects of the source lead: see freshet.Moved.
ALTER TABLE standings ADD COLUMN moved TEXT NOT NULL DEFAULT '';
ALTER TABLE standings ADD COLUMN moved_at INTEGER;

-- Requests of polls that have begun and not ended, one to a row: hop 0 is the
-- first of the poll. Those of purged sources have source 0, ended, and a hop that
-- tells them apart; they stay because the budget counts them.
CREATE TABLE hops (
	source   INTEGER NOT NULL,
	began    INTEGER NOT NULL,
	hop      INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	route    TEXT,
	ended    INTEGER,
	requests INTEGER NOT NULL DEFAULT 1,
	PRIMARY KEY (source, began, hop)
) WITHOUT ROWID;
INSERT INTO hops (source, began, hop, at) SELECT source, began, 0, began FROM attempts;
DROP TABLE attempts;
ALTER TABLE hops RENAME TO attempts;
