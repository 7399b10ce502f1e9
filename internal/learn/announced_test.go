package learn_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/learn"
	"freshet/internal/learn/imported"
)

// A speaker is a page that changes at moments at random, about every four hours, and says
// at each change when the next one comes.
type speaker struct {
	*learn.Learner
	draw    *rand.Rand
	by      evidence.NextKind
	truth   float64       // share of what it says that is true
	late    time.Duration // by which it is late
	dates   bool
	zone    int // in which it names its times, in hours ahead of UTC
	dayless bool
	said    time.Time // when it changes next, by its word
	change  time.Time // when it really does
	seen    time.Time
	cursor  freshet.Cursor
}

func newSpeaker(seed uint64, by evidence.NextKind, truth float64) *speaker {
	s := &speaker{
		Learner: learn.New(learn.Config{Start: monday, Tick: 5 * time.Minute, Polls: 1.0 / 12}),
		draw:    rand.New(rand.NewPCG(seed, 1)), by: by, truth: truth, seen: monday,
	}
	s.Put(monday, 0, freshet.Source{ID: "a", URL: "https://a.example/"}, monday)
	s.next(monday)
	return s
}

// next says when the next change comes.
func (s *speaker) next(now time.Time) {
	gap := func() time.Duration { return time.Hour + time.Duration(s.draw.ExpFloat64()*float64(3*time.Hour)) }
	s.change = now.Add(gap())
	if s.said = s.change.Add(-s.late); s.draw.Float64() >= s.truth {
		s.said = now.Add(gap())
	}
}

// poll polls the page, and reports whether it has changed.
func (s *speaker) poll(now time.Time) bool {
	s.cursor++
	o := freshet.Outcome{Cursor: s.cursor, Source: "a", Began: now, Ended: now, Since: s.seen}
	s.seen = now
	if now.Before(s.change) {
		s.Observe(now, 0, o)
		return false
	}
	if s.dates {
		o.Modified = s.change
	}
	for !now.Before(s.change) {
		s.next(s.change)
	}
	o.Result = freshet.Changed
	word := evidence.Next{By: s.by, At: s.said}
	if s.zone != 0 || s.dayless {
		word.At, word.Zoneless, word.Dayless = s.said.Add(time.Duration(s.zone)*time.Hour), true, s.dayless
	}
	for s.dayless && word.At.Sub(now) > 24*time.Hour {
		word.At = word.At.Add(-24 * time.Hour)
	}
	if s.by == evidence.NextByServer {
		o.FreshFor = max(1, s.said.Sub(now))
	} else {
		o.Foretold = &evidence.Announcement{Next: []evidence.Next{word}}
	}
	s.Observe(now, 0, o)
	return true
}

// watch polls it every hour or so for some days.
func (s *speaker) watch(days int) {
	for end := s.seen.Add(time.Duration(days) * 24 * time.Hour); s.seen.Before(end); {
		s.poll(s.seen.Add(30*time.Minute + time.Duration(s.draw.Float64()*float64(time.Hour))))
	}
}

// A page that tells the truth about when it changes next is believed after a while: it is
// expected to be quiet until then, and to have changed once the time has come. One that lies
// is not believed.
func TestAnnounced(t *testing.T) {
	for _, c := range []struct {
		what     string
		by       evidence.NextKind
		truth    float64
		late     time.Duration
		dates    bool
		believed bool
	}{
		{"the truth", evidence.NextByText, 1, 0, false, true},
		{"the truth, with dates", evidence.NextByText, 1, 0, true, true},
		{"the truth, of its server", evidence.NextByServer, 1, 0, false, true},
		{"the truth, but late", evidence.NextByText, 1, 4 * time.Minute, true, true},
		{"mostly the truth", evidence.NextByText, 0.8, 0, false, true},
		{"lies", evidence.NextByText, 0, 0, false, false},
		{"lies, with dates", evidence.NextByText, 0, 0, true, false},
		{"lies of a value that a user has named", evidence.NextByField, 0, 0, false, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := newSpeaker(3, c.by, c.truth)
			s.late, s.dates = c.late, c.dates
			s.watch(14)
			for s.Outlook(s.seen, 0).Foretold.At.IsZero() || s.said.Sub(s.seen) < 40*time.Minute || !s.poll(s.change.Add(time.Second)) {
				s.watch(1)
			}
			for s.said.Sub(s.seen) < 40*time.Minute {
				s.poll(s.change.Add(time.Second))
			}
			before, after := s.Outlook(s.said.Add(-10*time.Minute), 0), s.Outlook(s.said.Add(20*time.Minute), 0)
			f := after.Foretold
			t.Logf("before %.3f, after %.3f; right %.1f of %.1f", before.Chance, after.Chance, f.Right, f.Times)
			if f.Believed != c.believed || f.Times < 10 || !f.At.Equal(s.said.Truncate(time.Second)) && !f.At.Equal(s.said.Round(time.Second)) {
				t.Errorf("it says that it changes at %v: %+v; believed should be %t", s.said, f, c.believed)
			}
			rise := after.Chance / before.Chance
			if c.believed != (rise > 3 && after.Chance > 0.5) {
				t.Errorf("the chance of a change is %.3f before the time, and %.3f after it", before.Chance, after.Chance)
			}
		})
	}
}

