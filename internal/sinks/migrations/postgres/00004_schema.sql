CREATE TABLE places (
	reader   TEXT COLLATE "C" NOT NULL,
	place    BIGINT NOT NULL,
	stream   BIGINT,
	checksum BIGINT,
	PRIMARY KEY (reader)
);

CREATE TABLE retired (
	reader   TEXT COLLATE "C" NOT NULL,
	endpoint TEXT COLLATE "C" NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (reader, endpoint)
);

CREATE TABLE sinks (
	name       TEXT COLLATE "C" NOT NULL,
	definition BYTEA,
	revision   BIGINT NOT NULL,
	failing    BIGINT,
	held       BIGINT,
	err        TEXT COLLATE "C" NOT NULL,
	checksum   BIGINT,
	PRIMARY KEY (name)
);

CREATE TABLE debts (
	reader   TEXT COLLATE "C" NOT NULL,
	change   BIGINT NOT NULL,
	attempts BIGINT NOT NULL,
	due      BIGINT,
	err      TEXT COLLATE "C" NOT NULL,
	message  BYTEA,
	source   BIGINT,
	waits    BIGINT,
	event    TEXT COLLATE "C",
	query    TEXT COLLATE "C",
	about    TEXT COLLATE "C",
	checksum BIGINT,
	PRIMARY KEY (reader, change)
);

CREATE INDEX debts_by_due ON debts (reader, due, change) WHERE waits IS NULL;

CREATE INDEX debts_by_change ON debts (change);

CREATE INDEX debts_in_line ON debts (reader, source, change) WHERE source IS NOT NULL AND due IS NOT NULL;
