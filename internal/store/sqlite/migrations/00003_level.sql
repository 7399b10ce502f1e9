-- +goose Up

-- How soon changes of the source are wanted: see freshet.ServiceLevel. Empty is
-- that nobody said.
ALTER TABLE sources ADD COLUMN level TEXT NOT NULL DEFAULT '';
