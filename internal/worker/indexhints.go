package worker

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"freshet/internal/dates"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/reading"
	"freshet/internal/sites"
	"freshet/internal/sites/sitemap"
)

// IndexHints say that a source may list or link to other pages, and how it is read.
type IndexHints struct {
	Index bool // the source is known to be a list of pages, whatever it looks like
	Anew  bool // the source has not named any page yet: what it had before says nothing of what is new
}

// MostPages is how many pages a word names at most.
const MostPages = 50_000

// readHints completes the result of a new version by what it says of other pages.
func (f *Result) readHints(ctx context.Context, t *Task, body []byte, url string) {
	kind, ok := t.Hints.kind(f.kind, body)
	if !ok {
		return
	}
	own := crawl.PageKeyOf(t.Source.URL)
	var old []byte
	reduced := false
	if kind == evidence.SitemapIndex {
		if old = t.bodyBefore(ctx); old != nil {
			old, body, reduced = reduce(old, body)
		}
	}
	now, ok, err := t.readIndex(ctx, kind, body, url, own)
	if err != nil || !ok && !reduced {
		return
	}
	if kind == evidence.HubIndex && len(now.pages) == 0 { // whatever it linked to before
		f.Listed = 0
		return
	}
	if old == nil {
		old = t.bodyBefore(ctx)
	}
	var before *pageList
	if old != nil {
		list, ok, err := t.readIndex(ctx, kind, old, url, own)
		if err != nil {
			return
		}
		if ok || reduced {
			before = &list
		}
	}
	if f.Listed = len(now.pages); reduced && f.Listed == 0 {
		f.Listed = -1
	}
	f.Word = now.since(before, t.At.Add(f.Took))
}

// bodyBefore returns the body of the head; nil if what the source had before says nothing, or cannot be read.
func (t *Task) bodyBefore(ctx context.Context) []byte {
	if t.Head.Number == 0 || t.Hints.Anew {
		return nil
	}
	body, err := t.History.Body(ctx)
	if err != nil {
		return nil
	}
	return body
}

// kind returns what kind of index a response is, and whether it is any. A page that shows
// is a hub; whether it has links is seen when it is read.
func (v IndexHints) kind(read reading.Kind, body []byte) (evidence.IndexKind, bool) {
	head := body[:min(len(body), 1024)]
	switch {
	case read == reading.Feed:
		return evidence.FeedIndex, true
	case v.Index, bytes.Contains(head, []byte("<urlset")), bytes.Contains(head, []byte("<sitemapindex")):
		return evidence.SitemapIndex, true
	case read == reading.HTML:
		return evidence.HubIndex, true
	}
	return 0, false
}

// A pageList is what an index lists.
type pageList struct {
	kind     evidence.IndexKind
	pages    []listedPage // each once, in the order of the index
	place    map[crawl.PageKey]int
	complete bool // it was read to its end
	first    time.Time
	last     time.Time // the dates of the first and of the last entry that has one, listed here or not
}

// A listedPage is what an index says of a page, in its own words.
type listedPage struct {
	key  crawl.PageKey
	date dates.Date
	freq evidence.ChangeFreq
}

// add adds a page. Of what is said of one twice, the later date counts.
func (l *pageList) add(p listedPage) {
	if i, ok := l.place[p.key]; ok {
		if p.date.Time.After(l.pages[i].date.Time) {
			l.pages[i].date = p.date
		}
		return
	}
	l.place[p.key] = len(l.pages)
	l.pages = append(l.pages, p)
}

