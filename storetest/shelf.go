package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"freshet"
)

// docs is the site of the tests.
var docs = freshet.Source{
	ID: "docs", URL: "https://docs.example/", Name: "Docs", Tags: []string{"a"}, Weight: 3, Origin: freshet.FromFile, Created: noon,
	Site: &freshet.Site{Limit: 2000},
}

// shelved adds the site of the tests and n pages of it.
func (b *bench) shelved(n int) freshet.Source {
	b.Helper()
	site := b.addSource(docs)
	b.shelve(found(0, n)...)
	return site
}

// found returns pages of the site of the tests, from one number up to another.
func found(from, to int) (pages []freshet.Page) {
	for i := from; i < to; i++ {
		pages = append(pages, freshet.Page{URL: pageURL(i), Found: freshet.BySitemap, Seen: noon})
	}
	return pages
}

func pageURL(n int) string { return fmt.Sprintf("https://docs.example/guide/%d", n) }

// shelve puts pages on the shelf, all of which must be new and have room.
func (b *bench) shelve(pages ...freshet.Page) {
	b.Helper()
	if added, over, err := b.AddPages(b.Context(), "docs", pages); err != nil || added != len(pages) || over != 0 {
		b.Fatalf("of %d pages %d were added and %d were too many: %v", len(pages), added, over, err)
	}
}

// take takes n pages, which must be there.
func (b *bench) take(n int) []freshet.Source {
	b.Helper()
	taken, err := b.TakePages(b.Context(), "docs", n)
	if err != nil || len(taken) != n {
		b.Fatalf("of %d pages %d were taken: %v", n, len(taken), err)
	}
	return taken
}

// takeAll takes all pages that wait, and returns the source of one.
func (b *bench) takeAll(pageURL string) freshet.Source {
	b.Helper()
	taken, err := b.TakePages(b.Context(), "docs", 1<<20)
	b.ok("taking all pages", err)
	at := slices.IndexFunc(taken, func(s freshet.Source) bool { return s.URL == pageURL })
	if at < 0 {
		b.Fatalf("%s was not taken", pageURL)
	}
	return taken[at]
}

// page returns a page of the site.
func (b *bench) page(url string) freshet.Page {
	b.Helper()
	p, err := b.Page(b.Context(), "docs", url)
	b.ok("page "+url, err)
	return p
}

// counts fails the test unless the shelf counts the pages by their states as they are
// listed, and as wanted.
func (b *bench) counts(waiting, watched, gone, refused, covered int) {
	b.Helper()
	got, err := b.CountPages(b.Context(), "docs")
	b.ok("counting the pages", err)
	var listed freshet.PageCounts
	for p, err := range b.Pages(b.Context(), "docs", freshet.PageQuery{}) {
		b.ok("listing the pages", err)
		*map[freshet.PageState]*int{
			freshet.PageWaiting: &listed.Waiting, freshet.PageWatched: &listed.Watched, freshet.PageGone: &listed.Gone,
			freshet.PageRefused: &listed.Refused, freshet.PageCovered: &listed.Covered,
		}[p.State]++
		*map[freshet.FoundBy]*int{freshet.BySitemap: &listed.Sitemaps, freshet.ByFeed: &listed.Feeds, freshet.ByLink: &listed.Links}[p.Found]++
	}
	same(b, "the count of the pages", got, listed)
	same(b, "the count of the pages by state", [5]int{got.Waiting, got.Watched, got.Gone, got.Refused, got.Covered}, [5]int{waiting, watched, gone, refused, covered})
}

// urls returns the URLs of pages.
func (b *bench) urls(q freshet.PageQuery) (urls []string) {
	b.Helper()
	for p, err := range b.Pages(b.Context(), "docs", q) {
		b.ok("listing pages", err)
		urls = append(urls, p.URL)
	}
	return urls
}

