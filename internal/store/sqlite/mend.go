package sqlite

import (
	"database/sql/driver"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// A mending makes a store of the rows that were saved from a damaged one: it
// drops what is not as it was written, and what rests on that.
type mending struct {
	*store.Writer
	lost []Damage
}

// drop deletes the rows that a verification found to be altered. What is known of
// a source is told by its other rows, and how far a reader is has to be guessed.
func (m *mending) drop(found []Damage) error {
	for _, d := range found {
		row, key := d.Row()
		if row == nil {
			m.lost = append(m.lost, d)
			continue
		}
		var err error
		switch row {
		case store.Sources:
			d.What += m.keepSource(key[0])
		case store.Heads:
			_, err = m.Exec("UPDATE standings SET head = 0, changes = 0, last_change = 0, etag = '', last_modified = '', head_recipe = '', suspect = NULL, landed = NULL, belied = NULL, newest = NULL, held = NULL, quiet_suspect = NULL, quiet_noise = NULL, moved = '', moved_at = NULL WHERE source = ?", key[0])
			d.What += ": it is rebuilt"
		case store.Tallies:
			_, err = m.Exec("UPDATE standings SET last_outcome = 0, not_before = NULL, fresh = NULL, failures = 0, failure = '', err = '' WHERE source = ?", key[0])
			d.What += ": it is rebuilt"
		case store.Shelves:
			_, err = m.Exec("UPDATE shelves SET base = '' WHERE site = ?", key[0])
			d.What += ": they are counted anew"
		case store.Places:
			_, err = m.Exec(`UPDATE places SET stream = CASE stream WHEN 1 THEN 1 END, place = ifnull((SELECT max(change % (1 << 62)) FROM debts WHERE debts.reader = places.reader AND (change > (1 << 62)) = (ifnull(stream, 0) = 1)), 0) WHERE reader = ?`, key[0])
			d.What += ": it gets all again after the last that it is known to have read, with the same ids"
		default:
			_, err = m.Exec("DELETE FROM "+row.Name()+" WHERE "+row.IsKey(), key...)
			d.What += ": it is lost"
		}
		if err != nil {
			return err
		}
		m.lost = append(m.lost, d)
	}
	return nil
}

// keepSource says what becomes of an altered source: it is kept if what it says
// can be read.
func (m *mending) keepSource(key driver.Value) string {
	src, ok := freshet.Source{}, false
	err := m.Query("SELECT id, url, definition FROM sources WHERE key = ?", []driver.Value{key}, func(v []driver.Value) (err error) {
		id, _ := v[0].(string)
		url, _ := v[1].(string)
		text, _ := v[2].(string)
		src, err = freshet.ParseDefinitionOver(freshet.Source{}, freshet.SourceID(id), url, []byte(text))
		ok = err == nil && freshet.ValidSourceID(freshet.SourceID(id)) && src.URL != ""
		return nil
	})
	if err == nil && ok {
		return ": it is kept as it reads"
	}
	if _, err := m.Exec("DELETE FROM sources WHERE key = ?", key); err != nil {
		return fmt.Sprintf(": %v", err)
	}
	return ": it is lost, with its history"
}

// dropOrphans deletes rows that refer to what is not there any more.
func (m *mending) dropOrphans() error {
	for _, table := range []string{"standings", "outcomes", "envelopes", "bodies", "versions", "changes", "beliefs", "labels"} {
		n, err := m.Exec("DELETE FROM " + table + " WHERE source NOT IN (SELECT key FROM sources)")
		if err != nil {
			return err
		}
		m.tell(n, table, "%d rows of %s belong to lost sources")
	}
	for {
		gone, err := m.Exec("DELETE FROM bodies WHERE base <> 0 AND base NOT IN (SELECT id FROM bodies)")
		if err != nil {
			return err
		}
		if gone == 0 {
			break
		}
		m.tell(gone, "bodies", "%d %s depend on a lost one")
	}
	n, err := m.Exec("UPDATE versions SET picture = NULL WHERE picture NOT IN (SELECT id FROM bodies)")
	if err != nil {
		return err
	}
	m.tell(n, "pictures", "%d %s are lost")
	n, err = m.Exec(`DELETE FROM versions WHERE text NOT IN (SELECT id FROM bodies) OR raw NOT IN (SELECT id FROM bodies)
		OR envelope NOT IN (SELECT id FROM envelopes)`)
	if err != nil {
		return err
	}
	m.tell(n, "versions", "%d %s are lost, because their bodies are")
	if n, err = m.Exec("DELETE FROM debts WHERE change < (1 << 62) AND change NOT IN (SELECT cursor FROM changes)"); err != nil {
		return err
	}
	m.tell(n, "debts", "%d deliveries (%s) are lost, because their changes are")
	if n, err = m.Exec("DELETE FROM evidence WHERE outcome NOT IN (SELECT cursor FROM outcomes)"); err != nil {
		return err
	}
	m.tell(n, "evidence", "what sources said at %d outcomes (%s) is lost, because these are")
	// One that waits for a lost one would wait for ever.
	if _, err = m.Exec("UPDATE debts SET waits = NULL WHERE waits IS NOT NULL"); err != nil {
		return err
	}
	for _, table := range []string{"matches", "parcels", "query_notes"} {
		if n, err = m.Exec("DELETE FROM " + table + " WHERE query <> 0 AND query NOT IN (SELECT key FROM queries)"); err != nil {
			return err
		}
		m.tell(n, table, "%d rows of %s belong to lost queries")
	}
	if n, err = m.Exec("DELETE FROM passes WHERE user <> '' AND user NOT IN (SELECT name FROM users)"); err != nil {
		return err
	}
	m.tell(n, "passes", "%d sessions and tokens (%s) belong to lost users")
	if n, err = m.Exec("DELETE FROM passes WHERE parent <> '' AND parent NOT IN (SELECT id FROM passes)"); err != nil {
		return err
	}
	m.tell(n, "passes", "%d sessions (%s) belong to lost links")
	if n, err = m.Exec("DELETE FROM pages WHERE site NOT IN (SELECT key FROM sources)"); err != nil {
		return err
	}
	m.tell(n, "pages", "%d %s belong to lost sites")
	_, err = m.Exec("INSERT OR IGNORE INTO standings (source) SELECT key FROM sources")
	return err
}

// recount makes the shelves of sites anew. A page that is watched by no source waits
// again. One whose site is lost stays as a source of its own, with what is said of it.
func (m *mending) recount() error {
	statements := []string{
		"UPDATE sources SET site = NULL WHERE site NOT IN (SELECT key FROM sources)",
		"UPDATE pages SET state = 0, source = NULL WHERE source NOT IN (SELECT key FROM sources) OR source IS NULL AND state = 1",
		"DELETE FROM shelves WHERE site NOT IN (SELECT key FROM sources)",
		`INSERT OR IGNORE INTO shelves (site, base, waiting, watched, gone, refused, covered, sitemaps, feeds, links)
			SELECT key, '', 0, 0, 0, 0, 0, 0, 0, 0 FROM sources WHERE key IN (SELECT site FROM pages UNION SELECT site FROM sources)
			OR json_type(definition, '$.site') = 'object'`,
		`UPDATE shelves SET (waiting, watched, gone, refused, covered, sitemaps, feeds, links) = (
			SELECT count(*) FILTER (WHERE state = 0), count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 2),
				count(*) FILTER (WHERE state = 3), count(*) FILTER (WHERE state = 4),
				count(*) FILTER (WHERE found = 0), count(*) FILTER (WHERE found = 1), count(*) FILTER (WHERE found = 2)
			FROM pages WHERE pages.site = shelves.site)`,
	}
	for _, s := range statements {
		if _, err := m.Exec(s); err != nil {
			return err
		}
	}
	return m.rebase()
}

// rebase gives each shelf the base of its URLs, as the site says it now.
func (m *mending) rebase() error {
	bases := map[int64]string{}
	err := m.Query("SELECT h.site, s.url FROM shelves h JOIN sources s ON s.key = h.site WHERE h.base = ''", nil, func(v []driver.Value) error {
		url, _ := v[1].(string)
		bases[v[0].(int64)] = store.OriginOf(url)
		return nil
	})
	for key, base := range bases {
		if err == nil {
			_, err = m.Exec("UPDATE shelves SET base = ? WHERE site = ?", base, key)
		}
	}
	return err
}

func (m *mending) tell(n int64, table, format string) {
	if n > 0 {
		m.lost = append(m.lost, Damage{Table: table, What: fmt.Sprintf(format, n, table)})
	}
}

// relink has each entry of a log point to the one before it of its source that is
// still there.
func (m *mending) relink(log string) error {
	last, wrong := map[int64]int64{}, map[int64]int64{}
	err := m.Query("SELECT cursor, source, prev FROM "+log+" ORDER BY cursor", nil, func(v []driver.Value) error {
		cursor, source, prev := v[0].(int64), v[1].(int64), v[2].(int64)
		if before := last[source]; before != 0 && before != prev {
			wrong[cursor] = before
		}
		last[source] = cursor
		return nil
	})
	for cursor, prev := range wrong {
		if err == nil {
			_, err = m.Exec("UPDATE "+log+" SET prev = ? WHERE cursor = ?", prev, cursor)
		}
	}
	return err
}

// restand makes what is known of the sources anew, as far as it rests on what is
// lost. Numbers go on after the last that was given out.
func (m *mending) restand() error {
	statements := []string{
		// A label that is lost says what the source is called now.
		`INSERT INTO labels (id, source, url, name, tags)
			SELECT DISTINCT c.label, s.key, s.url, ifnull(json_extract(s.definition, '$.name'), ''), iif(json_type(s.definition, '$.tags') IS NULL,
				ifnull((SELECT json_extract(p.definition, '$.tags') FROM sources p WHERE p.key = s.site), '[]'), ifnull(json_extract(s.definition, '$.tags'), '[]'))
			FROM changes c JOIN sources s ON s.key = c.source WHERE c.label <> 0 AND c.label NOT IN (SELECT id FROM labels)`,
		`UPDATE sources SET label = 0 WHERE label NOT IN (SELECT id FROM labels)`,
		`UPDATE standings SET
			first = ifnull((SELECT min(number) FROM versions v WHERE v.source = standings.source), 0),
			head = max(head, ifnull((SELECT max(number) FROM versions v WHERE v.source = standings.source AND ifnull(v.quiet, '') <> 'suspect'), 0),
				ifnull((SELECT max(number) FROM changes c WHERE c.source = standings.source), 0)),
			newest = max(ifnull(newest, 0), ifnull((SELECT max(number) FROM versions v WHERE v.source = standings.source), 0)),
			changes = max(changes, ifnull((SELECT max(seq) FROM changes c WHERE c.source = standings.source), 0)),
			last_change = ifnull((SELECT max(cursor) FROM changes c WHERE c.source = standings.source), 0)`,
		`UPDATE standings SET newest = NULL WHERE newest <= head`,
		// What is held and lost is seen again.
		`UPDATE standings SET held = NULL WHERE held IS NOT NULL AND NOT EXISTS (
			SELECT 1 FROM versions v WHERE v.source = standings.source AND v.number = json_extract(held, '$.number'))`,
		// A source whose newest version is lost is asked for all of it.
		`UPDATE standings SET etag = '', last_modified = '', head_recipe = ''
			WHERE head <> 0 AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.source = standings.source AND v.number = head)`,
		`UPDATE standings SET first = head WHERE first = 0`,
		`UPDATE standings SET last_outcome = ifnull((SELECT max(cursor) FROM outcomes o
			WHERE o.source = standings.source AND o.cursor <= (SELECT ifnull(max(upto), 0) FROM marks)), 0)`,
	}
	for _, s := range []string{"changes", "outcomes"} { // the lookups above go by source
		statements = append([]string{fmt.Sprintf("CREATE INDEX mending_%s ON %s (source, cursor)", s, s)}, statements...)
		statements = append(statements, "DROP INDEX mending_"+s)
	}
	for _, s := range statements {
		if _, err := m.Exec(s); err != nil {
			return err
		}
	}
	return m.noteVersions()
}

// noteVersions notes which versions are lost.
func (m *mending) noteVersions() error {
	type gap struct{ source, first, last int64 }
	var gaps []gap
	err := m.Query(`SELECT source, number + 1, following - 1 FROM (
			SELECT source, number, lead(number, 1, (SELECT max(head, ifnull(newest, 0)) + 1 FROM standings t WHERE t.source = v.source)) OVER (PARTITION BY source ORDER BY number) AS following
			FROM versions v
		) WHERE following > number + 1
		UNION ALL SELECT source, head, head FROM standings t WHERE head <> 0 AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.source = t.source)`,
		nil, func(v []driver.Value) error {
			gaps = append(gaps, gap{v[0].(int64), v[1].(int64), v[2].(int64)})
			return nil
		})
	for _, g := range gaps {
		if err == nil {
			_, err = m.Exec("INSERT OR REPLACE INTO cuts (log, source, first, last, before, after) VALUES ('versions', ?, ?, ?, 0, 0)", g.source, g.first, g.last)
		}
	}
	return err
}

// keepEnds sees to it that no number of the logs is given out again.
func (m *mending) keepEnds() error {
	outcome, err := m.Number(`SELECT max(
		ifnull((SELECT max(cursor) FROM outcomes), 0), ifnull((SELECT max(upto) FROM marks), 0),
		ifnull((SELECT last FROM counters WHERE name = 'outcome'), 0), ifnull((SELECT max(last_outcome) FROM standings), 0),
		ifnull((SELECT upto FROM seals WHERE name = 'outcomes'), 0), ifnull((SELECT max(outcome) FROM epochs), 0))`)
	if err != nil {
		return err
	}
	change, err := m.Number(`SELECT max(
		ifnull((SELECT max(cursor) FROM changes), 0), ifnull((SELECT max(last_change) FROM standings), 0),
		ifnull((SELECT max(place) FROM places), 0), ifnull((SELECT upto FROM seals WHERE name = 'changes'), 0),
		ifnull((SELECT max(change) FROM epochs), 0))`)
	if err != nil {
		return err
	}
	if _, err := m.Exec("INSERT OR REPLACE INTO counters (name, last) VALUES ('outcome', ?)", outcome); err != nil {
		return err
	}
	if _, err := m.Exec("DELETE FROM sqlite_sequence WHERE name = 'changes'"); err != nil {
		return err
	}
	_, err = m.Exec("INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', ?)", change)
	return err
}