// readIndex reads an index, and reports whether it is one. The page itself does not count. An
// error means that it is not known which pages it may speak for.
func (t *Task) readIndex(ctx context.Context, kind evidence.IndexKind, body []byte, url string, own crawl.PageKey) (l pageList, ok bool, err error) {
	l = pageList{kind: kind, place: map[crawl.PageKey]int{}}
	var urls []string
	var said []listedPage
	if kind == evidence.HubIndex {
		found := sites.Links(body, url, sites.Asked{})
		for _, link := range found.Links {
			urls = append(urls, link.URL)
		}
		said, l.complete = make([]listedPage, len(urls)), !found.Cut
		return l, true, l.addAll(ctx, t.History, urls, said, own)
	}
	summary, err := sitemap.Read(bytes.NewReader(body), sitemap.Options{Base: url}, func(e sitemap.Entry) error {
		date := e.LastMod
		if date.IsZero() {
			date = e.Published
		}
		if !date.IsZero() {
			if l.last = date.Time; l.first.IsZero() {
				l.first = date.Time
			}
		}
		urls, said = append(urls, e.URL), append(said, listedPage{date: date, freq: evidence.ParseChangeFreq(e.ChangeFreq)})
		return nil
	})
	if err != nil && summary.Pages+summary.Sitemaps == 0 {
		return l, false, nil
	}
	switch l.complete = summary.Complete; summary.Kind {
	case sitemap.RSS, sitemap.Atom, sitemap.JSONFeed:
		l.kind = evidence.FeedIndex
	default:
		l.kind = evidence.SitemapIndex
	}
	return l, true, l.addAll(ctx, t.History, urls, said, own)
}

// addAll adds the pages that the source may speak for, but for itself.
func (l *pageList) addAll(ctx context.Context, from History, urls []string, said []listedPage, own crawl.PageKey) error {
	keys, err := from.PageKeys(ctx, urls)
	if err != nil {
		return err
	}
	if len(keys) != len(urls) {
		return fmt.Errorf("%d pages have %d keys", len(urls), len(keys))
	}
	for i, key := range keys {
		if key != 0 && key != own {
			p := said[i]
			p.key = key
			l.add(p)
		}
	}
	return nil
}

// since returns what a list says at a moment that it did not say before; nil if that is
// nothing. Where there is no before, all is new that has a date. What has none is not
// known to be new then: it may have been there all along.
func (l *pageList) since(before *pageList, at time.Time) *evidence.IndexHint {
	w := &evidence.IndexHint{Kind: l.kind, From: l.from()}
	for _, p := range l.pages {
		word := evidence.PageHint{Page: p.key, Date: dateBy(p.date, at)}
		w.Claims = l.claim(w.Claims, before, p)
		if before == nil {
			if !p.date.IsZero() {
				w.Pages = append(w.Pages, word)
			}
			continue
		}
		i, listed := before.place[p.key]
		if listed && (p.date.IsZero() || before.pages[i].date.Time.Equal(p.date.Time)) {
			continue
		}
		if p.date.IsZero() && !before.complete { // it may have been there, behind where that ended
			continue
		}
		w.Pages = append(w.Pages, word)
	}
	whole := before == nil || before.complete
	if before != nil && l.kind == evidence.SitemapIndex && l.complete {
		for _, p := range before.pages {
			if _, still := l.place[p.key]; !still {
				w.Pages = append(w.Pages, evidence.PageHint{Page: p.key, Gone: true})
			}
		}
	}
	if len(w.Pages)+len(w.Claims) == 0 && (l.kind == evidence.HubIndex || l.complete && whole) {
		return nil
	}
	cut(w)
	return w
}

// mostClaims is how many claims a word has at most: with all its pages it has to fit into
// what a store keeps of an outcome.
const mostClaims = 15_000

// claim adds how often a page changes by the list, if the list did not say so before.
func (l *pageList) claim(claims []evidence.PageClaim, before *pageList, p listedPage) []evidence.PageClaim {
	was := evidence.ChangeFreq(0)
	if before != nil {
		if i, listed := before.place[p.key]; listed {
			was = before.pages[i].freq
		}
	}
	if p.freq == was || len(claims) == mostClaims {
		return claims
	}
	return append(claims, evidence.PageClaim{Page: p.key, Freq: p.freq})
}

