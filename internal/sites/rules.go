package sites

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// When a rule cuts. Tests hold these numbers against honest sites.
const (
	longestGrown   = 1000 // bytes of a URL
	deepestPath    = 20   // segments
	mostQueried    = 10   // parameters
	mostMixed      = 300  // paths that say nothing new
	mostJumps      = 20   // of a calendar, over more than its reach
	mostEmpty      = 10   // pages of a list in turn that bring nothing new
	mostEmptyInAll = 100  // the same in all lists of a shape; from then on they end after two
	mostFiltered   = 300  // pages of a shape with two filters or more
	mostDry        = 200  // filtered pages of a shape in turn that lead nowhere new
	mostDryInAll   = 1000 // of all shapes
	mostChained    = 300  // searches that were found on searches
	fewestQueried  = 30   // URLs with a query, before any counts as filtered
	manyValues     = 40   // bits, about sixty values: it is no filter, it names things
)

// growing cuts URLs that no person would write: the links of the page are wrong, and
// each page has them one level deeper.
func (t *Traps) growing(a, _ *address) (Kind, string) {
	switch {
	case len(a.url) > longestGrown:
		return Path, "the URL is longer than 1,000 characters"
	case len(a.segments) > deepestPath:
		return Path, "the path has more than 20 parts"
	case strings.Contains(a.url, "%2525"):
		return Path, "the URL is escaped again and again"
	case a.queried() > mostQueried:
		return Filters, "the query has more than 10 parameters"
	case circling(a.segments):
		return Path, "the path repeats itself"
	}
	return "", ""
}

// circling reports whether up to four segments stand three times in turn, or one of
// them six times in all.
func circling(segments []string) bool {
	for size := 1; size <= 4; size++ {
		run, counts := 0, isName
		if size > 1 {
			counts = func(s string) bool { return s != "" && !number(s) }
		}
		for i := size; i < len(segments); i++ {
			if segments[i] != segments[i-size] {
				run = 0
				continue
			}
			if run++; run >= 2*size && slices.ContainsFunc(segments[i-size+1:i+1], counts) {
				return true
			}
		}
	}
	for i, segment := range segments {
		times := 0
		for _, other := range segments[i:] {
			if other == segment {
				times++
			}
		}
		if times >= 6 && isName(segment) {
			return true
		}
	}
	return false
}

// isName reports whether a segment is a word and no number.
func isName(segment string) bool { return len(segment) > 1 && !number(segment) }

// tangled cuts paths that put the same words together in every order. Versions and
// languages of one book share their words too, but keep them in order. Once there are
// many, a page that leads one level deeper without a new word is cut.
func (t *Traps) tangled(a, f *address) (Kind, string) {
	names := slices.DeleteFunc(slices.Clone(a.segments), func(s string) bool { return !isName(s) })
	order := xxhash.Sum64String(strings.Join(names, "/"))
	fresh := false
	for _, name := range names {
		_, known := t.words.remember(xxhash.Sum64String(name), struct{}{})
		fresh = fresh || !known
	}
	slices.Sort(names)
	set := xxhash.Sum64String(strings.Join(names, "/"))
	_, knownSet := t.sets.remember(set, struct{}{})
	_, knownOrder := t.orders.remember(order, struct{}{})
	if fresh || knownOrder || len(names) < 3 || !below(a, f) {
		return "", ""
	}
	if knownSet {
		t.mixed++
	}
	if t.mixed > mostMixed {
		return Path, "the paths mix the same words again and again"
	}
	return "", ""
}

// below reports whether a path leads on from the folder of another.
func below(a, f *address) bool {
	n := len(f.segments) - 1 // the last one is a file, or empty
	if n < 0 || len(a.segments) <= n {
		return false
	}
	if f.segments[n] != "" && len(a.segments) > n+1 && a.segments[n] == f.segments[n] {
		n++
	}
	return slices.Equal(a.segments[:n], f.segments[:n])
}

// running cuts calendars that leave behind the days that other pages link to.
func (t *Traps) running(a, f *address) (Kind, string) {
	d, ok := dateOf(a)
	if !ok || !d.listing {
		return "", ""
	}
	from, dated := dateOf(f)
	c := t.calendars[xxhash.Sum64String(d.skeleton)]
	if c == nil || !dated || !from.listing {
		return "", ""
	}
	if d.day >= c.first-d.reach() && d.day <= c.last+d.reach() {
		return "", ""
	}
	if gap := max(d.day-from.day, from.day-d.day); gap > 400 && c.jumps < mostJumps {
		c.jumps++
		c.include(d.day)
		return "", ""
	}
	return Calendar, "the calendar goes on far beyond the dates that other pages link to"
}

func (c *calendar) include(day int) {
	c.first, c.last = min(c.first, day), max(c.last, day)
}

// learnDate takes note of the days that are linked to by other pages than calendars, and
// of calendar pages that led to something new.
func (t *Traps) learnDate(a, f *address, linked bool) {
	d, ok := dateOf(a)
	from, dated := dateOf(f)
	fromCalendar := linked && dated && from.listing
	if ok && d.listing {
		key := xxhash.Sum64String(d.skeleton)
		switch c := t.calendars[key]; {
		case c == nil:
			t.newCalendar(key, d.day)
		case !fromCalendar:
			c.include(d.day)
		}
		return
	}
	s := t.shapes[a.key()]
	tells := s != nil && s.told >= 20 && s.fresh*5 >= s.told*4 // its pages say something
	if _, named := t.kinds.remember(xxhash.Sum64String(mask(a.url)), struct{}{}); !fromCalendar || named && !tells {
		return
	}
	if c := t.calendars[xxhash.Sum64String(from.skeleton)]; c != nil {
		c.include(from.day)
	}
}

