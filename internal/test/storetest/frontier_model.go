package storetest

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/sites/frontier"
)

// A siteMachine drives a store with sites and a model of them: what pages each has, and
// what became of these.
type siteMachine struct {
	*testing.T
	place string
	open  Open
	store Store
	sites map[freshet.SourceID]*modelSite
	names map[string]freshet.SourceID // under which pages were ever watched, by URL
	told  []string                    // changes of pages as a whole, and of sites that were not purged since
	now   time.Time
}

// A modelSite is a source that is a site, or was one.
type modelSite struct {
	watched, site bool
	name          string
	pages         map[string]*modelPage
}

// A modelPage is a page on a shelf.
type modelPage struct {
	state    crawl.PageState
	source   freshet.SourceID
	new      bool
	wentOnce bool // it was told to be gone, and not to be back since
}

const modelLimit = 6

var modelSites = []freshet.SourceID{"a", "b"}

// runSiteModel takes random steps with sites in a store and in a model, and compares
// the two.
func runSiteModel(t *testing.T, open Open) {
	if raced {
		t.Skip("one step at a time has no races")
	}
	rapid.Check(t, func(rt *rapid.T) {
		place, err := os.MkdirTemp(t.TempDir(), "sites-")
		if err != nil {
			rt.Fatal(err)
		}
		m := &siteMachine{T: t, place: place, open: open, store: open(t, place), sites: map[freshet.SourceID]*modelSite{}, names: map[string]freshet.SourceID{}, now: noon}
		defer func() {
			if err := m.store.Close(); err != nil {
				rt.Errorf("closing the store: %v", err)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"add":      m.add,
			"edit":     m.edit,
			"remove":   m.remove,
			"find":     m.find,
			"find 2":   m.find,
			"take":     m.take,
			"take 2":   m.take,
			"set":      m.set,
			"announce": m.announce,
			"drop":     m.drop,
			"poll":     m.poll,
			"reopen":   m.reopen,
			"":         m.compare,
		})
	})
}

// pick returns a site, known or not.
func (m *siteMachine) pick(rt *rapid.T) (freshet.SourceID, *modelSite) {
	m.now = m.now.Add(time.Minute)
	id := rapid.SampledFrom(modelSites).Draw(rt, "site")
	return id, m.sites[id]
}

// pickPage returns the URL of a page, known or not.
func (m *siteMachine) pickPage(rt *rapid.T, id freshet.SourceID) string {
	return fmt.Sprintf("https://%s.example/%d", id, rapid.IntRange(0, 7).Draw(rt, "page"))
}

// opens reports whether there is a shelf.
func (s *modelSite) opens() bool { return s != nil && s.watched && s.site }

// root is the source of a site as it is added or edited.
func root(id freshet.SourceID, name string, is bool) freshet.Source {
	s := freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Name: name, Tags: []string{"t"}}
	if is {
		s.Site = &crawl.Settings{Limit: modelLimit}
	}
	return s
}

func (m *siteMachine) add(rt *rapid.T) {
	id, known := m.pick(rt)
	_, err := m.store.AddSource(m.Context(), root(id, "", true))
	if fails(rt, err, known != nil && known.watched) {
		return
	}
	m.sites[id] = &modelSite{watched: true, site: true, pages: map[string]*modelPage{}}
}

func (m *siteMachine) edit(rt *rapid.T) {
	id, known := m.pick(rt)
	name, is := rapid.SampledFrom([]string{"", "new"}).Draw(rt, "name"), rapid.Bool().Draw(rt, "is a site")
	err := m.store.UpdateSource(m.Context(), root(id, name, is))
	if fails(rt, err, known == nil || !known.watched) {
		return
	}
	known.name, known.site = name, is
	if !is {
		clear(known.pages)
	}
}

func (m *siteMachine) remove(rt *rapid.T) {
	id, known := m.pick(rt)
	purge := rapid.Bool().Draw(rt, "purge")
	err := m.store.RemoveSource(m.Context(), id, purge)
	if fails(rt, err, known == nil || !known.watched && !purge) {
		return
	}
	if known.watched, known.pages = false, nil; purge {
		delete(m.sites, id)
		m.told = slices.DeleteFunc(m.told, func(c string) bool { return strings.HasPrefix(c, string(id)+".") })
	}
}

