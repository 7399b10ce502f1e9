package storetest

import (
	"errors"
	"fmt"
	"slices"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/invalid"
	"freshet/internal/sites/frontier"
)

// docs is the site of the tests.
var docs = freshet.Source{
	ID: "docs", URL: "https://docs.example/", Name: "Docs", Tags: []string{"a"}, Weight: 3, Origin: freshet.FromFile, Created: noon,
	Site: &crawl.Settings{Limit: 2000},
}

// shelved adds the site of the tests and n pages of it.
func (b *bench) shelved(n int) freshet.Source {
	b.Helper()
	site := b.addSource(docs)
	b.shelve(found(0, n)...)
	return site
}

// found returns pages of the site of the tests, from one number up to another.
func found(from, to int) (pages []frontier.Page) {
	for i := from; i < to; i++ {
		pages = append(pages, frontier.Page{URL: pageURL(i), Found: crawl.BySitemap, Seen: noon})
	}
	return pages
}

func pageURL(n int) string { return fmt.Sprintf("https://docs.example/guide/%d", n) }

// shelve puts pages on the shelf, all of which must be new and have room.
func (b *bench) shelve(pages ...frontier.Page) {
	b.Helper()
	if added, over, err := b.AddPages(b.Context(), "docs", pages); err != nil || added != len(pages) || over != 0 {
		b.Fatalf("of %d pages %d were added and %d were too many: %v", len(pages), added, over, err)
	}
}

// take takes n pages, which must be there.
func (b *bench) take(n int) []freshet.Source {
	b.Helper()
	taken, err := b.PromotePages(b.Context(), "docs", n)
	if err != nil || len(taken) != n {
		b.Fatalf("of %d pages %d were taken: %v", n, len(taken), err)
	}
	return taken
}

// takeAll takes all pages that wait, and returns the source of one.
func (b *bench) takeAll(pageURL string) freshet.Source {
	b.Helper()
	taken, err := b.PromotePages(b.Context(), "docs", 1<<20)
	b.ok("taking all pages", err)
	at := slices.IndexFunc(taken, func(s freshet.Source) bool { return s.URL == pageURL })
	if at < 0 {
		b.Fatalf("%s was not taken", pageURL)
	}
	return taken[at]
}

// page returns a page of the site.
func (b *bench) page(url string) frontier.Page {
	b.Helper()
	p, err := b.Page(b.Context(), "docs", url)
	b.ok("page "+url, err)
	p.Place = 0 // which a test cannot know
	return p
}

// counts fails the test unless the shelf counts the pages by their states as they are
// listed, and as wanted.
func (b *bench) counts(waiting, watched, gone, refused, covered int) {
	b.Helper()
	got, err := b.CountPages(b.Context(), "docs")
	b.ok("counting the pages", err)
	var listed frontier.Counts
	for p, err := range b.Pages(b.Context(), "docs", frontier.Query{}) {
		b.ok("listing the pages", err)
		*map[crawl.PageState]*int{
			crawl.PageWaiting: &listed.Waiting, crawl.PageWatched: &listed.Watched, crawl.PageGone: &listed.Gone,
			crawl.PageRefused: &listed.Refused, crawl.PageCovered: &listed.Covered,
		}[p.State]++
		*map[crawl.FoundBy]*int{crawl.BySitemap: &listed.Sitemaps, crawl.ByFeed: &listed.Feeds, crawl.ByLink: &listed.Links}[p.Found]++
	}
	same(b, "the count of the pages", got, listed)
	same(b, "the count of the pages by state", [5]int{got.Waiting, got.Watched, got.Gone, got.Refused, got.Covered}, [5]int{waiting, watched, gone, refused, covered})
}

// urls returns the URLs of pages.
func (b *bench) urls(q frontier.Query) (urls []string) {
	b.Helper()
	for p, err := range b.Pages(b.Context(), "docs", q) {
		b.ok("listing pages", err)
		urls = append(urls, p.URL)
	}
	return urls
}

