package sites

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// How much is remembered of a site. Together it is at most about 550 KB.
const (
	mostShapes    = 512
	mostParams    = 16 // of one shape
	mostLists     = 2048
	mostCalendars = 256
	mostTraps     = 100
)

// A Kind says what makes a site endless.
type Kind string

// The kinds of traps.
const (
	Calendar   Kind = "calendar"   // dates that go on where nothing happens
	Path       Kind = "path"       // paths that repeat themselves or grow
	Filters    Kind = "filters"    // one list of things, filtered and sorted in every way
	Session    Kind = "session"    // a parameter that makes no other page
	List       Kind = "list"       // a list that goes on behind its end
	Search     Kind = "search"     // searches that lead to searches
	Duplicates Kind = "duplicates" // pages that all say the same
)

// A Trap is a place where a site is endless.
type Trap struct {
	Kind    Kind
	Where   string // the paths it concerns, # for a number and * for a name
	Reason  string
	Example string // the first URL that was cut
	Cut     int    // how many URLs were, as far as is remembered
}

// Traps notices where a site is endless, and cuts URLs off there. It judges by the URLs
// that are found and by the texts that were fetched, in a few hundred kilobytes for a
// site of any size. The zero value is ready for use.
//
// What a site has many of is no trap: 100,000 products are 100,000 pages, under
// /p/12345 as well as under ?id=12345, as long as they say different things.
type Traps struct {
	shapes    map[uint64]*shape
	lists     map[uint64]uint8 // how many pages of a list in turn brought nothing new
	calendars map[uint64]*calendar
	idle      map[string]int // in how many shapes a parameter makes no other page

	texts     table[uint32] // of pages, with the first page that said it
	looses    table[uint32] // the same without digits
	words     recent        // of paths
	sets      recent        // words of paths, in any order
	orders    recent        // words of paths, in their order
	kinds     recent        // URLs without their numbers
	passed    recent        // URLs that were judged and passed
	cuts      recent        // URLs that were cut
	witnesses table[witness]

	told, same int // texts; those that had been seen before
	mixed      int // paths that say nothing new
	dry        int // filtered pages since one led on
	traps      []Trap
}

// A shape is what is known about the pages that one program makes.
type shape struct {
	count    int // URLs that passed
	queried  int // of them with a query
	filtered int // of them with two filters or more
	dry      int // filtered pages since one led to something new
	told     int // texts of its pages
	same     int // of them that had been seen before
	fresh    int // of them that were new even without their numbers
	empty    int // pages of lists that brought nothing new, less those that did
	params   []*parameter
}

// A parameter is what is known about one parameter of a shape.
type parameter struct {
	name    string
	first   string // the first value, if it is part of the path
	count   int
	values  uint64 // a bit for each value, by its hash
	same    int    // how often another value brought the same text
	differ  int    // how often it did not
	chained int    // how often a page with one value led to one with another
	idle    bool   // it makes no other page
}

// A calendar is the days that others than itself link to.
type calendar struct{ first, last, jumps int }

// Judge says whether a URL that was found for the first time is worth fetching, and if
// not, why not. From is the page on which it was found. It is empty if the site itself
// listed the URL, in a sitemap or a feed: then it passes.
func (t *Traps) Judge(url, from string) (ok bool, reason string) {
	if t.passed.has(xxhash.Sum64String(url)) {
		return true, ""
	}
	a, f := readAddress(url), readAddress(from)
	if from != "" {
		for _, rule := range []func(*address, *address) (Kind, string){t.growing, t.tangled, t.running, t.behindEnd, t.filtering, t.searching, t.repeating} {
			if kind, reason := rule(&a, &f); reason != "" {
				t.cut(kind, reason, &a)
				return false, reason
			}
		}
	}
	t.passed.remember(xxhash.Sum64String(url), struct{}{})
	t.learn(&a, &f, from != "")
	return true, ""
}

// Again says whether a URL that passed is still worth fetching, now that more is known.
func (t *Traps) Again(url string) (ok bool, reason string) {
	a := readAddress(url)
	for _, rule := range []func(*address, *address) (Kind, string){t.behindEnd, t.filtering, t.repeating} {
		if kind, reason := rule(&a, &a); reason != "" {
			t.cut(kind, reason, &a)
			return false, reason
		}
	}
	return true, ""
}

