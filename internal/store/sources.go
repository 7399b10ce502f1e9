package store

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"freshet/internal/freshet"
)

// A sourceReader reads sources, with their standings and in lists.
type sourceReader struct{ *mirror }

// sourcePage is how many sources are read at once. Between pages no
// transaction is open, so a slow caller does not keep the log from being
// folded into the database.
const sourcePage = 500

// sourceColumns are what sourceRow scans.
const sourceColumns = "s.id, s.url, coalesce(s.site, 0), s.definition, s.revision, s.origin, s.created"

// selectSources finds the sources that are watched, or those that were removed.
const selectSources = `SELECT ` + sourceColumns + `,
	t.head_recipe, t.etag, t.last_modified, t.changes, t.changed_at, ` + versionColumns + `
	FROM sources s JOIN standings t ON t.source = s.key
	LEFT JOIN versions v ON v.source = s.key AND v.number = t.head ` + versionJoins + `
	WHERE s.removed = ? `

// Source implements [freshet.Catalog].
func (s *sourceReader) Source(ctx context.Context, id freshet.SourceID) (freshet.Watched, error) {
	return s.source(ctx, id, false)
}

// RemovedSource implements [freshet.Catalog].
func (s *sourceReader) RemovedSource(ctx context.Context, id freshet.SourceID) (freshet.Watched, error) {
	return s.source(ctx, id, true)
}

func (s *sourceReader) source(ctx context.Context, id freshet.SourceID, removed bool) (freshet.Watched, error) {
	found, err := s.watched(ctx, selectSources+"AND s.id = ?", removed, id)
	if err != nil {
		return freshet.Watched{}, s.fault("reading source "+string(id), err)
	}
	if len(found) == 0 {
		return freshet.Watched{}, unknown(id)
	}
	return found[0], nil
}

// Sources implements [freshet.Catalog].
func (s *sourceReader) Sources(ctx context.Context) iter.Seq2[freshet.Watched, error] {
	return s.SourcesAfter(ctx, "")
}

// SourcesAfter implements [freshet.Catalog].
func (s *sourceReader) SourcesAfter(ctx context.Context, after freshet.SourceID) iter.Seq2[freshet.Watched, error] {
	return s.sources(ctx, after, selectSources, false)
}

// RemovedSources implements [freshet.Catalog].
func (s *sourceReader) RemovedSources(ctx context.Context, url string) iter.Seq2[freshet.Watched, error] {
	if url == "" {
		return s.sources(ctx, "", selectSources, true)
	}
	return s.sources(ctx, "", selectSources+"AND s.url = ? ", true, url)
}

// sources yields what a query finds after an ID, a page at a time.
func (s *sourceReader) sources(ctx context.Context, last freshet.SourceID, query string, args ...any) iter.Seq2[freshet.Watched, error] {
	return func(yield func(freshet.Watched, error) bool) {
		last := last // it may be gone through twice
		for first := true; ; first = false {
			page, err := s.page(ctx, first, query+"AND s.id > ? ORDER BY s.id LIMIT ?", append(slices.Clone(args), last, sourcePage)...)
			if err != nil {
				yield(freshet.Watched{}, s.fault("reading the sources", err))
				return
			}
			for _, w := range page {
				if !yield(w, nil) {
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

// A sourceRow is the row of a source as it is read.
type sourceRow struct {
	id         freshet.SourceID
	url        string
	site       int64 // that it is a page of; 0 if none
	definition []byte
	revision   int64
	origin     freshet.Origin
	created    Moment
}

// places returns where sourceColumns are to be scanned to.
func (r *sourceRow) places() []any {
	return []any{&r.id, &r.url, &r.site, &r.definition, &r.revision, &r.origin, &r.created}
}

// source returns the source of the row. What the site says holds for a page of it; a
// page whose site is lost has what is said of itself.
func (r *sourceRow) source(site freshet.Source) (freshet.Source, error) {
	src, err := freshet.ParseDefinitionOver(site, r.id, r.url, r.definition)
	if err != nil {
		return src, fmt.Errorf("source %s: %w", r.id, err)
	}
	src.ID, src.Revision, src.Origin, src.Created = r.id, r.revision, r.origin, r.created.Time()
	return src, nil
}

// page is watched, for one of many pages that are read after each other. What somebody else has
// written is looked at for the first one, and for one with a source that was not there then.
func (s *sourceReader) page(ctx context.Context, first bool, query string, args ...any) ([]freshet.Watched, error) {
	if !first && s.keepsRoll() {
		found, err := s.rows(ctx, query, args...)
		if err != nil || s.stand(found) {
			return found, err
		}
	}
	return s.watched(ctx, query, args...)
}

// watched returns the sources that a query finds, with their standings.
func (s *sourceReader) watched(ctx context.Context, query string, args ...any) ([]freshet.Watched, error) {
	if err := s.upToDate(ctx); err != nil {
		return nil, err
	}
	found, err := s.rows(ctx, query, args...)
	s.stand(found)
	return found, err
}

// rows returns the sources that a query finds, with what of their standings is in the tables.
func (s *sourceReader) rows(ctx context.Context, query string, args ...any) ([]freshet.Watched, error) {
	var found []freshet.Watched
	err := eachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
		var w freshet.Watched
		var row sourceRow
		var changedAt Moment
		st := freshet.Standing{}
		v, err := scanVersion(func(dst ...any) error {
			return scan(append(append(row.places(), &st.Recipe, &st.Validators.ETag, &st.Validators.LastModified, &st.Changes, &changedAt), dst...)...)
		})
		if err != nil {
			return err
		}
		if w.Source, err = row.source(s.site(row.site)); err != nil {
			return err
		}
		st.ChangedAt = changedAt.Time()
		if v.Number != 0 {
			v.Source = w.ID
			st.Head = v
		}
		w.Standing = st
		found = append(found, w)
		return nil
	})
	return found, err
}

// stand completes the standings of sources that were just read with what their outcomes add up
// to, and reports whether all of them are known.
func (s *ledger) stand(found []freshet.Watched) (known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known = true
	for i := range found {
		st, e := &found[i].Standing, s.entries[found[i].ID]
		if e == nil {
			known = false
			continue
		}
		full := e.standing()
		full.Head, full.Recipe, full.Validators = st.Head, st.Recipe, st.Validators
		full.Changes, full.ChangedAt = st.Changes, st.ChangedAt
		*st = full
	}
	return known
}

// remembered returns a copy of the entry of a source, empty if there is none.
func (s *mirror) remembered(ctx context.Context, id freshet.SourceID) (entry, error) {
	if err := s.upToDate(ctx); err != nil {
		return entry{}, s.fault("reading the store", err)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if e := s.entries[id]; e != nil {
		return *e, nil
	}
	return entry{}, nil
}