func (m *siteMachine) find(rt *rapid.T) {
	id, known := m.pick(rt)
	var pages []frontier.Page
	for range rapid.IntRange(1, 4).Draw(rt, "pages") {
		pages = append(pages, frontier.Page{URL: m.pickPage(rt, id), Found: crawl.BySitemap, New: rapid.Bool().Draw(rt, "new")})
	}
	slices.SortFunc(pages, func(a, b frontier.Page) int { return strings.Compare(a.URL, b.URL) })
	pages = slices.CompactFunc(pages, func(a, b frontier.Page) bool { return a.URL == b.URL })
	added, over, err := m.pages().AddPages(m.Context(), id, pages)
	if fails(rt, err, !known.opens()) {
		return
	}
	wantAdded, wantOver := 0, 0
	for _, p := range pages {
		switch page := known.pages[p.URL]; {
		case page != nil && p.New && page.state == crawl.PageGone:
			page.state = crawl.PageWaiting
		case page != nil:
		case len(known.pages) >= modelLimit:
			wantOver++
		default:
			wantAdded++
			known.pages[p.URL] = &modelPage{state: crawl.PageWaiting, new: p.New}
		}
	}
	if added != wantAdded || over != wantOver {
		rt.Fatalf("%d pages were added and %d had no room, want %d and %d", added, over, wantAdded, wantOver)
	}
}

func (m *siteMachine) take(rt *rapid.T) {
	id, known := m.pick(rt)
	n := rapid.IntRange(1, 3).Draw(rt, "n")
	taken, err := m.pages().PromotePages(m.Context(), id, n)
	if fails(rt, err, !known.opens()) {
		return
	}
	waiting := 0
	for _, p := range known.pages {
		if p.state == crawl.PageWaiting {
			waiting++
		}
	}
	if len(taken) != min(n, waiting) {
		rt.Fatalf("of %d pages that wait %d were taken, want %d", waiting, len(taken), min(n, waiting))
	}
	for _, s := range taken {
		p := known.pages[s.URL]
		if p == nil || p.state != crawl.PageWaiting || s.Of != id {
			rt.Fatalf("%s was taken, of which is known %+v", s.URL, p)
		}
		if name := m.names[s.URL]; name != "" && name != s.ID {
			rt.Fatalf("%s is watched as %s, and was as %s before", s.URL, s.ID, name)
		}
		p.state, p.source, m.names[s.URL] = crawl.PageWatched, s.ID, s.ID
	}
}

func (m *siteMachine) set(rt *rapid.T) {
	id, known := m.pick(rt)
	at := m.pickPage(rt, id)
	state := rapid.SampledFrom([]crawl.PageState{crawl.PageWaiting, crawl.PageGone, crawl.PageRefused, crawl.PageCovered}).Draw(rt, "state")
	err := m.pages().SetPage(m.Context(), id, at, state)
	if !fails(rt, err, !known.opens() || known.pages[at] == nil) {
		known.pages[at].state = state
	}
}

func (m *siteMachine) announce(rt *rapid.T) {
	id, known := m.pick(rt)
	at := m.pickPage(rt, id)
	if !known.opens() || known.pages[at] == nil || known.pages[at].source == "" {
		return
	}
	p := known.pages[at]
	what := rapid.SampledFrom([]crawl.PageEvent{crawl.PageCame, crawl.PageWent, crawl.PageBack}).Draw(rt, "event")
	c, err := m.pages().Announce(m.Context(), p.source, what, m.now, "")
	watched := p.state == crawl.PageWatched
	happened := map[crawl.PageEvent]bool{crawl.PageCame: p.new, crawl.PageWent: watched, crawl.PageBack: watched && p.wentOnce}[what]
	if fails(rt, err, !happened) {
		return
	}
	switch what {
	case crawl.PageCame:
		p.new = false
	case crawl.PageWent:
		p.state, p.wentOnce = crawl.PageGone, true
	case crawl.PageBack:
		p.wentOnce = false
	}
	m.told = append(m.told, fmt.Sprintf("%s %s", c.Source, what))
}

