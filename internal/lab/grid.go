package lab

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/learn/estimate"
)

// A Period is the part of a history that is looked at, and how finely.
type Period struct {
	Start, End time.Time     // zero means the first and the last change, aligned to the instant
	Instant    time.Duration // zero means a minute
}

// A Grid is a history cut into instants of equal length, numbered from 1. The
// changes that a page makes within one instant count as one. Every page counts
// as seen at instant 0.
type Grid struct {
	Start    time.Time // where instant 1 begins
	Instant  time.Duration
	Instants int

	pages []freshet.SourceID // in byte order
	first []int              // where each page's changes begin; one more than pages
	at    []int32            // instants, ascending and distinct within a page

	before  []int64  // by page: its last change before Start, in nanoseconds since 1970; nil if none is known
	history *History // that was cut; nil if the grid was made of instants
}

// mostInstants bounds a grid: prices and delays are kept by the instant.
const mostInstants = 1 << 24

// Quantise lays the history on a grid. A change at t falls into instant
// floor((t-start)/instant)+1. All pages are kept, also those that do not change
// within the period.
func (h *History) Quantise(p Period) (*Grid, error) {
	if p.Instant == 0 {
		p.Instant = time.Minute
	}
	if p.Instant < 0 {
		return nil, invalid.Errorf("instant", "%v is not a length of time", p.Instant)
	}
	p, err := h.bounds(p)
	if err != nil {
		return nil, err
	}
	span := p.End.Sub(p.Start)
	n := (span-1)/p.Instant + 1
	if span == math.MaxInt64 || n > mostInstants {
		return nil, freshet.WithHint(
			invalid.Errorf("instant", "%v is too short for a period from %s to %s", p.Instant, p.Start.Format(time.RFC3339), p.End.Format(time.RFC3339)),
			"use a longer instant, or only a part of the trace, with a start and an end")
	}
	g := &Grid{Start: p.Start, Instant: p.Instant, Instants: int(n), history: h, pages: h.pages, first: make([]int, 1, len(h.pages)+1)}
	from, to := p.Start.UnixNano(), p.End.UnixNano()
	for i := range h.pages {
		last, before := int32(0), int64(math.MinInt64)
		for _, t := range h.of(i) {
			if t < from {
				before = t
				continue
			}
			if t >= to {
				break
			}
			if j := int32((t-from)/int64(p.Instant)) + 1; j > last {
				g.at, last = append(g.at, j), j
			}
		}
		g.first = append(g.first, len(g.at))
		g.before = append(g.before, before)
	}
	g.at = slices.Clip(g.at)
	return g, nil
}

// bounds fills in the start and the end.
func (h *History) bounds(p Period) (Period, error) {
	first, last, ok := h.Span()
	if !ok && (p.Start.IsZero() || p.End.IsZero()) {
		return p, freshet.WithHint(
			invalid.Errorf("trace", "has no changes, so the start and the end are not known"),
			"set the start and the end of the period")
	}
	if p.Start.IsZero() {
		p.Start = aligned(first, p.Instant)
	}
	if p.End.IsZero() {
		p.End = aligned(last, p.Instant).Add(p.Instant)
	}
	for i, t := range []time.Time{p.Start, p.End} {
		if s := t.Unix(); s < -farthest || s > farthest {
			return p, &invalid.Error{
				Field:  []string{"start", "end"}[i],
				Reason: fmt.Sprintf("%s is out of range; times must be between the years 1684 and 2255", t.Format(time.RFC3339)),
			}
		}
	}
	if !p.End.After(p.Start) {
		return p, invalid.Errorf("end", "%s is not after the start, %s", p.End.Format(time.RFC3339), p.Start.Format(time.RFC3339))
	}
	return p, nil
}

// aligned returns the last multiple of the instant since 1970 not after t.
func aligned(t time.Time, instant time.Duration) time.Time {
	ns := t.UnixNano()
	rest := ns % int64(instant)
	if rest < 0 {
		rest += int64(instant)
	}
	return time.Unix(0, ns-rest).UTC()
}

// NewGrid returns a grid of so many instants from the changes of each page,
// given as instants in any order. The pages are named by their place: page 0
// comes first in byte order.
func NewGrid(start time.Time, instant time.Duration, instants int, changes [][]int) *Grid {
	g := &Grid{Start: start, Instant: instant, Instants: instants, first: []int{0}}
	width := len(fmt.Sprint(max(0, len(changes)-1)))
	for i, list := range changes {
		g.pages = append(g.pages, freshet.SourceID(fmt.Sprintf("p%0*d", width, i)))
		begin := len(g.at)
		for _, j := range list {
			if j >= 1 && j <= instants {
				g.at = append(g.at, int32(j))
			}
		}
		slices.Sort(g.at[begin:])
		g.at = g.at[:begin+len(slices.Compact(g.at[begin:]))]
		g.first = append(g.first, len(g.at))
	}
	return g
}

// Pages returns the pages, in byte order. It is not to be changed.
func (g *Grid) Pages() []freshet.SourceID { return g.pages }

// Changes returns how many changes there are of all pages.
func (g *Grid) Changes() int { return len(g.at) }

// Of returns the instants at which a page changes, in order. It is not to be
// changed.
func (g *Grid) Of(page int) []int32 { return g.at[g.first[page]:g.first[page+1]] }

// Page returns the place of a page among Pages.
func (g *Grid) Page(id freshet.SourceID) (page int, ok bool) {
	return slices.BinarySearch(g.pages, id)
}

// Truth returns what estimators read that know the future.
func (g *Grid) Truth() estimate.Truth {
	return estimate.Truth{Start: g.Start, Instant: g.Instant, Instants: g.Instants, Changes: func(id freshet.SourceID) []int32 {
		page, ok := g.Page(id)
		if !ok {
			return nil
		}
		return g.Of(page)
	}}
}

// Time returns when an instant ends, which is when its polls happen.
func (g *Grid) Time(instant int) time.Time {
	return g.Start.Add(time.Duration(instant) * g.Instant)
}

// InstantOf returns the instant at whose end, or before it, t falls; 0 at the
// start and before it.
func (g *Grid) InstantOf(t time.Time) int {
	d := t.Sub(g.Start)
	if d <= 0 {
		return 0
	}
	return int((d-1)/g.Instant) + 1
}

// source returns the source that stands for a page. What comes before the first
// slash of its ID is its host, so that policies can tell sites apart.
func (g *Grid) source(page int) freshet.Source {
	id := g.pages[page]
	s := freshet.Source{ID: id}
	if site, _, ok := strings.Cut(string(id), "/"); ok && hostLike(site) {
		s.URL = "https://" + plainPath.Replace(string(id))
	}
	return s
}

// plainPath writes the characters of an ID that mean something else in a URL.
var plainPath = strings.NewReplacer("%", "%25", "#", "%23")

// hostLike reports whether a site can stand in a URL as it is.
func hostLike(site string) bool {
	return site != "" && strings.Trim(site, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}
