package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unique"

	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// An indexRow is what lists look for in a source, apart from its status. It is
// never changed, only replaced.
type indexRow struct {
	id, url, name string // in lower case
	host          unique.Handle[string]
	tags          []unique.Handle[string]
	paused        bool
	created       Moment
	of            freshet.SourceID
	site          int64  // that it is a page of; 0 if none
	siteRevision  int64  // revision of the site that it was made over
	own           string // what a page says over its site, if it says anything
}

// indexRowOf returns the row of a source; own is what is stored of it.
func indexRowOf(src freshet.Source, site int64, siteRevision int64, own []byte) *indexRow {
	f := &indexRow{
		id: strings.ToLower(string(src.ID)), url: strings.ToLower(mask.URL(src.URL)), host: unique.Make(src.Host()),
		created: MomentOf(src.Created), site: site,
	}
	if site != 0 && len(own) > len(`{"of":""}`)+len(src.Of) {
		f.own = string(own)
	}
	f.say(src, siteRevision)
	return f
}

// say takes over what can come from a site.
func (f *indexRow) say(src freshet.Source, siteRevision int64) {
	f.name, f.paused, f.of, f.siteRevision = strings.ToLower(src.Name), src.Paused, src.Of, siteRevision
	f.tags = nil
	for _, t := range src.Tags {
		f.tags = append(f.tags, unique.Make(t))
	}
}

// over returns the row of a page over what its site says now. What cannot be read stays
// as it was.
func (f *indexRow) over(id freshet.SourceID, site freshet.Source) *indexRow {
	src := site.Page(id, "")
	if f.own != "" {
		var err error
		if src, err = freshet.ParseDefinitionOver(site, id, "", []byte(f.own)); err != nil {
			return f
		}
	}
	next := *f
	next.say(src, site.Revision)
	return &next
}

// storedIndexRow returns the indexRow of a source as it is stored. Most rows need not be read
// whole. One that cannot be read shows its URL; reading the source returns the error.
func storedIndexRow(row *sourceRow, site freshet.Source) *indexRow {
	if row.site == 0 {
		var said struct {
			Name   string
			Tags   []string
			Paused bool
			Of     freshet.SourceID
		}
		if err := json.Unmarshal(row.definition, &said); err == nil {
			return indexRowOf(freshet.Source{ID: row.id, URL: row.url, Name: said.Name, Tags: said.Tags, Paused: said.Paused, Of: said.Of, Created: row.created.Time()}, 0, 0, nil)
		}
	}
	src, err := row.source(site)
	if err != nil {
		src = freshet.Source{ID: row.id, URL: row.url, Created: row.created.Time()}
	}
	return indexRowOf(src, row.site, site.Revision, row.definition)
}

// A line is a source in the index.
type line struct {
	id              freshet.SourceID
	row             *indexRow // nil if the source is gone
	title           string    // of its newest version, in lower case
	seen, changedAt Moment
	polls, changes  int64
	in              freshet.Conditions
	removed         bool
	page            bool // of a site
}

// lineOf returns the line of a source with a row.
func lineOf(e *entry, f *indexRow) line {
	l := line{id: e.id, row: f, title: e.title, seen: e.seen, changedAt: e.changedAt, polls: e.polls, changes: e.changes, removed: e.removed, page: f.of != ""}
	w := freshet.SourceWithStatus{
		Source: freshet.Source{Paused: f.paused, Created: f.created.Time()},
		Status: freshet.Status{
			Failures: int(e.failures), Seen: e.seen.Time(), Polls: e.polls, Changes: int(e.changes), ChangedAt: e.changedAt.Time(),
			Suspect: e.suspect, Moved: e.moved.get(),
		},
	}
	if held := e.held.get(); held.Number != 0 {
		w.Status.Suspect = held.Suspect
	}
	l.in = w.Conditions()
	return l
}

// A sourceIndex has a line for each source, so that lists are made without reading any source
// that they do not have. A list that nobody asked for lately goes through all lines, a few
// thousand at a time: that takes some nanoseconds each. One that is kept is brought up to date
// when it is asked for: a poll keeps no order, and only notes that its line changed.
// The store's mu guards it.
type sourceIndex struct {
	lines []line  // their places stay
	order []int32 // the places in the order of the IDs; replaced, never changed
	added []int32 // places that are not in it yet
	gone  int     // lines without a row

	states [2][256]int // sources in the same states: all, and those that are named
	tags   map[unique.Handle[string]]int
	hosts  map[unique.Handle[string]]int
	stale  map[int64]bool // sites that were edited, whose pages have not heard

	journal []int32   // places of the lines that changed, the latest last
	cut     int64     // changes before those
	lists   listCache // the lists that are kept; has its own lock
}

