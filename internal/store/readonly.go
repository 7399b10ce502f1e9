package store

import (
	"context"
	"iter"

	"freshet/internal/freshet"
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
func (s *sourceReader) Known(ctx context.Context) iter.Seq2[Known, error] {
	return func(yield func(Known, error) bool) {
		last := freshet.SourceID("")
		if err := s.refreshSites(ctx); err != nil {
			yield(Known{}, err)
			return
		}
		for {
			page, err := s.knownAfter(ctx, last)
			if err != nil {
				yield(Known{}, s.fault("reading the sources", err))
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
func (s *sourceReader) knownAfter(ctx context.Context, last freshet.SourceID) (page []Known, err error) {
	const query = "SELECT " + sourceColumns + ", s.removed FROM sources s WHERE s.id > ? ORDER BY s.id LIMIT ?"
	err = eachRow(ctx, s.reader, query, []any{string(last), sourcePage}, func(scan func(...any) error) error {
		var k Known
		var row sourceRow
		err := scan(append(row.places(), &k.Removed)...)
		if err != nil {
			return err
		}
		if k.Source, err = row.source(s.site(row.site)); err != nil {
			return err
		}
		page = append(page, k)
		return nil
	})
	return page, err
}
