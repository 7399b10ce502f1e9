package explore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet"
	"freshet/robots"
	"freshet/site"
	"freshet/sitemap"
)

// pagesAtOnce is how many pages go on the shelf together.
const pagesAtOnce = 2000

// read reads what a capture says about the site that it is of.
func (e *Explorer) read(ctx context.Context, s *survey, w freshet.Watched, o freshet.Outcome) error {
	raw, err := e.cfg.Store.Raw(ctx, o.Source, o.Version)
	if errors.Is(err, freshet.ErrNotFound) || errors.Is(err, freshet.ErrDamaged) { // it was pruned meanwhile
		return nil
	}
	if err != nil || s.scope == nil {
		return err
	}
	switch {
	case w.Index && isRobots(w.URL):
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
		w, err := e.cfg.Store.Source(ctx, id)
		if errors.Is(err, freshet.ErrNotFound) || err == nil && w.Standing.Head.Number == 0 {
			continue
		}
		if err != nil {
			return err
		}
		if err := e.read(ctx, s, w, freshet.Outcome{Source: id, Began: w.Standing.Seen, Ended: w.Standing.Seen, Result: freshet.Unchanged, Version: w.Standing.Head.Number}); err != nil {
			return err
		}
	}
	return nil
}

func isRobots(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err == nil && u.Path == "/robots.txt"
}

// looksLikeIndex reports whether a response is a sitemap or a feed, and no page.
func looksLikeIndex(raw freshet.Raw) bool {
	head := raw.Body[:min(len(raw.Body), 1024)]
	if bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		return true
	}
	for _, mark := range []string{"<urlset", "<sitemapindex", "<rss", "<feed", "<rdf:RDF", "https://jsonfeed.org/version"} {
		if bytes.Contains(head, []byte(mark)) {
			return true
		}
	}
	return false
}

// readRobots looks for sitemaps in a robots.txt. Without one, the usual place is tried.
func (e *Explorer) readRobots(ctx context.Context, s *survey, raw freshet.Raw) error {
	listed := robots.Parse(raw.Body).Sitemaps()
	if len(listed) == 0 {
		return e.guessSitemap(ctx, s)
	}
	for _, at := range listed {
		if err := e.addIndex(ctx, s, at, freshet.BySitemap); err != nil {
			return err
		}
	}
	return nil
}

// readIndex puts the pages that an index lists on the shelf, as far as that is news.
func (e *Explorer) readIndex(ctx context.Context, s *survey, w freshet.Watched, o freshet.Outcome, raw freshet.Raw) error {
	before, err := e.listedBefore(ctx, s, w, o)
	if err != nil {
		return err
	}
	var pages []freshet.Page
	var indexes, redated []string
	by := freshet.BySitemap
	now := map[string]time.Time{}
	summary, err := sitemap.Read(bytes.NewReader(raw.Body), sitemap.Options{Base: raw.URL, Now: o.Began}, func(entry sitemap.Entry) error {
		at, err := site.Normalise(raw.URL, entry.URL)
		if err != nil {
			return nil
		}
		if entry.Sitemap {
			indexes = append(indexes, at)
			return nil
		}
		at = s.scope.Home(at)
		if ok, _ := s.scope.Contains(at); !ok {
			return nil
		}
		date := entry.LastMod.Time
		now[at] = date
		if known, ok := before[at]; !ok || !known.Equal(date) {
			if ok && date.After(known) {
				redated = append(redated, at)
			}
			pages = append(pages, freshet.Page{URL: at, Date: date, Listed: o.Began, New: !s.notes.Settled.IsZero()})
		}
		return nil
	})
	for _, p := range summary.Problems {
		s.blame(o.Ended, w.URL, p.Text)
	}
	if err != nil {
		s.blame(o.Ended, w.URL, err.Error())
		return nil
	}
	switch summary.Kind {
	case sitemap.RSS, sitemap.Atom, sitemap.JSONFeed:
		by = freshet.ByFeed
	}
	for i := range pages {
		pages[i].Found = by
	}
	if err := e.shelve(ctx, s, pages); err != nil {
		return err
	}
	if err := e.askDated(ctx, s, redated); err != nil {
		return err
	}
	if by == freshet.BySitemap && summary.Complete { // what has left a feed is only old
		if err := e.unlist(ctx, s, o, before, now); err != nil {
			return err
		}
	}
	for _, at := range indexes {
		if err := e.addIndex(ctx, s, at, freshet.BySitemap); err != nil {
			return err
		}
	}
	return nil
}

