-- +goose Up

-- Changes are asked for by time. They are seen nearly in the order in which they stand
-- in the log, but one that was held and confirmed later was seen earlier. A new change
-- goes to the end of this index, nearly always to a page that is being written anyway.
CREATE INDEX changes_by_before ON changes (before);