func newSourceIndex() *sourceIndex {
	return &sourceIndex{
		tags: map[unique.Handle[string]]int{}, hosts: map[unique.Handle[string]]int{}, stale: map[int64]bool{},
		lists: listCache{all: map[listKey]*sortedList{}},
	}
}

// leastJournal is how many changes are noted at least, whatever the number of lines.
const leastJournal = 4096

// changed notes that a line changed. A list that is further behind than the journal
// reaches back is sorted anew, which is hardly slower then.
func (r *sourceIndex) changed(place int32) {
	if most := max(leastJournal, len(r.lines)/2); len(r.journal) >= most {
		drop := len(r.journal) / 2
		r.journal, r.cut = slices.Delete(r.journal, 0, drop), r.cut+int64(drop)
	}
	r.journal = append(r.journal, place)
}

// enter adds a source that was written.
func (r *sourceIndex) insert(e *entry) {
	e.place = int32(len(r.lines))
	r.add(lineOf(e, e.row))
	e.row = nil
}

func (r *sourceIndex) add(l line) {
	r.added = append(r.added, int32(len(r.lines)))
	r.lines = append(r.lines, l)
	r.changed(int32(len(r.lines) - 1))
	r.count(&l, 1)
}

// note brings the line of a source up to date.
func (r *sourceIndex) update(e *entry) {
	f := r.lines[e.place].row
	if e.row != nil {
		f, e.row = e.row, nil
	}
	r.put(e.place, lineOf(e, f))
}

// put replaces a line.
func (r *sourceIndex) put(place int32, next line) {
	l := &r.lines[place]
	counted := l.row != next.row || l.in != next.in || l.removed != next.removed
	if counted {
		r.count(l, -1)
	}
	*l = next
	r.changed(place)
	if counted {
		r.count(l, 1)
	}
}

// remove takes out a source.
func (r *sourceIndex) remove(e *entry) {
	l := &r.lines[e.place]
	r.count(l, -1)
	*l = line{id: l.id} // it keeps its place in the order
	r.changed(e.place)
	r.gone++
}

// count adds a line to the counts n times.
func (r *sourceIndex) count(l *line, n int) {
	if l.removed {
		return
	}
	r.states[0][l.in] += n
	if l.row.of != "" {
		return
	}
	r.states[1][l.in] += n
	counted(r.hosts, l.row.host, n)
	for _, t := range l.row.tags {
		counted(r.tags, t, n)
	}
}

// counted adds n to the count of a name, and forgets those that nobody has.
func counted(of map[unique.Handle[string]]int, name unique.Handle[string], n int) {
	if of[name] += n; of[name] == 0 {
		delete(of, name)
	}
}

// manyGone is how many lines may be without a source, if they are fewer than the others.
const manyGone = 1000

// now returns how many changes there were.
func (r *sourceIndex) now() int64 { return r.cut + int64(len(r.journal)) }

// wasteful reports whether too many are.
func (r *sourceIndex) wasteful() bool { return r.gone > manyGone && 2*r.gone > len(r.lines) }

// behind reports whether something has to be done before a list can be made.
func (r *sourceIndex) behind() bool { return len(r.added) > 0 || len(r.stale) > 0 || r.wasteful() }

// sort brings the order up to date.
func (r *sourceIndex) sort() {
	if len(r.added) == 0 {
		return
	}
	compare := func(a, b int32) int { return cmp.Compare(r.lines[a].id, r.lines[b].id) }
	slices.SortFunc(r.added, compare)
	merged, old, added := make([]int32, 0, len(r.order)+len(r.added)), r.order, r.added
	for len(old) > 0 && len(added) > 0 {
		if compare(added[0], old[0]) < 0 {
			merged, added = append(merged, added[0]), added[1:]
		} else {
			merged, old = append(merged, old[0]), old[1:]
		}
	}
	r.order, r.added = append(append(merged, old...), added...), nil
}

