package sites

import (
	"cmp"
	"slices"
	"strings"

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

// When a parameter is idle.
const (
	fewestVotes  = 20 // other values that brought the same text
	idleInShapes = 3  // shapes after which it is idle in all
)

// vote compares a page with others whose URL differs in one parameter only. If such
// pages say the same, the parameter makes no other page: it is a session, or says where
// a visitor came from.
func (t *Traps) vote(a *address, s *shape, text Text) {
	for _, p := range a.params {
		if q := s.parameter(p.name); q != nil && !q.idle && !a.pages(p) && !runs(p) {
			t.compare(a, s, q, p.value, text)
		}
	}
	for _, q := range s.params {
		if !q.idle && !a.has(q.name) && q.name[0] != '/' {
			t.compare(a, s, q, "", text)
		}
	}
}

// runs reports whether a parameter is a date. Other rules are for those: most days of a
// calendar look alike, and yet something happens on some.
func runs(p param) bool {
	name := strings.ToLower(p.name)
	_, _, ok := readDate(p.value, dateName(name))
	return ok || number(p.value) && (dateName(name) || strings.Contains(name, "year") || name == "y")
}

func (t *Traps) compare(a *address, s *shape, q *parameter, value string, text Text) {
	now := witness{value: uint32(xxhash.Sum64String(value)), exact: uint32(text.exact), loose: uint32(text.loose)}
	before, known := t.witnesses.remember(a.without(q.name), now)
	if !known || before.value == now.value {
		return
	}
	// Two things may differ in their numbers alone. What is drawn at random names none.
	if before.exact == now.exact || token(value) && before.loose == now.loose {
		q.same++
	} else {
		q.differ++
	}
	if q.same >= fewestVotes && q.same >= 19*q.differ {
		q.idle = true
		if t.idle == nil {
			t.idle = map[string]int{}
		}
		if q.name[0] != '/' {
			t.idle[q.name]++
		}
		s.told, s.same, s.fresh = 0, 0, 0 // the pages were the same because of the parameter
	}
}

// Clean returns a URL without the parameters that were found to make no other page. A
// segment of the path that makes none is replaced by the first one that was seen there.
func (t *Traps) Clean(url string) string {
	if len(t.idle) == 0 && !strings.ContainsAny(url, "0123456789") {
		return url
	}
	a := readAddress(url)
	s := t.shapes[a.key()]
	clean, changed := make([]string, 0, len(a.params)), false
	for _, p := range a.params {
		switch {
		case !t.idles(s, p.name):
			if !p.inPath() {
				clean = append(clean, p.written)
			}
		case p.inPath():
			q := s.find(p.name)
			changed = changed || q.first != p.value
			a.segments[p.name[1]-'a'] = q.first
		default:
			changed = true
		}
	}
	if !changed {
		return url
	}
	t.cut(Session, "a part of the URL makes no other page; it is left out", &a)
	url = a.origin + "/" + strings.Join(a.segments, "/")
	if len(clean) > 0 {
		url += "?" + strings.Join(clean, "&")
	}
	return url
}

// idles reports whether a parameter makes no other page in a shape.
func (t *Traps) idles(s *shape, name string) bool {
	if s != nil {
		if q := s.find(name); q != nil {
			if q.idle {
				return true
			}
			if q.differ > q.same || name[0] == '/' {
				return false
			}
		}
	}
	return t.idle[name] >= idleInShapes
}

// trackers are parameters that say where a visitor came from. No server shows another
// page because of them.
var trackers = map[string]bool{
	"gclid": true, "gclsrc": true, "dclid": true, "gbraid": true, "wbraid": true, "gad_source": true, "gad_campaignid": true, "srsltid": true,
	"fbclid": true, "fb_action_ids": true, "fb_action_types": true, "fb_source": true, "fb_ref": true, "igshid": true, "igsh": true,
	"msclkid": true, "twclid": true, "ttclid": true, "yclid": true, "ymclid": true, "_openstat": true, "li_fat_id": true, "epik": true, "rdt_cid": true, "scclid": true,
	"mc_cid": true, "mc_eid": true, "mkt_tok": true, "vero_id": true, "vero_conv": true, "oly_enc_id": true, "oly_anon_id": true, "wickedid": true, "ml_subscriber": true, "ml_subscriber_hash": true,
	"_ga": true, "_gl": true, "_hsenc": true, "_hsmi": true, "__hstc": true, "__hssc": true, "__hsfp": true, "hsctatracking": true,
	"s_cid": true, "sc_cid": true, "cmpid": true, "irclickid": true, "irgwc": true, "rb_clickid": true, "_branch_match_id": true, "ref_src": true, "ref_url": true,
	"wt_mc": true, "wt_zmc": true, "at_medium": true, "at_campaign": true, "at_custom1": true, "at_custom2": true, "spm": true, "guccounter": true, "guce_referrer": true, "guce_referrer_sig": true,
}

var trackerFamilies = []string{"utm_", "mtm_", "pk_", "piwik_", "matomo_", "hsa_"}

// sessions are parameters that hold the id of a visit, whatever the id looks like.
var sessions = map[string]bool{"jsessionid": true, "phpsessid": true, "cftoken": true, "cfid": true, "oscsid": true, "zenid": true, "xtcsid": true, "xtsid": true}

// maybeSessions hold the id of a visit in one program and of a story in another. It is a
// visit if the id was drawn at random.
var maybeSessions = map[string]bool{"sid": true, "sessionid": true, "session_id": true, "sessid": true, "session": true, "s": true, "sess": true, "ssid": true}

// idle reports whether a parameter makes no other page: it tracks, or is a session.
func idle(name, value string) bool {
	name = strings.ToLower(name)
	if trackers[name] || sessions[name] || strings.HasPrefix(name, "aspsessionid") || strings.HasPrefix(name, "phpsessid") {
		return true
	}
	for _, family := range trackerFamilies {
		if strings.HasPrefix(name, family) {
			return true
		}
	}
	return maybeSessions[name] && token(value)
}

// token reports whether a word was drawn at random and not written by anybody: it is
// long, of letters and digits that take turns.
func token(word string) bool {
	if len(word) < 16 || len(word) > 256 {
		return false
	}
	digits, letters, turns := 0, 0, 0
	for i := range len(word) {
		switch c := word[i]; {
		case '0' <= c && c <= '9':
			digits++
			if i > 0 && !isDigit(word[i-1]) {
				turns++
			}
		case isWord(c):
			letters++
		case c != '-' && c != '_' && c != '.' && c != ',':
			return false
		}
	}
	return digits >= 3 && letters >= 1 && turns >= 3
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// tidyQuery leaves out parameters that make no other page and sorts the others by name.
// Values of one name keep their order. So does a first word without "=": in
// ?/topic/17&page=2 it is the page.
func tidyQuery(query string) string {
	if query == "" {
		return ""
	}
	kept := make([]string, 0, 8)
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if part != "" && !idle(name, value) {
			kept = append(kept, part)
		}
	}
	sorted := kept
	if len(kept) > 0 && !strings.Contains(kept[0], "=") {
		sorted = kept[1:]
	}
	slices.SortStableFunc(sorted, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return strings.Compare(nameA, nameB)
	})
	return strings.Join(kept, "&")
}

