package learn_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
	"freshet/internal/test/tier"
)

// A herald is an index of some pages of a world, and how true it is.
type herald struct {
	w     *world
	slot  freshet.Slot
	pages []freshet.Slot
	kind  evidence.IndexKind
	read  time.Time
	tells func(page freshet.Slot) bool // whether a change of a page is told; nil means always
	lies  func(page freshet.Slot) bool // whether a date is told without a change; nil means never
}

// newHerald puts pages on one site that change at random, and an index of them.
func newHerald(seed uint64, pages int, every, span time.Duration) (*world, *herald) {
	w := newWorld(learn.Config{Polls: 1}, seed)
	h := &herald{w: w}
	for i := range pages {
		h.pages = append(h.pages, w.add(page("site", i), w.poisson(monday, monday.Add(span), 1/every.Seconds())))
	}
	s := page("site", pages)
	s.URL, s.Index = "https://site.example/sitemap.xml", true
	h.slot = w.add(s, nil)
	return w, h
}

// word returns what the index says at a moment.
func (h *herald) word(at time.Time) *evidence.IndexHint {
	word := &evidence.IndexHint{Kind: h.kind}
	for _, page := range h.pages {
		n := h.w.index(page, at)
		date := monday.Add(-time.Hour)
		if n > 0 {
			date = h.w.changes[page][n-1]
		}
		named := h.read.IsZero() || date.After(h.read) && (h.tells == nil || h.tells(page))
		if !h.read.IsZero() && h.lies != nil && h.lies(page) {
			named, date = true, at
		}
		if named {
			word.Pages = append(word.Pages, evidence.PageHint{Page: crawl.PageKeyOf(h.w.sources[page].URL), Date: date})
		}
	}
	return word
}

// poll lets the index be polled.
func (h *herald) poll(at time.Time) {
	o := freshet.Outcome{Source: h.w.sources[h.slot].ID, Since: h.w.since[h.slot], Began: at, Ended: at, Requests: 1}
	if word := h.word(at); len(word.Pages) > 0 {
		o.Word, o.Result = word, freshet.Changed
	}
	h.read = at
	h.w.since[h.slot] = at
	h.w.tell(h.slot, o)
}

// tell tells of an outcome.
func (w *world) tell(slot freshet.Slot, o freshet.Outcome) {
	o.Cursor = freshet.Cursor(len(w.log) + 1)
	w.log = append(w.log, logged{slot, o})
	w.Observe(time.Time{}, slot, o)
}

// run polls the index every so often, a page in turn every minute, and each page that
// the index says has changed.
func (h *herald) run(from, to time.Time, every time.Duration) {
	turn := 0
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		if at.Sub(monday)%every == 0 {
			h.poll(at)
		}
		for _, page := range h.pages {
			if hint, ok := h.w.Hint(at, page); ok && hint.Pending > 0.5 {
				h.w.poll(page, at)
			}
		}
		h.w.poll(h.pages[turn%len(h.pages)], at)
		turn++
	}
}

// What is expected of pages that an index speaks for, and how far it is believed, when it
// tells the truth, keeps silent, lies, or speaks only for some.
func TestIndexIsBelievedAsFarAsItIsTrue(t *testing.T) {
	never := func(freshet.Slot) bool { return false }
	for _, tt := range []struct {
		name        string
		tells, lies func(freshet.Slot) bool
		pending     [2]float64 // between which a page that is said to have changed has
		quiet       [2]float64 // what is left of the changes expected where it says there were none
	}{
		{"true", nil, nil, [2]float64{0.9, 1}, [2]float64{0, 0.1}},
		{"silent", never, nil, [2]float64{0, 1}, [2]float64{0.7, 1}},
		{"liar", never, func(page freshet.Slot) bool { return page%4 == 0 }, [2]float64{0, 0.3}, [2]float64{0.5, 1}},
		{"noisy", nil, func(page freshet.Slot) bool { return page%4 == 0 }, [2]float64{0, 0.5}, [2]float64{0, 0.2}},
		{"half", func(page freshet.Slot) bool { return page%2 == 0 }, nil, [2]float64{0.8, 1}, [2]float64{0.25, 0.9}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, h := newHerald(1, 40, 2*time.Hour, 24*time.Hour)
			h.tells, h.lies = tt.tells, tt.lies
			end := monday.Add(12 * time.Hour)
			h.run(monday, end, 10*time.Minute)
			pending, quiet := w.trusts(h, end)
			if pending < tt.pending[0] || pending > tt.pending[1] {
				t.Errorf("what it tells is taken to be true with a chance of %.2f, not between %v", pending, tt.pending)
			}
			if quiet < tt.quiet[0] || quiet > tt.quiet[1] {
				t.Errorf("of what is expected where it tells nothing %.2f is left, not between %v", quiet, tt.quiet)
			}
			sane(t, w.Learner, end, len(w.sources))
		})
	}
}

