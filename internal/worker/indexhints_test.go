package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/reading"
	"freshet/internal/worker"
)

// keysOf returns the keys of those pages that are of a.example.
func keysOf(_ context.Context, urls []string) ([]crawl.PageKey, error) {
	keys := make([]crawl.PageKey, len(urls))
	for i, url := range urls {
		if strings.HasPrefix(url, "https://a.example/") {
			keys[i] = crawl.PageKeyOf(url)
		}
	}
	return keys, nil
}

// sitemapOf returns a sitemap of pages, each with a date unless that is "".
func sitemapOf(pages ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
	for i := 0; i+1 < len(pages); i += 2 {
		fmt.Fprintf(&b, "\n<url><loc>https://a.example/%s</loc>", pages[i])
		if pages[i+1] != "" {
			fmt.Fprintf(&b, "<lastmod>%s</lastmod>", pages[i+1])
		}
		b.WriteString("</url>")
	}
	return b.String() + "</urlset>"
}

// feedOf returns a feed with entries, each with a date unless that is "".
func feedOf(entries ...string) string {
	var b strings.Builder
	b.WriteString(`<rss version="2.0"><channel><title>News</title>`)
	for i := 0; i+1 < len(entries); i += 2 {
		fmt.Fprintf(&b, "\n<item><title>%[1]s</title><link>https://a.example/%[1]s</link>", entries[i])
		if entries[i+1] != "" {
			fmt.Fprintf(&b, "<pubDate>%s</pubDate>", entries[i+1])
		}
		b.WriteString("</item>")
	}
	return b.String() + "</channel></rss>"
}

// hubOf returns a page with links.
func hubOf(text string, pages ...string) string {
	for _, p := range pages {
		text += fmt.Sprintf(` <a href="https://a.example/%s">more</a>`, p)
	}
	return "<title>Hub</title><p>" + text
}

// named is what is said of a page.
func named(page string, date time.Time) evidence.PageHint {
	return evidence.PageHint{Page: crawl.PageKeyOf("https://a.example/" + page), Date: date}
}

// often has a sitemap say how often pages change.
func often(sitemap string, said ...string) string {
	for i := 0; i < len(said); i += 2 {
		loc := "<loc>https://a.example/" + said[i] + "</loc>"
		sitemap = strings.Replace(sitemap, loc, loc+"<changefreq>"+said[i+1]+"</changefreq>", 1)
	}
	return sitemap
}

// claiming adds to a word how often pages change.
func claiming(w *evidence.IndexHint, said ...string) *evidence.IndexHint {
	for i := 0; i < len(said); i += 2 {
		w.Claims = append(w.Claims, evidence.PageClaim{Page: named(said[i], time.Time{}).Page, Freq: evidence.ParseChangeFreq(said[i+1])})
	}
	return w
}

func gone(page string) evidence.PageHint {
	return evidence.PageHint{Page: crawl.PageKeyOf("https://a.example/" + page), Gone: true}
}

