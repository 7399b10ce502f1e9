package storetest

import (
	"errors"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/sites/frontier"
)

// pageTests say what becomes of a page that is taken off the shelf.
var pageTests = []test{
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
		if p.Source != s.ID || p.State != crawl.PageWatched {
			b.Errorf("the page is %+v", p)
		}
	}},
	{"the ID of a page is short enough, and one that nobody has", func(b *bench) {
		long := freshet.SourceID(strings.Repeat("s", 60))
		for _, id := range []freshet.SourceID{long + "1", long + "2"} {
			site := docs
			site.ID, site.URL = id, "https://"+string(id[60:])+".example/"
			b.addSource(site)
			if _, _, err := b.AddPages(b.Context(), id, []frontier.Page{{URL: "https://both.example/" + string(id[:3]), Found: crawl.ByLink}}); err != nil {
				b.Fatal(err)
			}
		}
		one, err := b.PromotePages(b.Context(), long+"1", 1)
		b.ok("taking a page", err)
		b.ok("removing it", b.RemoveSource(b.Context(), one[0].ID, false))
		two, err := b.PromotePages(b.Context(), long+"2", 1)
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
		b.addSource(freshet.Source{ID: "other", URL: pageURL(2), Recipe: reading.Recipe{CSS: "p"}})
		b.shelve(append(found(0, 3), frontier.Page{URL: docs.URL, Found: crawl.ByLink})...)
		taken, err := b.PromotePages(b.Context(), "docs", 10)
		if err != nil || len(taken) != 2 {
			b.Errorf("%d pages were taken (%v), want 2", len(taken), err)
		}
		b.counts(0, 2, 0, 0, 2)
		if p := b.page(pageURL(1)); p.State != crawl.PageCovered || p.Source != "" {
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
		_, err = b.AddSource(b.Context(), freshet.Source{URL: s.URL, Recipe: reading.Recipe{CSS: "main"}})
		b.is("adding the page as it is read now", err, freshet.ErrConflict)
		b.addSource(freshet.Source{URL: s.URL})
	}},
	{"a page stays with its site", func(b *bench) {
		b.shelved(1)
		s := b.take(1)[0]
		for field, edit := range map[string]func(*freshet.Source){"of": func(s *freshet.Source) { s.Of = "" }, "url": func(s *freshet.Source) { s.URL = pageURL(9) }} {
			s := s
			edit(&s)
			if invalid, ok := errors.AsType[*invalid.Error](b.UpdateSource(b.Context(), s)); !ok || invalid.Field != field {
				b.Errorf("an edit of %q gives %v", field, invalid)
			}
		}
		_, err := b.AddSource(b.Context(), freshet.Source{URL: pageURL(5), Of: "none"})
		if invalid, ok := errors.AsType[*invalid.Error](err); !ok || invalid.Field != "of" {
			b.Errorf("a page of a site that is not there gives %v", err)
		}
		plain := b.add("plain")
		plain.Of = "docs"
		if invalid, ok := errors.AsType[*invalid.Error](b.UpdateSource(b.Context(), plain)); !ok || invalid.Field != "of" {
			b.Errorf("making a source a page gives %v", invalid)
		}
	}},
	{"an index of a site has what the site says, and is no page", func(b *bench) {
		site := b.shelved(0)
		index := site.Page("docs.map", "https://docs.example/sitemap.xml")
		index.Index, index.Created = true, noon
		b.shelve(frontier.Page{URL: index.URL, Found: crawl.ByLink})
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
		if p := b.page(pageURL(1)); p.State != crawl.PageWatched || p.Source != s.ID {
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
			if p := b.page(s.URL); p.State != crawl.PageRefused || p.Source != want {
				b.Errorf("the page is %+v", p)
			}
		}
		b.shelveAgain(found(0, 2), true)
		if taken, err := b.PromotePages(b.Context(), "docs", 5); err != nil || len(taken) != 0 {
			b.Errorf("%d pages were taken: %v", len(taken), err)
		}
		b.counts(0, 0, 0, 2, 0)
	}},
	{"a page can be set to what becomes of it", func(b *bench) {
		b.shelved(3)
		s := b.takeAll(pageURL(1))
		b.history(s.ID, 3)
		for _, state := range []crawl.PageState{crawl.PageRefused, crawl.PageCovered, crawl.PageGone, crawl.PageWaiting} {
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
		b.is("setting no page", b.SetPage(b.Context(), "docs", pageURL(7), crawl.PageGone), freshet.ErrNotFound)
		for _, state := range []crawl.PageState{crawl.PageWatched, "odd"} {
			if _, ok := errors.AsType[*invalid.Error](b.SetPage(b.Context(), "docs", s.URL, state)); !ok {
				b.Errorf("a page can be set %s", state)
			}
		}
	}},
}
