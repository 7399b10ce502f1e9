package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn/outlook"
	"freshet/internal/sites"
	"freshet/internal/sites/frontier"
)

// A Report is what is known of a site.
type Report struct {
	Site    freshet.SourceWithStatus
	Begun   time.Time // when it was first explored; zero if never
	Settled time.Time // when all of its pages had been fetched once; zero if that is still to come
	Pages   frontier.Counts
	Indexes []freshet.SourceWithStatus // sitemaps, feeds and the robots.txt that is looked at for them

	Downloads float64       // of pages that had been seen before, of late
	Changed   outlook.Range // share of those that brought a change

	Over     int // pages that are left out because of the limit
	Traps    []sites.Trap
	Problems []Problem
}

// Describe returns what is known of a site, or ErrNotFound if the source is none.
func Describe(ctx context.Context, store Store, pages *frontier.Store, id freshet.SourceID) (Report, error) {
	w, err := store.Source(ctx, id)
	if err == nil && w.Site == nil {
		err = freshet.ErrNotFound
	}
	if err != nil {
		return Report{}, err
	}
	r := Report{Site: w}
	if r.Pages, err = pages.CountPages(ctx, id); err != nil {
		return r, err
	}
	kept, err := store.State(ctx, stateKey, id)
	if err != nil && !errors.Is(err, freshet.ErrNotFound) {
		return r, err
	}
	var n notes
	if err == nil && json.Unmarshal(kept.Value, &n) == nil {
		r.Begun, r.Settled, r.Downloads, r.Over, r.Problems = n.Begun, n.Settled, n.Downloads, n.Over, n.Problems
		r.Traps = n.Traps
	}
	r.Changed.Mean, r.Changed.Low, r.Changed.High = n.ratio()
	for index, err := range indexesOf(ctx, store, id) {
		if err != nil {
			return r, err
		}
		r.Indexes = append(r.Indexes, index)
	}
	return r, nil
}
