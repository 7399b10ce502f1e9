-- +goose Up

-- What a capture of the source is worth: see freshet.Life and freshet.Urgency.
ALTER TABLE sources ADD COLUMN life TEXT NOT NULL DEFAULT 'overwrite';
ALTER TABLE sources ADD COLUMN urgency TEXT NOT NULL DEFAULT 'uniform';
ALTER TABLE sources ADD COLUMN cost REAL NOT NULL DEFAULT 0;
