package discovery

import (
	"context"
	"errors"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/sites/frontier"
)

// pagesAtOnce is how many pages go on the shelf together.
const pagesAtOnce = 2000

// read reads what a capture says about the site that it is of.
func (e *Explorer) read(ctx context.Context, s *survey, w freshet.SourceWithStatus, o freshet.Outcome) error {
	raw, err := e.cfg.Store.Raw(ctx, o.Source, o.Version)
	if errors.Is(err, freshet.ErrNotFound) || errors.Is(err, freshet.ErrDamaged) { // it was pruned meanwhile
		return nil
	}
	if err != nil || s.scope == nil {
		return err
	}
	switch {
	case w.Index && daemon.IsRobots(w.URL):
		return e.readRobots(ctx, s, raw)
	case w.Index:
		return e.readIndex(ctx, s, w, o, raw)
	}
	if o.Result == freshet.First && w.Of != "" {
		if err := e.welcome(ctx, s, w, o); err != nil {
			return err
		}
	}
	if w.Site != nil && looksLikeIndex(raw) {
		return e.readIndex(ctx, s, w, o, raw)
	}
	return e.readLinks(ctx, s, w, o, raw)
}

// readAgain reads all that is stored of a site, which has become one, or has other bounds
// than before.
func (e *Explorer) readAgain(ctx context.Context, s *survey) error {
	if s.scope == nil {
		return nil
	}
	members, err := e.cfg.Daemon.Members(ctx)
	if err != nil {
		return err
	}
	ids := []freshet.SourceID{s.site.ID}
	for _, m := range members {
		if m.Source.Of == s.site.ID {
			ids = append(ids, m.Source.ID)
		}
	}
	for _, id := range ids {
		if err := e.readStored(ctx, s, id); err != nil {
			return err
		}
	}
	return nil
}

// readStored reads the newest version of a source, if there is one. The next poll may find
// it unchanged, and then nothing would be read.
func (e *Explorer) readStored(ctx context.Context, s *survey, id freshet.SourceID) error {
	w, err := e.cfg.Store.Source(ctx, id)
	if errors.Is(err, freshet.ErrNotFound) || err == nil && w.Status.Head.Number == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	return e.read(ctx, s, w, freshet.Outcome{Source: id, Began: w.Status.Seen, Ended: w.Status.Seen, Result: freshet.Unchanged, Version: w.Status.Head.Number})
}

// hadBefore reports whether a source that was just added was watched before.
func hadBefore(s freshet.Source) bool { return s.Revision > 1 }

// ask wants a page polled soon. One that was removed meanwhile is left alone.
func (e *Explorer) ask(ctx context.Context, id freshet.SourceID) error {
	err := e.cfg.Daemon.Ask(ctx, id)
	if errors.Is(err, freshet.ErrNotFound) {
		return nil
	}
	return err
}

// shelve puts pages on the shelf.
func (e *Explorer) shelve(ctx context.Context, s *survey, pages []frontier.Page) error {
	over := 0
	for len(pages) > 0 {
		n := min(len(pages), pagesAtOnce)
		_, left, err := e.cfg.Daemon.AddPages(ctx, s.site, pages[:n])
		if err != nil {
			return err
		}
		over += left
		pages = pages[n:]
	}
	if over > 0 && over != s.notes.Over {
		s.notes.Over, s.dirty = over, true
		e.cfg.Log.Warn("a site has more pages than its limit allows", "site", s.site.ID, "limit", s.site.Site.Pages(), "left_out", over)
	}
	return nil
}
