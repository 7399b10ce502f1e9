package lab

import (
	"cmp"
	"math"
	"slices"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/sched"
)

// Indexes are the indexes of all sites of a grid, and what they can say. A poll of one
// costs what has changed since the poll before, and not what the site has.
type indexes struct {
	list []*index // in the order of their first pages
	byID map[freshet.SourceID]*index

	keys   []crawl.PageKey // by page
	dates  []int64         // by page: its last change, in nanoseconds since 1970; undated if none is known
	latest []int32         // by page: which change of its site that was; -1 if one before the grid began

	// The pages of each site are a ring by their dates, which begins and ends at
	// the index. Its place comes after those of all pages.
	older, newer []int32
}

// An index is the index of one site.
type index struct {
	source   freshet.Source
	place    int32  // in the ring
	changes  []news // of the site's pages, from where the grid begins to where it ends, in order
	happened int    // of those, so far
	shown    int    // of those, when the index was last seen
	version  int    // that was last seen; 0 if none was
}

// News are that a page has changed, as an index tells it.
type news struct {
	at   int64 // nanoseconds since 1970
	page int32
}

// undated is the date of a page that has none.
const undated = math.MinInt64

// all returns the indexes.
func (x *indexes) all() []*index {
	if x == nil {
		return nil
	}
	return x.list
}

// named returns the index with an ID, or nil.
func (x *indexes) named(id freshet.SourceID) *index {
	if x == nil {
		return nil
	}
	return x.byID[id]
}

// addIndexes adds an index to each site.
func (w *world) addIndexes() {
	n := len(w.grid.pages)
	x := &indexes{
		byID: map[freshet.SourceID]*index{}, keys: make([]crawl.PageKey, n),
		dates: make([]int64, n), latest: make([]int32, n), older: make([]int32, n), newer: make([]int32, n),
	}
	sites := map[string]*index{}
	of, order := make([]*index, n), make([]int32, 0, n)
	for page := range n {
		s := w.options.source(w.grid, page)
		host := s.Host()
		if sites[host] == nil {
			sites[host] = x.add(w.indexOf(host))
		}
		of[page], order = sites[host], append(order, int32(page))
		x.keys[page], x.latest[page] = crawl.PageKeyOf(s.URL), -1
		x.dates[page] = w.truth.retell(page, w.end, func(at int64) {
			of[page].changes = append(of[page].changes, news{at, int32(page)})
		})
	}
	for _, at := range x.list {
		slices.SortStableFunc(at.changes, func(a, b news) int { return cmp.Compare(a.at, b.at) })
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(x.dates[a], x.dates[b]) })
	for _, page := range order {
		x.lead(of[page], page)
	}
	w.indexes = x
	if every := w.options.Evidence.Every; every > 0 {
		w.asks = asks{every: every, at: w.next(w.grid.Start.Add(every))}
	}
}

// indexOf returns the source that is the index of a host. No page has its ID or its URL.
func (w *world) indexOf(host string) freshet.Source {
	s := freshet.Source{
		Index: true, Life: w.options.Life, Urgency: w.options.Urgency,
		Paused: w.options.Evidence.Every > 0, // so that no policy chooses it, and requests for it are served
	}
	for taken := true; taken; {
		s.ID += "index:"
		_, page := w.grid.Page(s.ID + freshet.SourceID(host))
		_, path := w.grid.Page(freshet.SourceID(host) + "/" + s.ID)
		taken = page || path
	}
	s.URL = "https://" + host + "/" + string(s.ID)
	s.ID += freshet.SourceID(host)
	return s
}

// add adds the index of a site that has no pages yet.
func (x *indexes) add(s freshet.Source) *index {
	at := &index{source: s, place: int32(len(x.older))}
	x.older, x.newer = append(x.older, at.place), append(x.newer, at.place)
	x.list = append(x.list, at)
	x.byID[s.ID] = at
	return at
}

// lead puts a page that is not in the ring of its site where the newest is.
func (x *indexes) lead(at *index, page int32) {
	second := x.older[at.place]
	x.older[at.place], x.newer[page] = page, at.place
	x.older[page], x.newer[second] = second, page
}

// pass lets happen what has happened on a site until now.
func (x *indexes) pass(at *index, now time.Time) {
	for until := now.UnixNano(); at.happened < len(at.changes) && at.changes[at.happened].at <= until; at.happened++ {
		change := at.changes[at.happened]
		page := change.page
		x.older[x.newer[page]], x.newer[x.older[page]] = x.older[page], x.newer[page]
		x.lead(at, page)
		x.dates[page], x.latest[page] = change.at, int32(at.happened)
	}
}

// word returns what an index says that shows so many pages; 0 means all.
func (x *indexes) word(at *index, entries int) *evidence.IndexHint {
	word, first := &evidence.IndexHint{}, at.version == 0
	if entries > 0 {
		word.Kind = evidence.FeedIndex
	}
	read := 0
	for page := x.older[at.place]; page != at.place; page = x.older[page] {
		moved := first || int(x.latest[page]) >= at.shown
		listed := entries == 0 && moved || read < entries && x.dates[page] != undated
		if !listed {
			break // all others are older
		}
		read++
		date := x.date(page)
		if entries > 0 {
			word.From = date
		}
		if moved {
			word.Pages = append(word.Pages, evidence.PageHint{Page: x.keys[page], Date: date})
		}
	}
	return word
}

// date returns when a page has changed as an index says; zero if it does not.
func (x *indexes) date(page int32) time.Time {
	if x.dates[page] == undated {
		return time.Time{}
	}
	return time.Unix(0, x.dates[page]).UTC()
}

// read makes a poll of an index.
func (w *world) read(at *index, p freshet.Poll, requests int) {
	o := w.begin(p, requests)
	before := *at
	w.open(at, o)
	w.options.failByChance(o)
	if w.options.Answer != nil {
		w.options.Answer(p, o)
	}
	if !o.Result.Seen() {
		o.Word, o.Version = nil, 0
		at.shown, at.version = before.shown, before.version
	}
	w.scorer.index(o.Result.Seen())
	w.sort()
}

// open sets how a poll of an index ended that saw it.
func (w *world) open(at *index, o *freshet.Outcome) {
	w.indexes.pass(at, o.Began)
	switch {
	case at.version == 0:
		o.Result = freshet.First
	case at.happened > at.shown:
		o.Result = freshet.Changed
	}
	if o.Result.Captured() {
		o.Word = w.indexes.word(at, w.options.Evidence.Entries)
		at.version++
	}
	at.shown, o.Version = at.happened, at.version
}

// Asks are periodic requests for all indexes.
type asks struct {
	every time.Duration
	at    time.Time // when the next ones come; zero if none do
	turn  int       // who is next
}

// due reports whether an index is asked for at now.
func (a *asks) due(now time.Time) bool { return !a.at.IsZero() && !a.at.After(now) }

// ask asks for the next index, and reports whether more are to be asked for now.
func (w *world) ask() (_ sched.PollRequested, more bool) {
	list, a := w.indexes.list, &w.asks
	ev, more := sched.PollRequested{Source: list[a.turn].source.ID}, a.turn+1 < len(list)
	if a.turn++; a.turn == len(list) {
		passed := a.at.Sub(w.grid.Start) / a.every
		a.turn, a.at = 0, w.next(w.grid.Start.Add((passed+1)*a.every))
	}
	return ev, more
}
