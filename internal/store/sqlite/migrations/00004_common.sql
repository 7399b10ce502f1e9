-- +goose Up

-- What an estimator thinks of all sources together: a freshet.Belief without a
-- source.
CREATE TABLE common_beliefs (
	estimator TEXT PRIMARY KEY,
	upto      INTEGER NOT NULL,
	memory    BLOB NOT NULL
) WITHOUT ROWID;
