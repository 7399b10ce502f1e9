package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"time"

	"freshet/internal/fetch/robots"
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
	"freshet/internal/mask"
	"freshet/internal/sites"
	"freshet/internal/sites/frontier"
	"freshet/internal/sites/sitemap"
)

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
		if err := e.addIndex(ctx, s, at, crawl.BySitemap); err != nil {
			return err
		}
	}
	return nil
}

// readIndex puts the pages that an index lists on the shelf, as far as that is news.
func (e *Explorer) readIndex(ctx context.Context, s *survey, w freshet.SourceWithStatus, o freshet.Outcome, raw freshet.Raw) error {
	before, err := e.listedBefore(ctx, s, w, o)
	if err != nil {
		return err
	}
	l, ok := s.list(w, o, raw, before)
	if !ok {
		return nil
	}
	if err := e.shelve(ctx, s, l.news); err != nil {
		return err
	}
	if l.by == crawl.BySitemap && l.complete { // what has left a feed is only old
		if err := e.unlist(ctx, s, o, before, l.dates); err != nil {
			return err
		}
	}
	for _, at := range l.indexes {
		if err := e.addIndex(ctx, s, at, crawl.BySitemap); err != nil {
			return err
		}
	}
	return nil
}

// A list is what an index says of its site.
type list struct {
	by       crawl.FoundBy
	complete bool                 // it was read to its end
	dates    map[string]time.Time // of all pages that it lists
	news     []frontier.Page      // those that it did not list before, or with another date
	indexes  []string             // other indexes that it names
}

// list reads an index, and reports whether it is one.
func (s *survey) list(w freshet.SourceWithStatus, o freshet.Outcome, raw freshet.Raw, before map[string]time.Time) (list, bool) {
	l := list{by: crawl.BySitemap, dates: map[string]time.Time{}}
	summary, err := sitemap.Read(bytes.NewReader(raw.Body), sitemap.Options{Base: raw.URL, Now: o.Began}, func(entry sitemap.Entry) error {
		at, err := sites.Normalise(raw.URL, entry.URL)
		if err != nil {
			return nil // it is among the problems
		}
		if entry.Sitemap {
			l.indexes = append(l.indexes, at)
			return nil
		}
		at = s.scope.Home(at)
		if ok, _ := s.scope.Contains(at); !ok {
			return nil
		}
		date := entry.LastMod.Time
		l.dates[at] = date
		known, listed := before[at]
		if listed && known.Equal(date) {
			return nil
		}
		l.news = append(l.news, frontier.Page{URL: at, Date: date, Listed: o.Began, New: !s.notes.Settled.IsZero()})
		return nil
	})
	for _, p := range summary.Problems {
		s.blame(o.Ended, w.URL, p.Text)
	}
	if err != nil {
		s.blame(o.Ended, w.URL, err.Error())
		return l, false
	}
	switch summary.Kind {
	case sitemap.RSS, sitemap.Atom, sitemap.JSONFeed:
		l.by = crawl.ByFeed
	}
	for i := range l.news {
		l.news[i].Found = l.by
	}
	l.complete = summary.Complete
	return l, true
}

// listedBefore returns what the version of an index before this one listed, with the
// dates.
func (e *Explorer) listedBefore(ctx context.Context, s *survey, w freshet.SourceWithStatus, o freshet.Outcome) (map[string]time.Time, error) {
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
		if at, err := sites.Normalise(raw.URL, entry.URL); err == nil && !entry.Sitemap {
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
	var gone []frontier.Page
	for at := range before {
		if _, still := now[at]; still {
			continue
		}
		page, err := e.cfg.Frontier.Page(ctx, s.site.ID, at)
		if errors.Is(err, freshet.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		page.Gone, page.New = o.Began, false
		gone = append(gone, page)
		if page.State == crawl.PageWatched {
			if err := e.ask(ctx, page.Source); err != nil {
				return err
			}
		}
	}
	return e.shelve(ctx, s, gone)
}

// mostIndexes and mostFeeds bound how many indexes of a site are watched.
const (
	mostIndexes = 2000
	mostFeeds   = 5
)

// addIndex begins to watch a sitemap or a feed of a site.
func (e *Explorer) addIndex(ctx context.Context, s *survey, rawURL string, by crawl.FoundBy) error {
	at, err := sites.Normalise(s.site.URL, rawURL)
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
	index.Index, index.Recipe, index.Expect, index.Keep = true, reading.Recipe{}, nil, freshet.Keep{Versions: 2}
	index.Noise, index.Suspect, index.Level = freshet.NoiseOff, suspect.Ignore, objective.ServiceLevel{}
	index, err = e.cfg.Daemon.AddSource(ctx, index)
	if errors.Is(err, freshet.ErrConflict) { // it is watched already
		s.indexes[at] = true
		return nil
	}
	if err != nil {
		return err
	}
	s.indexes[at] = true
	e.cfg.Log.Info("found a list of pages", "site", s.site.ID, "url", mask.URL(at))
	if hadBefore(index) {
		return e.readStored(ctx, s, index.ID)
	}
	return nil
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
func indexesOf(ctx context.Context, store Store, id freshet.SourceID) iter.Seq2[freshet.SourceWithStatus, error] {
	return func(yield func(freshet.SourceWithStatus, error) bool) {
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
