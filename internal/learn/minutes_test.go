package learn_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/test/tier"
)

// A hearing is a source that dates its changes and is polled every so often.
type hearing struct {
	*learn.Learner
	now     time.Time
	changes []time.Time
	seen    int // changes, when it was last polled
	cursor  freshet.Cursor
}

// hearingConfig has a budget that suffices for a poll of the one source in 25 minutes.
var hearingConfig = learn.Config{Start: monday, Tick: time.Minute, Polls: 1.0 / 25}

func newHearing(changes []time.Time) *hearing {
	h := &hearing{Learner: learn.New(hearingConfig), now: monday, changes: changes}
	h.Put(monday, 0, freshet.Source{ID: "a", URL: "https://a.example/"}, monday)
	return h
}

// poll polls the source, which shows its last few dates.
func (h *hearing) poll(now time.Time, dates int) {
	n, _ := slices.BinarySearchFunc(h.changes, now, time.Time.Compare)
	h.cursor++
	o := freshet.Outcome{Cursor: h.cursor, Source: "a", Began: now, Ended: now, Since: h.now}
	if n > h.seen {
		o.Result = freshet.Changed
	}
	for i := n - 1; i >= 0 && len(o.Dates) < dates; i-- {
		o.Dates = append(o.Dates, h.changes[i])
	}
	h.Observe(now, 0, o)
	h.now, h.seen = now, n
}

// watch polls it every 20 to 30 minutes for a time.
func (h *hearing) watch(r *rand.Rand, end time.Time, dates int) {
	for now := h.now; ; {
		if now = now.Add(20*time.Minute + time.Duration(r.IntN(11))*time.Minute); now.After(end) {
			return
		}
		h.poll(now, dates)
	}
}

// rhythm returns what is thought of the source at a moment, and whether it keeps to any
// minute.
func (h *hearing) rhythm(now time.Time) (r learn.Rhythm, ok bool) {
	expected, gaps := []float64{0}, []float64{0}
	h.Likely(now, 0, expected, gaps, nil)
	h.Rhythms(now, 0, expected, func(_ freshet.Slot, told *learn.Rhythm) { r, ok = *told, true })
	return r, ok
}

// hourly returns changes at 10 and at 40 minutes past, give or take a minute or two.
func hourly(r *rand.Rand, hours int) (changes []time.Time) {
	for i := range hours {
		for _, minute := range []float64{10, 40} {
			at := monday.Add(time.Duration(i)*time.Hour + time.Duration((minute+r.NormFloat64())*float64(time.Minute)))
			changes = append(changes, at)
		}
	}
	slices.SortFunc(changes, time.Time.Compare)
	return changes
}

// A source that changes at certain minutes of the hour is expected to have changed just
// after them, and a poll just before them is better put off.
func TestMinutesOfTheHour(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := newHearing(hourly(r, 48))
	h.watch(r, monday.Add(30*time.Hour), 5)
	h.poll(monday.Add(30*time.Hour+20*time.Minute), 5)
	at := func(minute int) learn.Rhythm {
		got, ok := h.rhythm(monday.Add(30*time.Hour + time.Duration(minute)*time.Minute))
		if !ok {
			t.Fatal("after 30 hours it is not known that the source keeps to certain minutes")
		}
		return got
	}
	before, after := at(36), at(45)
	if before.Chance > 0.2 || before.Later < 0.5 {
		t.Errorf("four minutes before it is due a change is there with the chance %.2f, and %.2f before long", before.Chance, before.Later)
	}
	if after.Chance < 0.85 || after.Later > after.Chance {
		t.Errorf("five minutes after it was due a change is there with the chance %.2f, and %.2f before long", after.Chance, after.Later)
	}
	if quiet := at(50); !(at(63).Haste > quiet.Haste) {
		t.Errorf("a poll just before the next change is worth %.2f times as usual, and %.2f long before it", at(63).Haste, quiet.Haste)
	}
	if out := h.Outlook(monday.Add(30*time.Hour+45*time.Minute), 0); out.Chance < 0.85 {
		t.Errorf("the outlook gives a change that was due the chance %.2f", out.Chance)
	}
}

