package store

import (
	"context"
	"errors"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// AddSources implements [freshet.Catalog].
func (s *Store) AddSources(ctx context.Context, list []freshet.Source) (added []freshet.Source, refused []error, err error) {
	list = append([]freshet.Source(nil), list...)
	for i := range list {
		if list[i].Created.IsZero() {
			list[i].Created = s.cfg.Now()
		}
	}
	added = make([]freshet.Source, len(list))
	refused, err = s.together(ctx, "adding sources", len(list), func(b *batch, i int) (err error) {
		if list[i].Of != "" {
			return &invalid.Error{Field: "of", Reason: "a page is added by its site"}
		}
		added[i], err = addValid(b, list[i])
		return err
	})
	return added, refused, err
}

// UpdateSources implements [freshet.Catalog].
func (s *Store) UpdateSources(ctx context.Context, list []freshet.Source) (refused []error, err error) {
	return s.together(ctx, "updating sources", len(list), func(b *batch, i int) error {
		if e := b.entry(list[i].ID); e != nil && (list[i].Site != nil || e.site != 0 || b.siteOf(e.key).ID != "") {
			return &invalid.Error{Field: "site", Reason: "sites and their pages are edited one at a time"}
		}
		return b.updateSource(list[i])
	})
}

// RemoveSources implements [freshet.Catalog].
func (s *Store) RemoveSources(ctx context.Context, ids []freshet.SourceID) (refused []error, err error) {
	return s.together(ctx, "removing sources", len(ids), func(b *batch, i int) error {
		e := b.entry(ids[i])
		switch {
		case e == nil || e.removed:
			return unknown(ids[i])
		case e.site != 0 || b.siteOf(e.key).ID != "":
			return &invalid.Error{Field: "site", Reason: "sites and their pages are removed one at a time"}
		}
		return b.drop(e, false)
	})
}

// together makes n edits in one transaction. An edit that is refused has written nothing and
// takes only itself out; any other error undoes all of them.
func (s *Store) together(ctx context.Context, doing string, n int, edit func(b *batch, i int) error) (refused []error, err error) {
	if n == 0 {
		return nil, nil
	}
	refused = make([]error, n)
	err = s.write(ctx, doing, func(b *batch) error {
		for i := range n {
			if refused[i] = edit(b, i); refused[i] != nil && !isRefusal(refused[i]) {
				return refused[i]
			}
		}
		return nil
	})
	return refused, err
}

// isRefusal reports whether an edit was refused for what it asks for, before it wrote anything.
func isRefusal(err error) bool {
	if _, ok := errors.AsType[*invalid.Error](err); ok {
		return true
	}
	return errors.Is(err, freshet.ErrConflict) || errors.Is(err, freshet.ErrStale) || errors.Is(err, freshet.ErrNotFound)
}