// updatePages has the pages of sites that were edited take over what these say.
func (s *sourceMemory) updatePages() {
	r := s.sourceIndex
	for i, l := range r.lines {
		if l.row == nil || !r.stale[l.row.site] {
			continue
		}
		if site, e := s.sites[l.row.site], s.entries[l.id]; site.ID != "" && e != nil && site.Revision != l.row.siteRevision {
			r.put(int32(i), lineOf(e, l.row.over(l.id, site)))
		}
	}
	clear(r.stale)
}

// renew replaces the index by one without lines of sources that are gone. A reader of the old one
// finds it as it was.
func (s *sourceMemory) renew() {
	next := newSourceIndex()
	for _, l := range s.sourceIndex.lines {
		if e := s.entries[l.id]; l.row != nil && e != nil {
			e.place = int32(len(next.lines))
			next.add(l)
		}
	}
	s.sourceIndex = next
}

// catchUp returns the index as it is now, its order, and the place in its journal.
func (s *sourceMemory) catchUp() (*sourceIndex, []int32, int64) {
	s.mu.RLock()
	r, order, now, behind := s.sourceIndex, s.sourceIndex.order, s.sourceIndex.now(), s.sourceIndex.behind()
	s.mu.RUnlock()
	if !behind {
		return r, order, now
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sourceIndex.stale) > 0 {
		s.updatePages()
	}
	if s.sourceIndex.wasteful() {
		s.renew()
	}
	s.sourceIndex.sort()
	return s.sourceIndex, s.sourceIndex.order, s.sourceIndex.now()
}

// A listKey says what a list has, and in which order.
type listKey struct {
	freshet.SourceFilter
	by freshet.SourceOrder
}

// A sortedList is a list that was requested. It stays sorted between requests: who asks
// again has it brought up to date by the lines that changed since, and pays for those.
// It has the places of its lines and nothing else, four bytes each: what they are sorted
// by is in the index, and as it was for all lines that did not change.
type sortedList struct {
	want sourceMatcher
	by   freshet.SourceOrder
	used int64        // when it was last asked for; the mu of orders guards it
	size atomic.Int64 // lines that it has

	mu     sync.Mutex // taken before that of the store
	made   bool
	places []int32
	upto   int64    // place in the journal up to which changes are in it
	dirty  []uint64 // a bit for each line of the index; all clear between updates
}

// The lists that an index keeps: so many, and with so many lines together for each line of
// the index. That is 32 bytes a source at most. Those that were not asked for longest go.
const (
	maxLists     = 16
	maxListLines = 8
)

// A listCache is the lists that an index keeps.
type listCache struct {
	mu   sync.Mutex
	all  map[listKey]*sortedList
	asks int64
}

// of returns the list of a key.
func (o *listCache) of(key listKey) *sortedList {
	o.mu.Lock()
	defer o.mu.Unlock()
	k := o.all[key]
	if k == nil {
		k = &sortedList{want: newSourceMatcher(key.SourceFilter), by: key.by}
		o.all[key] = k
	}
	o.asks++
	k.used = o.asks
	return k
}

// trim forgets lists until what is kept of an index with so many lines is not too much. The
// one that was just asked for stays.
func (o *listCache) trim(lines int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.all) > 1 {
		var held int64
		var oldest listKey
		used := o.asks + 1
		for key, k := range o.all {
			held += k.size.Load()
			if k.used < used {
				oldest, used = key, k.used
			}
		}
		if len(o.all) <= maxLists && held <= int64(maxListLines*lines) {
			return
		}
		delete(o.all, oldest)
	}
}

// key returns what a line is sorted by.
func (l *line) key(by freshet.SourceOrder) int64 {
	return by.Key(l.in, l.seen.Time(), l.changedAt.Time(), l.polls, int(l.changes))
}

// against compares the line at a place with a rank.
func (k *sortedList) against(r *sourceIndex, place int32, rank freshet.SourceRank) int {
	l := &r.lines[place]
	return cmp.Or(cmp.Compare(l.key(k.by), rank.Key), cmp.Compare(l.id, rank.ID))
}

// rank returns the rank of a line.
func (k *sortedList) rank(r *sourceIndex, place int32) freshet.SourceRank {
	l := &r.lines[place]
	return freshet.SourceRank{Key: l.key(k.by), ID: l.id}
}

// withList calls f with a list that is up to date while nothing is written.
func (s *sourceMemory) withList(ctx context.Context, key listKey, f func(*sourceIndex, *sortedList)) error {
	for {
		r, order, now := s.catchUp()
		k := r.lists.of(key)
		done, err := s.current(ctx, r, order, now, k, f)
		r.lists.trim(len(order))
		if done || err != nil {
			return err
		}
	}
}

