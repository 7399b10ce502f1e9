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

CREATE INDEX pages_waiting ON pages (site, depth) WHERE state = 0;