// An index speaks of what it says otherwise than before, and of nothing else. The second
// look is at one o'clock on the first of March.
func TestWord(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 2, d, 0, 0, 0, 0, time.UTC) }
	endOf := func(d int) time.Time { return day(d + 1).Add(-time.Second) }
	hour := func(h int) time.Time { return noon.Add(time.Duration(h-12) * time.Hour) }
	const xml, rss, html = "application/xml", "application/rss+xml", "text/html"
	word := func(kind evidence.IndexKind, from time.Time, pages ...evidence.PageHint) *evidence.IndexHint {
		return &evidence.IndexHint{Kind: kind, From: from, Pages: pages}
	}
	silent := evidence.SilentFrom()
	tests := []struct {
		name          string
		media         string
		before, after string // nothing before: it is a first look
		want          *evidence.IndexHint
		listed        int
	}{
		{"a first sitemap", xml, "", sitemapOf("a", "2026-02-01T10:00:00Z", "b", "2026-02-03", "c", ""),
			word(evidence.SitemapIndex, time.Time{}, named("a", day(1).Add(10*time.Hour)), named("b", endOf(3))), 3},
		{"a sitemap", xml,
			sitemapOf("a", "2026-02-01T10:00:00Z", "b", "2026-02-03", "c", "", "d", "2026-02-01", "g", "2026-02-01"),
			sitemapOf("n", "2026-03-01T11:00:00Z", "a", "2026-02-01T10:00:00Z", "b", "2026-03-01", "c", "", "d", "", "m", ""),
			word(evidence.SitemapIndex, time.Time{}, named("n", hour(11)), named("b", hour(13)), named("m", time.Time{}), gone("g")), 5},
		{"a sitemap that names other hosts", xml, "", strings.ReplaceAll(sitemapOf("a", "2026-02-01"), "a.example", "b.example"), nil, 0},
		{"a date that lies ahead", xml, sitemapOf("a", "2026-02-01"), sitemapOf("a", "2026-03-01T14:00:00Z"),
			word(evidence.SitemapIndex, time.Time{}, named("a", time.Time{})), 1},
		{"only its text is another", xml, sitemapOf("a", "2026-02-01"), sitemapOf("a", "2026-02-01") + "<!-- x --><x>more</x>", nil, -1},
		{"a sitemap that breaks off", xml, sitemapOf("a", "2026-02-01", "b", "2026-02-01", "c", "2026-02-01"),
			strings.TrimSuffix(sitemapOf("a", "2026-02-02", "b", "2026-02-01"), "</loc><lastmod>2026-02-01</lastmod></url></urlset>"),
			word(evidence.SitemapIndex, silent, named("a", endOf(2))), 1},
		{"one that broke off and is whole again", xml, strings.TrimSuffix(sitemapOf("a", "2026-02-01"), "</urlset>"), sitemapOf("a", "2026-02-01", "u", "", "c", "2026-02-01"),
			word(evidence.SitemapIndex, time.Time{}, named("c", endOf(1))), 2},
		{"a first sitemap that says how often pages change", xml, "", often(sitemapOf("a", "2026-02-01", "b", "", "c", ""), "a", "daily", "b", "never", "c", "sometimes"),
			claiming(word(evidence.SitemapIndex, time.Time{}, named("a", endOf(1))), "a", "daily", "b", "never"), 3},
		{"one that says it of others", xml, often(sitemapOf("a", "", "b", "", "c", "", "d", ""), "a", "daily", "b", "weekly", "c", "always"),
			often(sitemapOf("a", "", "b", "", "c", "", "d", ""), "a", "daily", "b", "yearly", "d", "hourly"),
			claiming(word(evidence.SitemapIndex, time.Time{}), "b", "yearly", "c", "", "d", "hourly"), 3},
		{"a list of sitemaps", xml, "",
			`<sitemapindex><sitemap><loc>https://a.example/1.xml</loc><lastmod>2026-02-01</lastmod></sitemap></sitemapindex>`,
			word(evidence.SitemapIndex, time.Time{}, named("1.xml", endOf(1))), 1},
		{"a feed", rss,
			feedOf("b", "Sun, 01 Mar 2026 10:00:00 GMT", "a", "Sun, 01 Mar 2026 09:00:00 GMT"),
			feedOf("c", "Sun, 01 Mar 2026 11:00:00 GMT", "b", "Sun, 01 Mar 2026 10:00:00 GMT"),
			word(evidence.FeedIndex, hour(10), named("c", hour(11))), 2},
		{"a feed without dates", rss, feedOf("b", "", "a", ""), feedOf("c", "", "b", ""),
			word(evidence.FeedIndex, silent, named("c", time.Time{})), 2},
		{"a first feed without dates", rss, "", feedOf("c", "", "b", ""), nil, 2},
		{"a feed whose page is named twice", rss, "", feedOf("a", "Sun, 01 Mar 2026 10:00:00 GMT", "a", "Sun, 01 Mar 2026 09:00:00 GMT"),
			word(evidence.FeedIndex, hour(9), named("a", hour(10))), 1},
		{"a first hub", html, "", hubOf("one", "a", "b"), nil, 2},
		{"a hub", html, hubOf("one", "a", "b"), hubOf("two", "c", "b"), word(evidence.HubIndex, silent, named("c", time.Time{})), 2},
		{"a hub that has other text", html, hubOf("one", "a", "b"), hubOf("two", "b"), nil, 1},
		{"a page without links", html, "<p>one", "<p>two", nil, 0},
		{"JSON", "application/json", `{"a": "https://a.example/1"}`, `{"a": "https://a.example/2"}`, nil, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, says(tt.before, "Content-Type", tt.media))
			var first *worker.Result
			if tt.before != "" {
				found := s.look(t, s.order(nil))
				first = &found
			}
			s.answer = says(tt.after, "Content-Type", tt.media)
			o := s.order(first)
			o.Hints, pastOf(&o).keys, pastOf(&o).body = &worker.IndexHints{}, keysOf, func(context.Context) ([]byte, error) { return []byte(tt.before), nil }
			f := s.look(t, o)
			if !f.Result.Captured() || f.Listed != tt.listed {
				t.Fatalf("the look found %s %q, and %d pages listed; want %d", f.Result, f.Err, f.Listed, tt.listed)
			}
			if f.Word != nil {
				for i, p := range f.Word.Pages { // it is not known to the nanosecond when the answer was in
					if d := p.Date.Sub(hour(13)); d >= 0 && d < time.Minute {
						f.Word.Pages[i].Date = hour(13)
					}
				}
			}
			if diff := cmp.Diff(tt.want, f.Word); diff != "" {
				t.Errorf("it says (-want +got):\n%s", diff)
			}
			if got := f.Record(freshet.Poll{}, noon).Outcome.Word; got != f.Word {
				t.Error("the outcome does not say it")
			}
		})
	}
}

