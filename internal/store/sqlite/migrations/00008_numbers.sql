-- +goose Up

-- An epoch is one run of a process that wrote here, by a random name. The numbers
-- of changes and outcomes after these belong to it, up to where the next one began.
-- An older copy of the file that is put back and opened begins an epoch of its own,
-- so what it gives out is never named as something that was given out before.
-- Numbers from before there were epochs belong to the one without a name.
CREATE TABLE epochs (
	number  INTEGER PRIMARY KEY,
	name    TEXT NOT NULL,
	change  INTEGER NOT NULL, -- the last one before it
	outcome INTEGER NOT NULL
);
INSERT INTO epochs (number, name, change, outcome) VALUES (1, '', 0, 0);

-- The last numbers that a source had when it was purged. Whatever takes the id
-- next goes on after them.
CREATE TABLE tombstones (
	id       TEXT PRIMARY KEY,
	version  INTEGER NOT NULL,
	change   INTEGER NOT NULL,
	revision INTEGER NOT NULL
) WITHOUT ROWID;

-- The last numbers given out in tables from which the newest rows can go.
CREATE TABLE counters (
	name TEXT PRIMARY KEY,
	last INTEGER NOT NULL
) WITHOUT ROWID;

-- What a source was called when it changed. A change is told with it however late
-- that is.
CREATE TABLE labels (
	id     INTEGER PRIMARY KEY,
	source INTEGER NOT NULL,
	url    TEXT NOT NULL,
	name   TEXT NOT NULL,
	tags   TEXT NOT NULL -- JSON array of strings
);
CREATE INDEX labels_by_source ON labels (source);
ALTER TABLE sources ADD COLUMN label INTEGER NOT NULL DEFAULT 0; -- as it is now; 0 if none is made yet
ALTER TABLE changes ADD COLUMN label INTEGER NOT NULL DEFAULT 0;

INSERT INTO labels (id, source, url, name, tags)
	SELECT key, key, url, ifnull(json_extract(definition, '$.name'), ''), ifnull(json_extract(definition, '$.tags'), '[]') FROM sources;
UPDATE sources SET label = key;
UPDATE changes SET label = source;

-- The message of a delivery, as it is sent on every attempt. NULL is one that was
-- owed before messages were kept.
ALTER TABLE debts ADD COLUMN message BLOB;