// from returns since when a list names all pages that change. A sitemap does so for all
// time, a feed since the oldest entry that it still has. One that was not read to its end
// may keep quiet about anything, and so may a page of links.
func (l *pageList) from() time.Time {
	switch {
	case l.kind == evidence.HubIndex, !l.complete:
		return evidence.SilentFrom()
	case l.kind == evidence.SitemapIndex:
		return time.Time{}
	case l.last.IsZero():
		return evidence.SilentFrom()
	case l.first.Before(l.last): // the oldest first
		return l.first.UTC()
	}
	return l.last.UTC()
}

// dateBy returns by when a page had changed that has a date, seen at a moment. A date
// that names a day says that it changed some time that day, and one that lies ahead says
// nothing.
func dateBy(d dates.Date, at time.Time) time.Time {
	if d.IsZero() {
		return time.Time{}
	}
	end, slack := d.Time, clockSlack
	switch d.Precision {
	case dates.Year:
		end = end.AddDate(1, 0, 0).Add(-time.Second)
	case dates.Month:
		end = end.AddDate(0, 1, 0).Add(-time.Second)
	case dates.Day:
		end = end.AddDate(0, 0, 1).Add(-time.Second)
	case dates.Minute:
		end = end.Add(time.Minute - time.Second)
	}
	if d.Precision <= dates.Day { // a day begins elsewhere before it does in UTC
		slack = 14 * time.Hour
	}
	switch {
	case d.Time.After(at.Add(slack)):
		return time.Time{}
	case end.After(at):
		end = at
	}
	return end.UTC()
}

// cut leaves the pages out of a word that are too many, those that changed longest ago
// first. It then speaks only of what is later than all that was left out.
func cut(w *evidence.IndexHint) {
	if len(w.Pages) <= MostPages {
		return
	}
	slices.SortStableFunc(w.Pages, func(a, b evidence.PageHint) int {
		if a.Gone != b.Gone {
			return cmp.Compare(asInt(a.Gone), asInt(b.Gone))
		}
		return b.Date.Compare(a.Date)
	})
	left := w.Pages[MostPages]
	w.Pages = slices.Clone(w.Pages[:MostPages])
	switch {
	case left.Date.IsZero():
		w.From = evidence.SilentFrom()
	case left.Date.After(w.From):
		w.From = left.Date
	}
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// entryEnd ends an entry of a sitemap.
var entryEnd = []byte("</url>")

// reduce returns two versions of a sitemap without the entries that are in both, byte for
// byte, and reports whether that could be done. To read an entry takes a hundred times as
// long as to see that it is as it was, and most are.
func reduce(before, after []byte) (old, now []byte, ok bool) {
	if !bytes.Contains(after[:min(len(after), 4096)], []byte("<url>")) {
		return before, after, false
	}
	in := map[uint64]uint8{}
	const wasThere, isThere = 1, 2
	entries(before, func(entry []byte) { in[xxhash.Sum64(entry)] |= wasThere })
	entries(after, func(entry []byte) { in[xxhash.Sum64(entry)] |= isThere })
	return without(before, in, wasThere|isThere), without(after, in, wasThere|isThere), true
}

// entries calls each with the entries of a sitemap, and returns where the first begins and the
// last ends. What stands between two belongs to the second.
func entries(body []byte, each func(entry []byte)) (first, last int) {
	if first = bytes.Index(body, []byte("<url>")); first < 0 {
		return len(body), len(body)
	}
	for last = first; ; {
		n := bytes.Index(body[last:], entryEnd)
		if n < 0 {
			return first, last
		}
		end := last + n + len(entryEnd)
		each(body[last:end])
		last = end
	}
}

// without returns a sitemap without the entries that are marked so.
func without(body []byte, in map[uint64]uint8, mark uint8) []byte {
	var kept []byte
	first, last := entries(body, func(entry []byte) {
		if in[xxhash.Sum64(entry)] != mark {
			kept = append(kept, entry...)
		}
	})
	all := append(bytes.Clone(body[:first]), kept...)
	return append(all, body[last:]...)
}
