-- +goose Up

-- Why a capture is probably not the page that is wanted, and which URL answered if
-- it names another page: see freshet.Suspect. These columns came after the checksums.
-- NULL, which is what older rows have, does not count in a checksum.
ALTER TABLE outcomes ADD COLUMN suspect TEXT;
ALTER TABLE outcomes ADD COLUMN landed TEXT;
ALTER TABLE standings ADD COLUMN suspect TEXT;
ALTER TABLE standings ADD COLUMN landed TEXT;
ALTER TABLE versions ADD COLUMN suspect TEXT;
ALTER TABLE changes ADD COLUMN suspect TEXT;
ALTER TABLE changes ADD COLUMN landed TEXT;

-- For how long after the answer the server says that the source stays as it is, and
-- in the standings until when. Belied is 1 once the source changed before that.
ALTER TABLE outcomes ADD COLUMN fresh INTEGER;
ALTER TABLE standings ADD COLUMN fresh INTEGER;
ALTER TABLE standings ADD COLUMN belied INTEGER;
