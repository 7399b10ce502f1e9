package storetest

import (
	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/invalid"
	"freshet/internal/sinks"
	"freshet/internal/sites/frontier"
)

// told fails the test unless what happened to a page is told as a change of it, once.
func (b *bench) told(id freshet.SourceID, what crawl.PageEvent, n int, want freshet.Change) freshet.Change {
	b.Helper()
	c, err := b.Announce(b.Context(), id, what, minute(n), "the page is "+string(what))
	b.ok("telling that the page is "+string(what), err)
	want.Cursor, want.Epoch, want.Source, want.Summary, want.Details.Page = c.Cursor, c.Epoch, id, "the page is "+string(what), what
	want.Before = minute(n)
	same(b, "the change", c, want)
	last, err := b.LastChange(b.Context())
	if err != nil || last != c.Cursor {
		b.Errorf("the log ends at %d (%v), want %d", last, err, c.Cursor)
	}
	logged, err := b.Changes(b.Context(), freshet.ChangeQuery{After: c.Cursor - 1})
	b.ok("changes", err)
	same(b, "the log", logged, []freshet.Change{c})
	_, err = b.Announce(b.Context(), id, what, minute(n+1), "again")
	b.is("telling it again", err, freshet.ErrNotFound)
	return c
}

var announceTests = []test{
	{"a page that comes, goes and comes back is told as a change", func(b *bench) {
		b.addSource(docs)
		b.shelve(frontier.Page{URL: pageURL(1), Found: crawl.BySitemap, Seen: noon, New: true})
		s := b.take(1)[0]
		label := freshet.Label{URL: s.URL, Tags: []string{"a"}}
		b.commit(saw(s.ID, minute(1), freshet.First, "one"))
		one := freshet.HashOf([]byte("one"))

		if !b.page(s.URL).New {
			b.Error("the page is not new before that is told")
		}
		_, err := b.Announce(b.Context(), s.ID, crawl.PageBack, minute(1), "")
		b.is("telling that it is back before it went", err, freshet.ErrNotFound)
		b.told(s.ID, crawl.PageCame, 2, freshet.Change{Seq: 1, Number: 1, To: one, After: minute(1), Label: label})
		if b.page(s.URL).New {
			b.Error("the page is new after that was told")
		}
		b.reopen()
		b.told(s.ID, crawl.PageWent, 4, freshet.Change{Seq: 2, Number: 1, From: one, To: one, After: minute(1), Label: label})
		b.counts(0, 0, 1, 0, 0)
		_, err = b.Source(b.Context(), s.ID)
		b.is("the source of a page that went", err, freshet.ErrNotFound)

		b.shelveAgain([]frontier.Page{{URL: s.URL, Found: crawl.ByLink}}, false)
		b.counts(0, 0, 1, 0, 0)
		b.shelveAgain([]frontier.Page{{URL: s.URL, Found: crawl.ByLink}}, true)
		b.counts(1, 0, 0, 0, 0)
		for _, what := range []crawl.PageEvent{crawl.PageBack, crawl.PageWent, crawl.PageCame} {
			_, err = b.Announce(b.Context(), s.ID, what, minute(5), "")
			b.is("telling of it while it waits", err, freshet.ErrNotFound)
		}
		b.reopen()
		if back := b.take(1)[0]; back.ID != s.ID || b.text(s.ID, 1) != "one" {
			b.Errorf("it comes back as %+v, want with its history as %s", back, s.ID)
		}
		b.told(s.ID, crawl.PageBack, 6, freshet.Change{Seq: 3, Number: 1, From: one, To: one, After: minute(1), Label: label})
		_, c := b.commit(saw(s.ID, minute(9), freshet.Changed, "two"))
		if c.Seq != 4 || c.Number != 2 || c.From != one {
			b.Errorf("the change after that is %+v", c)
		}
		if st := b.watched(s.ID).Status; st.Changes != 4 {
			b.Errorf("the standing is %+v", st)
		}
		b.told(s.ID, crawl.PageWent, 11, freshet.Change{Seq: 5, Number: 2, From: c.To, To: c.To, After: minute(9), Label: label})
	}},
	{"a page that was there all along is not told to be new", func(b *bench) {
		b.shelved(1)
		s := b.take(1)[0]
		_, err := b.Announce(b.Context(), s.ID, crawl.PageCame, noon, "")
		b.is("telling that it is new", err, freshet.ErrNotFound)
		_, err = b.Announce(b.Context(), s.ID, "odd", noon, "")
		if field, _ := invalid.FieldOf(err); field != "page" {
			b.Errorf("telling something odd gives %v", err)
		}
		b.ok("remove", b.RemoveSource(b.Context(), s.ID, false))
		_, err = b.Announce(b.Context(), s.ID, crawl.PageWent, noon, "")
		b.is("telling that one is gone which somebody removed", err, freshet.ErrNotFound)
	}},
	{"what happened to a page is delivered like every change", func(b *bench) {
		b.shelved(1)
		s := b.take(1)[0]
		b.ok("begin", b.Advance(b.Context(), "hook", sinks.Position{}, nil))
		c, err := b.Announce(b.Context(), s.ID, crawl.PageWent, minute(1), "gone")
		b.ok("telling that it is gone", err)
		b.ok("wait", b.Wait(b.Context(), 0))
		for _, q := range []freshet.ChangeQuery{{}, {Source: s.ID}} { // although no version was captured
			logged, err := b.Changes(b.Context(), q)
			b.ok("changes", err)
			same(b, "the log", logged, []freshet.Change{c})
		}
		b.ok("advance", b.Advance(b.Context(), "hook", sinks.PositionOf(c), []sinks.NewDelivery{{Cursor: c.Cursor}}))
		debts, _, err := b.DueDeliveries(b.Context(), "hook", minute(1), 10)
		if err != nil || len(debts) != 1 || debts[0].Change.Details.Page != crawl.PageWent {
			b.Errorf("the debts are %+v: %v", debts, err)
		}
	}},
	{"with a site its pages go, and come back with it", func(b *bench) {
		site := b.shelved(700)
		taken := b.take(300)
		b.history(taken[0].ID, 2)
		b.ok("remove", b.RemoveSource(b.Context(), "docs", false))
		for w, err := range b.Sources(b.Context()) {
			b.Errorf("there is still %s: %v", w.ID, err)
		}
		_, err := b.CountPages(b.Context(), "docs")
		b.is("counting the pages of a site that was removed", err, freshet.ErrNotFound)
		removed, err := b.RemovedSource(b.Context(), taken[0].ID)
		if err != nil || removed.Weight != site.Weight {
			b.Errorf("a page of the site is %+v: %v", removed.Source, err)
		}
		b.is("removing it again", b.RemoveSource(b.Context(), "docs", false), freshet.ErrNotFound)
		b.reopen()
		b.addSource(docs)
		b.counts(0, 0, 0, 0, 0)
		b.shelve(found(0, 700)...)
		if again := b.take(300); again[0].ID != taken[0].ID || again[0].Revision != 2 || len(b.numbers(taken[0].ID)) != 2 {
			b.Errorf("the first page comes back as %+v, want %+v with its history", again[0], taken[0])
		}
	}},
	{"with a site all that is known of its pages is purged", func(b *bench) {
		b.shelved(60)
		taken := b.take(50)
		b.history(taken[0].ID, 2)
		b.ok("remove a page", b.RemoveSource(b.Context(), taken[1].ID, false))
		b.ok("purge", b.RemoveSource(b.Context(), "docs", true))
		for w, err := range b.RemovedSources(b.Context(), "") {
			b.Errorf("there is still %s: %v", w.ID, err)
		}
		changes, err := b.Changes(b.Context(), freshet.ChangeQuery{})
		if err != nil || len(changes) != 0 {
			b.Errorf("there are still %d changes: %v", len(changes), err)
		}
		b.reopen()
		b.shelved(60)
		if again := b.take(50); again[0].ID != taken[0].ID || again[0].Revision != 2 || len(b.numbers(taken[0].ID)) != 0 {
			b.Errorf("the first page comes back as %+v, want %+v without its history", again[0], taken[0])
		}
	}},
	{"a source that is a site no more has no pages", func(b *bench) {
		site := b.shelved(500)
		taken := b.take(250)
		site.Site = nil
		b.ok("an edit", b.UpdateSource(b.Context(), site))
		_, err := b.Source(b.Context(), taken[0].ID)
		b.is("a page of it", err, freshet.ErrNotFound)
		_, err = b.PromotePages(b.Context(), "docs", 1)
		b.is("taking pages of it", err, freshet.ErrNotFound)
		site.Site, site.Revision = docs.Site, 0
		b.ok("an edit", b.UpdateSource(b.Context(), site))
		b.counts(0, 0, 0, 0, 0)
		b.shelve(found(0, 500)...)
	}},
	{"a site that moves keeps the URLs of its pages", func(b *bench) {
		site := b.shelved(3)
		site.URL = "https://moved.example/"
		b.ok("an edit", b.UpdateSource(b.Context(), site))
		b.shelve(frontier.Page{URL: "https://moved.example/x", Found: crawl.ByLink})
		b.reopen()
		for i := range 3 {
			b.page(pageURL(i))
		}
		s := b.takeAll("https://moved.example/x")
		if p := b.page(s.URL); p.Source != s.ID {
			b.Errorf("the page is %+v", p)
		}
	}},
	{"many pages are added and taken side by side, none twice", func(b *bench) {
		b.addSource(docs)
		errs, taken := make(chan error), make(chan []freshet.Source)
		for i := range 4 {
			go func() {
				_, _, err := b.AddPages(b.Context(), "docs", found(i*50, i*50+150))
				errs <- err
			}()
			go func() {
				var all []freshet.Source
				for range 50 {
					some, err := b.PromotePages(b.Context(), "docs", 3)
					if err != nil {
						break
					}
					all = append(all, some...)
				}
				taken <- all
			}()
		}
		seen := map[string]bool{}
		for range 4 {
			b.ok("adding pages", <-errs)
			for _, s := range <-taken {
				if seen[s.URL] {
					b.Errorf("%s was taken twice", s.URL)
				}
				seen[s.URL] = true
			}
		}
		rest, err := b.PromotePages(b.Context(), "docs", 1000)
		b.ok("taking the rest", err)
		if n := len(rest) + len(seen); n != 300 {
			b.Errorf("%d pages were taken, want 300", n)
		}
		b.counts(0, 300, 0, 0, 0)
	}},
}
