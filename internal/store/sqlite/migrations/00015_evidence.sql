-- +goose Up

-- What a source said when it was polled, of itself and of other pages: see
-- freshet.Outcome. Most polls have nothing of the kind, and no row here.
CREATE TABLE evidence (
	outcome  INTEGER PRIMARY KEY, -- its cursor
	said     BLOB NOT NULL,
	checksum INTEGER
);

INSERT OR REPLACE INTO seals (name, upto, value, checksum) VALUES ('evidence', 0, 0, -1342270520913623912);
