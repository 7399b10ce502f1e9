package queries

import (
	"cmp"
	"slices"

	"freshet/internal/freshet"
)

// An index holds the queries by scope. Within a scope every query is tried, first by its
// atoms and then by its condition.
type index struct {
	everything *scoped
	sources    map[freshet.SourceID]*scoped
	sites      map[freshet.SourceID]*scoped
	tags       map[string]*scoped
}

func newIndex() *index {
	return &index{everything: &scoped{}, sources: map[freshet.SourceID]*scoped{}, sites: map[freshet.SourceID]*scoped{}, tags: map[string]*scoped{}}
}

// An entry is a query in the index.
type entry struct {
	*plan
	groups map[string]*group // what is remembered, by hash
	found  uint64            // the last search that found it
}

// A scoped holds the queries of one scope.
type scoped struct {
	count   int
	needs   [8]int   // how many queries need what, by bit
	polls   []*entry // that look at polls
	changes []*entry // that look at changes
}

// put adds an entry under its scope.
func (x *index) put(e *entry) { x.each(e.query.Scope, func(s *scoped) { s.put(e) }) }

// remove takes it out again.
func (x *index) remove(e *entry) {
	x.each(e.query.Scope, func(s *scoped) { s.remove(e) })
	dropEmpty(x.sources, e.query.Scope.Sources)
	dropEmpty(x.sites, e.query.Scope.Sites)
	dropEmpty(x.tags, e.query.Scope.Tags)
}

// each calls do with what holds the queries of a scope.
func (x *index) each(s Scope, do func(*scoped)) {
	if s.Everything() {
		do(x.everything)
		return
	}
	eachOf(x.sources, s.Sources, do)
	eachOf(x.sites, s.Sites, do)
	eachOf(x.tags, s.Tags, do)
}

func eachOf[K comparable](all map[K]*scoped, keys []K, do func(*scoped)) {
	for _, k := range keys {
		if all[k] == nil {
			all[k] = &scoped{}
		}
		do(all[k])
	}
}

func dropEmpty[K comparable](all map[K]*scoped, keys []K) {
	for _, k := range keys {
		if all[k] != nil && all[k].count == 0 {
			delete(all, k)
		}
	}
}

// inScope calls each with the queries of every scope that a source is in.
func (x *index) inScope(s *Subject, each func(*scoped)) {
	each(x.everything)
	if found := x.sources[s.ID]; found != nil {
		each(found)
	}
	for _, site := range []freshet.SourceID{s.ID, s.Site} {
		if found := x.sites[site]; found != nil {
			each(found)
		}
	}
	for _, tag := range s.Label.Tags {
		if found := x.tags[tag]; found != nil {
			each(found)
		}
	}
}

func (s *scoped) put(e *entry) {
	s.count++
	s.tally(e.need, 1)
	if e.readsPolls() {
		s.polls = append(s.polls, e)
	}
	if !e.onlyPolls() {
		s.changes = append(s.changes, e)
	}
}

func (s *scoped) remove(e *entry) {
	s.count--
	s.tally(e.need, -1)
	s.polls, s.changes = without(s.polls, e), without(s.changes, e)
}

// without returns a list without one of its elements, in another order.
func without[T comparable](list []T, x T) []T {
	i := slices.Index(list, x)
	if i < 0 {
		return list
	}
	last := len(list) - 1
	list[i] = list[last]
	return slices.Delete(list, last, last+1)
}

func (s *scoped) tally(n Need, by int) {
	for bit := range s.needs {
		if n&(1<<bit) != 0 {
			s.needs[bit] += by
		}
	}
}

func (s *scoped) need() (n Need) {
	for bit, count := range s.needs {
		if count > 0 {
			n |= 1 << bit
		}
	}
	return n
}

// maxEvaluated is up to how many conditions of a scope are all evaluated. So few are cheap, and
// their tallies then count the changes that lack a value.
const maxEvaluated = 4

// A candidate is a query that an event can match.
type candidate struct {
	*entry
	sure bool // its condition is true and need not be evaluated
}

// candidates returns the queries that a change can match, each once, by ID.
func (x *index) candidates(v *view, search uint64) (found []candidate) {
	x.inScope(&v.event.Subject, func(s *scoped) {
		for _, e := range s.changes {
			if e.found == search {
				continue
			}
			e.found = search
			if len(e.atoms) == 0 || len(s.changes) <= maxEvaluated {
				found = append(found, candidate{e, false})
			} else if slices.ContainsFunc(e.atoms, func(a atom) bool { return a.fits(v) }) {
				found = append(found, candidate{e, e.exact})
			} else if e.edge && (e.holding(v) != nil || slices.ContainsFunc(e.atoms, func(a atom) bool { return a.fits(v.past()) })) {
				found = append(found, candidate{e, false}) // the condition may not be true any more
			}
		}
	})
	slices.SortFunc(found, func(a, b candidate) int { return cmp.Compare(a.query.ID, b.query.ID) })
	return found
}