// current sorts a list if it is not kept, and brings it up to date. The order is that of the
// index, as it was at a place in the journal. It fails to if so much was written meanwhile that the
// journal does not reach back.
func (s *sourceMemory) current(ctx context.Context, r *sourceIndex, order []int32, now int64, k *sortedList, f func(*sourceIndex, *sortedList)) (done bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.made || !s.updated(r, k, f) {
		if err := s.build(ctx, r, order, now, k); err != nil {
			return false, err
		}
		return s.updated(r, k, f), nil
	}
	return true, nil
}

// updated brings a list up to date and calls f, if the journal reaches back far enough.
func (s *sourceMemory) updated(r *sourceIndex, k *sortedList, f func(*sourceIndex, *sortedList)) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if k.upto < r.cut {
		return false
	}
	k.update(r)
	f(r, k)
	return true
}

// build makes a list. Lines that change meanwhile may be anywhere in it, or missing: the
// journal has them.
func (s *sourceMemory) build(ctx context.Context, r *sourceIndex, order []int32, now int64, k *sortedList) error {
	k.made = false
	var spots []spot
	for at, l := range s.matching(ctx, r, order, k.want) {
		spots = append(spots, spot{l.key(k.by), at})
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if k.by != freshet.ByID {
		slices.SortFunc(spots, spot.compare)
	}
	k.places = slices.Grow(k.places[:0], len(spots))
	for _, here := range spots {
		k.places = append(k.places, order[here.at])
	}
	k.made, k.upto = true, now
	return nil
}

// update takes all lines out that changed, and puts those that the list has where they
// belong now. The others stand in order as they are.
func (k *sortedList) update(r *sourceIndex) {
	changed := r.journal[k.upto-r.cut:]
	k.upto += int64(len(changed))
	if len(changed) > 0 {
		k.replace(r, changed)
	}
	k.size.Store(int64(len(k.places)))
}

func (k *sortedList) replace(r *sourceIndex, changed []int32) {
	if words := (len(r.lines) + 63) / 64; len(k.dirty) < words {
		k.dirty = make([]uint64, words)
	}
	for _, place := range changed {
		k.dirty[place/64] |= 1 << (place % 64)
	}
	k.places = slices.DeleteFunc(k.places, func(place int32) bool { return k.dirty[place/64]&(1<<(place%64)) != 0 })
	var moved []int32
	for _, place := range changed {
		word, bit := &k.dirty[place/64], uint64(1)<<(place%64)
		if *word&bit == 0 { // it changed more than once
			continue
		}
		*word &^= bit
		if k.want.has(&r.lines[place]) {
			moved = append(moved, place)
		}
	}
	slices.SortFunc(moved, func(a, b int32) int { return k.against(r, a, k.rank(r, b)) })
	k.merge(r, moved)
}

// merge puts lines that are in order into the list, the last one first.
func (k *sortedList) merge(r *sourceIndex, moved []int32) {
	n := len(k.places)
	k.places = slices.Grow(k.places, len(moved))[:n+len(moved)]
	for i, place := range slices.Backward(moved) {
		rank := k.rank(r, place)
		at := sort.Search(n, func(j int) bool { return k.against(r, k.places[j], rank) > 0 })
		copy(k.places[at+i+1:], k.places[at:n])
		k.places[at+i], n = place, at
	}
}

// part returns the IDs of the part of a list that a query asks for. Its list has no
// sources yet.
func (k *sortedList) part(r *sourceIndex, q freshet.SourceQuery) (list freshet.SourceList, ids []freshet.SourceID) {
	n := len(k.places)
	list.Total = n
	from := 0
	if q.After != nil {
		above := sort.Search(n, func(i int) bool { return k.against(r, k.places[i], *q.After) > 0 })
		if from = above; q.Reverse {
			from = n - sort.Search(n, func(i int) bool { return k.against(r, k.places[i], *q.After) >= 0 })
		}
	}
	from = min(from+q.Offset, n)
	to := n
	if q.Limit > 0 {
		to = min(n, from+q.Limit)
	}
	list.More = to < n
	for i := from; i < to; i++ {
		place := k.places[i]
		if q.Reverse {
			place = k.places[n-1-i]
		}
		ids = append(ids, r.lines[place].id)
		list.End = k.rank(r, place)
	}
	return list, ids
}
