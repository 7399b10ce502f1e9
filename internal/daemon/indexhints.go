package daemon

import (
	"context"
	"net/url"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sched"
	"freshet/internal/sites"
	"freshet/internal/worker"
)

// indexHints know which sources may speak for which pages. The indexes of a site speak for
// its pages, watched or not. Any other source speaks for those that are watched, if it
// lists or links to some.
//
// To read the links of a page takes about as long as to read its text. So a page that
// linked to none when it was last looked at is looked at again only when its versions have
// become twice as many.
type indexHints struct {
	loop    *loop
	editing gate // of the editor

	mu      sync.RWMutex
	watched map[crawl.PageKey]struct{}
	alias   map[crawl.PageKey]crawl.PageKey // of watched pages, by their URLs as links are written, where that is another
	names   map[uint64]bool                 // whether sources list watched pages, by the hash of their IDs, as far as they were looked at in this run
	scopes  map[freshet.SourceID]scoped
}

// A scoped is what belongs to a site, as of a revision.
type scoped struct {
	revision int64
	scope    *sites.Scope
}

// ScopeOf returns which pages belong to a site.
func ScopeOf(s freshet.Source) (*sites.Scope, error) {
	return sites.NewScope(sites.Bounds{
		Root: s.URL, Match: s.Site.Match, Exclude: s.Site.Exclude, Subdomains: s.Site.Domains,
		Depth: s.Site.Links(), Limit: s.Site.Pages(),
	})
}

// IsRobots reports whether a URL is that of a robots.txt.
func IsRobots(rawURL string) bool {
	u, err := url.Parse(rawURL)
	return err == nil && u.Path == "/robots.txt"
}

// notice takes note that a source is watched.
func (v *indexHints) notice(s freshet.Source) {
	key := crawl.PageKeyOf(s.URL)
	linked, err := sites.Normalise("", s.URL)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.watched == nil {
		v.watched = map[crawl.PageKey]struct{}{}
	}
	v.watched[key] = struct{}{}
	if err != nil || linked == s.URL {
		return
	}
	if other := crawl.PageKeyOf(linked); other != key {
		if v.alias == nil {
			v.alias = map[crawl.PageKey]crawl.PageKey{}
		}
		v.alias[other] = key
	}
}

// key returns what a watched page is known by, given a URL that leads to it.
func (v *indexHints) key(url string) (crawl.PageKey, bool) {
	key := crawl.PageKeyOf(url)
	v.mu.RLock()
	defer v.mu.RUnlock()
	if _, ok := v.watched[key]; ok {
		return key, true
	}
	if other, ok := v.alias[key]; ok {
		return other, true
	}
	return key, false
}

// siteKey is key for the pages of a site, watched or not.
func (v *indexHints) siteKey(scope *sites.Scope) func(string) (crawl.PageKey, bool) {
	return func(url string) (crawl.PageKey, bool) {
		at, err := sites.Normalise("", url)
		if err != nil {
			return 0, false
		}
		if key, ok := v.key(at); ok {
			return key, true
		}
		at = scope.Home(at)
		ok, _ := scope.Contains(at)
		return crawl.PageKeyOf(at), ok
	}
}

// of returns how a source is read for hints of other pages, and the key of a page that it
// may name by its URL; nil if it is not read for hints.
func (v *indexHints) of(s freshet.Source, head freshet.Head, siteOf func(freshet.SourceID) (freshet.Source, bool)) (*worker.IndexHints, func(string) (crawl.PageKey, bool)) {
	switch {
	case s.Index && IsRobots(s.URL), s.Of != "" && !s.Index:
		return nil, nil // the indexes of its site name the pages beside it
	case s.Of != "", s.Site != nil:
		of := s
		if s.Of != "" {
			var ok bool
			if of, ok = siteOf(s.Of); !ok {
				return nil, nil
			}
		}
		if scope := v.scope(of); scope != nil {
			return &worker.IndexHints{Index: s.Index}, v.siteKey(scope)
		}
		return nil, nil
	}
	v.mu.RLock()
	names, looked := v.names[xxhash.Sum64String(string(s.ID))]
	v.mu.RUnlock()
	if looked && !names && head.Number&(head.Number+1) != 0 {
		return nil, nil
	}
	return &worker.IndexHints{Anew: looked && !names}, v.key
}

// observe notes whether a source that was looked at lists watched pages.
func (v *indexHints) observe(s freshet.Source, f worker.Result) {
	if f.Listed < 0 || s.Of != "" || s.Site != nil {
		return
	}
	id := xxhash.Sum64String(string(s.ID))
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.names == nil {
		v.names = map[uint64]bool{}
	}
	v.names[id] = f.Listed > 0
}

// scope returns what belongs to a site; nil if what is said of it cannot be read.
func (v *indexHints) scope(of freshet.Source) *sites.Scope {
	v.mu.RLock()
	known, ok := v.scopes[of.ID]
	v.mu.RUnlock()
	if ok && known.revision == of.Revision {
		return known.scope
	}
	scope, err := ScopeOf(of)
	if err != nil { // the explorer says so
		scope = nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.scopes == nil {
		v.scopes = map[freshet.SourceID]scoped{}
	}
	v.scopes[of.ID] = scoped{of.Revision, scope}
	return scope
}

// stale reports whether many of the pages that are known are watched no longer.
func (v *indexHints) stale(sources int64) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return int64(len(v.watched)) > 2*sources+10_000
}

// forgetUnwatched forgets the pages that are watched no longer, if there are many. To know
// one for longer does no harm: no source asks for what is said of it.
func (v *indexHints) forgetUnwatched(ctx context.Context, sources int64) error {
	if !v.stale(sources) {
		return nil
	}
	defer v.editing.pass(alone)() // a source that was noticed and is not known to the loop yet would be forgotten
	return v.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) {
		v.mu.Lock()
		v.watched, v.alias, v.names, v.scopes = nil, nil, nil, nil
		v.mu.Unlock()
		for _, source := range s.All() {
			v.notice(source)
		}
	})
}
