package postgres

import (
	"database/sql/driver"
	"errors"
	"fmt"

	"freshet/internal/store"
)

// A partition is a part of the log of outcomes, as its name says.
type partition struct{ first, last int64 }

func (p partition) name() string { return fmt.Sprintf("outcomes_%d_%d", p.first, p.last) }

// partitions returns the parts of the log in their order.
func partitions(w *store.Writer) (found []partition, err error) {
	err = w.Query(`SELECT CAST(split_part(c.relname, '_', 2) AS BIGINT), CAST(split_part(c.relname, '_', 3) AS BIGINT)
		FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'outcomes'::regclass ORDER BY 1`, nil, func(v []driver.Value) error {
		found = append(found, partition{number(v[0]), number(v[1])})
		return nil
	})
	return found, err
}

// grown returns up to where there is room for outcomes.
func (d *database) grown() (int64, error) {
	parts, err := partitions(d.writer)
	if err != nil || len(parts) == 0 {
		return 0, err
	}
	return parts[len(parts)-1].last, nil
}

// Grow implements [store.Database]. A new partition is attached, because that does not wait
// for readers as creating it in its place would.
func (d *database) Grow(w *store.Writer, upto int64) error {
	for d.growing < upto {
		p := partition{max(d.growing+1, upto), 0}
		p.last = p.first + d.cfg.Partition - 1
		if err := w.Do("CREATE TABLE " + p.name() + " (LIKE outcomes INCLUDING ALL)"); err != nil {
			return err
		}
		if err := w.Do(fmt.Sprintf("ALTER TABLE outcomes ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)", p.name(), p.first, p.last+1)); err != nil {
			return err
		}
		d.growing = p.last
	}
	return nil
}

// Stale implements [store.Database]. The partition that is written to is never stale. While a
// reader holds the log for long, outcomes are deleted one by one.
func (d *database) Stale(w *store.Writer, before int64) (part store.Stretch, err error) {
	parts, err := partitions(w)
	if err != nil || len(parts) < 2 {
		return part, err
	}
	oldest := parts[0].name()
	newest := int64(0)
	err = w.Query("SELECT coalesce(began, 0) FROM "+oldest+" ORDER BY cursor DESC LIMIT 1", nil, func(v []driver.Value) error {
		newest = number(v[0])
		return nil
	})
	if err != nil || newest >= before {
		return part, err
	}
	err = w.Query("SELECT coalesce(min(cursor), 0), coalesce(max(cursor), 0), coalesce(max(began), 0) FROM "+oldest, nil, func(v []driver.Value) error {
		part, newest = store.Stretch{First: number(v[0]), Last: number(v[1])}, number(v[2])
		return nil
	})
	if err != nil || newest >= before {
		return store.Stretch{}, err
	}
	ours, err := d.lockLog(w)
	if err != nil || !ours {
		return store.Stretch{}, err
	}
	if part.First == 0 { // all of it has gone one by one
		return part, w.Do("DROP TABLE " + oldest)
	}
	return part, nil
}

// lockLog locks the log for this transaction alone, unless a reader holds it for long.
func (d *database) lockLog(w *store.Writer) (bool, error) {
	if _, err := w.Exec("SAVEPOINT log"); err != nil {
		return false, err
	}
	if _, err := w.Exec("SET LOCAL lock_timeout = '500ms'"); err != nil {
		return false, err
	}
	_, err := w.Exec("LOCK TABLE outcomes IN ACCESS EXCLUSIVE MODE")
	if codeOf(err) != lockTimeout {
		return err == nil, err
	}
	_, err = w.Exec("ROLLBACK TO SAVEPOINT log")
	return false, err
}

// DropOutcomes implements [store.Database].
func (d *database) DropOutcomes(w *store.Writer, part store.Stretch) error {
	parts, err := partitions(w)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.first <= part.First && part.Last <= p.last {
			return w.Do("DROP TABLE " + p.name())
		}
	}
	return errors.New("there is no such part of the log of outcomes")
}
