package synth

import (
	"bytes"
	"fmt"
	"html"
	"time"

	"freshet/internal/freshet"
)

// A Listing says how far a sitemap tells the truth about the pages of its host. The zero
// Listing does.
type Listing struct {
	// Stamps are moments at which the dates of all pages move, changed or not, as where a
	// site is built again every night; nil means none.
	Stamps Schedule

	Mute  bool          // no date moves when its page changes
	Until time.Duration // from the start, after which nothing in it moves any more; zero means never
	Cut   bool          // it breaks off in the middle
}

// A Listed is what a sitemap says of a page.
type Listed struct {
	Page freshet.SourceID
	Date time.Time
}

// Listed returns what a sitemap says at a moment, in its order; nil if there is no such
// sitemap. Of one that is cut it is what comes before the cut.
func (w *Web) Listed(sitemap freshet.SourceID, at time.Time) []Listed {
	p := w.byID[sitemap]
	if p == nil || p.Form != Sitemap {
		return nil
	}
	list := w.listed(p, at)
	if p.Listing.Cut {
		list = list[:len(list)/2]
	}
	return list
}

// listed returns what a sitemap would say at a moment if it were not cut.
func (w *Web) listed(p *page, at time.Time) []Listed {
	if until := w.start.Add(p.Listing.Until); p.Listing.Until > 0 && at.After(until) {
		at = until
	}
	stamped := w.start
	if p.stamps != nil {
		stamped = p.stamps.last(at, w.start)
	}
	list := make([]Listed, len(p.lists))
	for i, q := range p.lists {
		list[i] = Listed{Page: q.ID, Date: stamped}
		if changed := q.history.last(at, w.start); !p.Listing.Mute && changed.After(stamped) {
			list[i].Date = changed
		}
	}
	return list
}

// last returns the last moment at or before t, or start if there is none.
func (h *history) last(t, start time.Time) time.Time {
	if known, n := h.reach(t); n > 0 {
		return known[n-1]
	}
	return start
}

// list makes sitemaps list the other pages of their hosts, and change whenever what they
// say does.
func (w *Web) list() {
	for _, p := range w.pages {
		if p.Form != Sitemap {
			continue
		}
		for _, q := range w.pages {
			if q.Host == p.Host && q.Form != Sitemap {
				p.lists = append(p.lists, q)
			}
		}
		if p.Listing.Stamps != nil {
			p.stamps = newHistory(p.Listing.Stamps, w.start, w.chance(p.ID, "stamps"))
		}
		p.history = &history{next: w.moves(p)}
	}
}

// moves returns a function that gives one moment after another at which what a sitemap
// says changes.
func (w *Web) moves(p *page) func() time.Time {
	var follow []*history
	if p.stamps != nil {
		follow = append(follow, p.stamps)
	}
	shown := p.lists
	if p.Listing.Cut {
		shown = shown[:len(shown)/2]
	}
	for _, q := range shown {
		if !p.Listing.Mute {
			follow = append(follow, q.history)
		}
	}
	reached := make([]int, len(follow))
	return func() (next time.Time) {
		for i, h := range follow {
			if at, ok := h.nth(reached[i]); ok && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		if next.IsZero() || p.Listing.Until > 0 && next.After(w.start.Add(p.Listing.Until)) {
			return time.Time{}
		}
		for i, h := range follow {
			if at, ok := h.nth(reached[i]); ok && at.Equal(next) {
				reached[i]++
			}
		}
		return next
	}
}

// sitemap is a list of the pages of a host with the dates of their last changes.
func (w *Web) sitemap(p *page, version int) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
`)
	born, _ := w.born(p, version)
	for i, l := range w.listed(p, born) {
		if p.Listing.Cut && i == len(p.lists)/2 {
			b.WriteString("<url><loc>")
			return b.Bytes()
		}
		fmt.Fprintf(&b, "<url><loc>%s</loc><lastmod>%s</lastmod></url>\n", html.EscapeString(w.URL(l.Page)), l.Date.UTC().Format(time.RFC3339Nano))
	}
	b.WriteString("</urlset>\n")
	return b.Bytes()
}
