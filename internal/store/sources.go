package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unique"

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
func (s *sourceReader) Source(ctx context.Context, id freshet.SourceID) (freshet.SourceWithStatus, error) {
	return s.source(ctx, freshet.Source{ID: id}, false)
}

// SourceAsWritten implements [freshet.Catalog].
func (s *sourceReader) SourceAsWritten(ctx context.Context, written freshet.Source) (freshet.SourceWithStatus, error) {
	return s.source(ctx, written, false)
}

// RemovedSource implements [freshet.Catalog].
func (s *sourceReader) RemovedSource(ctx context.Context, id freshet.SourceID) (freshet.SourceWithStatus, error) {
	return s.source(ctx, freshet.Source{ID: id}, true)
}

func (s *sourceReader) source(ctx context.Context, known freshet.Source, removed bool) (freshet.SourceWithStatus, error) {
	found, err := s.watched(ctx, known, selectSources+"AND s.id = ?", removed, known.ID)
	if err != nil {
		return freshet.SourceWithStatus{}, s.fault("reading source "+string(known.ID), err)
	}
	if len(found) == 0 {
		return freshet.SourceWithStatus{}, unknown(known.ID)
	}
	return found[0], nil
}

// Sources implements [freshet.Catalog].
func (s *sourceReader) Sources(ctx context.Context) iter.Seq2[freshet.SourceWithStatus, error] {
	return s.SourcesAfter(ctx, "")
}

// SourcesAfter implements [freshet.Catalog].
func (s *sourceReader) SourcesAfter(ctx context.Context, after freshet.SourceID) iter.Seq2[freshet.SourceWithStatus, error] {
	return s.sources(ctx, after, selectSources, false)
}

// RemovedSources implements [freshet.Catalog].
func (s *sourceReader) RemovedSources(ctx context.Context, url string) iter.Seq2[freshet.SourceWithStatus, error] {
	if url == "" {
		return s.sources(ctx, "", selectSources, true)
	}
	return s.sources(ctx, "", selectSources+"AND s.url = ? ", true, url)
}