// Nobody speaks who is not asked, was not seen, or is as before; who has not spoken
// before speaks of all.
func TestWhoSpeaks(t *testing.T) {
	before, after := sitemapOf("a", "2026-02-01", "b", "2026-02-01"), sitemapOf("a", "2026-02-02", "b", "2026-02-01")
	tests := []struct {
		name   string
		answer http.HandlerFunc
		amend  func(*worker.Task)
		pages  int // below zero: no word at all
	}{
		{"it is asked", says(after, "Content-Type", "text/xml"), nil, 1},
		{"it is not asked", says(after, "Content-Type", "text/xml"), func(o *worker.Task) { o.Hints = nil }, -1},
		{"it has not spoken", says(after, "Content-Type", "text/xml"), func(o *worker.Task) { o.Hints.Anew = true }, 2},
		{"what it was cannot be read", says(after, "Content-Type", "text/xml"), func(o *worker.Task) {
			pastOf(o).body = func(context.Context) ([]byte, error) { return nil, freshet.ErrDamaged }
		}, 2},
		{"it is as before", says(before, "Content-Type", "text/xml"), nil, -1},
		{"it fails", refuses(500), nil, -1},
		{"it is a list by its name", says("https://a.example/a\nhttps://a.example/c\n", "Content-Type", "text/plain"), nil, -1},
		{"it is a list as is known", says("https://a.example/a\nhttps://a.example/c\n", "Content-Type", "text/plain"), func(o *worker.Task) { o.Hints.Index = true }, 2},
		{"it is itself", says(after, "Content-Type", "text/xml"), func(o *worker.Task) { pastOf(o).keys = ownKeys(o.Source.URL) }, -1},
		{"nobody knows its pages", says(after, "Content-Type", "text/xml"), func(o *worker.Task) {
			pastOf(o).keys = func(context.Context, []string) ([]crawl.PageKey, error) { return nil, freshet.ErrDamaged }
		}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newSite(t, says(before, "Content-Type", "text/xml"))
			first := s.look(t, s.order(nil))
			s.answer = tt.answer
			o := s.order(&first)
			o.Hints, pastOf(&o).keys, pastOf(&o).body = &worker.IndexHints{}, keysOf, func(context.Context) ([]byte, error) { return []byte(before), nil }
			if tt.amend != nil {
				tt.amend(&o)
			}
			f := s.look(t, o)
			got := -1
			if f.Word != nil {
				got = len(f.Word.Pages)
			}
			if got != tt.pages {
				t.Errorf("a look that found %s %q says %+v, want %d pages", f.Result, f.Err, f.Word, tt.pages)
			}
		})
	}
}

func ownKeys(url string) func(context.Context, []string) ([]crawl.PageKey, error) {
	return func(_ context.Context, urls []string) ([]crawl.PageKey, error) {
		return slices.Repeat([]crawl.PageKey{crawl.PageKeyOf(url)}, len(urls)), nil
	}
}

