CREATE TABLE users (
	name     TEXT COLLATE "C" NOT NULL,
	role     TEXT COLLATE "C" NOT NULL,
	password TEXT COLLATE "C" NOT NULL,
	subject  TEXT COLLATE "C",
	created  BIGINT,
	changed  BIGINT,
	revision BIGINT NOT NULL,
	checksum BIGINT,
	PRIMARY KEY (name)
);
CREATE UNIQUE INDEX users_by_subject ON users (subject) WHERE subject IS NOT NULL;

CREATE TABLE passes (
	id       TEXT COLLATE "C" NOT NULL,
	kind     TEXT COLLATE "C" NOT NULL,
	secret   BYTEA NOT NULL UNIQUE,
	"user"   TEXT COLLATE "C" NOT NULL,
	name     TEXT COLLATE "C" NOT NULL,
	parent   TEXT COLLATE "C" NOT NULL,
	address  TEXT COLLATE "C" NOT NULL,
	bounds   TEXT COLLATE "C" NOT NULL,
	created  BIGINT,
	expires  BIGINT,
	used     BIGINT,
	checksum BIGINT,
	PRIMARY KEY (id)
);

CREATE TABLE deeds (
	cursor   BIGINT NOT NULL,
	at       BIGINT,
	who      TEXT COLLATE "C" NOT NULL,
	via      TEXT COLLATE "C" NOT NULL,
	address  TEXT COLLATE "C" NOT NULL,
	what     TEXT COLLATE "C" NOT NULL,
	method   TEXT COLLATE "C" NOT NULL,
	path     TEXT COLLATE "C" NOT NULL,
	subject  TEXT COLLATE "C" NOT NULL,
	status   BIGINT NOT NULL,
	earlier  TEXT COLLATE "C",
	later    TEXT COLLATE "C",
	checksum BIGINT,
	PRIMARY KEY (cursor)
);
CREATE INDEX deeds_by_who ON deeds (who);
CREATE INDEX deeds_by_subject ON deeds (subject);

CREATE TABLE answers (
	key      BYTEA NOT NULL,
	request  BYTEA NOT NULL,
	at       BIGINT,
	status   BIGINT NOT NULL,
	header   TEXT COLLATE "C" NOT NULL,
	body     BYTEA,
	checksum BIGINT,
	PRIMARY KEY (key)
);
CREATE INDEX answers_by_time ON answers (at);
