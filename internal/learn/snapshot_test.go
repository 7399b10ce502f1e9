package learn_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/crawl"
	"freshet/internal/freshet/evidence"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
)

// slots is how many a bustle has at most.
const slots = 12

// A bustle has all kinds of things happen to two Learners. A snapshot is taken of the first.
type bustle struct {
	*rapid.T
	first, second *learn.Learner
	now           time.Time
	there         [slots]freshet.SourceID // "" where there is no source
	is            [slots]freshet.Source
	config        learn.Config
	some          int // chores that are done at once
	since         [slots]time.Time
	told          [slots][]imported.UpdateTime
	outcomes      freshet.Cursor
	sources       int
	tick          time.Duration
}

// newBustle draws how the learners are set. Some fade fast, and some poll so seldom at times
// that sources lose the profiles that they have for themselves.
func newBustle(t *rapid.T) *bustle {
	b := &bustle{T: t, now: monday, tick: rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}).Draw(t, "tick")}
	c := learn.Config{Start: monday, Tick: b.tick, Polls: rapid.SampledFrom([]float64{0.001, 0.3, 1, 4}).Draw(t, "polls")}
	if rapid.Bool().Draw(t, "fades") {
		c.Memory = b.tick
	}
	b.config, b.some = c, rapid.IntRange(0, 2).Draw(t, "chores at once")
	b.first, b.second = b.fresh(), b.fresh()
	for slot := range slots - 3 {
		b.put(slot)
	}
	return b
}

// fresh returns a Learner that knows nothing.
func (b *bustle) fresh() *learn.Learner {
	l := learn.New(b.config)
	l.DoSlices(b.some, b.some, b.some)
	return l
}

func (b *bustle) each(do func(l *learn.Learner)) {
	do(b.first)
	do(b.second)
}

// below draws a number from 0 to n-1.
func (b *bustle) below(n int, what string) int { return rapid.IntRange(0, n-1).Draw(b.T, what) }

// happen lets something happen.
func (b *bustle) happen() {
	slot := b.below(slots, "slot")
	switch b.below(17, "what") {
	case 0:
		b.put(slot)
	case 1:
		b.there[slot] = ""
		b.each(func(l *learn.Learner) { l.Remove(freshet.Slot(slot)) })
	case 2:
		b.teach(slot)
	case 3:
		b.ask(freshet.Slot(slot))
	case 4:
		b.now = b.now.Add(time.Duration(b.below(4, "days")-1) * 150 * b.tick) // long enough to jump, perhaps back
	case 5:
		b.now = b.now.Add(100 * b.tick) // not quite
	default:
		b.poll(slot)
	}
}

// put adds a source, or edits one.
func (b *bustle) put(slot int) {
	if b.there[slot] == "" {
		b.sources++
		b.there[slot], b.since[slot], b.told[slot] = freshet.SourceID(fmt.Sprint("s", b.sources)), time.Time{}, nil
	}
	s := freshet.Source{ID: b.there[slot], URL: b.url(3), Index: b.below(4, "lists") == 0, Paused: b.below(8, "paused") == 0}
	if b.below(3, "tagged") == 0 {
		s.Tags = []string{rapid.SampledFrom([]string{"a", "b"}).Draw(b.T, "tag")}
	}
	b.is[slot] = s
	b.each(func(l *learn.Learner) { l.Put(b.now, freshet.Slot(slot), s, b.since[slot]) })
}

// url draws one of few, so that sources share hosts, directories and pages.
func (b *bustle) url(pages int) string {
	directory := rapid.SampledFrom([]string{"", "a/", "b/", "a/c/"}).Draw(b.T, "directory")
	return fmt.Sprintf("https://h%d.example/%s%d", b.below(4, "host"), directory, b.below(pages, "page"))
}

func (b *bustle) teach(slot int) {
	at := monday.Add(-100 * b.tick)
	if n := len(b.told[slot]); n > 0 {
		at = b.told[slot][n-1].Until
	}
	for range 2 + b.below(3, "lessons") {
		at = at.Add(3 * b.tick)
		b.told[slot] = append(b.told[slot], imported.UpdateTime{After: at, Until: at.Add(b.tick)})
	}
	b.each(func(l *learn.Learner) { l.Teach(freshet.Slot(slot), b.told[slot]) })
}