// listedBefore returns what the version of an index before this one listed, with the
// dates.
func (e *Explorer) listedBefore(ctx context.Context, s *survey, w freshet.Watched, o freshet.Outcome) (map[string]time.Time, error) {
	listed := map[string]time.Time{}
	if o.Result != freshet.Changed { // all of it is news
		return listed, nil
	}
	v, err := freshet.VersionBefore(ctx, e.cfg.Store, w.ID, o.Version)
	if errors.Is(err, freshet.ErrNotFound) {
		return listed, nil
	}
	if err != nil {
		return nil, err
	}
	raw, err := e.cfg.Store.Raw(ctx, w.ID, v.Number)
	if errors.Is(err, freshet.ErrNotFound) || errors.Is(err, freshet.ErrDamaged) {
		return listed, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = sitemap.Read(bytes.NewReader(raw.Body), sitemap.Options{Base: raw.URL}, func(entry sitemap.Entry) error {
		if at, err := site.Normalise(raw.URL, entry.URL); err == nil && !entry.Sitemap {
			listed[s.scope.Home(at)] = entry.LastMod.Time
		}
		return nil
	})
	_ = err // what was listed up to a fault counts
	return listed, nil
}

// unlist takes down which pages an index has ceased to list. Those that are watched are
// asked for: they are probably gone.
func (e *Explorer) unlist(ctx context.Context, s *survey, o freshet.Outcome, before, now map[string]time.Time) error {
	var gone []freshet.Page
	for at := range before {
		if _, still := now[at]; still {
			continue
		}
		page, err := e.cfg.Store.Page(ctx, s.site.ID, at)
		if errors.Is(err, freshet.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		page.Gone, page.New = o.Began, false
		gone = append(gone, page)
		if page.State == freshet.PageWatched {
			if err := e.ask(ctx, page.Source); err != nil {
				return err
			}
		}
	}
	return e.shelve(ctx, s, gone)
}

// askDated wants the pages polled that an index has given new dates, if its dates have
// shown to be true.
func (e *Explorer) askDated(ctx context.Context, s *survey, redated []string) error {
	if !s.dates.trust.StandIn() {
		return nil
	}
	for _, at := range redated {
		page, err := e.cfg.Store.Page(ctx, s.site.ID, at)
		if errors.Is(err, freshet.ErrNotFound) || err == nil && page.State != freshet.PageWatched {
			continue
		}
		if err == nil {
			err = e.ask(ctx, page.Source)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ask wants a page polled soon. One that was removed meanwhile is left alone.
func (e *Explorer) ask(ctx context.Context, id freshet.SourceID) error {
	err := e.cfg.Daemon.Ask(ctx, id)
	if errors.Is(err, freshet.ErrNotFound) {
		return nil
	}
	return err
}

// readLinks puts the pages that a page links to on the shelf.
func (e *Explorer) readLinks(ctx context.Context, s *survey, w freshet.Watched, o freshet.Outcome, raw freshet.Raw) error {
	if !isHTML(raw) {
		return nil
	}
	found := site.Links(raw.Body, raw.URL, site.Asked{Agent: e.cfg.Agent, RobotsTag: raw.Header.Values("X-Robots-Tag")})
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
	if s.site.Site.Finds(freshet.ByFeed) && w.Site != nil {
		for _, f := range found.Feeds[:min(len(found.Feeds), mostFeeds)] {
			if err := e.addIndex(ctx, s, f.URL, freshet.ByFeed); err != nil {
				return err
			}
		}
	}
	if !s.site.Site.Finds(freshet.ByLink) || found.NoFollow || depth >= s.site.Site.Links() {
		return nil
	}
	if found.Cut {
		s.blame(o.Ended, w.URL, fmt.Sprintf("the page has more than %d links; the rest was not read", site.MostLinks))
	}
	if text, err := e.cfg.Store.Text(ctx, o.Source, o.Version); err == nil {
		s.traps.Tell(w.URL, site.Sum(text))
	}
	var pages []freshet.Page
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
			pages = append(pages, freshet.Page{URL: at, Found: freshet.ByLink, Depth: depth + 1, New: !s.notes.Settled.IsZero()})
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
	page, err := e.cfg.Store.Page(ctx, s.site.ID, at)
	switch {
	case err == nil:
		s.judged[hash] = page.State != freshet.PageGone // one that is gone may be back
		return page.State == freshet.PageGone, nil
	case !errors.Is(err, freshet.ErrNotFound):
		return false, err
	}
	ok, _ := s.traps.Judge(at, from)
	s.judged[hash] = !ok // one that is worth it, when it is on the shelf
	return ok, nil
}

// pageOf returns a page by the URL of its source.
func (e *Explorer) pageOf(ctx context.Context, s *survey, url string) (freshet.Page, error) {
	return e.cfg.Store.Page(ctx, s.site.ID, url)
}

// readWishes heeds what a page asks of those who keep copies, and reports whether the
// page is watched no longer.
func (e *Explorer) readWishes(ctx context.Context, s *survey, w freshet.Watched, found site.Page, depth int) (bool, error) {
	own, err := site.Normalise(w.URL, w.URL)
	if err != nil {
		return false, nil
	}
	switch {
	case found.NoIndex:
		return true, e.cfg.Daemon.SetPage(ctx, s.site.ID, w.URL, freshet.PageRefused)
	case found.Canonical != "" && found.Canonical != own:
		if ok, _ := s.scope.Contains(found.Canonical); !ok {
			return false, nil
		}
		page := freshet.Page{URL: found.Canonical, Found: freshet.ByLink, Depth: depth, New: !s.notes.Settled.IsZero()}
		if err := e.shelve(ctx, s, []freshet.Page{page}); err != nil {
			return false, err
		}
		return true, e.cfg.Daemon.SetPage(ctx, s.site.ID, w.URL, freshet.PageCovered)
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

// shelve puts pages on the shelf.
func (e *Explorer) shelve(ctx context.Context, s *survey, pages []freshet.Page) error {
	over := 0
	for len(pages) > 0 {
		n := min(len(pages), pagesAtOnce)
		_, left, err := e.cfg.Store.AddPages(ctx, s.site.ID, pages[:n])
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

// mostIndexes and mostFeeds bound how many indexes of a site are watched.
const (
	mostIndexes = 2000
	mostFeeds   = 5
)

// addIndex begins to watch a sitemap or a feed of a site.
func (e *Explorer) addIndex(ctx context.Context, s *survey, rawURL string, by freshet.FoundBy) error {
	at, err := site.Normalise(s.site.URL, rawURL)
	if err != nil || !s.site.Site.Finds(by) {
		return nil
	}
	if s.indexes == nil {
		s.indexes = map[string]bool{}
	}
	if !s.indexes[at] && len(s.indexes) >= mostIndexes {
		s.blame(e.cfg.Now(), at, fmt.Sprintf("the site has more than %d sitemaps; the rest is not read", mostIndexes))
		return nil
	}
	index := s.site.Page(indexID(s.site.ID, at), at)
	index.Index, index.Recipe, index.Expect, index.Keep = true, freshet.Recipe{}, nil, freshet.Keep{Versions: 2}
	index.Noise, index.Suspect, index.Level = freshet.NoiseOff, freshet.IgnoreSuspects, freshet.ServiceLevel{}
	_, err = e.cfg.Daemon.AddSource(ctx, index)
	if errors.Is(err, freshet.ErrConflict) { // it is watched already
		s.indexes[at] = true
		return nil
	}
	if err == nil {
		s.indexes[at] = true
		e.cfg.Log.Info("found a list of pages", "site", s.site.ID, "url", freshet.MaskURL(at))
	}
	return err
}

// indexID returns the name of an index of a site.
func indexID(id freshet.SourceID, at string) freshet.SourceID {
	h := fnv.New64a()
	h.Write([]byte(at))
	return freshet.SourceID(fmt.Sprintf("%s%s%013x", id, indexMark, h.Sum64()&(1<<52-1)))
}

// indexMark stands between the name of a site and the rest of the name of one of its
// indexes. The names of pages have no zero there.
const indexMark = ".0"

// indexesOf yields the indexes of a site that are watched.
func indexesOf(ctx context.Context, store freshet.Catalog, id freshet.SourceID) iter.Seq2[freshet.Watched, error] {
	return func(yield func(freshet.Watched, error) bool) {
		prefix := string(id) + indexMark
		for w, err := range store.SourcesAfter(ctx, freshet.SourceID(prefix)) {
			if err == nil && !strings.HasPrefix(string(w.ID), prefix) {
				return
			}
			if (err != nil || w.Index) && !yield(w, err) {
				return
			}
		}
	}
}
