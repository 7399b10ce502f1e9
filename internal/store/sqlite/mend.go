package sqlite

import (
	"database/sql/driver"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/store"
)

// A mending makes a store of the rows that were saved from a damaged one: it
// drops what is not as it was written, and what rests on that.
type mending struct{ store.Repair }

// drop deletes the rows that a verification found to be altered, unless they can be rebuilt.
func (m *mending) drop(found []Damage) error {
	for _, d := range found {
		row, key := d.Row()
		if row == nil {
			m.Lost = append(m.Lost, d)
			continue
		}
		what, err := ": it is lost", error(nil)
		switch {
		case row == store.Sources:
			what = m.keepSource(key[0])
		case row == store.Heads:
			_, err = m.Exec("UPDATE standings SET head = 0, changes = 0, last_change = 0, etag = '', last_modified = '', head_recipe = '', suspect = NULL, landed = NULL, belied = NULL, newest = NULL, held = NULL, quiet_suspect = NULL, quiet_noise = NULL, moved = '', moved_at = NULL WHERE source = ?", key[0])
			what = ": it is rebuilt"
		case row == store.Tallies:
			_, err = m.Exec("UPDATE standings SET last_outcome = 0, not_before = NULL, fresh = NULL, failures = 0, failure = '', err = '' WHERE source = ?", key[0])
			what = ": it is rebuilt"
		case row.Repair != nil:
			what, err = row.Repair(m.Writer, key)
			what = ": " + what
		default:
			_, err = m.Exec("DELETE FROM "+row.Name+" WHERE "+row.IsKey(), key...)
		}
		if err != nil {
			return err
		}
		d.What += what
		m.Lost = append(m.Lost, d)
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

// dropOrphans deletes rows of the store that refer to lost ones.
func (m *mending) dropOrphans() error {
	for _, table := range []string{"standings", "outcomes", "envelopes", "bodies", "versions", "changes", "beliefs", "labels"} {
		if err := m.Drop(table, "%d rows of %s belong to lost sources", "DELETE FROM "+table+" WHERE source NOT IN (SELECT key FROM sources)"); err != nil {
			return err
		}
	}
	for before := -1; len(m.Lost) != before; {
		before = len(m.Lost)
		if err := m.Drop("bodies", "%d %s depend on a lost one", "DELETE FROM bodies WHERE base <> 0 AND base NOT IN (SELECT id FROM bodies)"); err != nil {
			return err
		}
	}
	for _, d := range []struct{ table, format, statement string }{
		{"pictures", "%d %s are lost", "UPDATE versions SET picture = NULL WHERE picture NOT IN (SELECT id FROM bodies)"},
		{"versions", "%d %s are lost, because their bodies are", `DELETE FROM versions WHERE text NOT IN (SELECT id FROM bodies) OR raw NOT IN (SELECT id FROM bodies)
			OR envelope NOT IN (SELECT id FROM envelopes)`},
		{"evidence", "what sources said at %d outcomes (%s) is lost, because these are", "DELETE FROM evidence WHERE outcome NOT IN (SELECT cursor FROM outcomes)"},
	} {
		if err := m.Drop(d.table, d.format, d.statement); err != nil {
			return err
		}
	}
	// A page whose site is lost stays as a source of its own, with what is said of it.
	if _, err := m.Exec("UPDATE sources SET site = NULL WHERE site NOT IN (SELECT key FROM sources)"); err != nil {
		return err
	}
	_, err := m.Exec("INSERT OR IGNORE INTO standings (source) SELECT key FROM sources")
	return err
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
		ifnull((SELECT upto FROM seals WHERE name = 'changes'), 0), ifnull((SELECT max(change) FROM epochs), 0))`)
	if err != nil {
		return err
	}
	if _, err := m.Exec("INSERT OR REPLACE INTO counters (name, last) VALUES ('outcome', ?)", outcome); err != nil {
		return err
	}
	if _, err := m.Exec("DELETE FROM sqlite_sequence WHERE name = 'changes'"); err != nil {
		return err
	}
	_, err = m.Exec("INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', ?)", max(change, m.LastChange))
	return err
}
