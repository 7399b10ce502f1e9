-- +goose Up

-- Versions that are stored without a change being told: see freshet.Quiet. NULL, which
-- is what older rows have, does not count in a checksum.
ALTER TABLE versions ADD COLUMN quiet TEXT;
ALTER TABLE outcomes ADD COLUMN quiet TEXT;
ALTER TABLE outcomes ADD COLUMN look_again INTEGER; -- after the answer

-- The newest version, if it is not the head; what is held, as JSON; and how many
-- versions were stored quietly.
ALTER TABLE standings ADD COLUMN newest INTEGER;
ALTER TABLE standings ADD COLUMN held TEXT;
ALTER TABLE standings ADD COLUMN quiet_suspect INTEGER;
ALTER TABLE standings ADD COLUMN quiet_noise INTEGER;
