-- +goose Up

-- What a user said of a source is one JSON document: see freshet.Source.Definition.
-- The columns url and recipe repeat two parts of it, to look sources up by.
ALTER TABLE sources ADD COLUMN definition TEXT NOT NULL DEFAULT '{}';

-- How often the source has been written. It only grows, so that an edit of what
-- has changed meanwhile can be told.
ALTER TABLE sources ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;

-- A patch drops what is null. Lives and urgencies had no unit of time, and counted
-- seconds; widths that are written with an exponent are read so still.
UPDATE sources SET definition = json_patch('{}', json_object(
	'id', id,
	'url', url,
	'name', nullif(name, ''),
	'tags', CASE WHEN tags IN ('[]', 'null') THEN NULL ELSE json(tags) END,
	'select', CASE WHEN recipe = '{}' THEN NULL ELSE json(recipe) END,
	'weight', CASE WHEN weight = 0 THEN NULL ELSE weight END,
	'life', CASE
		WHEN life = 'overwrite' THEN NULL
		WHEN life GLOB 'window:*[0-9]' AND life NOT GLOB 'window:*[a-z]*' THEN life || 's'
		ELSE life END,
	'urgency', CASE
		WHEN urgency = 'uniform' THEN NULL
		WHEN urgency GLOB 'window:*[0-9]' AND urgency NOT GLOB 'window:*[a-z]*' THEN urgency || 's'
		WHEN urgency GLOB 'chordal:*[0-9]' AND urgency NOT GLOB 'chordal:*[a-z]*' THEN urgency || 's'
		WHEN urgency GLOB '[ept][xoa]*' AND urgency NOT GLOB '*/*' THEN urgency || '/1s'
		ELSE urgency END,
	'cost', CASE WHEN cost = 0 THEN NULL ELSE cost END,
	'paused', CASE WHEN paused = 0 THEN NULL ELSE json('true') END,
	'min_gap', CASE WHEN min_gap = 0 THEN NULL ELSE min_gap || 'ns' END,
	'max_gap', CASE WHEN max_gap = 0 THEN NULL ELSE max_gap || 'ns' END,
	'level', nullif(level, ''),
	'keep', CASE WHEN keep_age = 0 AND keep_versions = 0 AND keep_bytes = 0 THEN NULL ELSE json_object(
		'age', CASE WHEN keep_age = 0 THEN NULL ELSE keep_age || 'ns' END,
		'versions', nullif(keep_versions, 0),
		'bytes', nullif(keep_bytes, 0)) END
));

ALTER TABLE sources DROP COLUMN name;
ALTER TABLE sources DROP COLUMN tags;
ALTER TABLE sources DROP COLUMN weight;
ALTER TABLE sources DROP COLUMN paused;
ALTER TABLE sources DROP COLUMN min_gap;
ALTER TABLE sources DROP COLUMN max_gap;
ALTER TABLE sources DROP COLUMN keep_age;
ALTER TABLE sources DROP COLUMN keep_versions;
ALTER TABLE sources DROP COLUMN keep_bytes;
ALTER TABLE sources DROP COLUMN life;
ALTER TABLE sources DROP COLUMN urgency;
ALTER TABLE sources DROP COLUMN cost;
ALTER TABLE sources DROP COLUMN level;