func (t *Traps) newCalendar(key uint64, day int) {
	if len(t.calendars) >= mostCalendars {
		halve(t.calendars, func(c *calendar) int { return c.last - c.first })
	}
	if t.calendars == nil {
		t.calendars = map[uint64]*calendar{}
	}
	t.calendars[key] = &calendar{first: day, last: day}
}

// pagers are parameters that count the pages of a list.
var pagers = endings("page p pg paged pagenum pageno page_no page_num pagenumber start offset skip from seite pagina pag cpage pn currentpage startat begin")

// pages are folders of a path that do.
var pages = endings("page seite pagina pag pg")

// pages reports whether a parameter counts the pages of a list. At the root, p is the
// number of a post.
func (a *address) pages(p param) bool {
	if p.name == "p" && (a.shape == "/" || a.shape == "/index.php") {
		return false
	}
	return number(strings.TrimPrefix(p.value, "-")) && pagers[strings.ToLower(p.name)]
}

// listOf returns the list that an address is one page of.
func listOf(a *address) (key uint64, ok bool) {
	for _, p := range a.params {
		if a.pages(p) {
			return a.without(p.name), true
		}
	}
	for i := 1; i < len(a.segments); i++ {
		if number(a.segments[i]) && pages[strings.ToLower(a.segments[i-1])] {
			rest := slices.Clone(a.segments)
			rest[i] = "#"
			return xxhash.Sum64String(a.origin + "/" + strings.Join(rest, "/")), true
		}
	}
	return 0, false
}

// tellList takes note of a page of a list. It is fresh if it says what no page said yet,
// numbers aside.
func (t *Traps) tellList(s *shape, key uint64, fresh bool) {
	if fresh {
		delete(t.lists, key)
		s.empty = max(0, s.empty-5)
		return
	}
	s.empty++
	if len(t.lists) >= mostLists {
		halve(t.lists, func(run uint8) int { return int(run) })
	}
	if t.lists == nil {
		t.lists = map[uint64]uint8{}
	}
	t.lists[key] = min(t.lists[key]+1, mostEmpty)
}

// behindEnd cuts lists that go on with nothing on their pages.
func (t *Traps) behindEnd(a, _ *address) (Kind, string) {
	key, ok := listOf(a)
	if !ok {
		return "", ""
	}
	most := mostEmpty
	if s := t.shapes[a.key()]; s != nil && s.empty >= mostEmptyInAll {
		most = 2
	}
	if int(t.lists[key]) >= most {
		return List, "the last " + strconv.Itoa(int(t.lists[key])) + " pages of the list had nothing new"
	}
	return "", ""
}

// filters returns how many parameters of an address only choose from what the page
// without them has: some URLs have them and others not, and they have few values. Named
// says that there is another one with many values, which names a thing.
func (s *shape) filters(a *address) (n int, named bool) {
	if s.queried < fewestQueried {
		return 0, false
	}
	for _, p := range a.params {
		q := s.find(p.name)
		if q == nil || p.inPath() || a.pages(p) {
			continue
		}
		values := bits.OnesCount64(q.values)
		always := q.count*20 >= s.queried*19
		switch {
		case values >= manyValues:
			named = true
		case values >= 2 && !always:
			n++
		}
	}
	return n, named
}

func (s *shape) find(name string) *parameter {
	for _, p := range s.params {
		if p.name == name {
			return p
		}
	}
	return nil
}

// filtering cuts what only filters and sorts a list that is known.
func (t *Traps) filtering(a, _ *address) (Kind, string) {
	s := t.shapes[a.key()]
	if s == nil {
		return "", ""
	}
	switch n, named := s.filters(a); {
	case n == 0:
	case !named && (s.dry >= mostDry || t.dry >= mostDryInAll):
		return Filters, "filters and orders of this list lead to nothing new"
	case n >= 2 && s.filtered >= mostFiltered:
		return Filters, "filters of this list can be combined without end"
	}
	return "", ""
}

// searches are parameters that hold search terms.
var searches = endings("q query search s keyword keywords suche")

// searching cuts searches that are found on the results of other searches.
func (t *Traps) searching(a, f *address) (Kind, string) {
	s := t.shapes[a.key()]
	if s == nil || a.shape != f.shape {
		return "", ""
	}
	for _, p := range a.params {
		if q := s.find(p.name); q != nil && q.chained >= mostChained && searches[strings.ToLower(p.name)] && f.has(p.name) {
			return Search, "searches lead to more searches"
		}
	}
	return "", ""
}

// repeating cuts where nearly all pages say the same.
func (t *Traps) repeating(a, _ *address) (Kind, string) {
	s := t.shapes[a.key()]
	if s == nil {
		return "", ""
	}
	here := s.told >= 60 && s.same*10 >= s.told*9
	everywhere := t.told >= 1000 && t.same*10 >= t.told*8 && s.told >= 10 && s.same*2 >= s.told
	if here || everywhere {
		return Duplicates, "nearly all pages here say the same"
	}
	return "", ""
}
