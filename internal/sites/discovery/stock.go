package discovery

import (
	"context"
	"errors"
	"net/url"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/units"
)

const (
	// ahead is for how long taken pages are to last. More would only fill the memory.
	ahead = time.Minute

	// leastTaken and mostTaken bound how many pages of a site wait for their first poll.
	leastTaken = 8
	mostTaken  = 2000

	// searchEvery is how often the indexes of a site are looked for again.
	searchEvery = 7 * units.Day
)

// lookAfter goes through all sites: it looks for their indexes, and takes pages off the
// shelf. All says that the log of outcomes has been read to its end.
func (e *Explorer) lookAfter(ctx context.Context, all bool) error {
	for _, s := range e.inOrder() {
		if s.scope == nil || s.site.Paused {
			continue
		}
		if s.fresh == nil {
			if err := e.countPages(ctx); err != nil {
				return err
			}
		}
		err := e.search(ctx, s)
		if err == nil {
			err = e.stock(ctx, s, all)
		}
		if err != nil && !e.outdated(ctx, s) {
			return err
		}
	}
	return nil
}

// countPages finds out which pages of the sites have been taken and not polled, and which
// indexes they have.
func (e *Explorer) countPages(ctx context.Context) error {
	members, err := e.cfg.Daemon.Members(ctx)
	if err != nil {
		return err
	}
	for _, s := range e.surveys {
		s.fresh, s.indexes = map[freshet.SourceID]bool{}, map[string]bool{}
	}
	for _, m := range members {
		s := e.surveys[m.Source.Of]
		switch {
		case s == nil:
		case m.Source.Index:
			s.indexes[m.Source.URL] = true
		case !m.Polled:
			s.fresh[m.Source.ID] = true
		}
	}
	return nil
}

// search looks for the indexes of a site, by its robots.txt first.
func (e *Explorer) search(ctx context.Context, s *survey) error {
	now := e.cfg.Now()
	if !s.site.Site.Finds(crawl.BySitemap) || !s.notes.Searched.IsZero() && now.Sub(s.notes.Searched) < searchEvery {
		return nil
	}
	at, err := url.Parse(s.site.URL)
	if err != nil {
		return nil
	}
	robots := url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/robots.txt"}
	if err := e.addIndex(ctx, s, robots.String(), crawl.BySitemap); err != nil {
		return err
	}
	s.notes.Searched, s.dirty = now, true
	return nil
}

// guessSitemap tries the place where sitemaps usually are.
func (e *Explorer) guessSitemap(ctx context.Context, s *survey) error {
	at, err := url.Parse(s.site.URL)
	if err != nil {
		return nil
	}
	usual := url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/sitemap.xml"}
	return e.addIndex(ctx, s, usual.String(), crawl.BySitemap)
}

// stock takes as many pages off the shelf as can be polled for the first time in the
// next while. When there are no more, the site is known.
func (e *Explorer) stock(ctx context.Context, s *survey, all bool) error {
	limits := e.cfg.Daemon.Limits()
	want := int(limits.Budget.PerSecond() * s.site.Site.Portion() * ahead.Seconds())
	want = min(max(want, leastTaken), mostTaken)
	if len(s.fresh) > want/2 {
		return nil
	}
	counts, err := e.cfg.Frontier.CountPages(ctx, s.site.ID)
	if err != nil {
		return err
	}
	if counts.Waiting == 0 {
		if all && s.notes.Settled.IsZero() && len(s.fresh) == 0 && counts.Watched > 0 {
			s.notes.Settled, s.dirty = e.cfg.Now(), true
			e.cfg.Log.Info("all pages of a site have been fetched once", "site", s.site.ID, "pages", counts.Watched)
		}
		return nil
	}
	taken, err := e.cfg.Daemon.PromotePages(ctx, s.site.ID, want-len(s.fresh))
	if err != nil {
		return err
	}
	for _, page := range taken {
		if cut, err := e.cutNow(ctx, s, page); cut || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		s.fresh[page.ID] = true
		if hadBefore(page) {
			if err := e.readStored(ctx, s, page.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// cutNow leaves out a page that the robots.txt does not want asked for, or that was found
// by a link and has turned out to be part of something endless while it waited.
func (e *Explorer) cutNow(ctx context.Context, s *survey, taken freshet.Source) (bool, error) {
	if v, unknown := e.cfg.Daemon.MayPoll(taken.URL); !unknown && !v.Allowed && !v.Unreachable {
		return true, e.cfg.Daemon.SetPage(ctx, s.site.ID, taken.URL, crawl.PageRefused)
	}
	page, err := e.cfg.Frontier.Page(ctx, s.site.ID, taken.URL)
	if errors.Is(err, freshet.ErrNotFound) || err == nil && page.Found != crawl.ByLink {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if ok, _ := s.traps.Again(taken.URL); ok {
		return false, nil
	}
	s.notes.Traps, s.dirty = s.traps.Report(), true
	return true, e.cfg.Daemon.SetPage(ctx, s.site.ID, taken.URL, crawl.PageRefused)
}
