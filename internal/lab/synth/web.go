package synth

import (
	"compress/gzip"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"freshet/internal/freshet"
)

// A Config says what web to make.
type Config struct {
	Seed  uint64
	Start time.Time        // when every page is at version 1; zero means now
	Now   func() time.Time // the web's clock; nil means the wall clock
	Pages []Page

	// Latency is how long Fetch takes. The answer is that of the moment when
	// the request came, however long it then takes.
	Latency time.Duration
}

// A Web is a set of pages that change on known schedules, and a log of all
// requests for them. Its methods may be called from several goroutines.
type Web struct {
	seed    uint64
	start   time.Time
	now     func() time.Time
	latency time.Duration

	pages  []*page // in the order of their IDs
	hosts  []string
	byID   map[freshet.SourceID]*page
	byPath map[string]*page

	log     log
	gzipped sync.Pool // of *gzip.Writer
}

// A page is a Page at work.
type page struct {
	Page
	index   int // in pages
	host    int // in hosts
	history *history

	lists  []*page  // of a sitemap, the pages of its host
	stamps *history // of a sitemap; nil if it has none
}

// New makes a web. It panics if two pages have the same ID or path, or if an
// ID cannot name a source: such a web is a slip of the pen.
func New(c Config) *Web {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Start.IsZero() {
		c.Start = c.Now()
	}
	w := &Web{
		seed:    c.Seed,
		start:   c.Start,
		now:     c.Now,
		latency: c.Latency,
		byID:    make(map[freshet.SourceID]*page, len(c.Pages)),
		byPath:  make(map[string]*page, len(c.Pages)),
	}
	w.log.start = c.Start
	w.gzipped.New = func() any { return gzip.NewWriter(io.Discard) }
	hosts := map[string]int{}
	for _, spec := range c.Pages {
		h, ok := hosts[spec.Host]
		if !ok {
			h = len(w.hosts)
			hosts[spec.Host] = h
			w.hosts = append(w.hosts, spec.Host)
		}
		w.add(&page{Page: withDefaults(spec), host: h})
	}
	slices.SortFunc(w.pages, func(a, b *page) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for i, p := range w.pages {
		p.index = i
	}
	w.list()
	return w
}

func withDefaults(p Page) Page {
	if p.Path == "" {
		p.Path = "/" + string(p.ID)
	}
	if p.Name == "" {
		p.Name = string(p.ID)
	}
	if p.Schedule == nil {
		p.Schedule = Never{}
	}
	return p
}

func (w *Web) add(p *page) {
	switch {
	case !freshet.ValidSourceID(p.ID):
		panic(fmt.Sprintf("synth: %q cannot name a page", p.ID))
	case w.byID[p.ID] != nil:
		panic(fmt.Sprintf("synth: two pages are named %s", p.ID))
	case w.byPath[p.Path] != nil:
		panic(fmt.Sprintf("synth: two pages are at %s", p.Path))
	}
	p.history = newHistory(p.Schedule, w.start, w.chance(p.ID, "schedule"))
	w.byID[p.ID], w.byPath[p.Path] = p, p
	w.pages = append(w.pages, p)
}

// chance returns dice that fall the same way for the same seed, page, purpose
// and numbers.
func (w *Web) chance(id freshet.SourceID, purpose string, numbers ...int) *rand.Rand {
	b := append(append([]byte(id), 0), purpose...)
	for _, n := range numbers {
		b = strconv.AppendInt(append(b, 0), int64(n), 10)
	}
	h := fnv.New64a()
	h.Write(b)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// Start returns when every page is at version 1.
func (w *Web) Start() time.Time { return w.start }

// Hosts returns the names of the virtual hosts in the order in which the
// configuration first names them.
func (w *Web) Hosts() []string { return slices.Clone(w.hosts) }

// Pages returns the pages in the order of their IDs, with defaults filled in.
func (w *Web) Pages() []Page {
	pages := make([]Page, len(w.pages))
	for i, p := range w.pages {
		pages[i] = p.Page
	}
	return pages
}

// VersionAt returns the number of the version that a page is at, counted from
// 1, or 0 if there is no such page. A change is there at its very moment.
func (w *Web) VersionAt(id freshet.SourceID, t time.Time) int {
	p := w.byID[id]
	if p == nil {
		return 0
	}
	return p.versionAt(t)
}

func (p *page) versionAt(t time.Time) int {
	_, n := p.history.reach(t)
	return n + 1
}

// Changes returns when a page changed in (from, to].
func (w *Web) Changes(id freshet.SourceID, from, to time.Time) []time.Time {
	p := w.byID[id]
	if p == nil {
		return nil
	}
	_, first := p.history.reach(from)
	known, end := p.history.reach(to)
	if end <= first {
		return nil
	}
	return slices.Clone(known[first:end])
}

// born returns when a page came to a version, and false if it never does.
func (w *Web) born(p *page, version int) (time.Time, bool) {
	if version <= 1 {
		return w.start, version == 1
	}
	return p.history.nth(version - 2)
}

// URL returns the address of a page for [Web.Fetch], or "" if there is none.
func (w *Web) URL(id freshet.SourceID) string {
	p := w.byID[id]
	if p == nil {
		return ""
	}
	return "http://" + p.Host + domain + p.Path
}

// domain makes names of virtual hosts that nobody can own.
const domain = ".example.com"

// Sources returns the pages as sources to watch through [Web.Fetch].
func (w *Web) Sources() []freshet.Source { return w.sources(w.URL) }

func (w *Web) sources(url func(freshet.SourceID) string) []freshet.Source {
	sources := make([]freshet.Source, len(w.pages))
	for i, p := range w.pages {
		tags := slices.Compact(slices.Sorted(slices.Values(p.Tags)))
		sources[i] = freshet.Source{
			ID: p.ID, URL: url(p.ID), Name: p.Name, Tags: tags, Recipe: p.Recipe, Created: w.start,
		}
	}
	return sources
}
