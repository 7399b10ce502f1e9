-- +goose Up

-- What requests were answered with that may be sent again, under the keys that clients gave
-- them. Only hashes of keys and of requests are here.
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

INSERT OR REPLACE INTO seals (name, upto, value, checksum) VALUES ('answers', 0, 0, 7734955045925156469);