// A word that is too long is cut, and says nothing of when what is left out changed.
func TestLongWordIsCut(t *testing.T) {
	var pages []string
	at := noon.AddDate(0, 0, -10)
	for i := range worker.MostPages + 100 {
		pages = append(pages, fmt.Sprint(i), at.Add(time.Duration(i)*time.Second).Format(time.RFC3339))
	}
	s := newSite(t, says(sitemapOf(pages...), "Content-Type", "text/xml"))
	o := s.order(nil)
	o.Hints, pastOf(&o).keys = &worker.IndexHints{Index: true}, keysOf
	f := s.look(t, o)
	if f.Word == nil || len(f.Word.Pages) != worker.MostPages || f.Listed != worker.MostPages+100 {
		t.Fatalf("the look found %s %q, %d pages listed", f.Result, f.Err, f.Listed)
	}
	if want := at.Add(99 * time.Second); !f.Word.From.Equal(want) {
		t.Errorf("it speaks from %v, want %v", f.Word.From, want)
	}
	if slices.ContainsFunc(f.Word.Pages, func(p evidence.PageHint) bool { return !p.Date.After(f.Word.From) }) {
		t.Error("it names pages that it does not speak of")
	}
}

// The dates of the items of a feed are told at every look that reads it.
func TestItemDates(t *testing.T) {
	var entries []string
	for i := range 12 {
		entries = append(entries, fmt.Sprint(i), noon.Add(time.Duration(20-10*i)*time.Hour).Format(time.RFC1123Z))
	}
	body := feedOf(entries...)
	s := newSite(t, says(body, "Content-Type", "application/rss+xml"))
	check := func(f worker.Result, result freshet.Result) {
		t.Helper()
		if f.Result != result || len(f.Dates) != evidence.MaxDates || !f.Dates[0].Equal(noon.Add(-10*time.Hour+10*time.Hour)) {
			t.Errorf("the look found %s %q with the dates %v", f.Result, f.Err, f.Dates)
		}
		for i := 1; i < len(f.Dates); i++ {
			if !f.Dates[i].Before(f.Dates[i-1]) {
				t.Errorf("the dates are %v, want the newest first", f.Dates)
			}
		}
		if got := f.Record(freshet.Poll{}, noon).Outcome.Dates; !slices.Equal(got, f.Dates) {
			t.Errorf("the outcome has the dates %v", got)
		}
	}
	first := s.look(t, s.order(nil))
	check(first, freshet.First)
	s.answer = says(strings.Replace(body, "<title>News</title>", "<title>Latest News</title>", 1), "Content-Type", "application/rss+xml")
	check(s.look(t, s.order(&first)), freshet.Unchanged)
}

// BenchmarkSpeak is what a sitemap of 50,000 pages costs of which 1,000 were changed, and
// what a page of 200 links costs.
func BenchmarkSpeak(b *testing.B) {
	var pages, later, links []string
	at := noon.AddDate(-1, 0, 0)
	for i := range 50_000 {
		date := at.Add(time.Duration(i) * time.Minute).Format(time.RFC3339)
		pages = append(pages, fmt.Sprintf("section-%d/some-page-with-a-name-%d.html", i%40, i), date)
		if i%50 == 0 {
			date = noon.Format(time.RFC3339)
		}
		later = append(later, pages[len(pages)-2], date)
	}
	for i := range 200 {
		links = append(links, fmt.Sprintf("page-%d.html", i))
	}
	text := strings.Repeat("Some words that stand on the page. ", 1000)
	for _, bb := range []struct{ name, media, before, after string }{
		{"sitemap", "text/xml", sitemapOf(pages...), sitemapOf(later...)},
		{"hub", "text/html", hubOf(text, links[:199]...), hubOf(text, links[1:]...)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			o := worker.Task{Source: freshet.Source{ID: "page", URL: "https://a.example/"}, At: noon.Add(time.Hour), Head: freshet.Head{Number: 1}}
			o.Hints, pastOf(&o).keys, pastOf(&o).body = &worker.IndexHints{}, keysOf, func(context.Context) ([]byte, error) { return []byte(bb.before), nil }
			kind := reading.XML
			if bb.media == "text/html" {
				kind = reading.HTML
			}
			b.ReportAllocs()
			for b.Loop() {
				if w := worker.Speak(b.Context(), o, kind, []byte(bb.after)); w == nil || len(w.Pages) == 0 {
					b.Fatalf("it says %+v", w)
				}
			}
		})
	}
}
