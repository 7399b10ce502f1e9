package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"freshet/internal/store"
)

// A salvage copies the rows that can be read from a damaged file to a new one,
// as they are. Whether they are as they were written is seen to afterwards.
type salvage struct {
	ctx      context.Context
	from, to *store.Writer
	tables   []store.Rows
	say      func(Progress)
	lost     []Damage
}

// run copies all tables.
func (s *salvage) run() error {
	for i, t := range s.tables {
		s.say(Progress{Doing: "saving " + t.Name, Done: int64(i), Of: int64(len(s.tables))})
		if err := s.to.Within(func() error { return s.table(t) }); err != nil {
			return fmt.Errorf("saving %s: %w", t.Name, err)
		}
	}
	return nil
}

// hasNumbers reports whether the first column of the key of a table holds numbers.
func (s *salvage) hasNumbers(t store.Rows) (numbers bool, err error) {
	err = s.to.Query("SELECT type = 'INTEGER' FROM pragma_table_info(?) WHERE name = ?", []driver.Value{t.Name, t.Keys[0]}, func(v []driver.Value) error {
		numbers = v[0] == int64(1)
		return nil
	})
	return numbers, err
}

const (
	// mostKey is more than the keys of any table come to.
	mostKey = 1 << 40

	// mostTries is how often a part of a table may fail to be read before the
	// rest is given up: no part can be read if the page is bad that leads to all.
	mostTries = 4000
)

// table copies the rows of a table.
func (s *salvage) table(t store.Rows) error {
	if _, err := s.to.Exec("DELETE FROM " + t.Name); err != nil { // what a new store begins with
		return err
	}
	list := strings.Join(t.Columns, ", ")
	put := fmt.Sprintf("INSERT OR IGNORE INTO %s (%s) VALUES (%s)", t.Name, list, strings.TrimSuffix(strings.Repeat("?, ", len(t.Columns)), ", "))
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
	all := fmt.Sprintf("SELECT %s FROM %s NOT INDEXED", list, t.Name)
	unread, fatal := read(all)
	if unread == nil || fatal != nil {
		return fatal
	}
	s.lost = append(s.lost, Damage{Table: t.Name, What: fmt.Sprintf("a part of the %s cannot be read: %v", t.Name, unread)})
	key := t.Keys[0]
	if numbers, err := s.hasNumbers(t); !numbers || err != nil {
		_, fatal = read(all + " ORDER BY " + key + " DESC")
		return errors.Join(err, fatal)
	}
	failed := 0
	var between func(first, last int64) error
	between = func(first, last int64) error {
		if failed++; failed > mostTries {
			return nil
		}
		unread, fatal := read(all+" WHERE "+key+" BETWEEN ? AND ? ORDER BY "+key, first, last)
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