// trusts returns with what chance a page has changed that an index has just told of, and
// what is left of the changes expected of one that it has not.
func (w *world) trusts(h *herald, at time.Time) (pending, quiet float64) {
	page := h.pages[1]
	w.poll(page, at)
	h.poll(at.Add(time.Second))
	at = at.Add(4 * time.Hour)
	w.tell(h.slot, freshet.Outcome{Began: at, Ended: at}) // unchanged
	at = at.Add(time.Second)
	hint, _ := w.Hint(at, page)
	quiet = hint.Expected / w.unheard(at, page)
	w.tell(h.slot, freshet.Outcome{Began: at, Ended: at, Result: freshet.Changed, Word: &evidence.IndexHint{
		Kind: h.kind, Pages: []evidence.PageHint{{Page: crawl.PageKeyOf(w.sources[page].URL), Date: at}},
	}})
	hint, _ = w.Hint(at.Add(time.Second), page)
	return hint.Pending, quiet
}

// unheard returns how many changes are expected of a page if nobody hears what is said.
func (w *world) unheard(at time.Time, page freshet.Slot) float64 {
	expected, gaps := make([]float64, len(w.sources)), make([]float64, len(w.sources))
	w.Likely(at, 0, expected, gaps, nil)
	return expected[page]
}

// An index that turns liar is worth nothing within a few polls, and one that comes to be
// true again is used again.
func TestIndexTurnsLiarAndBack(t *testing.T) {
	w, h := newHerald(2, 40, 2*time.Hour, 60*time.Hour)
	check := func(what string, from, hours int, ok func(float64) bool) {
		t.Helper()
		to := monday.Add(time.Duration(from+hours) * time.Hour)
		h.run(monday.Add(time.Duration(from)*time.Hour), to, 10*time.Minute)
		page := h.pages[1]
		w.poll(page, to)
		h.poll(to.Add(time.Hour))
		hint, heard := w.Hint(to.Add(time.Hour+time.Second), page)
		plain := w.unheard(to.Add(time.Hour+time.Second), page)
		if !heard || hint.Pending == 0 && !ok(hint.Expected/plain) {
			t.Errorf("%s: of what is expected where it tells nothing %.2f is left", what, hint.Expected/plain)
		}
	}
	check("true", 0, 12, func(x float64) bool { return x < 0.15 })
	h.tells = func(freshet.Slot) bool { return false }
	check("silent for two hours", 14, 2, func(x float64) bool { return x > 0.3 })
	check("silent for long", 18, 10, func(x float64) bool { return x > 0.6 })
	h.tells = nil
	check("true again", 30, 12, func(x float64) bool { return x < 0.2 })
}

// A change that a poll finds before the index was read again is no lie of the index.
func TestChangeWaitsForTheIndex(t *testing.T) {
	w, h := newHerald(3, 20, time.Hour, 24*time.Hour)
	for at := monday; at.Before(monday.Add(20 * time.Hour)); at = at.Add(time.Minute) {
		for _, page := range h.pages { // all are polled just before the index is read
			if at.Sub(monday)%(20*time.Minute) == 19*time.Minute {
				w.poll(page, at)
			}
		}
		if at.Sub(monday)%(20*time.Minute) == 0 {
			h.poll(at)
		}
	}
	if _, quiet := w.trusts(h, monday.Add(20*time.Hour)); quiet > 0.15 {
		t.Errorf("of what is expected where a true index tells nothing %.2f is left", quiet)
	}
}

