package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/search"
)

// A ChangeFilter says which changes a client wants to hear of.
type ChangeFilter struct {
	Source freshet.SourceID `query:"source" doc:"Only changes of this source"`
	Site   freshet.SourceID `query:"site" doc:"Only changes of this site and its pages"`
	Tag    string           `query:"tag" doc:"Only changes of sources that had this tag when they changed"`
	Q      string           `query:"q" maxLength:"1000" doc:"Only changes that tell of these words: in the summary, in values, items or lines that are other, or in the URL or name of the source. See docs/search.md"`
	Since  string           `query:"since" doc:"Only changes seen at this time or later: such as 2026-11-01T08:00:00Z, a date, or how long ago, such as 2d"`
	Until  string           `query:"until" doc:"Only changes seen before this time; a date is its beginning"`

	seen freshet.Between
}

// wanted reads a filter.
func (a *api) wanted(f ChangeFilter) (ChangeFilter, error) {
	var err error
	if f.seen, err = a.span(Between{f.Since, f.Until}); err != nil {
		return f, err
	}
	if f.Q != "" {
		if _, err := search.Parse(f.Q); err != nil {
			return f, invalid("query.q", err.Error(), f.Q)
		}
	}
	return f, nil
}

// A wish holds changes against a filter.
type wish struct {
	filter ChangeFilter
	store  freshet.Catalog
	words  search.Query
	sites  map[freshet.SourceID]bool // whether a source is of the site
}

func wishOf(f ChangeFilter, store freshet.Catalog) *wish {
	asked, _ := search.Parse(f.Q) // wanted has seen to it
	return &wish{filter: f, store: store, words: asked, sites: map[freshet.SourceID]bool{}}
}

// picky reports whether there are changes that the store gives and that are not wanted.
func (w *wish) picky() bool { return w.filter.Tag != "" || w.filter.Site != "" || w.filter.Q != "" }

// has reports whether a change is wanted. The store has seen to source and time.
func (w *wish) has(ctx context.Context, c freshet.Change) (bool, error) {
	if w.filter.Tag != "" && !slices.Contains(c.Label.Tags, w.filter.Tag) {
		return false, nil
	}
	if w.filter.Site != "" {
		if of, err := w.ofSite(ctx, c.Source); err != nil || !of {
			return false, err
		}
	}
	if w.filter.Q == "" {
		return true, nil
	}
	details, err := json.Marshal(c.Details)
	if err != nil {
		return false, fmt.Errorf("details of change %d: %w", c.Cursor, err)
	}
	return w.words.In(c.Label.Name, c.Label.URL, c.Summary, string(details)), nil
}

// hasSeen reports whether a change is wanted of which the store has not seen to the time.
func (w *wish) hasSeen(ctx context.Context, c freshet.Change) (bool, error) {
	if !w.filter.seen.Has(c.Before) {
		return false, nil
	}
	return w.has(ctx, c)
}

// ofSite reports whether a source is the site that is wanted, or a page of it.
func (w *wish) ofSite(ctx context.Context, id freshet.SourceID) (bool, error) {
	if of, known := w.sites[id]; known {
		return of, nil
	}
	s, err := w.store.Source(ctx, id)
	if errors.Is(err, freshet.ErrNotFound) {
		s, err = w.store.RemovedSource(ctx, id)
	}
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return false, err
	}
	w.sites[id] = id == w.filter.Site || err == nil && s.Of == w.filter.Site
	return w.sites[id], nil
}
