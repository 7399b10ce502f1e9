package queries

import (
	"slices"

	"freshet/internal/freshet"
)

// An index finds the queries that an event can match: by their scope first, and within
// a scope by what their conditions look for.
type index struct {
	everything *shelf
	sources    map[freshet.SourceID]*shelf
	sites      map[freshet.SourceID]*shelf
	tags       map[string]*shelf
}

func newIndex() *index {
	return &index{everything: &shelf{}, sources: map[freshet.SourceID]*shelf{}, sites: map[freshet.SourceID]*shelf{}, tags: map[string]*shelf{}}
}

// An entry is a query in the index.
type entry struct {
	*plan
	found uint64 // the last search that found it
}

// put adds an entry to the shelves of its scope.
func (x *index) put(e *entry) { x.each(e.query.Scope, func(s *shelf) { s.put(e) }) }

// remove takes it out again.
func (x *index) remove(e *entry) {
	x.each(e.query.Scope, func(s *shelf) { s.remove(e) })
	forget(x.sources, e.query.Scope.Sources)
	forget(x.sites, e.query.Scope.Sites)
	forget(x.tags, e.query.Scope.Tags)
}

// each calls do with the shelves of a scope.
func (x *index) each(s freshet.Scope, do func(*shelf)) {
	if s.Everything() {
		do(x.everything)
		return
	}
	shelvesOf(x.sources, s.Sources, do)
	shelvesOf(x.sites, s.Sites, do)
	shelvesOf(x.tags, s.Tags, do)
}

func shelvesOf[K comparable](all map[K]*shelf, keys []K, do func(*shelf)) {
	for _, k := range keys {
		if all[k] == nil {
			all[k] = &shelf{}
		}
		do(all[k])
	}
}

// forget drops shelves on which nothing stands any more.
func forget[K comparable](all map[K]*shelf, keys []K) {
	for _, k := range keys {
		if all[k] != nil && all[k].count == 0 {
			delete(all, k)
		}
	}
}

// shelves calls each with the shelves whose scope a source is in.
func (x *index) shelves(s *Subject, each func(*shelf)) {
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

// maxPlain is how many queries stand on a shelf without an index. For fewer, one costs
// more than it saves.
const maxPlain = 4

// A shelf holds the queries of one scope.
type shelf struct {
	count  int
	needs  [8]int   // how many queries need what, by bit
	polls  []*entry // that look at polls
	plain  []*entry // that are tried one by one
	few    []*entry // that could be indexed, but are too few so far
	lookup *lookup  // nil while there are few
}

// A lookup finds queries by what is looked for, path by path.
type lookup struct {
	texts  map[path]*grams
	equal  map[path]map[any][]*entry
	bounds map[pathTest]*bounds
}

type pathTest struct {
	path path
	test test
}

func (s *shelf) put(e *entry) {
	s.count++
	s.tally(e.need, 1)
	if e.readsPolls() {
		s.polls = append(s.polls, e)
	}
	switch {
	case e.onlyPolls():
	case len(e.atoms) == 0:
		s.plain = append(s.plain, e)
	case s.lookup == nil && len(s.few) < maxPlain:
		s.few = append(s.few, e)
	default:
		if s.lookup == nil {
			s.lookup = &lookup{map[path]*grams{}, map[path]map[any][]*entry{}, map[pathTest]*bounds{}}
			for _, e := range s.few {
				s.lookup.put(e)
			}
			s.few = nil
		}
		s.lookup.put(e)
	}
}

func (s *shelf) remove(e *entry) {
	s.count--
	s.tally(e.need, -1)
	if e.readsPolls() {
		s.polls = without(s.polls, e)
	}
	switch {
	case len(e.atoms) == 0:
		s.plain = without(s.plain, e)
	case s.lookup == nil:
		s.few = without(s.few, e)
	default:
		s.lookup.remove(e)
	}
}

func (s *shelf) tally(n Need, by int) {
	for bit := range s.needs {
		if n&(1<<bit) != 0 {
			s.needs[bit] += by
		}
	}
}

func (s *shelf) need() (n Need) {
	for bit, count := range s.needs {
		if count > 0 {
			n |= 1 << bit
		}
	}
	return n
}

func (l *lookup) put(e *entry) {
	for _, a := range e.atoms {
		switch a.test {
		case testContains:
			if l.texts[a.path] == nil {
				l.texts[a.path] = newGrams()
			}
			l.texts[a.path].add(a.want.(string), e)
		case testEqual:
			if l.equal[a.path] == nil {
				l.equal[a.path] = map[any][]*entry{}
			}
			l.equal[a.path][a.want] = append(l.equal[a.path][a.want], e)
		default:
			at := pathTest{a.path, a.test}
			if l.bounds[at] == nil {
				l.bounds[at] = &bounds{}
			}
			l.bounds[at].add(a.want.(float64), e)
		}
	}
}

func (l *lookup) remove(e *entry) {
	for _, a := range e.atoms {
		switch a.test {
		case testContains:
			if l.texts[a.path].remove(a.want.(string), e); len(l.texts[a.path].needles) == 0 {
				delete(l.texts, a.path)
			}
		case testEqual:
			left := without(l.equal[a.path][a.want], e)
			l.equal[a.path][a.want] = left
			if len(left) == 0 {
				delete(l.equal[a.path], a.want)
			}
			if len(l.equal[a.path]) == 0 {
				delete(l.equal, a.path)
			}
		default:
			l.bounds[pathTest{a.path, a.test}].remove(a.want.(float64), e)
		}
	}
}

// find calls each with the queries of which the event fits at least one atom.
func (l *lookup) find(v *view, each func(*entry)) {
	for p, g := range l.texts {
		v.values(p, func(x any) {
			if text, ok := x.(string); ok {
				g.find(text, each)
			}
		})
	}
	for p, by := range l.equal {
		v.values(p, func(x any) {
			for _, e := range by[x] {
				each(e)
			}
		})
	}
	for p, b := range l.bounds {
		v.values(p.path, func(x any) {
			if number, ok := x.(float64); ok {
				b.find(number, p.test, each)
			}
		})
	}
}

// candidates returns the queries that a change can match, each once. Of those that an
// index has decided, sure says so.
func (x *index) candidates(v *view, search uint64) (found []candidate) {
	add := func(e *entry, sure bool) {
		if e.found != search {
			e.found = search
			found = append(found, candidate{e, sure})
		}
	}
	x.shelves(&v.event.Subject, func(s *shelf) {
		for _, list := range [][]*entry{s.plain, s.few} {
			for _, e := range list {
				add(e, false)
			}
		}
		if s.lookup != nil {
			s.lookup.find(v, func(e *entry) { add(e, e.exact) })
		}
	})
	// The order of maps must not show.
	slices.SortFunc(found, func(a, b candidate) int {
		switch {
		case a.query.ID < b.query.ID:
			return -1
		case a.query.ID > b.query.ID:
			return 1
		}
		return 0
	})
	return found
}

type candidate struct {
	*entry
	sure bool
}