// Tell says what a page said that was fetched. It comes before the links of the page are
// judged. A page that is fetched again and says the same counts once.
func (t *Traps) Tell(url string, text Text) {
	a := readAddress(url)
	s := t.shapeFor(&a)
	page := uint32(xxhash.Sum64String(url))
	first, known := t.texts.remember(text.exact, page)
	firstLoose, looks := t.looses.remember(text.loose, page)
	if known && first == page || looks && firstLoose == page {
		return
	}
	s.told++
	t.told++
	if known {
		s.same++
		t.same++
	}
	if !looks {
		s.fresh++
	}
	if key, ok := listOf(&a); ok {
		t.tellList(s, key, !looks)
	}
	if n, named := s.filters(&a); n > 0 && !named {
		s.dry++
		t.dry++
	}
	t.vote(&a, s, text)
}

// learn takes note of a URL that passed.
func (t *Traps) learn(a, f *address, linked bool) {
	s := t.shapeFor(a)
	s.count++
	queried := false
	for _, p := range a.params {
		q := s.parameter(p.name)
		if q == nil {
			continue
		}
		if q.count++; p.inPath() && q.first == "" {
			q.first = p.value
		}
		q.values |= 1 << (xxhash.Sum64String(p.value) & 63)
		queried = queried || !p.inPath()
		if linked && f.shape == a.shape && f.has(p.name) && !f.holds(p) {
			q.chained++
		}
	}
	if queried {
		s.queried++
	}
	if n, _ := s.filters(a); n >= 2 {
		s.filtered++
	}
	t.learnDate(a, f, linked)
	if linked && !slices.Equal(a.segments, f.segments) {
		t.ledOn(f)
	}
}

// ledOn takes note that a page led to another one that was not known, and not only to
// itself with another query.
func (t *Traps) ledOn(f *address) {
	if key, ok := listOf(f); ok {
		delete(t.lists, key)
	}
	if s := t.shapes[f.key()]; s != nil {
		if n, named := s.filters(f); n > 0 && !named {
			s.dry, t.dry = max(0, s.dry-20), max(0, t.dry-20)
		}
	}
}

// key is what shapes are found by.
func (a *address) key() uint64 { return xxhash.Sum64String(a.shape) }

func (a *address) has(name string) bool {
	return slices.ContainsFunc(a.params, func(p param) bool { return p.name == name })
}

func (a *address) holds(p param) bool {
	return slices.ContainsFunc(a.params, func(q param) bool { return q.name == p.name && q.value == p.value })
}

// shapeFor returns what is known about the shape of an address. When there are too many,
// those with the fewest pages are forgotten.
func (t *Traps) shapeFor(a *address) *shape {
	key := a.key()
	if s := t.shapes[key]; s != nil {
		return s
	}
	if len(t.shapes) >= mostShapes {
		halve(t.shapes, func(s *shape) int { return s.count + s.told })
	}
	if t.shapes == nil {
		t.shapes = map[uint64]*shape{}
	}
	s := &shape{}
	t.shapes[key] = s
	return s
}

// halve forgets the half of a map that weighs least.
func halve[V any](m map[uint64]V, weight func(V) int) {
	keys := make([]uint64, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b uint64) int { return cmp.Or(weight(m[a])-weight(m[b]), cmp.Compare(a, b)) })
	for _, key := range keys[:len(keys)/2] {
		delete(m, key)
	}
}

// parameter returns what is known about a parameter; nil if the shape has too many.
func (s *shape) parameter(name string) *parameter {
	for _, p := range s.params {
		if p.name == name {
			return p
		}
	}
	if len(s.params) >= mostParams || len(name) > 64 {
		return nil
	}
	p := &parameter{name: name}
	s.params = append(s.params, p)
	return p
}

// cut takes note of a URL that was cut.
func (t *Traps) cut(kind Kind, reason string, a *address) {
	if _, again := t.cuts.remember(xxhash.Sum64String(a.url), struct{}{}); again {
		return
	}
	for i := range t.traps {
		if trap := &t.traps[i]; trap.Kind == kind && (trap.Where == a.shape || i == mostTraps-1) {
			trap.Cut++
			return
		}
	}
	if len(t.traps) < mostTraps {
		t.traps = append(t.traps, Trap{Kind: kind, Where: a.shape, Reason: reason, Example: a.url, Cut: 1})
	}
}

// Report returns the traps that were found, those first that most URLs were cut at.
func (t *Traps) Report() []Trap {
	return slices.SortedStableFunc(slices.Values(t.traps), func(a, b Trap) int { return b.Cut - a.Cut })
}
