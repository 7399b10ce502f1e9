package learn_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/learn"
	"freshet/internal/units"
)

// A mapped site has pages that change every other hour or once a month, and a sitemap that
// says of each how often it does.
type mapped struct {
	*learn.Learner
	now    time.Time
	cursor freshet.Cursor
}

const (
	mappedPages = 60
	sitemapSlot = mappedPages
)

func mappedURL(i int) string { return fmt.Sprintf("https://site.example/%d", i) }

func fast(i int) bool { return i%2 == 0 }

func newMapped(pages int) *mapped {
	m := &mapped{Learner: learn.New(learn.Config{Start: monday, Tick: 5 * time.Minute, Polls: 1}), now: monday}
	m.Put(monday, sitemapSlot, freshet.Source{ID: "map", URL: "https://site.example/sitemap.xml", Index: true}, monday)
	for i := range pages {
		m.put(i)
	}
	return m
}

func (m *mapped) put(i int) {
	m.Put(m.now, freshet.Slot(i), freshet.Source{ID: freshet.SourceID(fmt.Sprint("p", i)), URL: mappedURL(i)}, m.now)
}

// read tells what the sitemap says of all pages.
func (m *mapped) read(say func(i int) string) {
	w := &evidence.IndexHint{From: evidence.SilentFrom()}
	for i := range mappedPages {
		w.Claims = append(w.Claims, evidence.PageClaim{Page: crawl.PageKeyOf(mappedURL(i)), Freq: evidence.ParseChangeFreq(say(i))})
	}
	m.cursor++
	m.Observe(m.now, sitemapSlot, freshet.Outcome{Cursor: m.cursor, Source: "map", Began: m.now, Ended: m.now, Since: m.now, Result: freshet.First, Word: w})
}

// watch polls some of the pages for a week.
func (m *mapped) watch(pages int) {
	draw := rand.New(rand.NewPCG(2, 3))
	seen := map[int]time.Time{}
	for end := m.now.Add(7 * units.Day); m.now.Before(end); {
		for i := range pages {
			m.now = m.now.Add(10 * time.Minute)
			since, ok := seen[i]
			if !ok {
				since = m.now.Add(-time.Hour)
			}
			gap := 2 * time.Hour
			if !fast(i) {
				gap = 30 * units.Day
			}
			m.cursor++
			o := freshet.Outcome{Cursor: m.cursor, Source: freshet.SourceID(fmt.Sprint("p", i)), Since: since, Began: m.now, Ended: m.now}
			if draw.ExpFloat64()*float64(gap) < float64(m.now.Sub(since)) {
				o.Result = freshet.Changed
			}
			seen[i] = m.now
			m.Observe(m.now, freshet.Slot(i), o)
		}
	}
}

// rate returns the changes a day that are expected of a page.
func (m *mapped) rate(i int) float64 { return m.Outlook(m.now, freshet.Slot(i)).Now.Mean * 86400 }

// What a sitemap says of how often pages change is believed as far as polls of other pages
// have shown it to be true: of pages of which nothing else is known, those that are said to
// change often are expected to, unless such words mean nothing on the site.
func TestChangeFreq(t *testing.T) {
	const known = 30
	honest := func(i int) string {
		if fast(i) {
			return "hourly"
		}
		return "monthly"
	}
	plain := newMapped(mappedPages)
	plain.watch(known)
	unsaid := plain.rate(known)
	for _, c := range []struct {
		what string
		say  func(i int) string
		true bool
	}{
		{"true", honest, true},
		{"the wrong way round, and as good as true", func(i int) string { return honest(i + 1) }, true},
		{"always for all", func(int) string { return "always" }, false},
		{"at random", func(i int) string { return []string{"hourly", "monthly"}[i/2%2] }, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := newMapped(mappedPages)
			m.read(c.say)
			m.watch(known)
			often, seldom := m.rate(known), m.rate(known+1)
			t.Logf("%.2f and %.2f changes a day; %.2f where nothing is said", often, seldom, unsaid)
			if c.true && (often < 1.5*unsaid || seldom > unsaid/3) {
				t.Errorf("of a fast page %.2f changes a day are expected, of a slow one %.2f, and %.2f where nothing is said", often, seldom, unsaid)
			}
			if lies := max(often, seldom, unsaid) / min(often, seldom, unsaid); !c.true && lies > 1.5 {
				t.Errorf("by words that mean nothing %.2f and %.2f changes a day are expected, and %.2f without", often, seldom, unsaid)
			}
			restored := newMapped(mappedPages)
			if err := m.Save(func(slot freshet.Slot, memory []byte) error { return restored.Restore(slot, memory) }); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(memoryOf(t, restored.Learner), memoryOf(t, m.Learner)) {
				t.Error("what was learnt is not restored as it was saved")
			}
		})
	}
}

// What was said of a page before it became a source counts from then on, and what is said no
// longer does not.
func TestChangeFreqOfNewPages(t *testing.T) {
	const known = 30
	m := newMapped(known)
	m.read(func(i int) string { return map[bool]string{true: "hourly", false: "monthly"}[fast(i)] })
	m.watch(known)
	m.put(known)
	m.put(known + 1)
	often, seldom := m.rate(known), m.rate(known+1)
	if often < 4*seldom {
		t.Errorf("of a fast page that is new %.2f changes a day are expected, of a slow one %.2f", often, seldom)
	}
	m.Remove(known)
	m.put(known)
	if again := m.rate(known); again != often {
		t.Errorf("when it comes back %.2f changes a day are expected, and %.2f before", again, often)
	}
	m.read(func(int) string { return "" })
	if often, seldom := m.rate(known), m.rate(known+1); often != seldom {
		t.Errorf("where nothing is said any more %.2f and %.2f changes a day are expected", often, seldom)
	}
}
