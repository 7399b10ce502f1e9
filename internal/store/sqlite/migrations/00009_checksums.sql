-- +goose Up

-- Every row has a checksum. In the logs it covers the entry before, too: see
-- package sqlite, which fills in those of the rows that are there already.
ALTER TABLE sources ADD COLUMN checksum INTEGER;
ALTER TABLE standings ADD COLUMN checksum INTEGER;
ALTER TABLE standings ADD COLUMN tally_checksum INTEGER;
ALTER TABLE attempts ADD COLUMN checksum INTEGER;
ALTER TABLE outcomes ADD COLUMN checksum INTEGER;
ALTER TABLE marks ADD COLUMN checksum INTEGER;
ALTER TABLE envelopes ADD COLUMN checksum INTEGER;
ALTER TABLE versions ADD COLUMN checksum INTEGER;
ALTER TABLE changes ADD COLUMN checksum INTEGER;
ALTER TABLE places ADD COLUMN checksum INTEGER;
ALTER TABLE debts ADD COLUMN checksum INTEGER;
ALTER TABLE retired ADD COLUMN checksum INTEGER;
ALTER TABLE beliefs ADD COLUMN checksum INTEGER;
ALTER TABLE common_beliefs ADD COLUMN checksum INTEGER;
ALTER TABLE epochs ADD COLUMN checksum INTEGER;
ALTER TABLE tombstones ADD COLUMN checksum INTEGER;
ALTER TABLE counters ADD COLUMN checksum INTEGER;
ALTER TABLE labels ADD COLUMN checksum INTEGER;

-- The oldest version that is kept, so that one that is gone is missed.
ALTER TABLE standings ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
UPDATE standings SET first = ifnull((SELECT min(number) FROM versions v WHERE v.source = standings.source), 0);

-- A cut is where entries were taken out of a log: the checksums of the entry
-- before it and of the last one that went. Versions have cuts, too: numbers that
-- could not be saved from a damaged file.
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

-- A seal says where a log ends, with the checksum of its last entry, or how many
-- rows a table has, with the sum of their checksums.
CREATE TABLE seals (
	name     TEXT PRIMARY KEY,
	upto     INTEGER NOT NULL,
	value    INTEGER NOT NULL,
	checksum INTEGER
) WITHOUT ROWID;