// ask asks what is expected, which leaves no trace.
func (b *bustle) ask(slot freshet.Slot) {
	at := b.now.Add(time.Duration(b.below(3, "ahead")) * b.tick)
	b.each(func(l *learn.Learner) {
		l.Likely(at, slot, make([]float64, 3), make([]float64, 3), nil)
		l.Outlook(at, slot)
	})
}

// poll lets a source be polled, which may say all kinds of things.
func (b *bustle) poll(slot int) {
	b.now = b.now.Add(time.Duration(b.below(5, "later")) * b.tick / 2)
	b.outcomes++
	o := freshet.Outcome{Cursor: b.outcomes, Source: b.there[slot], Since: b.since[slot], Began: b.now, Ended: b.now, Requests: 1}
	switch b.below(5, "result") {
	case 0, 1:
		o.Result = freshet.Changed
	case 2:
		o.Result = freshet.Failed
	}
	if o.Since.IsZero() && o.Result != freshet.Failed {
		o.Result = freshet.First
	}
	switch b.below(8, "says") {
	case 0, 1:
		o.Word = b.word()
	case 2:
		o.Pushed = b.now.Add(-b.tick / 2)
	case 3:
		o.FreshFor = b.tick * time.Duration(1+b.below(3, "fresh"))
		o.Foretold = &evidence.Announcement{Next: []evidence.Next{{By: evidence.NextByFeed, At: b.now.Add(2 * b.tick), Zoneless: b.below(2, "zone") == 0}}, Rests: evidence.QuietHours(0).Hour(3)}
	case 4, 5:
		o.Modified = b.now.Add(-b.tick / 4)
		o.Dates = []time.Time{b.now.Add(-b.tick), b.now.Add(-3 * b.tick)}
	}
	if o.Result != freshet.Failed {
		b.since[slot] = b.now
	}
	b.each(func(l *learn.Learner) { l.Observe(b.now, freshet.Slot(slot), o) })
}

// word draws what an index says of pages, some of which are no sources.
func (b *bustle) word() *evidence.IndexHint {
	w := &evidence.IndexHint{Kind: evidence.IndexKind(b.below(int(evidence.IndexKinds), "kind"))}
	for range b.below(9, "named") {
		key := crawl.PageKeyOf(b.url(4))
		w.Pages = append(w.Pages, evidence.PageHint{Page: key, Date: b.now.Add(-time.Duration(b.below(3, "dated")) * b.tick), Gone: b.below(3, "gone") == 0})
	}
	for range b.below(3, "claims") {
		w.Claims = append(w.Claims, evidence.PageClaim{Page: crawl.PageKeyOf(b.url(4)), Freq: evidence.ChangeFreq(b.below(int(evidence.ChangeFreqs), "freq"))})
	}
	return w
}

// A snapshot that is shown some sources at a time is the same to the bit as one that was
// taken at once where it began, whatever happens meanwhile, and leaves no trace itself.
func TestSnapshotInSlices(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBustle(rt)
		for range b.below(150, "before") {
			b.happen()
		}
		want, names := saved(t, b.second), b.there
		left := map[freshet.Slot]freshet.SourceID{}
		shot := b.first.Snapshot(func(slot freshet.Slot) {
			if id, again := left[slot]; again {
				rt.Fatalf("the source %s in slot %d is said to leave, and %s had", b.there[slot], slot, id)
			}
			left[slot] = names[slot]
		})
		got := map[freshet.Slot]string{-1: string(shot.Common())}
		shown := freshet.Slot(-1)
		for last := false; !last; {
			for range b.below(12, "meanwhile") {
				b.happen()
			}
			var err error
			last, err = shot.Next(b.below(4, "slice"), func(slot freshet.Slot, memory []byte) error {
				if slot <= shown {
					rt.Errorf("slot %d is shown after %d", slot, shown)
				}
				shown, got[slot] = slot, string(memory)
				if b.there[slot] != names[slot] && left[slot] != names[slot] {
					rt.Errorf("slot %d is shown, where %q was, and nothing said that it left", slot, names[slot])
				}
				return nil
			})
			if err != nil {
				rt.Fatalf("the snapshot cannot be gone on with: %v", err)
			}
		}
		if !maps.Equal(got, want) {
			rt.Fatalf("the snapshot is another than one taken at once: %s of %d", differing(got, want), len(want))
		}
		for range b.below(20, "after") {
			b.happen()
		}
		if a, b := saved(t, b.first), saved(t, b.second); !maps.Equal(a, b) {
			rt.Fatalf("after a snapshot another is known: %s", differing(a, b))
		}
	})
}

