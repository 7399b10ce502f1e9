package sqlite

import (
	"context"
	"encoding/json"
	"iter"

	"freshet"
)

// A Known is a source of which there is a history, whether or not it is still
// watched.
type Known struct {
	freshet.Source
	Removed bool
}

// Known yields all sources of which there is a history, in the order of their
// IDs, with what bears on when they are polled. Unlike Sources it tells of
// those that were removed, and not how things stand with them, so that it costs
// a reader beside a daemon little also where there are many.
func (s *Store) Known(ctx context.Context) iter.Seq2[Known, error] {
	return func(yield func(Known, error) bool) {
		last := freshet.SourceID("")
		for {
			page, err := s.knownAfter(ctx, last)
			if err != nil {
				yield(Known{}, fault(s.path, "reading the sources", err))
				return
			}
			for _, k := range page {
				if !yield(k, nil) {
					return
				}
			}
			if len(page) < sourcePage {
				return
			}
			last = page[len(page)-1].ID
		}
	}
}

// knownAfter returns a page of the known sources.
func (s *Store) knownAfter(ctx context.Context, last freshet.SourceID) (page []Known, err error) {
	const query = `SELECT id, url, name, tags, weight, paused, min_gap, max_gap, created, life, urgency, cost, level, removed
		FROM sources WHERE id > ? ORDER BY id LIMIT ?`
	err = eachRow(ctx, s.reader, query, []any{string(last), sourcePage}, func(scan func(...any) error) error {
		var k Known
		var tags, life, urgency, level string
		var created moment
		err := scan(&k.ID, &k.URL, &k.Name, &tags, &k.Weight, &k.Paused, &k.MinGap, &k.MaxGap, &created, &life, &urgency, &k.Cost, &level, &k.Removed)
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(tags), &k.Tags); err != nil {
			return err
		}
		if k.Life, err = freshet.ParseLife(life); err != nil {
			return err
		}
		if k.Urgency, err = freshet.ParseUrgency(urgency); err != nil {
			return err
		}
		if k.Level, err = freshet.ParseServiceLevel(level); err != nil {
			return err
		}
		k.Created = created.time()
		page = append(page, k)
		return nil
	})
	return page, err
}