// drop removes one page by itself.
func (m *siteMachine) drop(rt *rapid.T) {
	id, known := m.pick(rt)
	at := m.pickPage(rt, id)
	if !known.opens() || known.pages[at] == nil || known.pages[at].state != crawl.PageWatched {
		return
	}
	p := known.pages[at]
	purge := rapid.Bool().Draw(rt, "purge")
	if err := m.store.RemoveSource(m.Context(), p.source, purge); err != nil {
		rt.Fatal(err)
	}
	if p.state = crawl.PageRefused; purge {
		m.told = slices.DeleteFunc(m.told, func(c string) bool { return strings.HasPrefix(c, string(p.source)+" ") })
		p.source = ""
	}
}

// poll captures a page that is watched, or fails to capture one that is not.
func (m *siteMachine) poll(rt *rapid.T) {
	id, known := m.pick(rt)
	at := m.pickPage(rt, id)
	name := m.names[at]
	if name == "" {
		return
	}
	watched := known.opens() && known.pages[at] != nil && known.pages[at].state == crawl.PageWatched
	_, err := m.store.Begin(m.Context(), freshet.Poll{Source: freshet.Source{ID: name}, At: m.now})
	if fails(rt, err, !watched) {
		return
	}
	if _, _, err := m.store.Commit(m.Context(), saw(name, m.now, freshet.Changed, rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "text"))); err != nil {
		rt.Fatal(err)
	}
}

// pages returns the pages of the sites.
func (m *siteMachine) pages() *frontier.Store { return frontier.NewStore(m.store.DB()) }

func (m *siteMachine) reopen(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "whether") > 0 {
		return // it takes longer than any other step
	}
	if err := m.store.Close(); err != nil {
		rt.Fatalf("closing the store: %v", err)
	}
	m.store = m.open(m.T, m.place)
}

// compare fails if the store and the model differ.
func (m *siteMachine) compare(rt *rapid.T) {
	want, got := map[freshet.SourceID]string{}, map[freshet.SourceID]string{}
	for id, site := range m.sites {
		if site.watched {
			want[id] = " named " + site.name
		}
		for at, p := range site.pages {
			if p.state == crawl.PageWatched {
				want[p.source] = at + " of " + string(id)
			}
		}
		m.compareShelf(rt, id, site)
	}
	for w, err := range m.store.Sources(m.Context()) {
		if err != nil {
			rt.Fatal(err)
		}
		if got[w.ID] = " named " + w.Name; w.Of != "" {
			got[w.ID] = w.URL + " of " + string(w.Of)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("the sources differ (-want +got):\n%s", diff)
	}
	changes, err := m.store.Changes(m.Context(), freshet.ChangeQuery{})
	if err != nil {
		rt.Fatal(err)
	}
	var told []string
	for _, c := range changes {
		if c.Details.Page != "" {
			told = append(told, fmt.Sprintf("%s %s", c.Source, c.Details.Page))
		}
	}
	if len(told)+len(m.told) > 0 && !slices.Equal(told, m.told) {
		rt.Fatalf("told of pages is %v, want %v", told, m.told)
	}
}

// compareShelf fails if the pages of a site differ from those of the model.
func (m *siteMachine) compareShelf(rt *rapid.T, id freshet.SourceID, site *modelSite) {
	counts, err := m.pages().CountPages(m.Context(), id)
	if !site.opens() {
		if err == nil && counts.Known() > 0 {
			rt.Fatalf("%s, which is no site, has %+v pages", id, counts)
		}
		return
	}
	want, got := map[string]modelPage{}, map[string]modelPage{}
	for at, p := range site.pages {
		want[at] = modelPage{state: p.state, source: p.source, new: p.new}
	}
	for p, e := range m.pages().Pages(m.Context(), id, frontier.Query{}) {
		if err == nil {
			err = e
		}
		got[p.URL] = modelPage{state: p.State, source: p.Source, new: p.New}
	}
	if err != nil || !maps.Equal(want, got) || counts.Known() != len(want) {
		rt.Fatalf("site %s has the pages %+v (%d are counted, %v), want %+v", id, got, counts.Known(), err, want)
	}
}
