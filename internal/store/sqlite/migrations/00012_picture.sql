-- +goose Up

-- The body that is a picture of the version as a browser showed it, if one was taken.
-- NULL, which is what older rows have, does not count in a checksum.
ALTER TABLE versions ADD COLUMN picture INTEGER;