// tidyPath takes session ids out of a path: /cart;jsessionid=17 and /(S(17))/cart.
func tidyPath(path string) string {
	if !strings.Contains(path, ";") && !strings.Contains(path, "/(") {
		return path
	}
	kept := make([]string, 0, 8)
	for segment := range strings.SplitSeq(path[1:], "/") {
		if segment = withoutSession(segment); !cookieless(segment) {
			kept = append(kept, segment)
		}
	}
	return "/" + strings.Join(kept, "/")
}

// cookieless reports whether a segment is a session as ASP.NET writes it, such as (S(ab12)).
func cookieless(segment string) bool {
	if len(segment) < 5 || !strings.HasPrefix(segment, "(") || !strings.HasSuffix(segment, "))") || segment[2] != '(' {
		return false
	}
	return strings.IndexByte("ASFX", segment[1]) >= 0
}

// withoutSession returns a segment without its path parameters that hold a session. A
// segment that would become a dot segment stays, because then it would lead elsewhere.
func withoutSession(segment string) string {
	parts := strings.Split(segment, ";")
	kept := parts[:1]
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(part, "=")
		if lower := strings.ToLower(name); !sessions[lower] && !(maybeSessions[lower] && token(value)) {
			kept = append(kept, part)
		}
	}
	if len(kept) == 1 && (kept[0] == "." || kept[0] == "..") {
		return segment
	}
	return strings.Join(kept, ";")
}

// mostRemembered is how large a table becomes, a power of two.
const mostRemembered = 4096

// A table remembers the last values, by hashes, and does not grow beyond its bound. What it has forgotten counts as new.
type table[V any] struct {
	slots []slot[V]
	used  int
}

type slot[V any] struct {
	value V
	hash  uint64 // 0 is empty
}

// A recent is a table of nothing but hashes.
type recent = table[struct{}]

// remember notes a value, unless there is one for the hash: then it returns that.
func (t *table[V]) remember(hash uint64, value V) (before V, known bool) {
	hash = max(hash, 1)
	if 2*t.used >= len(t.slots) && len(t.slots) < mostRemembered {
		old := t.slots
		t.slots, t.used = make([]slot[V], max(64, 2*len(old))), 0
		for _, s := range old {
			if s.hash != 0 {
				t.put(s)
			}
		}
	}
	if s := t.slots[t.at(hash)]; s.hash == hash {
		return s.value, true
	}
	t.put(slot[V]{value: value, hash: hash})
	return before, false
}

// has reports whether there is a value for a hash.
func (t *table[V]) has(hash uint64) bool {
	hash = max(hash, 1)
	return len(t.slots) > 0 && t.slots[t.at(hash)].hash == hash
}

// at returns the slot of a hash: one of four, and if others have them all, the one that is
// taken from another.
func (t *table[V]) at(hash uint64) int {
	last := uint64(len(t.slots) - 1)
	for i := range uint64(4) {
		if at := (hash + i) & last; t.slots[at].hash == hash || t.slots[at].hash == 0 {
			return int(at)
		}
	}
	return int((hash + hash>>62) & last)
}

func (t *table[V]) put(s slot[V]) {
	at := &t.slots[t.at(s.hash)]
	if at.hash == 0 {
		t.used++
	}
	*at = s
}

// A witness is what was found under an address without one of its parameters.
type witness struct {
	value        uint32 // of the parameter
	exact, loose uint32 // of the text
}