// What was said of a page before it was a source is known when it comes, and also when it
// comes back.
func TestPagesThatComeLater(t *testing.T) {
	w, h := newHerald(4, 3, time.Hour, 24*time.Hour)
	late := page("site", 99)
	at := monday.Add(time.Hour)
	o := freshet.Outcome{Began: at, Ended: at, Result: freshet.Changed, Word: h.word(at)}
	o.Word.Pages = append(o.Word.Pages, evidence.PageHint{Page: crawl.PageKeyOf(late.URL), Date: at.Add(-time.Minute)})
	w.tell(h.slot, o)
	slot := freshet.Slot(len(w.sources))
	heard := func(when string, want bool) {
		t.Helper()
		if got := w.Outlook(at.Add(time.Minute), slot).Heard; (got != outlook.IndexHint{}) != want || want && got.Index != h.slot {
			t.Errorf("%s: it is heard of as %+v", when, got)
		}
	}
	w.Put(at, slot, late, monday)
	heard("put later", true)
	if hint, _ := w.Hint(at.Add(time.Minute), slot); hint.Changes != 1 {
		t.Errorf("the change that was told before it came counts as %v", hint.Changes)
	}
	w.Remove(slot)
	w.Put(at, slot, late, at)
	heard("put again", true)
	w.tell(h.slot, freshet.Outcome{Began: at, Ended: at, Result: freshet.Changed, Word: &evidence.IndexHint{Pages: []evidence.PageHint{{Page: crawl.PageKeyOf(late.URL), Gone: true}}}})
	heard("gone", false)
	w.Remove(slot)
	w.Remove(h.slot)
	w.Put(at, slot, late, at)
	heard("without the index", false)
}

// A list of what is latest that does not reach back to when it was last read says nothing
// of the time between.
func TestListThatIsTooShort(t *testing.T) {
	w, h := newHerald(5, 10, 3*time.Hour, 48*time.Hour)
	h.kind = evidence.FeedIndex
	h.run(monday, monday.Add(20*time.Hour), 10*time.Minute)
	at := monday.Add(20 * time.Hour)
	page := h.pages[0]
	w.poll(page, at)
	read := func(at, from time.Time) float64 {
		w.tell(h.slot, freshet.Outcome{Began: at, Ended: at, Result: freshet.Changed, Word: &evidence.IndexHint{Kind: h.kind, From: from}})
		hint, _ := w.Hint(at.Add(time.Second), page)
		return hint.Expected / w.unheard(at.Add(time.Second), page)
	}
	if left := read(at.Add(2*time.Hour), at.Add(-time.Hour)); left > 0.2 {
		t.Errorf("a list that reaches back far enough leaves %.2f of what is expected", left)
	}
	if left := read(at.Add(4*time.Hour), at.Add(3*time.Hour)); left < 0.5 {
		t.Errorf("a list that reaches back one hour of four leaves %.2f of what is expected", left)
	}
}

// A list that was not read to its end says nothing of the pages that it does not name,
// nor does a poll that finds it unchanged, until it is whole again.
func TestListThatBreaksOff(t *testing.T) {
	w, h := newHerald(5, 10, 3*time.Hour, 48*time.Hour)
	h.run(monday, monday.Add(20*time.Hour), 10*time.Minute)
	at := monday.Add(20 * time.Hour)
	page := h.pages[0]
	read := func(at time.Time, o freshet.Outcome) float64 {
		o.Began, o.Ended = at, at
		w.tell(h.slot, o)
		hint, _ := w.Hint(at.Add(time.Second), page)
		return hint.Expected / w.unheard(at.Add(time.Second), page)
	}
	read(at, freshet.Outcome{Result: freshet.Changed, Word: &evidence.IndexHint{Kind: h.kind, From: evidence.SilentFrom()}})
	w.poll(page, at.Add(time.Minute))
	if left := read(at.Add(2*time.Hour), freshet.Outcome{Result: freshet.Unchanged}); left < 0.9 {
		t.Errorf("a list that breaks off, and still does, leaves %.2f of what is expected", left)
	}
	if left := read(at.Add(4*time.Hour), freshet.Outcome{Result: freshet.Changed, Word: &evidence.IndexHint{Kind: h.kind}}); left > 0.2 {
		t.Errorf("a list that is whole again leaves %.2f of what is expected", left)
	}
}

