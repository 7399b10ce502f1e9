package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"freshet/internal/store"
)

// A salvage copies the rows that can be read from a damaged file to a new one,
// as they are. Whether they are as they were written is seen to afterwards.
type salvage struct {
	ctx      context.Context
	from, to *store.Writer
	say      func(Progress)
	lost     []Damage
}

// A rowsOf says how the rows of a table are reached.
type rowsOf struct {
	name   string
	key    string // the first column of its key
	whole  bool   // which is a whole number
	memory bool   // what is lost of it is learnt anew
}

// salvaged are all tables, those that others refer to first.
var salvaged = []rowsOf{
	{name: "sources", key: "key", whole: true}, {name: "standings", key: "source", whole: true}, {name: "labels", key: "id", whole: true},
	{name: "attempts", key: "source", whole: true}, {name: "outcomes", key: "cursor", whole: true}, {name: "evidence", key: "outcome", whole: true}, {name: "marks", key: "upto", whole: true},
	{name: "envelopes", key: "id", whole: true}, {name: "bodies", key: "id", whole: true}, {name: "versions", key: "source", whole: true},
	{name: "changes", key: "cursor", whole: true}, {name: "epochs", key: "number", whole: true}, {name: "places", key: "reader"},
	{name: "debts", key: "reader"}, {name: "retired", key: "reader"}, {name: "sinks", key: "name"}, {name: "tombstones", key: "id"}, {name: "counters", key: "name"},
	{name: "shelves", key: "site", whole: true}, {name: "pages", key: "site"}, {name: "cuts", key: "log"}, {name: "queries", key: "key", whole: true},
	{name: "matches", key: "cursor", whole: true}, {name: "parcels", key: "cursor", whole: true}, {name: "query_notes", key: "query", whole: true},
	{name: "users", key: "name"}, {name: "passes", key: "id"}, {name: "deeds", key: "cursor", whole: true}, {name: "answers", key: "key", whole: true}, {name: "seals", key: "name"}, {name: "beliefs", key: "estimator", memory: true},
	{name: "common_beliefs", key: "estimator", memory: true},
}

// run copies all tables.
func (s *salvage) run() error {
	for i, t := range salvaged {
		s.say(Progress{Doing: "saving " + t.name, Done: int64(i), Of: int64(len(salvaged))})
		columns, err := s.columns(t.name)
		if err != nil {
			return err
		}
		if err := s.to.Within(func() error { return s.table(t, columns) }); err != nil {
			return fmt.Errorf("saving %s: %w", t.name, err)
		}
	}
	return nil
}

// columns returns the columns of a table of the new file.
func (s *salvage) columns(table string) (names []string, err error) {
	err = s.to.Query("SELECT name FROM pragma_table_info(?)", []driver.Value{table}, func(v []driver.Value) error {
		names = append(names, v[0].(string))
		return nil
	})
	return names, err
}

const (
	// mostKey is more than the keys of any table come to.
	mostKey = 1 << 40

	// mostTries is how often a part of a table may fail to be read before the
	// rest is given up: no part can be read if the page is bad that leads to all.
	mostTries = 4000
)

// table copies the rows of a table.
func (s *salvage) table(t rowsOf, columns []string) error {
	if _, err := s.to.Exec("DELETE FROM " + t.name); err != nil { // what a new store begins with
		return err
	}
	list := strings.Join(columns, ", ")
	put := fmt.Sprintf("INSERT OR IGNORE INTO %s (%s) VALUES (%s)", t.name, list, strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", "))
	read := func(query string, args ...driver.Value) (unread, fatal error) {
		err := s.from.Query(query, args, func(v []driver.Value) error {
			if s.ctx.Err() != nil {
				return context.Cause(s.ctx)
			}
			_, fatal = s.to.Exec(put, v...)
			if isConstraint(fatal) { // Verify misses it
				fatal = nil
			}
			return fatal
		})
		if fatal != nil || s.ctx.Err() != nil {
			return nil, err
		}
		return err, nil
	}
	all := fmt.Sprintf("SELECT %s FROM %s NOT INDEXED", list, t.name)
	unread, fatal := read(all)
	if unread == nil || fatal != nil {
		return fatal
	}
	s.lost = append(s.lost, Damage{Table: t.name, What: fmt.Sprintf("a part of the %s cannot be read: %v", t.name, unread)})
	if !t.whole {
		_, fatal = read(all + " ORDER BY " + t.key + " DESC")
		return fatal
	}
	failed := 0
	var between func(first, last int64) error
	between = func(first, last int64) error {
		if failed++; failed > mostTries {
			return nil
		}
		unread, fatal := read(all+" WHERE "+t.key+" BETWEEN ? AND ? ORDER BY "+t.key, first, last)
		if unread == nil {
			failed--
		}
		if unread == nil || fatal != nil || first == last {
			return fatal
		}
		middle := first + (last-first)/2
		if err := between(first, middle); err != nil {
			return err
		}
		return between(middle+1, last)
	}
	return between(0, mostKey)
}
