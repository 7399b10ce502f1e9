-- +goose Up

-- An endpoint of a reader that wants nothing more. It is named by a digest: its
-- URL can hold a secret.
CREATE TABLE retired (
	reader   TEXT NOT NULL,
	endpoint TEXT NOT NULL,
	PRIMARY KEY (reader, endpoint)
) WITHOUT ROWID;

-- Both where a sink began and which endpoints were gone used to be the places of
-- made-up readers: "NAME beginning", one after where it began, and "NAME gone
-- DIGEST". The name of a sink has no space in it.
INSERT INTO retired (reader, endpoint)
	SELECT substr(reader, 1, instr(reader, ' gone ') - 1), substr(reader, instr(reader, ' gone ') + 6)
	FROM places WHERE reader LIKE '_% gone _%';
INSERT INTO places (reader, place)
	SELECT substr(reader, 1, length(reader) - length(' beginning')), place - 1
	FROM places WHERE reader LIKE '_% beginning'
	ON CONFLICT DO NOTHING;
DELETE FROM places WHERE reader LIKE '_% gone _%' OR reader LIKE '_% beginning';
