-- +goose Up

-- Where this store stands in a move to or from another: see package move. There is one row
-- at most, and none in a store that is in use.
CREATE TABLE moves (
	id       INTEGER PRIMARY KEY CHECK (id = 1),
	state    TEXT NOT NULL,    -- incoming, complete, away
	move     TEXT NOT NULL,    -- its name, the same at both ends
	other    TEXT NOT NULL,    -- the store at the other end
	at       INTEGER NOT NULL,
	checksum INTEGER
);