// sources yields what a query finds after an ID, a page at a time.
func (s *sourceReader) sources(ctx context.Context, last freshet.SourceID, query string, args ...any) iter.Seq2[freshet.SourceWithStatus, error] {
	return func(yield func(freshet.SourceWithStatus, error) bool) {
		last := last // it may be gone through twice
		for first := true; ; first = false {
			page, err := s.page(ctx, first, query+"AND s.id > ? ORDER BY s.id LIMIT ?", append(slices.Clone(args), last, sourcePage)...)
			if err != nil {
				yield(freshet.SourceWithStatus{}, s.fault("reading the sources", err))
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

// sourceOr is source without decoding the definition if the row is that of a source of which
// all is known but its dates. A page may differ by what holds for its site now.
func (r *sourceRow) sourceOr(known, site freshet.Source) (freshet.Source, error) {
	if r.id != known.ID || r.revision != known.Revision || r.site != 0 {
		return r.source(site)
	}
	known.Origin, known.Created = r.origin, r.created.Time()
	return tidied(known), nil
}

// page is watched, for one of many pages that are read after each other. What another process has
// written is read for the first one, and for one with a source that was not there then.
func (s *sourceReader) page(ctx context.Context, first bool, query string, args ...any) ([]freshet.SourceWithStatus, error) {
	if !first && s.hasSourceIndex() {
		found, err := s.rows(ctx, freshet.Source{}, query, args...)
		if err != nil || s.stand(found) {
			return found, err
		}
	}
	return s.watched(ctx, freshet.Source{}, query, args...)
}

// watched returns the sources that a query finds, with their standings. Known is one of them of
// which all is known already, or none.
func (s *sourceReader) watched(ctx context.Context, known freshet.Source, query string, args ...any) ([]freshet.SourceWithStatus, error) {
	if err := s.upToDate(ctx); err != nil {
		return nil, err
	}
	found, err := s.rows(ctx, known, query, args...)
	s.stand(found)
	return found, err
}

// rows returns the sources that a query finds, with what of their standings is in the tables.
func (s *sourceReader) rows(ctx context.Context, known freshet.Source, query string, args ...any) ([]freshet.SourceWithStatus, error) {
	var found []freshet.SourceWithStatus
	err := EachRow(ctx, s.reader, query, args, func(scan func(...any) error) error {
		var w freshet.SourceWithStatus
		var row sourceRow
		var changedAt Moment
		st := freshet.Status{}
		v, err := scanVersion(func(dst ...any) error {
			return scan(append(append(row.places(), &st.Recipe, &st.Validators.ETag, &st.Validators.LastModified, &st.Changes, &changedAt), dst...)...)
		})
		if err != nil {
			return err
		}
		if w.Source, err = row.sourceOr(known, s.site(row.site)); err != nil {
			return err
		}
		st.ChangedAt = changedAt.Time()
		if v.Number != 0 {
			v.Source = w.ID
			st.Head = v
		}
		w.Status = st
		found = append(found, w)
		return nil
	})
	return found, err
}

// stand completes the standings of sources that were just read with what their outcomes add up
// to, and reports whether all of them are known.
func (s *sourceMemory) stand(found []freshet.SourceWithStatus) (known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known = true
	for i := range found {
		st, e := &found[i].Status, s.entries[found[i].ID]
		if e == nil {
			known = false
			continue
		}
		s.shareTexts(&found[i].Source, e)
		full := e.standing()
		full.Head, full.Recipe, full.Validators = st.Head, st.Recipe, st.Validators
		full.Changes, full.ChangedAt = st.Changes, st.ChangedAt
		*st = full
	}
	return known
}

// shareTexts gives a source that was just read the ID and the URL that are in memory already, because
// the scheduler keeps them for all sources. s.mu is held.
func (s *sourceMemory) shareTexts(src *freshet.Source, e *entry) {
	src.ID = e.id
	if s.sourceIndex == nil || int(e.place) >= len(s.sourceIndex.lines) {
		return
	}
	if row := s.sourceIndex.lines[e.place].row; row != nil && row.url == src.URL {
		src.URL = row.url
	}
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

// linesAtOnce is how many lines a list looks at in one go. Meanwhile nothing is written.
const linesAtOnce = 4096

// A sourceMatcher is a filter made ready for the index.
type sourceMatcher struct {
	freshet.SourceFilter
	tag, host unique.Handle[string]
	text      string
}

func newSourceMatcher(f freshet.SourceFilter) sourceMatcher {
	return sourceMatcher{f, unique.Make(f.Tag), unique.Make(f.Host), strings.ToLower(f.Text)}
}

// has is SourceFilter.Has.
func (f *sourceMatcher) has(l *line) bool {
	switch {
	case l.row == nil || l.removed != f.Removed:
		return false
	case f.Named && l.page, f.Of != "" && l.row.of != f.Of:
		return false
	case f.In != 0 && l.in&f.In == 0, f.Host != "" && l.row.host != f.host:
		return false
	case f.Tag != "" && !slices.Contains(l.row.tags, f.tag):
		return false
	}
	return f.text == "" || strings.Contains(l.row.id, f.text) || strings.Contains(l.row.url, f.text) ||
		strings.Contains(l.row.name, f.text) || strings.Contains(l.title, f.text)
}

// matching yields the lines that a filter lets through in the order of the IDs, with their
// places in the order. A line is good only until the next one.
func (s *sourceMemory) matching(ctx context.Context, r *sourceIndex, order []int32, want sourceMatcher) iter.Seq2[int32, *line] {
	return func(yield func(int32, *line) bool) {
		for from := 0; from < len(order) && ctx.Err() == nil; from += linesAtOnce {
			if !s.some(r, order, from, &want, yield) {
				return
			}
		}
	}
}

// some goes through a part of the index.
func (s *sourceMemory) some(r *sourceIndex, order []int32, from int, want *sourceMatcher, yield func(int32, *line) bool) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for at := from; at < min(from+linesAtOnce, len(order)); at++ {
		if l := &r.lines[order[at]]; want.has(l) && !yield(int32(at), l) {
			return false
		}
	}
	return true
}

// A spot is where a line stands in a list: by a key, then in the order of the IDs.
type spot struct {
	key int64
	at  int32
}

func (s spot) compare(o spot) int { return cmp.Or(cmp.Compare(s.key, o.key), cmp.Compare(s.at, o.at)) }

// ListSources implements [freshet.Catalog].
func (s *sourceReader) ListSources(ctx context.Context, q freshet.SourceQuery) (list freshet.SourceList, err error) {
	if !s.hasSourceIndex() {
		return q.List(s.listed(ctx, q.Removed))
	}
	if err := s.upToDate(ctx); err != nil {
		return list, s.fault("reading the store", err)
	}
	var ids []freshet.SourceID
	err = s.withList(ctx, listKey{q.SourceFilter, q.By}, func(r *sourceIndex, k *sortedList) { list, ids = k.part(r, q) })
	if err == nil {
		list.Sources, err = s.NamedSources(ctx, ids, q.Removed)
	}
	return list, err
}

// listed yields all sources that a list can have.
func (s *sourceReader) listed(ctx context.Context, removed bool) iter.Seq2[freshet.SourceWithStatus, error] {
	if removed {
		return s.RemovedSources(ctx, "")
	}
	return s.Sources(ctx)
}

// NamedSources implements [freshet.Catalog].
func (s *sourceReader) NamedSources(ctx context.Context, ids []freshet.SourceID, removed bool) ([]freshet.SourceWithStatus, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found, err := s.watched(ctx, freshet.Source{}, selectSources+"AND s.id IN (SELECT value FROM json_each(?))", removed, string(text))
	if err != nil {
		return nil, s.fault("reading the sources", err)
	}
	place := make(map[freshet.SourceID]int, len(ids))
	for i, id := range ids {
		place[id] = i
	}
	slices.SortFunc(found, func(a, b freshet.SourceWithStatus) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return found, nil
}

// SourcesAt implements [freshet.Catalog].
func (s *sourceReader) SourcesAt(ctx context.Context, urls []string) ([]freshet.SourceWithStatus, error) {
	if len(urls) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(urls)
	if err != nil {
		return nil, err
	}
	found, err := s.watched(ctx, freshet.Source{}, selectSources+"AND s.url IN (SELECT value FROM json_each(?))", false, string(text))
	if err != nil {
		return nil, s.fault("reading the sources", err)
	}
	return found, nil
}

// SourceIDs implements [freshet.Catalog].
func (s *sourceReader) SourceIDs(ctx context.Context, f freshet.SourceFilter) (ids []freshet.SourceID, err error) {
	if !s.hasSourceIndex() {
		for w, err := range s.listed(ctx, f.Removed) {
			if err != nil {
				return nil, err
			}
			if f.Has(w) {
				ids = append(ids, w.ID)
			}
		}
		return ids, nil
	}
	if err := s.upToDate(ctx); err != nil {
		return nil, s.fault("reading the store", err)
	}
	err = s.withList(ctx, listKey{f, freshet.ByID}, func(r *sourceIndex, k *sortedList) {
		_, ids = k.part(r, freshet.SourceQuery{})
	})
	return ids, err
}

// CountSources implements [freshet.Catalog].
func (s *sourceReader) CountSources(ctx context.Context) (freshet.SourceCounts, error) {
	if !s.hasSourceIndex() {
		return freshet.Count(s.Sources(ctx))
	}
	if err := s.upToDate(ctx); err != nil {
		return freshet.SourceCounts{}, s.fault("reading the store", err)
	}
	s.catchUp()
	n := freshet.SourceCounts{
		All: freshet.StateCounts{In: map[freshet.Conditions]int{}}, Named: freshet.StateCounts{In: map[freshet.Conditions]int{}},
		Tags: map[string]int{}, Hosts: map[string]int{},
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for in := range s.sourceIndex.states[0] {
		n.All.Add(freshet.Conditions(in), s.sourceIndex.states[0][in])
		n.Named.Add(freshet.Conditions(in), s.sourceIndex.states[1][in])
	}
	for tag, sources := range s.sourceIndex.tags {
		n.Tags[tag.Value()] = sources
	}
	for host, sources := range s.sourceIndex.hosts {
		n.Hosts[host.Value()] = sources
	}
	return n, nil
}

// A Known is a source of which there is a history, whether or not it is still
// watched.
type Known struct {
	freshet.Source
	Removed bool
}

// Known yields all sources of which there is a history, in the order of their
// IDs, with what bears on when they are polled. Unlike Sources it
// yields removed ones as well, and leaves out their standing, so that it costs a
// reader beside a daemon little even where there are many.
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
	err = EachRow(ctx, s.reader, query, []any{string(last), sourcePage}, func(scan func(...any) error) error {
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