// A snapshot is over when another one is begun, when what is known is replaced, and when it
// is ended.
func TestSnapshotOver(t *testing.T) {
	for name, end := range map[string]func(l *learn.Learner, s *learn.Snapshot){
		"another": func(l *learn.Learner, _ *learn.Snapshot) { l.Snapshot(nil) },
		"forgot":  func(l *learn.Learner, _ *learn.Snapshot) { l.Forget() },
		"restored": func(l *learn.Learner, s *learn.Snapshot) {
			if err := l.Restore(-1, s.Common()); err != nil {
				t.Fatal(err)
			}
		},
		"ended": func(_ *learn.Learner, s *learn.Snapshot) { s.End() },
	} {
		w := busyWorld(1, time.Minute, 100)
		s := w.Snapshot(nil)
		show := func(freshet.Slot, []byte) error { return nil }
		if last, err := s.Next(3, show); last || err != nil {
			t.Fatalf("%s: the first slice is the last: %v (%v)", name, last, err)
		}
		if end(w.Learner, s); s.Upto() != freshet.Cursor(len(w.log)) {
			t.Errorf("%s: it is of outcome %d, want %d", name, s.Upto(), len(w.log))
		}
		if _, err := s.Next(3, show); err == nil {
			t.Errorf("%s: a snapshot goes on that is over", name)
		}
	}
}

// inSlices begins a snapshot, lets something happen, and returns what is shown then.
func inSlices(t *testing.T, l *learn.Learner, happen func()) map[freshet.Slot]string {
	t.Helper()
	shot := l.Snapshot(nil)
	happen()
	all := map[freshet.Slot]string{-1: string(shot.Common())}
	if last, err := shot.Next(1000, func(slot freshet.Slot, memory []byte) error {
		all[slot] = string(memory)
		return nil
	}); !last || err != nil {
		t.Fatalf("not all was shown: %v", err)
	}
	return all
}

// A snapshot is of its beginning where sources lose the profiles that they have for
// themselves.
func TestSnapshotOfProfilesThatAreDropped(t *testing.T) {
	w := newWorld(learn.Config{Tick: time.Hour, Polls: 2}, 1)
	for i := range 4 {
		w.add(page("site", i), nil)
	}
	at := monday
	poll := func(later time.Duration) {
		at = at.Add(later)
		w.poll(freshet.Slot(len(w.log)%4), at)
	}
	for range 400 {
		poll(30 * time.Minute)
	}
	want := saved(t, w.Learner)
	got := inSlices(t, w.Learner, func() {
		for range 30 {
			poll(100 * time.Hour)
		}
	})
	if !maps.Equal(got, want) {
		t.Errorf("the snapshot is another than one taken at once: %s", differing(got, want))
	}
	if now := saved(t, w.Learner); len(now[0]) >= len(want[0]) {
		t.Errorf("slot 0 takes %d bytes, and took %d: no profile was dropped, so this shows nothing", len(now[0]), len(want[0]))
	}
}

// A snapshot is of its beginning where the first index since a restart makes pages known by
// their keys, and sitemaps had said before how often they change.
func TestSnapshotOfClaimsThatAreMet(t *testing.T) {
	sitemap := func(l *learn.Learner, slot freshet.Slot, claims ...evidence.PageClaim) {
		l.Put(monday, slot, freshet.Source{ID: "map", URL: "https://site.example/sitemap.xml", Index: true}, monday)
		l.Observe(monday, slot, freshet.Outcome{Cursor: l.Upto() + 1, Source: "map", Result: freshet.Changed, Since: monday, Began: monday.Add(day), Ended: monday.Add(day), Word: &evidence.IndexHint{Claims: claims}})
	}
	before := learn.New(learn.Config{Start: monday})
	sitemap(before, 0, evidence.PageClaim{Page: crawl.PageKeyOf(page("site", 1).URL), Freq: 3})
	l := learn.New(learn.Config{Start: monday})
	l.Put(monday, 0, page("site", 1), monday)
	if err := l.Restore(-1, []byte(saved(t, before)[-1])); err != nil {
		t.Fatal(err)
	}
	want := saved(t, l)
	if got := inSlices(t, l, func() { sitemap(l, 1) }); !maps.Equal(got, want) {
		t.Errorf("the snapshot is another than one taken at once: %s", differing(got, want))
	}
	if now := saved(t, l); now[0] == want[0] {
		t.Error("nothing was met, so this shows nothing")
	}
}
