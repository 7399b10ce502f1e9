-- +goose Up

-- The site that a source is a page of. NULL, which is what other sources have, does
-- not count in a checksum. The definition of a page is what is said of it beyond its
-- site; its recipe is empty here, because that of the site may hold for it.
ALTER TABLE sources ADD COLUMN site INTEGER;
CREATE INDEX sources_by_site ON sources (site) WHERE site IS NOT NULL;

-- A shelf has the pages of a site that are known, and counts them by what became of
-- them and by how they were found. URLs of pages are stored without the base, if they
-- begin with it and a slash.
CREATE TABLE shelves (
	site     INTEGER PRIMARY KEY, -- a source
	base     TEXT NOT NULL,       -- such as https://a.example
	waiting  INTEGER NOT NULL,
	watched  INTEGER NOT NULL,
	gone     INTEGER NOT NULL,
	refused  INTEGER NOT NULL,
	covered  INTEGER NOT NULL,
	sitemaps INTEGER NOT NULL,
	feeds    INTEGER NOT NULL,
	links    INTEGER NOT NULL,
	checksum INTEGER
);

-- A page costs little until it is fetched. Times here are seconds since 1970. The hash
-- is of the URL; where that of another page is the same it is the next that is free.
-- So the order of the key is drawn by chance once for all.
CREATE TABLE pages (
	site     INTEGER NOT NULL,
	hash     INTEGER NOT NULL,
	url      TEXT NOT NULL,
	state    INTEGER NOT NULL, -- 0 waiting, 1 watched, 2 gone, 3 refused, 4 covered
	found    INTEGER NOT NULL, -- 0 by a sitemap, 1 by a feed, 2 by a link
	depth    INTEGER NOT NULL,
	flags    INTEGER NOT NULL, -- 1 it is new, 2 it was told to be gone
	seen     INTEGER NOT NULL,
	date     INTEGER,
	listed   INTEGER, -- after it was seen
	gone     INTEGER, -- after it was seen
	source   INTEGER,
	checksum INTEGER,
	PRIMARY KEY (site, hash)
) WITHOUT ROWID;
CREATE INDEX pages_by_state ON pages (site, state);

-- Waiting pages are taken nearest first, or one endless corner of a site would be taken
-- before all that lies beside it.
CREATE INDEX pages_waiting ON pages (site, depth) WHERE state = 0;

INSERT OR REPLACE INTO seals (name, upto, value, checksum) VALUES ('pages', 0, 0, 8432124681480606639), ('shelves', 0, 0, -2402304875270917411);
