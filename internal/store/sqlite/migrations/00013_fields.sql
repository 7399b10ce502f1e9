-- +goose Up

-- The named values of a version, and which of them and which items are other than
-- before, both as JSON. NULL, which is what older rows have, does not count in a
-- checksum.
ALTER TABLE versions ADD COLUMN fields TEXT;
ALTER TABLE changes ADD COLUMN details TEXT;
