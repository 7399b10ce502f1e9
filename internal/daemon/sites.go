package daemon

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/sched"
)

// A Member is a source that belongs to a site, beside the site itself.
type Member struct {
	Source freshet.Source
	Polled bool // a poll of it has ended, whatever came of it
}

// Members returns the sources of all sites.
func (l *siteList) Members(ctx context.Context) (all []Member, err error) {
	err = l.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) {
		for slot, source := range s.All() {
			if source.Of != "" {
				all = append(all, Member{Source: source, Polled: s.Polled(slot)})
			}
		}
	})
	return all, err
}

// A siteList is which sites there are.
type siteList struct {
	loop    *loop
	learner *learn.Learner // may be nil

	mu  sync.Mutex
	all map[freshet.SourceID]freshet.Source
}

// notice takes note of how a source now is.
func (l *siteList) notice(s freshet.Source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.Site == nil {
		delete(l.all, s.ID)
		return
	}
	if l.all == nil {
		l.all = map[freshet.SourceID]freshet.Source{}
	}
	l.all[s.ID] = s
}

// has reports whether a source stands for a whole site.
func (l *siteList) has(id freshet.SourceID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.all[id]
	return ok
}

// get returns a source that stands for a whole site, and whether there is one.
func (l *siteList) get(id freshet.SourceID) (freshet.Source, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.all[id]
	return s, ok
}

// forget takes note that a source is watched no longer.
func (l *siteList) forget(id freshet.SourceID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, id)
}

// Sites returns the sources that stand for whole sites, in the order of their IDs.
func (l *siteList) Sites() []freshet.Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.all), func(a, b freshet.Source) int { return cmp.Compare(a.ID, b.ID) })
}

// IndexTrusts returns how far the indexes of a site can be believed, as far as they have
// spoken. There is nothing if nothing is learnt.
func (l *siteList) IndexTrusts(ctx context.Context, site freshet.SourceID) (map[freshet.SourceID]learn.IndexTrust, error) {
	found := map[freshet.SourceID]learn.IndexTrust{}
	if l.learner == nil {
		return found, nil
	}
	err := l.loop.call(ctx, func(_ time.Time, s *sched.Scheduler) {
		for slot, source := range s.All() {
			if source.ID != site && (source.Of != site || !source.Index) {
				continue
			}
			if trust, ok := l.learner.IndexTrust(slot); ok {
				found[source.ID] = trust
			}
		}
	})
	return found, err
}
