-- The version of freshet that led to a format. From this format on, the header of a version is complete, and
-- how it is packed is in internal/store/header.go.
ALTER TABLE schema_versions ADD COLUMN program TEXT;
