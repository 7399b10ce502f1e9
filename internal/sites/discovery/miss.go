package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/failure"
)

// looksForGone is how many polls in a row have to find nothing before a page is gone.
// A 410 is enough by itself.
const looksForGone = 2

// miss takes in that a page or an index of a site could not be had.
func (e *Explorer) miss(ctx context.Context, s *survey, w freshet.SourceWithStatus, o freshet.Outcome) error {
	none := o.Status == http.StatusNotFound || o.Status == http.StatusGone
	switch {
	case w.Of == "": // the site itself, which the user named
		return nil
	case w.Index && none && w.Status.Head.Number == 0:
		return e.dropIndex(ctx, s, w)
	case w.Index:
		s.blame(o.Ended, w.URL, o.Err)
		return nil
	case o.Failure.Is(failure.RobotsDisallow):
		return e.cfg.Daemon.SetPage(ctx, s.site.ID, w.URL, crawl.PageRefused)
	case !none, o.Status != http.StatusGone && w.Status.Failures < looksForGone:
		return nil
	case w.Status.Head.Number == 0: // it was never there
		return e.cfg.Daemon.SetPage(ctx, s.site.ID, w.URL, crawl.PageGone)
	}
	_, err := e.cfg.Daemon.Announce(ctx, w.ID, crawl.PageWent, o.Ended, fmt.Sprintf("the page is gone (%d %s)", o.Status, http.StatusText(o.Status)))
	return told(err)
}

// told ignores the error that something is on record already.
func told(err error) error {
	if errors.Is(err, freshet.ErrNotFound) {
		return nil
	}
	return err
}

// dropIndex forgets an index that is not there. Where a site has no robots.txt, its
// sitemap may still be in the usual place.
func (e *Explorer) dropIndex(ctx context.Context, s *survey, w freshet.SourceWithStatus) error {
	if daemon.IsRobots(w.URL) {
		if err := e.guessSitemap(ctx, s); err != nil {
			return err
		}
	}
	delete(s.indexes, w.URL)
	return told(e.cfg.Daemon.RemoveSource(ctx, w.ID, true))
}

// welcome tells that a page has come to a site, if it has, or that it is back.
func (e *Explorer) welcome(ctx context.Context, s *survey, w freshet.SourceWithStatus, o freshet.Outcome) error {
	page, err := e.pageOf(ctx, s, w.URL)
	if err != nil || !page.New {
		return told(err)
	}
	_, err = e.cfg.Daemon.Announce(ctx, w.ID, crawl.PageCame, o.Ended, "a new page")
	return told(err)
}
