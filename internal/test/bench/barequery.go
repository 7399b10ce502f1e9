package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the same library as the store's
)

// A listAsked is one that the page asks for, with the bare query that finds its rows.
type listAsked struct {
	name string
	url  string // OFFSET stands for a number that differs each time
	sql  string // a ? stands for the same; "" if one query does not say it
	of   int    // sources through which the offset goes
}

// path returns the path of the nth time.
func (l listAsked) path(n int) string {
	return strings.ReplaceAll(l.url, "OFFSET", fmt.Sprint(n*7919%max(1, l.of-200)))
}

// The rows of a list, and how many there are.
const (
	bareRows  = "SELECT s.id, s.url, s.definition, s.revision, s.created, t.polls, t.changes, t.changed_at, t.seen, t.begun, t.failures, t.failure, t.head FROM sources s JOIN standings t ON t.source = s.key WHERE s.removed = 0 AND s.site IS NULL "
	bareCount = "SELECT count(*) FROM sources s JOIN standings t ON t.source = s.key WHERE s.removed = 0 AND s.site IS NULL "
)

// listsOf returns what the page asks for where there are so many sources.
func listsOf(sources, port int) []listAsked {
	rows := func(name, query, where, order string) listAsked {
		url, offset := "/api/v1/sources?named=true&next=true&total=true&limit=200"+query, ""
		if strings.Contains(query, "OFFSET") {
			offset = " OFFSET ?"
		}
		return listAsked{name: name, url: url, of: sources, sql: bareCount + where + ";" + bareRows + where + " ORDER BY " + order + " LIMIT 200" + offset}
	}
	tagged := "AND EXISTS (SELECT 1 FROM json_each(s.definition, '$.tags') WHERE value = 'section-13')"
	return []listAsked{
		rows("sources", "", "", "s.id"),
		rows("sources, scrolled", "&offset=OFFSET", "", "s.id"),
		rows("by change, scrolled", "&sort=changed&offset=OFFSET", "", "t.changed_at DESC, s.id"),
		rows("by polls", "&sort=polls", "", "t.polls DESC, s.id"),
		rows("by last seen, reversed", "&sort=seen&reverse=true", "", "t.seen DESC, s.id DESC"),
		{name: "by next poll", url: "/api/v1/sources?named=true&next=true&total=true&limit=200&sort=next"},
		rows("of a tag", "&tag=section-13", tagged, "s.id"),
		rows("of a host", fmt.Sprintf("&host=127.0.1.1:%d", port), fmt.Sprintf("AND s.url LIKE 'http://127.0.1.1:%d/%%'", port), "s.id"),
		rows("failing", "&state=failing", "AND t.failures > 0", "s.id"),
		rows("with a word", "&q=page+777", "AND (s.id LIKE '%page 777%' OR s.url LIKE '%page 777%' OR s.definition LIKE '%page 777%')", "s.id"),
		{name: "facets", url: "/api/v1/sources/facets", sql: `SELECT count(*), sum(t.failures > 0), sum(t.seen IS NULL) FROM sources s JOIN standings t ON t.source = s.key WHERE s.removed = 0;
			SELECT value, count(*) AS n FROM sources s, json_each(s.definition, '$.tags') WHERE s.removed = 0 GROUP BY value ORDER BY n DESC LIMIT 100`},
		{name: "overview", url: "/api/v1/overview", sql: "SELECT count(*), sum(t.failures > 0), sum(t.seen IS NULL) FROM sources s JOIN standings t ON t.source = s.key WHERE s.removed = 0"},
		{name: "flow", url: "/api/v1/flow?hours=24"},
		{name: "newest changes", url: "/api/v1/changes/newest?limit=60", sql: "SELECT c.*, l.url, l.name, l.tags FROM changes c JOIN labels l ON l.id = c.label ORDER BY cursor DESC LIMIT 60"},
		{name: "newest polls", url: "/api/v1/outcomes?newest=true&limit=300", sql: "SELECT * FROM outcomes ORDER BY cursor DESC LIMIT 300"},
		{name: "a source", url: "/api/v1/sources/p000013", sql: bareRows + "AND s.id = 'p000013'"},
		{name: "its versions", url: "/api/v1/sources/p000013/versions?limit=200", sql: "SELECT v.* FROM versions v JOIN sources s ON v.source = s.key WHERE s.id = 'p000013' ORDER BY number DESC LIMIT 200"},
	}
}

// A bareFile is the file of a store, read without Freshet.
type bareFile struct{ *sql.DB }

func openBare(path string) (bareFile, error) {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: "mode=ro&_busy_timeout=10000"}
	db, err := sql.Open("sqlite", u.String())
	return bareFile{db}, err
}

// ask runs queries the nth time, reads all rows, and returns how many milliseconds that
// took.
func (f bareFile) ask(ctx context.Context, queries string, n int) (float64, error) {
	began := time.Now()
	for query := range strings.SplitSeq(queries, ";") {
		if err := f.rows(ctx, query, n); err != nil {
			return 0, err
		}
	}
	return float64(time.Since(began).Microseconds()) / 1000, nil
}

// rows reads all rows of a query.
func (f bareFile) rows(ctx context.Context, query string, n int) (err error) {
	var args []any
	if strings.Contains(query, "?") {
		args = append(args, n*7919%1000)
	}
	rows, err := f.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			return err
		}
	}
	return rows.Err()
}