// A source that changes at any minute, in bursts, or that does not date its changes
// keeps to none.
func TestNoMinuteOfTheHour(t *testing.T) {
	tier.Slow(t, "it learns from thousands of histories")
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		var random, bursts []time.Time
		for at := monday; at.Before(monday.Add(96 * time.Hour)); {
			at = at.Add(time.Duration(r.ExpFloat64() * float64(30*time.Minute)))
			random = append(random, at)
		}
		for at := monday; at.Before(monday.Add(96 * time.Hour)); {
			at = at.Add(time.Hour + time.Duration(r.ExpFloat64()*float64(time.Hour)))
			for range 6 {
				at = at.Add(time.Minute)
				bursts = append(bursts, at)
			}
		}
		for _, c := range []struct {
			what    string
			changes []time.Time
			dates   int
		}{
			{"random", random, 5},
			{"in bursts", bursts, 5},
			{"hourly without dates", hourly(r, 96), 0},
		} {
			h := newHearing(c.changes)
			for end := monday; end.Before(monday.Add(96 * time.Hour)); end = end.Add(8 * time.Hour) {
				h.watch(r, end, c.dates)
				if _, ok := h.rhythm(h.now.Add(time.Minute)); ok {
					t.Errorf("a source that changes %s keeps to a minute after %v, seed %d", c.what, end.Sub(monday), seed)
				}
			}
		}
	}
}

// A source that keeps to its minutes no more is soon not thought to.
func TestMinutesThatEnd(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	changes := hourly(r, 40)
	for at := monday.Add(40 * time.Hour); at.Before(monday.Add(80 * time.Hour)); {
		at = at.Add(time.Duration(r.ExpFloat64() * float64(30*time.Minute)))
		changes = append(changes, at)
	}
	h := newHearing(changes)
	h.watch(r, monday.Add(40*time.Hour), 5)
	if _, ok := h.rhythm(h.now.Add(time.Minute)); !ok {
		t.Fatal("after 40 hours it is not known that the source keeps to certain minutes")
	}
	h.watch(r, monday.Add(60*time.Hour), 5)
	if _, ok := h.rhythm(h.now.Add(time.Minute)); ok {
		t.Error("20 hours after the source has ceased to keep to its minutes it is still thought to")
	}
}

// What is known of minutes is saved and restored to the bit, and damage to it is told.
func TestSavedMinutes(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	h := newHearing(hourly(r, 60))
	h.watch(r, monday.Add(30*time.Hour), 5)
	parts := saved(t, h.Learner)
	second := newHearing(h.changes)
	for _, slot := range []freshet.Slot{-1, 0} {
		if err := second.Restore(slot, []byte(parts[slot])); err != nil {
			t.Fatal(err)
		}
	}
	second.now, second.seen, second.cursor = h.now, h.seen, h.cursor
	for _, x := range []*hearing{h, second} {
		x.watch(rand.New(rand.NewPCG(8, 9)), monday.Add(50*time.Hour), 5)
	}
	if got, want := saved(t, second.Learner), saved(t, h.Learner); !maps.Equal(got, want) {
		t.Errorf("restored and told the rest, another is known: %s", differing(got, want))
	}
	cut := parts[0][:len(parts[0])-40]
	if err := newHearing(nil).Restore(0, []byte(cut)); err == nil {
		t.Error("a state that breaks off is restored")
	}
}

// Changes that are expected up to a moment more than a day ahead come at their minutes,
// too: about one is expected around the minute, and hardly any between.
func TestMinutesAreKnownDaysAhead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	h := newHearing(hourly(r, 48))
	h.watch(r, monday.Add(30*time.Hour), 5)
	from := monday.Add(30 * time.Hour)
	for _, ahead := range []time.Duration{3 * time.Hour, 30 * time.Hour} {
		within := func(first, last int) float64 {
			at := func(minute int) time.Time { return from.Add(ahead + time.Duration(minute)*time.Minute) }
			return h.Expect(0, from, at(last)) - h.Expect(0, from, at(first))
		}
		if due, quiet := within(5, 15), within(20, 30); due < 0.6 || due > 1.2 || quiet > 0.2 {
			t.Errorf("%v ahead %.2f changes are expected around the minute, and %.2f between; want about one, and hardly any", ahead, due, quiet)
		}
	}
}