// shelfTests say what lies on a shelf, and in which order.
var shelfTests = []test{
	{"a page comes back as it was found", func(b *bench) {
		b.addSource(docs)
		want := []frontier.Page{
			{URL: pageURL(1), Found: crawl.BySitemap, Date: minute(-600), Listed: minute(-3), Seen: noon},
			{URL: "https://docs.example/?q=é", Found: crawl.ByLink, Depth: 7, Seen: minute(1), New: true},
			{URL: "https://blog.docs.example/x", Found: crawl.ByFeed, Date: minute(9), Listed: minute(4), Gone: minute(7), Seen: minute(2)},
			{URL: "https://docs.example", Found: crawl.ByLink, Depth: 1, Seen: noon},
		}
		b.shelve(want...)
		b.reopen()
		for _, p := range want {
			p.State = crawl.PageWaiting
			same(b, "page "+p.URL, b.page(p.URL), p)
		}
		b.counts(4, 0, 0, 0, 0)
		_, err := b.Page(b.Context(), "docs", pageURL(2))
		b.is("a page that is not known", err, freshet.ErrNotFound)
	}},
	{"a page is seen when it is found, if nobody says when", func(b *bench) {
		b.addSource(docs)
		b.shelve(frontier.Page{URL: pageURL(1), Found: crawl.ByLink})
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
		b.shelve(frontier.Page{URL: pageURL(1), Found: crawl.ByLink, Depth: 2, Seen: noon})
		step := func(p, want frontier.Page) {
			b.Helper()
			p.URL, want.URL = pageURL(1), pageURL(1)
			if added, _, err := b.AddPages(b.Context(), "docs", []frontier.Page{p}); added != 0 || err != nil {
				b.Errorf("%d pages were added: %v", added, err)
			}
			want.Found, want.Depth, want.Seen, want.State = crawl.ByLink, 2, noon, crawl.PageWaiting
			same(b, "the page", b.page(pageURL(1)), want)
		}
		step(frontier.Page{Found: crawl.BySitemap, Depth: 1, Seen: minute(1), New: true}, frontier.Page{})
		step(frontier.Page{Found: crawl.BySitemap, Date: minute(2), Listed: minute(3)}, frontier.Page{Date: minute(2), Listed: minute(3)})
		step(frontier.Page{Found: crawl.BySitemap, Date: minute(4), Listed: minute(4)}, frontier.Page{Date: minute(4), Listed: minute(3)})
		step(frontier.Page{Found: crawl.ByLink}, frontier.Page{Date: minute(4), Listed: minute(3)})
		step(frontier.Page{Found: crawl.BySitemap, Gone: minute(5)}, frontier.Page{Date: minute(4), Listed: minute(3), Gone: minute(5)})
		step(frontier.Page{Found: crawl.BySitemap, Gone: minute(6)}, frontier.Page{Date: minute(4), Listed: minute(3), Gone: minute(5)})
		step(frontier.Page{Found: crawl.BySitemap, Listed: minute(7)}, frontier.Page{Date: minute(4), Listed: minute(7)})
	}},
	{"what cannot be a page is refused, and nothing is added", func(b *bench) {
		b.addSource(docs)
		for field, p := range map[string]frontier.Page{"url": {Found: crawl.ByLink}, "found": {URL: pageURL(9)}, "depth": {URL: pageURL(9), Found: crawl.ByLink, Depth: -1}} {
			_, _, err := b.AddPages(b.Context(), "docs", append(found(0, 3), p))
			if invalid, ok := errors.AsType[*invalid.Error](err); !ok || invalid.Field != field {
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
			_, err = b.PromotePages(b.Context(), id, 1)
			b.is("taking pages", err, freshet.ErrNotFound)
			_, err = b.CountPages(b.Context(), id)
			b.is("counting pages", err, freshet.ErrNotFound)
			_, err = b.Page(b.Context(), id, pageURL(1))
			b.is("a page", err, freshet.ErrNotFound)
			b.is("setting a page", b.SetPage(b.Context(), id, pageURL(1), crawl.PageGone), freshet.ErrNotFound)
			for _, err := range b.Pages(b.Context(), id, frontier.Query{}) {
				b.is("listing pages", err, freshet.ErrNotFound)
			}
			_, err = b.Announce(b.Context(), id, crawl.PageWent, noon, "")
			b.is("telling of a page", err, freshet.ErrNotFound)
		}
	}},
	{"no more pages are known than the site allows", func(b *bench) {
		site := docs
		site.Site = &crawl.Settings{Limit: 10}
		site = b.addSource(site)
		if added, over, err := b.AddPages(b.Context(), "docs", found(0, 14)); added != 10 || over != 4 || err != nil {
			b.Errorf("%d are added and %d are too many (%v), want 10 and 4", added, over, err)
		}
		b.page(pageURL(0)) // the first have room
		b.take(5)
		if added, over, err := b.AddPages(b.Context(), "docs", found(0, 14)); added != 0 || over != 4 || err != nil {
			b.Errorf("%d are added and %d are too many (%v), want none and 4", added, over, err)
		}
		site.Site, site.Revision = &crawl.Settings{Limit: 12}, 0
		b.ok("allowing more", b.UpdateSource(b.Context(), site))
		if added, over, err := b.AddPages(b.Context(), "docs", found(0, 14)); added != 2 || over != 2 || err != nil {
			b.Errorf("%d are added and %d are too many (%v), want 2 and 2", added, over, err)
		}
	}},
	{"pages are listed once each, from any place on", func(b *bench) {
		b.shelved(1234)
		all := b.urls(frontier.Query{})
		if sorted := slices.Compact(slices.Sorted(slices.Values(all))); len(all) != 1234 || len(sorted) != 1234 {
			b.Fatalf("%d pages are listed, %d of them different, want 1234", len(all), len(sorted))
		}
		after := func(i, limit int) frontier.Query {
			p, err := b.Page(b.Context(), "docs", all[i])
			b.ok("reading a page", err)
			return frontier.Query{After: p.Place, Limit: limit}
		}
		same(b, "the pages after the 700th", b.urls(after(699, 0)), all[700:])
		same(b, "511 of them", b.urls(after(699, 511)), all[700:1211])
		same(b, "none", b.urls(after(1233, 0)), nil)
		for _, s := range b.take(100) {
			if i := slices.Index(all, s.URL); i >= 0 {
				all = slices.Delete(all, i, i+1)
			}
		}
		same(b, "those that wait", b.urls(frontier.Query{State: crawl.PageWaiting}), all)
		if watched := b.urls(frontier.Query{State: crawl.PageWatched}); len(watched) != 100 {
			b.Errorf("%d are watched, want 100", len(watched))
		}
	}},
	{"pages are taken in an order of chance, which does not change", func(b *bench) {
		b.shelved(200)
		waiting := b.urls(frontier.Query{State: crawl.PageWaiting})
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
}

// shelveAgain puts pages on the shelf that are known.
func (b *bench) shelveAgain(pages []frontier.Page, isNew bool) {
	b.Helper()
	for i := range pages {
		pages[i].New = isNew
	}
	if added, over, err := b.AddPages(b.Context(), "docs", pages); added != 0 || over != 0 || err != nil {
		b.Fatalf("%d pages were added and %d are too many: %v", added, over, err)
	}
}