// Dates of an index teach when pages change as their own dates do.
func TestRatesFromIndexes(t *testing.T) {
	w, h := newHerald(6, 30, 4*time.Hour, 72*time.Hour)
	h.run(monday, monday.Add(72*time.Hour), 5*time.Minute)
	sum := 0.0
	for _, page := range h.pages {
		sum += w.RateOf(page) / float64(len(h.pages))
	}
	if rate := 1 / (4 * 60.0); math.Abs(math.Log(sum/rate)) > 0.3 {
		t.Errorf("pages that change %.4f times a minute are thought to change %.4f times", rate, sum)
	}
}

// What is known of indexes is saved and restored to the bit, in the middle of anything.
func TestIndexesSurvive(t *testing.T) {
	w, h := newHerald(7, 12, time.Hour, 24*time.Hour)
	h.tells = func(page freshet.Slot) bool { return page%3 != 0 }
	h.run(monday, monday.Add(8*time.Hour), 7*time.Minute)
	at := monday.Add(8 * time.Hour)
	o := freshet.Outcome{Began: at, Ended: at, Result: freshet.Changed, Word: h.word(at)}
	for i := range 50 {
		o.Word.Pages = append(o.Word.Pages, evidence.PageHint{Page: crawl.PageKey(i * 977), Date: at})
	}
	w.tell(h.slot, o)
	h.run(at, at.Add(4*time.Hour), 7*time.Minute)
	again := func() *learn.Learner {
		l := learn.New(learn.Config{Start: monday, Polls: 1})
		for slot, s := range w.sources {
			l.Put(monday, freshet.Slot(slot), s, monday)
		}
		return l
	}
	want := saved(t, w.Learner)
	for _, n := range []int{1, len(w.log) / 3, len(w.log) * 3 / 4, len(w.log)} {
		first, second := again(), again()
		for _, o := range w.log[:n] {
			first.Observe(time.Time{}, o.slot, o.Outcome)
		}
		parts := saved(t, first)
		for _, slot := range slices.Sorted(maps.Keys(parts)) {
			if err := second.Restore(slot, []byte(parts[slot])); err != nil {
				t.Fatalf("restoring slot %d: %v", slot, err)
			}
		}
		for _, o := range w.log {
			second.Observe(time.Time{}, o.slot, o.Outcome)
		}
		if got := saved(t, second); !maps.Equal(got, want) {
			t.Errorf("restored after %d of %d outcomes, another is known: %s", n, len(w.log), differing(got, want))
		}
	}
}

