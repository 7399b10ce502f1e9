package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"

	"freshet/internal/freshet"
)

const (
	clearSources = 200  // pages that are watched, taken off a shelf in one transaction
	purgeSources = 20   // of those, if all that is known of them goes too
	clearRows    = 5000 // pages that only wait
)

// shelfNamed returns the shelf of the site with an ID, or nil.
func (b *batch) shelfNamed(id freshet.SourceID) *shelf {
	if id == "" {
		return nil
	}
	e := b.entry(id)
	if e == nil {
		return nil
	}
	return b.shelf(e.key)
}

// sameSite refuses an edit that takes a page from its site, or makes it another page.
func (b *batch) sameSite(e *entry, next freshet.Source) error {
	if e.site == 0 && next.Of == "" {
		return nil
	}
	now, err := b.source(e.key)
	switch {
	case err != nil:
		return err
	case now.Of != next.Of:
		return &freshet.InvalidError{Field: "of", Reason: "a source stays with the site that it was found for"}
	case now.URL != next.URL && !now.Index:
		return &freshet.InvalidError{Field: "url", Reason: "the URL of a page of a site cannot be changed"}
	}
	return nil
}

// shelve notes on a shelf that a source watches a page of it.
func (b *batch) shelve(sh *shelf, e *entry, src freshet.Source) error {
	if src.Index {
		return nil
	}
	r, found, err := b.findPage(sh, src.URL, pageHash(src.URL))
	if err != nil || !found || r.is(freshet.PageWatched) {
		return err
	}
	before := r
	r.become(freshet.PageWatched)
	r.source = e.key
	return b.putPage(sh, &before, &r)
}

// refuse notes that somebody does not want the page of a source watched, so that it is
// not taken again.
func (b *batch) refuse(e *entry, purge bool) error {
	sh, r, err := b.pageOf(e)
	if err != nil || r == nil {
		return err
	}
	before := *r
	if r.is(freshet.PageWatched) {
		r.become(freshet.PageRefused)
	}
	if purge {
		r.source = 0
	}
	if *r == before {
		return nil
	}
	return b.putPage(sh, &before, r)
}

// putBack has the page of a source wait again: the source is about to go, and if all of
// its site does not, because that is cut off, the page is to be taken again.
func (b *batch) putBack(e *entry, purge bool) error {
	sh, r, err := b.pageOf(e)
	if err != nil || r == nil {
		return err
	}
	before := *r
	if r.is(freshet.PageWatched) {
		r.become(freshet.PageWaiting)
	}
	if purge {
		r.source = 0
	}
	if *r == before {
		return nil
	}
	return b.putPage(sh, &before, r)
}

// clear takes pages off a shelf, those that are watched first, and not more than a
// transaction should hold. It reports whether there may be more of them.
func (b *batch) clear(sh *shelf, purge bool) (more bool, err error) {
	query, most := "SELECT id FROM sources WHERE site = ? AND removed = 0 LIMIT ?", clearSources
	if purge {
		query, most = "SELECT id FROM sources WHERE site = ? LIMIT ?", purgeSources
	}
	var ids []freshet.SourceID
	err = b.Query(query, []driver.Value{sh.key, int64(most)}, func(v []driver.Value) error {
		id, _ := v[0].(string)
		ids = append(ids, freshet.SourceID(id))
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		e := b.entry(id)
		if e == nil { // its standing is lost
			return false, fmt.Errorf("%w: source %s is there, and how things stand with it is not", freshet.ErrDamaged, id)
		}
		if err := b.putBack(e, purge); err != nil {
			return false, err
		}
		if err := b.drop(e, purge); err != nil {
			return false, err
		}
	}
	if len(ids) == most {
		return true, nil
	}
	return b.clearRows(sh)
}

// clearRows deletes pages from a shelf, and reports whether there may be more.
func (b *batch) clearRows(sh *shelf) (more bool, err error) {
	var n int
	returned := strings.Join(pagesTable.columns, ", ") + ", " + pagesTable.sum
	err = b.Query("DELETE FROM pages WHERE site = ? AND hash IN (SELECT hash FROM pages WHERE site = ? ORDER BY hash LIMIT ?) RETURNING "+returned,
		[]driver.Value{sh.key, sh.key, int64(clearRows)}, func(v []driver.Value) error {
			n++
			old, _ := v[len(pagesTable.columns)].(int64)
			b.reseal(&pagesTable, seal{-1, -old})
			r, err := readPage(v)
			if err == nil {
				sh.add(&r, -1)
			}
			return err
		})
	return n == clearRows, err
}

// keepsPages reports whether there are pages on a shelf, or indexes of its site are
// watched.
func (s *Store) keepsPages(ctx context.Context, sh *shelf) (bool, error) {
	if sh == nil || sh.count.Known() > 0 {
		return sh != nil, nil
	}
	watched := false
	err := eachRow(ctx, s.reader, "SELECT 1 FROM sources WHERE site = ? AND removed = 0 LIMIT 1", []any{sh.key}, func(func(...any) error) error {
		watched = true
		return nil
	})
	return watched, s.fault("reading the sources of "+string(sh.site.ID), err)
}

// shelfNow returns the shelf of a source, nil if it has none.
func (s *Store) shelfNow(id freshet.SourceID) *shelf {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e := s.entries[id]
	if e == nil || s.shelves[e.key] == nil {
		return nil
	}
	copied := *s.shelves[e.key]
	return &copied
}

// clearPages takes all pages off the shelf of a source that is no site any more. Their
// history stays.
func (s *Store) clearPages(ctx context.Context, id freshet.SourceID) error {
	for more := true; more; {
		err := s.write(ctx, "letting go of the pages of "+string(id), func(b *batch) (err error) {
			more = false
			sh := b.shelfNamed(id)
			if sh == nil || sh.site.Site != nil { // it is one again
				return nil
			}
			more, err = b.clear(sh, false)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// resume takes the pages off the shelves of sources that are no sites any more, where
// that was cut off.
func (s *Store) resume(ctx context.Context) error {
	for _, sh := range s.shelves {
		if sh.site.Site != nil {
			continue
		}
		if keeps, err := s.keepsPages(ctx, sh); !keeps || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		if err := s.clearPages(ctx, sh.site.ID); err != nil {
			return err
		}
	}
	return nil
}