// A source that turns liar is found out.
func TestAnnouncedNoMore(t *testing.T) {
	s := newSpeaker(5, evidence.NextByText, 1)
	s.watch(14)
	if f := s.Outlook(s.seen, 0).Foretold; !f.Believed {
		t.Fatalf("it is not believed: %+v", f)
	}
	s.truth = 0
	lies := 0
	for ; s.Outlook(s.seen, 0).Foretold.Believed || lies == 0; lies++ {
		s.watch(1)
		if lies > 5 {
			t.Fatalf("it is still believed after %d days of lies: %+v", lies, s.Outlook(s.seen, 0).Foretold)
		}
	}
}

// A value that a user has named is believed from the beginning.
func TestAnnouncedByField(t *testing.T) {
	s := newSpeaker(6, evidence.NextByField, 1)
	for !s.poll(s.seen.Add(time.Hour)) {
	}
	if f := s.Outlook(s.seen, 0).Foretold; !f.Believed || f.Times != 0 {
		t.Errorf("at first: %+v", f)
	}
}

// A feed is expected to rest in the hours that it skips if it does, and not if it does not.
func TestRests(t *testing.T) {
	for _, rests := range []bool{true, false} {
		l := learn.New(learn.Config{Start: monday, Tick: 5 * time.Minute, Polls: 1.0 / 12})
		l.Put(monday, 0, freshet.Source{ID: "a", URL: "https://a.example/feed"}, monday)
		skips := evidence.QuietHours(0xff) // from midnight to eight
		draw := rand.New(rand.NewPCG(1, 2))
		seen := monday
		for n, now := 1, monday; now.Before(monday.Add(6 * 24 * time.Hour)); n++ {
			now = now.Add(30*time.Minute + time.Duration(draw.Float64()*float64(time.Hour)))
			o := freshet.Outcome{Cursor: freshet.Cursor(n), Source: "a", Began: now, Ended: now, Since: seen}
			if (!rests || !skips.At(now)) && draw.Float64() < 0.5 {
				o.Result, o.Foretold = freshet.Changed, &evidence.Announcement{Rests: skips}
			}
			l.Observe(now, 0, o)
			seen = now
		}
		midnight := monday.Add(7 * 24 * time.Hour)
		r := l.Outlook(midnight, 0).Resting
		t.Logf("rests %t: %+v", rests, r)
		if r.Rests != skips || r.Believed != rests || r.Times < 10 {
			t.Errorf("that it rests (%t) is thought of as %+v", rests, r)
		}
	}
}

// A page that names a time of day and no zone is understood when it has been seen in which
// zone it tells the truth.
func TestAnnouncedInAZone(t *testing.T) {
	for _, hours := range []int{0, 1, -8, 11} {
		for _, dayless := range []bool{true, false} {
			s := newSpeaker(9, evidence.NextByText, 1)
			s.zone, s.dayless = hours, dayless
			s.watch(12)
			for s.said.Sub(s.seen) < time.Hour {
				s.poll(s.change.Add(time.Second))
			}
			f := s.Outlook(s.seen.Add(time.Minute), 0).Foretold
			if f.At.Sub(s.said).Abs() > time.Second || !f.Believed {
				t.Errorf("%d hours ahead, dayless %t: it says %v, and is understood as %+v", hours, dayless, s.said, f)
			}
		}
	}
}

// What was heard survives a restart, to the bit.
func TestAnnouncedSurvives(t *testing.T) {
	s := newSpeaker(7, evidence.NextByText, 0.9)
	s.zone = 3
	s.watch(9)
	again := newSpeaker(7, evidence.NextByText, 0.9)
	err := s.Save(func(slot freshet.Slot, memory []byte) error { return again.Restore(slot, memory) })
	if err != nil {
		t.Fatal(err)
	}
	at := s.seen.Add(3 * time.Hour)
	if got, want := again.Outlook(at, 0), s.Outlook(at, 0); got != want || want.Foretold.At.IsZero() {
		t.Errorf("after a restart it is\n%+v, before\n%+v", got, want)
	}
}

// Chances that somebody gives come before what a source says of itself for as long as they
// hold, and what it says counts again after that.
func TestGivenChancesComeBeforeWords(t *testing.T) {
	s := newSpeaker(3, evidence.NextByText, 1)
	s.watch(14) // it tells the truth, and is believed
	for s.said.Sub(s.seen) < 40*time.Minute {
		s.poll(s.change.Add(time.Second))
	}
	now := s.seen
	told, chance, _ := s.DueOf(0)
	if told.IsZero() || chance < 0.5 || s.NextDue(now, 0, 1).IsZero() {
		t.Fatalf("what it says is believed with %.2f, and due at %v", chance, told)
	}
	none := 0.0
	hold := imported.Forecast{From: now, Until: told.Add(time.Hour), Rate: &none}
	s.OverrideForecast(0, &hold)
	if at, _, _ := s.DueOf(0); !at.IsZero() || !s.NextDue(now, 0, 1).IsZero() {
		t.Errorf("while chances hold it is due at %v, by its own word", at)
	}
	if h, ok := s.Hint(told.Add(30*time.Minute), 0); ok {
		t.Errorf("while chances hold it gives the hint %+v", h)
	}
	if h, ok := s.Hint(hold.Until.Add(10*time.Minute), 0); !ok || h.Pending < 0.5 {
		t.Errorf("when they hold no longer it gives the hint %+v", h)
	}
	hold.Add = true
	s.OverrideForecast(0, &hold)
	if at, _, _ := s.DueOf(0); !at.Equal(told) {
		t.Errorf("beside chances that come on top it is due at %v, want %v", at, told)
	}
}
