-- Long details of a change are packed: see internal/store/details.go.
ALTER TABLE changes ADD COLUMN packed BYTEA;
