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