var shelfTests = []test{
	{"a page comes back as it was found", func(b *bench) {
		b.addSource(docs)
		want := []freshet.Page{
			{URL: pageURL(1), Found: freshet.BySitemap, Date: minute(-600), Listed: minute(-3), Seen: noon},
			{URL: "https://docs.example/?q=é", Found: freshet.ByLink, Depth: 7, Seen: minute(1), New: true},
			{URL: "https://blog.docs.example/x", Found: freshet.ByFeed, Date: minute(9), Listed: minute(4), Gone: minute(7), Seen: minute(2)},
			{URL: "https://docs.example", Found: freshet.ByLink, Depth: 1, Seen: noon},
		}
		b.shelve(want...)
		b.reopen()
		for _, p := range want {
			p.State = freshet.PageWaiting
			same(b, "page "+p.URL, b.page(p.URL), p)
		}
		b.counts(4, 0, 0, 0, 0)
		_, err := b.Page(b.Context(), "docs", pageURL(2))
		b.is("a page that is not known", err, freshet.ErrNotFound)
	}},
	{"a page is seen when it is found, if nobody says when", func(b *bench) {
		b.addSource(docs)
		b.shelve(freshet.Page{URL: pageURL(1), Found: freshet.ByLink})
		if b.page(pageURL(1)).Seen.IsZero() {
			b.Error("it is not known when the page was found")
		}
	}},
	{"no page is known twice", func(b *bench) {
		b.addSource(docs)
		pages := append(found(0, 30), found(0, 30)...)
		for _, want := range []int{30, 0} {
			if added, over, err := b.AddPages(b.Context(), "docs", pages); added != want || over != 0 || err != nil {
				b.Errorf("%d pages are new and %d too many (%v), want %d and none", added, over, err, want)
			}
		}
		b.counts(30, 0, 0, 0, 0)
	}},
	{"a page that is known keeps what is known of it, but for what an index says", func(b *bench) {
		b.addSource(docs)
		b.shelve(freshet.Page{URL: pageURL(1), Found: freshet.ByLink, Depth: 2, Seen: noon})
		step := func(p, want freshet.Page) {
			b.Helper()
			p.URL, want.URL = pageURL(1), pageURL(1)
			if added, _, err := b.AddPages(b.Context(), "docs", []freshet.Page{p}); added != 0 || err != nil {
				b.Errorf("%d pages were added: %v", added, err)
			}
			want.Found, want.Depth, want.Seen, want.State = freshet.ByLink, 2, noon, freshet.PageWaiting
			same(b, "the page", b.page(pageURL(1)), want)
		}
		step(freshet.Page{Found: freshet.BySitemap, Depth: 1, Seen: minute(1), New: true}, freshet.Page{})
		step(freshet.Page{Found: freshet.BySitemap, Date: minute(2), Listed: minute(3)}, freshet.Page{Date: minute(2), Listed: minute(3)})
		step(freshet.Page{Found: freshet.BySitemap, Date: minute(4), Listed: minute(4)}, freshet.Page{Date: minute(4), Listed: minute(3)})
		step(freshet.Page{Found: freshet.ByLink}, freshet.Page{Date: minute(4), Listed: minute(3)})
		step(freshet.Page{Found: freshet.BySitemap, Gone: minute(5)}, freshet.Page{Date: minute(4), Listed: minute(3), Gone: minute(5)})
		step(freshet.Page{Found: freshet.BySitemap, Gone: minute(6)}, freshet.Page{Date: minute(4), Listed: minute(3), Gone: minute(5)})
		step(freshet.Page{Found: freshet.BySitemap, Listed: minute(7)}, freshet.Page{Date: minute(4), Listed: minute(7)})
	}},
	{"what cannot be a page is refused, and nothing is added", func(b *bench) {
		b.addSource(docs)
		for field, p := range map[string]freshet.Page{"url": {Found: freshet.ByLink}, "found": {URL: pageURL(9)}, "depth": {URL: pageURL(9), Found: freshet.ByLink, Depth: -1}} {
			_, _, err := b.AddPages(b.Context(), "docs", append(found(0, 3), p))
			if invalid, ok := errors.AsType[*freshet.InvalidError](err); !ok || invalid.Field != field {
				b.Errorf("a page with a wrong %s gives %v", field, err)
			}
		}
		b.counts(0, 0, 0, 0, 0)
	}},
	{"there are no pages of what is not a site", func(b *bench) {
		b.add("a")
		for _, id := range []freshet.SourceID{"a", "none"} {
			_, _, err := b.AddPages(b.Context(), id, found(0, 1))
			b.is("adding pages", err, freshet.ErrNotFound)
			_, err = b.TakePages(b.Context(), id, 1)
			b.is("taking pages", err, freshet.ErrNotFound)
			_, err = b.CountPages(b.Context(), id)
			b.is("counting pages", err, freshet.ErrNotFound)
			_, err = b.Page(b.Context(), id, pageURL(1))
			b.is("a page", err, freshet.ErrNotFound)
			b.is("setting a page", b.SetPage(b.Context(), id, pageURL(1), freshet.PageGone), freshet.ErrNotFound)
			for _, err := range b.Pages(b.Context(), id, freshet.PageQuery{}) {
				b.is("listing pages", err, freshet.ErrNotFound)
			}
			_, err = b.Announce(b.Context(), id, freshet.PageWent, noon, "")
			b.is("telling of a page", err, freshet.ErrNotFound)
		}
	}},
	{"no more pages are known than the site allows", func(b *bench) {
		site := docs
		site.Site = &freshet.Site{Limit: 10}
		site = b.addSource(site)
		if added, over, err := b.AddPages(b.Context(), "docs", found(0, 14)); added != 10 || over != 4 || err != nil {
			b.Errorf("%d are added and %d are too many (%v), want 10 and 4", added, over, err)
		}
		b.page(pageURL(0)) // the first have room
		b.take(5)
		if added, over, err := b.AddPages(b.Context(), "docs", found(0, 14)); added != 0 || over != 4 || err != nil {
			b.Errorf("%d are added and %d are too many (%v), want none and 4", added, over, err)
		}
		site.Site, site.Revision = &freshet.Site{Limit: 12}, 0
		b.ok("allowing more", b.UpdateSource(b.Context(), site))
		if added, over, err := b.AddPages(b.Context(), "docs", found(0, 14)); added != 2 || over != 2 || err != nil {
			b.Errorf("%d are added and %d are too many (%v), want 2 and 2", added, over, err)
		}
	}},
	{"pages are listed once each, from any place on", func(b *bench) {
		b.shelved(1234)
		all := b.urls(freshet.PageQuery{})
		if sorted := slices.Compact(slices.Sorted(slices.Values(all))); len(all) != 1234 || len(sorted) != 1234 {
			b.Fatalf("%d pages are listed, %d of them different, want 1234", len(all), len(sorted))
		}
		same(b, "the pages after the 700th", b.urls(freshet.PageQuery{After: all[699]}), all[700:])
		same(b, "600 of them", b.urls(freshet.PageQuery{After: all[699], Limit: 511}), all[700:1211])
		same(b, "none", b.urls(freshet.PageQuery{After: all[1233]}), nil)
		for _, s := range b.take(100) {
			if i := slices.Index(all, s.URL); i >= 0 {
				all = slices.Delete(all, i, i+1)
			}
		}
		same(b, "those that wait", b.urls(freshet.PageQuery{State: freshet.PageWaiting}), all)
		if watched := b.urls(freshet.PageQuery{State: freshet.PageWatched}); len(watched) != 100 {
			b.Errorf("%d are watched, want 100", len(watched))
		}
	}},
	{"pages are taken in an order of chance, which does not change", func(b *bench) {
		b.shelved(200)
		waiting := b.urls(freshet.PageQuery{State: freshet.PageWaiting})
		var got []string
		for _, s := range b.take(20) {
			got = append(got, s.URL)
		}
		same(b, "the first pages", got, waiting[:20])
		b.reopen()
		got = nil
		for _, s := range b.take(20) {
			got = append(got, s.URL)
		}
		same(b, "the next pages", got, waiting[20:40])
		if slices.IsSorted(waiting) {
			b.Error("the pages are in the order of their URLs")
		}
		b.counts(160, 40, 0, 0, 0)
	}},
	{"a page that is taken is a source with what its site says", func(b *bench) {
		site := b.shelved(3)
		s := b.take(1)[0]
		if !freshet.ValidSourceID(s.ID) || !strings.HasPrefix(string(s.ID), "docs.") || s.Created.IsZero() {
			b.Errorf("the source is %+v", s)
		}
		want := site.Page(s.ID, s.URL)
		want.Created, want.Revision = s.Created, 1
		same(b, "the source as taken", s, want)
		same(b, "the source as stored", b.watched(s.ID).Source, want)
		b.reopen()
		same(b, "the source as stored", b.watched(s.ID).Source, want)
		p := b.page(s.URL)
		if p.Source != s.ID || p.State != freshet.PageWatched {
			b.Errorf("the page is %+v", p)
		}
	}},
	{"the ID of a page is short enough, and one that nobody has", func(b *bench) {
		long := freshet.SourceID(strings.Repeat("s", 60))
		for _, id := range []freshet.SourceID{long + "1", long + "2"} {
			site := docs
			site.ID, site.URL = id, "https://"+string(id[60:])+".example/"
			b.addSource(site)
			if _, _, err := b.AddPages(b.Context(), id, []freshet.Page{{URL: "https://both.example/" + string(id[:3]), Found: freshet.ByLink}}); err != nil {
				b.Fatal(err)
			}
		}
		one, err := b.TakePages(b.Context(), long+"1", 1)
		b.ok("taking a page", err)
		b.ok("removing it", b.RemoveSource(b.Context(), one[0].ID, false))
		two, err := b.TakePages(b.Context(), long+"2", 1)
		if err != nil || len(two) != 1 || two[0].ID == one[0].ID || !freshet.ValidSourceID(two[0].ID) || two[0].Of != long+"2" {
			b.Errorf("the page of the other site is %+v: %v", two, err)
		}
	}},
	{"an edit of a site holds for all of its pages at once", func(b *bench) {
		site := b.shelved(4)
		taken := b.take(3)
		own := b.watched(taken[0].ID).Source
		own.Weight, own.Tags = 7, nil
		b.ok("an edit of a page", b.UpdateSource(b.Context(), own))
		own.Revision++
		b.ok("removing a page", b.RemoveSource(b.Context(), taken[2].ID, false))
		site.Tags, site.Weight, site.MinGap, site.Recipe.CSS, site.Origin = []string{"b"}, 5, time.Minute, "main", freshet.FromAPI
		b.ok("an edit of the site", b.UpdateSource(b.Context(), site))
		for range 2 {
			got := b.watched(taken[1].ID).Source
			want := site.Page(got.ID, got.URL)
			want.Created, want.Revision = got.Created, 1
			same(b, "a page", got, want)
			got = b.watched(own.ID).Source
			want = site.Page(got.ID, got.URL)
			want.Created, want.Revision, want.Weight, want.Tags = got.Created, 2, 7, nil
			same(b, "a page of which something is said", got, want)
			removed, err := b.RemovedSource(b.Context(), taken[2].ID)
			if err != nil || removed.Recipe.CSS != "main" {
				b.Errorf("a page that was removed is %+v: %v", removed.Source, err)
			}
			b.reopen()
		}
		// What is the same as its site's is not kept apart.
		own = b.watched(own.ID).Source
		own.Weight = 5
		b.ok("an edit of a page", b.UpdateSource(b.Context(), own))
		site.Weight, site.Revision = 6, 0
		b.ok("an edit of the site", b.UpdateSource(b.Context(), site))
		if w := b.watched(own.ID).Weight; w != 6 {
			b.Errorf("the weight of the page is %v, want that of the site", w)
		}
	}},
	{"a change of a page is labelled as its site says then", func(b *bench) {
		site := b.shelved(1)
		s := b.take(1)[0]
		b.history(s.ID, 2)
		site.Tags = []string{"z"}
		b.ok("an edit of the site", b.UpdateSource(b.Context(), site))
		_, c := b.commit(saw(s.ID, minute(5), freshet.Changed, "five"))
		same(b, "the label", c.Label, freshet.Label{URL: s.URL, Tags: []string{"z"}})
		b.reopen()
		_, c = b.commit(saw(s.ID, minute(6), freshet.Changed, "six"))
		same(b, "the label", c.Label, freshet.Label{URL: s.URL, Tags: []string{"z"}})
		changes, err := b.Changes(b.Context(), freshet.ChangeQuery{Source: s.ID})
		b.ok("changes", err)
		var tags []string
		for _, c := range changes {
			tags = append(tags, c.Label.Tags...)
		}
		same(b, "the tags of its changes", tags, []string{"a", "z", "z"})
	}},
	{"what a site says of how much is kept holds for its pages", func(b *bench) {
		site := b.shelved(2)
		taken := b.take(2)
		all := b.watched(taken[1].ID).Source
		for _, s := range taken {
			b.history(s.ID, 5)
		}
		site.Keep = freshet.Keep{Versions: 2}
		b.ok("an edit of the site", b.UpdateSource(b.Context(), site))
		b.ok("an edit of a page", b.UpdateSource(b.Context(), all)) // which keeps all, as it was read
		_, err := b.Prune(b.Context(), minute(10), freshet.Keep{}, 0)
		b.ok("prune", err)
		same(b, "the versions of a page", b.numbers(taken[0].ID), []int{5, 4})
		same(b, "the versions of a page that keeps all", len(b.numbers(taken[1].ID)), 5)
	}},
	{"a page that another source watches is covered", func(b *bench) {
		b.shelved(0)
		b.addSource(freshet.Source{ID: "mine", URL: pageURL(1)})
		b.addSource(freshet.Source{ID: "other", URL: pageURL(2), Recipe: freshet.Recipe{CSS: "p"}})
		b.shelve(append(found(0, 3), freshet.Page{URL: docs.URL, Found: freshet.ByLink})...)
		taken, err := b.TakePages(b.Context(), "docs", 10)
		if err != nil || len(taken) != 2 {
			b.Errorf("%d pages were taken (%v), want 2", len(taken), err)
		}
		b.counts(0, 2, 0, 0, 2)
		if p := b.page(pageURL(1)); p.State != freshet.PageCovered || p.Source != "" {
			b.Errorf("the page that is watched is %+v", p)
		}
	}},
	{"another source cannot watch what a page does, by what its site says now", func(b *bench) {
		site := b.shelved(1)
		s := b.take(1)[0]
		_, err := b.AddSource(b.Context(), freshet.Source{URL: s.URL})
		b.is("adding the page", err, freshet.ErrConflict)
		site.Recipe.CSS = "main"
		b.ok("an edit of the site", b.UpdateSource(b.Context(), site))
		_, err = b.AddSource(b.Context(), freshet.Source{URL: s.URL, Recipe: freshet.Recipe{CSS: "main"}})
		b.is("adding the page as it is read now", err, freshet.ErrConflict)
		b.addSource(freshet.Source{URL: s.URL})
	}},
	{"a page stays with its site", func(b *bench) {
		b.shelved(1)
		s := b.take(1)[0]
		for field, edit := range map[string]func(*freshet.Source){"of": func(s *freshet.Source) { s.Of = "" }, "url": func(s *freshet.Source) { s.URL = pageURL(9) }} {
			s := s
			edit(&s)
			if invalid, ok := errors.AsType[*freshet.InvalidError](b.UpdateSource(b.Context(), s)); !ok || invalid.Field != field {
				b.Errorf("an edit of %q gives %v", field, invalid)
			}
		}
		_, err := b.AddSource(b.Context(), freshet.Source{URL: pageURL(5), Of: "none"})
		if invalid, ok := errors.AsType[*freshet.InvalidError](err); !ok || invalid.Field != "of" {
			b.Errorf("a page of a site that is not there gives %v", err)
		}
		plain := b.add("plain")
		plain.Of = "docs"
		if invalid, ok := errors.AsType[*freshet.InvalidError](b.UpdateSource(b.Context(), plain)); !ok || invalid.Field != "of" {
			b.Errorf("making a source a page gives %v", invalid)
		}
	}},
	{"an index of a site has what the site says, and is no page", func(b *bench) {
		site := b.shelved(0)
		index := site.Page("docs.map", "https://docs.example/sitemap.xml")
		index.Index, index.Created = true, noon
		b.shelve(freshet.Page{URL: index.URL, Found: freshet.ByLink})
		index = b.addSource(index)
		b.counts(1, 0, 0, 0, 0)
		site.Weight = 9
		b.ok("an edit of the site", b.UpdateSource(b.Context(), site))
		b.reopen()
		if got := b.watched(index.ID); got.Weight != 9 || !got.Index || got.Of != "docs" {
			b.Errorf("the index is %+v", got.Source)
		}
		index.Revision, index.URL = 0, "https://docs.example/sitemap2.xml"
		b.ok("moving the index", b.UpdateSource(b.Context(), index))
	}},
	{"a page that somebody adds is watched", func(b *bench) {
		site := b.shelved(3)
		s := b.addSource(site.Page("", pageURL(1)))
		if p := b.page(pageURL(1)); p.State != freshet.PageWatched || p.Source != s.ID {
			b.Errorf("the page is %+v", p)
		}
		b.take(2)
		b.counts(0, 3, 0, 0, 0)
	}},
	{"a page that somebody removes is not taken again", func(b *bench) {
		b.shelved(2)
		for i, s := range b.take(2) {
			b.ok("remove", b.RemoveSource(b.Context(), s.ID, i == 1))
			want := s.ID
			if i == 1 {
				want = ""
			}
			if p := b.page(s.URL); p.State != freshet.PageRefused || p.Source != want {
				b.Errorf("the page is %+v", p)
			}
		}
		b.shelveAgain(found(0, 2), true)
		if taken, err := b.TakePages(b.Context(), "docs", 5); err != nil || len(taken) != 0 {
			b.Errorf("%d pages were taken: %v", len(taken), err)
		}
		b.counts(0, 0, 0, 2, 0)
	}},
	{"a page can be set to what becomes of it", func(b *bench) {
		b.shelved(3)
		s := b.takeAll(pageURL(1))
		b.history(s.ID, 3)
		for _, state := range []freshet.PageState{freshet.PageRefused, freshet.PageCovered, freshet.PageGone, freshet.PageWaiting} {
			b.ok("setting a page", b.SetPage(b.Context(), "docs", s.URL, state))
			b.ok("setting it again", b.SetPage(b.Context(), "docs", s.URL, state))
			if p := b.page(s.URL); p.State != state {
				b.Errorf("the page is %s, want %s", p.State, state)
			}
			_, err := b.Source(b.Context(), s.ID)
			b.is("its source", err, freshet.ErrNotFound)
		}
		b.counts(1, 2, 0, 0, 0)
		back := b.take(1)[0]
		if back.ID != s.ID || back.Revision != 2 || len(b.numbers(s.ID)) != 3 {
			b.Errorf("it comes back as %+v, want with its history as %s", back, s.ID)
		}
		b.is("setting no page", b.SetPage(b.Context(), "docs", pageURL(7), freshet.PageGone), freshet.ErrNotFound)
		for _, state := range []freshet.PageState{freshet.PageWatched, "odd"} {
			if _, ok := errors.AsType[*freshet.InvalidError](b.SetPage(b.Context(), "docs", s.URL, state)); !ok {
				b.Errorf("a page can be set %s", state)
			}
		}
	}},
}

// shelveAgain puts pages on the shelf that are known.
func (b *bench) shelveAgain(pages []freshet.Page, isNew bool) {
	b.Helper()
	for i := range pages {
		pages[i].New = isNew
	}
	if added, over, err := b.AddPages(b.Context(), "docs", pages); added != 0 || over != 0 || err != nil {
		b.Fatalf("%d pages were added and %d are too many: %v", added, over, err)
	}
}