// Whatever an index says, what is thought stays sane and bounded.
func TestHostileWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(learn.Config{}, 1)
		for i := range 6 {
			s := page("site", i)
			s.Index = i == 5
			w.add(s, nil)
		}
		at := monday
		keys := []crawl.PageKey{0, 1, math.MaxUint64}
		for _, s := range w.sources { // itself and other indexes too
			keys = append(keys, crawl.PageKeyOf(s.URL))
		}
		for range rapid.IntRange(1, 60).Draw(t, "outcomes") {
			at = at.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(48*time.Hour)).Draw(t, "later")))
			slot := freshet.Slot(rapid.IntRange(0, 5).Draw(t, "slot"))
			switch rapid.IntRange(0, 9).Draw(t, "edit") {
			case 0:
				w.Remove(slot)
			case 1:
				s := w.sources[slot]
				s.Index = rapid.Bool().Draw(t, "index")
				w.Put(at, slot, s, at)
			}
			o := freshet.Outcome{Began: at, Ended: at, Result: freshet.Result(rapid.IntRange(0, 4).Draw(t, "result"))}
			if rapid.Bool().Draw(t, "word") {
				o.Word = &evidence.IndexHint{Kind: evidence.IndexKind(rapid.IntRange(0, 255).Draw(t, "kind"))}
				dates := []time.Time{{}, time.Unix(0, 0), at, at.Add(-time.Hour), at.Add(1000 * time.Hour), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1000, 1, 1, 0, 0, 0, 0, time.UTC)}
				o.Word.From = rapid.SampledFrom(dates).Draw(t, "from")
				for range rapid.IntRange(0, 8).Draw(t, "pages") {
					o.Word.Pages = append(o.Word.Pages, evidence.PageHint{
						Page: rapid.SampledFrom(keys).Draw(t, "page"), Date: rapid.SampledFrom(dates).Draw(t, "date"), Gone: rapid.IntRange(0, 5).Draw(t, "gone") == 0,
					})
				}
			}
			w.tell(slot, o)
			sane(t, w.Learner, at.Add(time.Minute), len(w.sources))
		}
	})
}

// A word of millions of pages, and thousands of indexes for one page, take bounded room.
func TestManyWords(t *testing.T) {
	tier.Slow(t, "it learns from thousands of pages")
	w, h := newHerald(8, 3, time.Hour, 24*time.Hour)
	word := &evidence.IndexHint{}
	for i := range 1_500_000 {
		word.Pages = append(word.Pages, evidence.PageHint{Page: crawl.PageKey(i + 1), Date: monday})
	}
	for i := range 3 {
		at := monday.Add(time.Duration(i+1) * time.Minute)
		w.tell(h.slot, freshet.Outcome{Began: at, Ended: at, Result: freshet.Changed, Word: word})
	}
	at := monday.Add(time.Hour)
	for i := range 2000 {
		slot := w.add(freshet.Source{URL: fmt.Sprintf("https://i%d.example/", i), Index: true}, nil)
		w.tell(slot, freshet.Outcome{Began: at, Ended: at, Result: freshet.First, Word: h.word(at)})
	}
	pages, unmet := w.Said(h.pages[0])
	if pages > 3 || unmet > 1<<20 {
		t.Errorf("%d indexes are kept for a page, and what is said of %d pages that are no sources", pages, unmet)
	}
}

// An index costs what is named in it, not its length.
func BenchmarkIndexOutcome(b *testing.B) {
	for _, own := range []int{50_000} {
		l := learn.New(learn.Config{Start: monday, Polls: 50})
		word := &evidence.IndexHint{}
		for i := range own {
			s := freshet.Source{ID: freshet.SourceID(fmt.Sprint("s", i)), URL: fmt.Sprintf("https://site.example/%d", i)}
			l.Put(monday, freshet.Slot(i), s, monday)
			word.Pages = append(word.Pages, evidence.PageHint{Page: crawl.PageKeyOf(s.URL), Date: monday.Add(-time.Hour)})
		}
		slot := freshet.Slot(own)
		l.Put(monday, slot, freshet.Source{ID: "index", URL: "https://site.example/sitemap.xml", Index: true}, monday)
		at := monday.Add(time.Minute)
		l.Observe(at, slot, freshet.Outcome{Began: at, Ended: at, Result: freshet.First, Word: word})
		turn := 0
		for b.Loop() {
			at = at.Add(time.Minute)
			some := &evidence.IndexHint{Pages: make([]evidence.PageHint, 1000)}
			for i := range some.Pages {
				some.Pages[i] = evidence.PageHint{Page: word.Pages[turn%own].Page, Date: at}
				turn++
			}
			l.Observe(at, slot, freshet.Outcome{Began: at, Ended: at, Result: freshet.Changed, Word: some})
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/change")
	}
}
