CREATE TABLE shelves (
	site     BIGINT NOT NULL,
	base     TEXT COLLATE "C" NOT NULL,
	waiting  BIGINT NOT NULL,
	watched  BIGINT NOT NULL,
	gone     BIGINT NOT NULL,
	refused  BIGINT NOT NULL,
	covered  BIGINT NOT NULL,
	sitemaps BIGINT NOT NULL,
	feeds    BIGINT NOT NULL,
	links    BIGINT NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (site)
);

CREATE TABLE pages (
	site     BIGINT NOT NULL,
	hash     BIGINT NOT NULL,
	url      TEXT COLLATE "C" NOT NULL,
	state    BIGINT NOT NULL,
	found    BIGINT NOT NULL,
	depth    BIGINT NOT NULL,
	flags    BIGINT NOT NULL,
	seen     BIGINT NOT NULL,
	date     BIGINT,
	listed   BIGINT,
	gone     BIGINT,
	source   BIGINT,
	checksum BIGINT,
	PRIMARY KEY (site, hash)
);

CREATE INDEX pages_by_state ON pages (site, state);

CREATE INDEX pages_waiting ON pages (site, depth) WHERE state = 0;
