package explore

import (
	"context"
	"errors"
	"time"

	"freshet"
	"freshet/listing"
	"freshet/live"
)

// dates find out whether the dates that the indexes of a site give its pages are true,
// both ways: whether a page has changed when its date moves, and whether its date moves
// when it has changed. An index is read before or after the page, so a change that a poll
// found and no date told of waits until the indexes have been read again.
type dates struct {
	trust   listing.Trust
	read    map[freshet.SourceID]time.Time // when each index was last read
	last    map[string]time.Time           // dates of pages, as they were last held against a poll
	waiting []untold
}

// An untold is a change that no date has told of yet.
type untold struct {
	url string
	at  time.Time // when it was found
}

// mostDated is how many pages of a site are held against their dates.
const mostDated = 20_000

// compareDates takes in that a page or an index of a site was seen.
func (e *Explorer) compareDates(ctx context.Context, s *survey, src freshet.Source, o freshet.Outcome) error {
	d := &s.dates
	if src.Index && !live.IsRobots(src.URL) {
		if d.read == nil {
			d.read, d.last = map[freshet.SourceID]time.Time{}, map[string]time.Time{}
		}
		d.read[src.ID] = o.Began
		return e.settleDates(ctx, s)
	}
	if src.Of == "" || src.Index || o.Since.IsZero() || len(d.read) == 0 {
		return nil
	}
	date, err := e.dateOf(ctx, s, src.URL)
	if err != nil || date.IsZero() {
		return err
	}
	changed := o.Result == freshet.Changed
	before, known := d.last[src.URL]
	switch {
	case !known && len(d.last) < mostDated:
		d.last[src.URL] = date
	case !known:
	case !date.Equal(before):
		d.last[src.URL] = date
		return s.tellDates(true, changed)
	case changed:
		d.waiting = append(d.waiting, untold{src.URL, o.Began})
	}
	return nil
}

// settleDates goes through the changes that no date has told of, if all indexes have
// been read since then.
func (e *Explorer) settleDates(ctx context.Context, s *survey) error {
	d := &s.dates
	var upto time.Time
	for _, at := range d.read {
		if upto.IsZero() || at.Before(upto) {
			upto = at
		}
	}
	kept := d.waiting[:0]
	for _, u := range d.waiting {
		if !u.at.Before(upto) {
			kept = append(kept, u)
			continue
		}
		date, err := e.dateOf(ctx, s, u.url)
		if err != nil {
			return err
		}
		said := !date.Equal(d.last[u.url])
		d.last[u.url] = date
		if err := s.tellDates(said, true); err != nil {
			return err
		}
	}
	d.waiting = kept
	return nil
}

// dateOf returns the date that an index gives a page; zero if none does.
func (e *Explorer) dateOf(ctx context.Context, s *survey, url string) (time.Time, error) {
	page, err := e.cfg.Store.Page(ctx, s.site.ID, url)
	if errors.Is(err, freshet.ErrNotFound) {
		return time.Time{}, nil
	}
	return page.Date, err
}

// tellDates takes down whether the date of a page had moved, and whether the page had
// changed.
func (s *survey) tellDates(said, changed bool) (err error) {
	s.dates.trust.Tell(said, changed, 1)
	s.notes.Dates, err = s.dates.trust.MarshalBinary()
	s.dirty = true
	return err
}
