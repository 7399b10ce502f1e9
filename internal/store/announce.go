package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"freshet/internal/freshet"
)

// SetPage implements [freshet.Shelf].
func (s *Store) SetPage(ctx context.Context, site freshet.SourceID, pageURL string, state freshet.PageState) error {
	if state == freshet.PageWatched || !slices.Contains(pageStates, state) {
		return &freshet.InvalidError{Field: "state", Reason: fmt.Sprintf("a page cannot be set %.40q", state)}
	}
	return s.write(ctx, "setting page "+pageURL, func(b *batch) error {
		sh, err := b.openShelf(site)
		if err != nil {
			return err
		}
		r, found, err := b.findPage(sh, pageURL, pageHash(pageURL))
		if err != nil {
			return err
		}
		if !found {
			return noPage(site, pageURL)
		}
		before := r
		r.become(state)
		if r == before {
			return nil
		}
		if before.is(freshet.PageWatched) {
			if err := b.letGo(&before); err != nil {
				return err
			}
		}
		return b.putPage(sh, &before, &r)
	})
}

// letGo stops watching a page, and keeps its history.
func (b *batch) letGo(r *pageRow) error {
	src, err := b.source(r.source)
	if err != nil {
		return err
	}
	e := b.entry(src.ID)
	if e == nil || e.removed {
		return nil
	}
	return b.drop(e, false)
}

// Announce implements [freshet.Shelf].
func (s *Store) Announce(ctx context.Context, id freshet.SourceID, what freshet.PageEvent, at time.Time, summary string) (c freshet.Change, err error) {
	err = s.write(ctx, "telling of page "+string(id), func(b *batch) (err error) {
		e := b.entry(id)
		if e == nil {
			return unknown(id)
		}
		sh, r, err := b.pageOf(e)
		if err != nil {
			return err
		}
		if r == nil {
			return fmt.Errorf("source %s is not a page of a site: %w", id, freshet.ErrNotFound)
		}
		before := *r
		from, err := r.tell(e, what)
		if err != nil {
			return err
		}
		if c, err = b.tellPage(e, from, what, at, summary); err != nil {
			return err
		}
		if what == freshet.PageWent {
			if err := b.drop(e, false); err != nil {
				return err
			}
		}
		return b.putPage(sh, &before, r)
	})
	return c, err
}

// tell notes what is told of a page, and returns the text that it had before. What has
// been told, or has not happened, is not found.
func (r *pageRow) tell(e *entry, what freshet.PageEvent) (from freshet.Hash, err error) {
	told := func(yes bool) error {
		if yes {
			return nil
		}
		return fmt.Errorf("that page %s is %s: %w", e.id, what, freshet.ErrNotFound)
	}
	switch what {
	case freshet.PageCame:
		err = told(r.flags&pageNew != 0)
		r.flags &^= pageNew
		return freshet.Hash{}, err
	case freshet.PageWent:
		err = told(r.is(freshet.PageWatched))
		r.become(freshet.PageGone)
		r.flags |= pageWent
	case freshet.PageBack:
		err = told(r.is(freshet.PageWatched) && r.flags&pageWent != 0)
		r.flags &^= pageWent
	default:
		err = &freshet.InvalidError{Field: "page", Reason: fmt.Sprintf("%.40q is not one of new, gone and back", what)}
	}
	return e.hash, err
}

// tellPage appends what happened to a page as a whole to the log of changes.
func (b *batch) tellPage(e *entry, from freshet.Hash, what freshet.PageEvent, at time.Time, summary string) (freshet.Change, error) {
	seen := e.seen.Time()
	if seen.After(at) {
		seen = at // the clock was set back
	}
	e.changedAt = MomentOf(at)
	c, err := b.change(e, freshet.Outcome{Since: seen, Ended: at}, from, summary, freshet.Details{Page: what})
	if err != nil {
		return c, err
	}
	return c, b.writeHead(e)
}
