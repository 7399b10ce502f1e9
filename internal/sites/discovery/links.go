package discovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sites"
	"freshet/internal/sites/frontier"
)

// readLinks puts the pages that a page links to on the shelf.
func (e *Explorer) readLinks(ctx context.Context, s *survey, w freshet.SourceWithStatus, o freshet.Outcome, raw freshet.Raw) error {
	if !isHTML(raw) {
		return nil
	}
	found := sites.Links(raw.Body, raw.URL, sites.Asked{Agent: e.cfg.Agent, RobotsTag: raw.Header.Values("X-Robots-Tag")})
	depth := 0
	if w.Of != "" {
		page, err := e.pageOf(ctx, s, w.URL)
		if err != nil && !errors.Is(err, freshet.ErrNotFound) {
			return err
		}
		depth = page.Depth
		if done, err := e.readWishes(ctx, s, w, found, depth); done || err != nil {
			return err
		}
	}
	if s.site.Site.Finds(crawl.ByFeed) && w.Site != nil {
		for _, f := range found.Feeds[:min(len(found.Feeds), mostFeeds)] {
			if err := e.addIndex(ctx, s, f.URL, crawl.ByFeed); err != nil {
				return err
			}
		}
	}
	if !s.site.Site.Finds(crawl.ByLink) || found.NoFollow || depth >= s.site.Site.Links() {
		return nil
	}
	if found.Cut {
		s.blame(o.Ended, w.URL, fmt.Sprintf("the page has more than %d links; the rest was not read", sites.MostLinks))
	}
	if text, err := e.cfg.Store.Text(ctx, o.Source, o.Version); err == nil {
		s.traps.Tell(w.URL, sites.Sum(text))
	}
	var pages []frontier.Page
	for _, l := range found.Links {
		at := s.traps.Clean(s.scope.Home(l.URL))
		if ok, _ := s.scope.Contains(at); !ok || !l.Follow() {
			continue
		}
		ok, err := e.worth(ctx, s, at, w.URL)
		if err != nil {
			return err
		}
		if ok {
			pages = append(pages, frontier.Page{URL: at, Found: crawl.ByLink, Depth: depth + 1, New: !s.notes.Settled.IsZero()})
		}
	}
	if cut := s.traps.Report(); len(cut) > 0 {
		s.notes.Traps, s.dirty = cut, true
	}
	if err := e.shelve(ctx, s, pages); err != nil {
		return err
	}
	for _, p := range pages {
		s.judged[xxhash.Sum64String(p.URL)] = true
	}
	return nil
}

// mostJudged is how many links are remembered to have been judged.
const mostJudged = 500_000

// worth reports whether a link leads to a page that is not known yet, and not on and on.
// It is judged once.
func (e *Explorer) worth(ctx context.Context, s *survey, at, from string) (bool, error) {
	hash := xxhash.Sum64String(at)
	if s.judged[hash] {
		return false, nil
	}
	if s.judged == nil || len(s.judged) >= mostJudged {
		s.judged = map[uint64]bool{}
	}
	page, err := e.cfg.Frontier.Page(ctx, s.site.ID, at)
	switch {
	case err == nil:
		s.judged[hash] = page.State != crawl.PageGone // one that is gone may be back
		return page.State == crawl.PageGone, nil
	case !errors.Is(err, freshet.ErrNotFound):
		return false, err
	}
	ok, _ := s.traps.Judge(at, from)
	s.judged[hash] = !ok // one that is worth it, when it is on the shelf
	return ok, nil
}

// pageOf returns a page by the URL of its source.
func (e *Explorer) pageOf(ctx context.Context, s *survey, url string) (frontier.Page, error) {
	return e.cfg.Frontier.Page(ctx, s.site.ID, url)
}

// readWishes heeds what a page asks of those who keep copies, and reports whether the
// page is watched no longer.
func (e *Explorer) readWishes(ctx context.Context, s *survey, w freshet.SourceWithStatus, found sites.Page, depth int) (bool, error) {
	own, err := sites.Normalise(w.URL, w.URL)
	if err != nil {
		return false, nil
	}
	switch {
	case found.NoIndex:
		return true, e.cfg.Daemon.SetPage(ctx, s.site.ID, w.URL, crawl.PageRefused)
	case found.Canonical != "" && found.Canonical != own:
		if ok, _ := s.scope.Contains(found.Canonical); !ok {
			return false, nil
		}
		page := frontier.Page{URL: found.Canonical, Found: crawl.ByLink, Depth: depth, New: !s.notes.Settled.IsZero()}
		if err := e.shelve(ctx, s, []frontier.Page{page}); err != nil {
			return false, err
		}
		return true, e.cfg.Daemon.SetPage(ctx, s.site.ID, w.URL, crawl.PageCovered)
	}
	return false, nil
}

func isHTML(raw freshet.Raw) bool {
	kind := raw.Header.Get("Content-Type")
	if kind == "" {
		kind = http.DetectContentType(raw.Body[:min(len(raw.Body), 512)])
	}
	return strings.Contains(kind, "html")
}
