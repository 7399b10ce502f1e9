package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/internal/extract"
	"freshet/internal/features"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/suspect"
	"freshet/internal/store/sqlite"
)

// goldenStore makes the small store that the golden files are about, and returns
// its directory.
func goldenStore(t *testing.T) string {
	t.Helper()
	g := newPast(t)
	defer g.close()
	const shop = "https://shop.example/kettles/the-red-kettle-of-the-north-with-a-very-long-path/and-more-of-it/page.html"
	g.add(freshet.Source{ID: "kettle", URL: shop, Tags: []string{"shop"}, Keep: freshet.Keep{Versions: 10}})
	g.add(freshet.Source{ID: "news", URL: "https://news.example/", Name: "The news of the world and of elsewhere", Tags: []string{"press"}, MaxGap: time.Hour})
	g.add(freshet.Source{ID: "gone", URL: "https://shop.example/gone", Tags: []string{"shop"}})
	g.add(freshet.Source{ID: "later", URL: "https://later.example/", Name: "後で見るページ", Paused: true})
	g.add(freshet.Source{ID: "x7k2m9q4tz", URL: "https://new.example/"})
	g.add(freshet.Source{ID: "essay", URL: "https://essay.example/"})
	essay := func(stock int) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, "Sentence number %d of a long line says nothing of weight. ", i)
			if i == 35 {
				fmt.Fprintf(&b, "There are %d kettles left in the shop. ", stock)
			}
		}
		return b.String() + "\n"
	}
	g.saw("essay", 80*time.Hour, "An essay", essay(12))
	g.saw("essay", 60*time.Hour, "An essay", essay(11))
	price := func(crowns int) string {
		return fmt.Sprintf("# Kettles\nThe price of the red kettle of the north is %d crowns today\nOpen daily from nine to five\n", crowns)
	}
	g.saw("kettle", 50*time.Hour, "Kettles", price(19))
	g.saw("news", 30*time.Hour, "News", "# News\nnothing happened\n")
	g.saw("kettle", 26*time.Hour, "Kettles", price(21))
	g.failed("gone", 3*time.Hour, "http.404", "the server answered 404 Not Found, and the page that it sent with it says that there is no such page")
	g.saw("news", 2*time.Hour, "News", "# News\nnothing happened\n")
	g.saw("later", 90*time.Minute, "後で", "later\n")
	g.saw("kettle", 40*time.Minute, "Kettles and other things that one can boil water with", price(18)+"Closed on Sundays\n")
	g.saw("news", 5*time.Minute, "News", "# News\nsomething happened, and much was said of it\n")
	g.failed("gone", 2*time.Minute, "http.404", "the server answered 404 Not Found, and the page that it sent with it says that there is no such page")
	return g.dir
}

// A past is a store in the making, whose polls were before noon.
type past struct {
	*testing.T
	dir     string
	store   *sqlite.Store
	sources map[freshet.SourceID]freshet.Source
	seen    map[freshet.SourceID]time.Time
	texts   map[freshet.SourceID]string
}

func newPast(t *testing.T) *past {
	t.Helper()
	g := &past{T: t, dir: t.TempDir(), sources: map[freshet.SourceID]freshet.Source{}, seen: map[freshet.SourceID]time.Time{}, texts: map[freshet.SourceID]string{}}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Features: features.All(), Dir: g.dir, Now: func() time.Time { return noon }, Epoch: "golden"})
	g.ok(err)
	g.store = store
	return g
}

func (g *past) ok(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *past) close() { g.ok(g.store.Close()) }

func (g *past) add(s freshet.Source) {
	g.Helper()
	if s.Origin = freshet.FromAPI; s.Created.IsZero() {
		s.Created = noon.Add(-72 * time.Hour)
	}
	s, err := g.store.AddSource(g.Context(), s)
	g.ok(err)
	g.sources[s.ID] = s
}

// saw records a poll that saw a text so long before noon.
func (g *past) saw(id freshet.SourceID, before time.Duration, title, text string) {
	g.Helper()
	g.landed(id, before, title, text, "", "")
}

// landed records a poll that saw a text that is suspect, at the URL that answered.
func (g *past) landed(id freshet.SourceID, before time.Duration, title, text string, suspect suspect.Class, at string) {
	g.Helper()
	r := g.begin(id, before)
	r.Outcome.Suspect, r.Outcome.Landed = suspect, at
	old, known := g.texts[id]
	r.Outcome.Status, r.Outcome.Bytes = 200, int64(len(text))
	if text != old {
		r.Outcome.Result = freshet.First
		if known {
			r.Outcome.Result = freshet.Changed
		}
		raw := "<title>" + title + "</title>" + strings.ReplaceAll(text, "\n", "<br>")
		r.Capture = &freshet.Capture{
			Recipe: g.sources[id].Recipe.Key(), Text: []byte(text), Hash: freshet.HashOf([]byte(text)), Title: title,
			Raw: freshet.Raw{Status: 200, URL: g.sources[id].URL, Body: []byte(raw)}, Summary: extract.Diff([]byte(old), []byte(text)).Summary(),
		}
	}
	_, _, err := g.store.Commit(g.Context(), r)
	g.ok(err)
	g.texts[id], g.seen[id] = text, r.Outcome.Began
}

// failed records a poll that failed so long before noon.
func (g *past) failed(id freshet.SourceID, before time.Duration, class failure.Class, why string) {
	g.Helper()
	r := g.begin(id, before)
	r.Outcome.Result, r.Outcome.Status, r.Outcome.Failure, r.Outcome.Err = freshet.Failed, 404, class, why
	_, _, err := g.store.Commit(g.Context(), r)
	g.ok(err)
}

func (g *past) begin(id freshet.SourceID, before time.Duration) freshet.Record {
	g.Helper()
	at := noon.Add(-before)
	_, err := g.store.Begin(g.Context(), freshet.Poll{Source: g.sources[id], At: at, Since: g.seen[id]})
	g.ok(err)
	return freshet.Record{URL: g.sources[id].URL, Outcome: freshet.Outcome{
		Source: id, Since: g.seen[id], Began: at, Ended: at.Add(120 * time.Millisecond), Requests: 1,
	}}
}
