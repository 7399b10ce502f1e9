package learn_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/learn"
)

// busyWorld is a world with sites, tags, rhythms and a few hundred outcomes.
func busyWorld(seed uint64, tick time.Duration, polls int) *world {
	w := newWorld(learn.Config{Tick: tick, Polls: 2}, seed)
	end := monday.Add(time.Duration(polls) * tick)
	for i := range 12 {
		s := page(fmt.Sprint("site", i/4), i)
		if i%4 < 2 {
			s.URL = fmt.Sprintf("https://site%d.example/news/%d", i/4, i)
		}
		switch i / 4 {
		case 1:
			s.Tags = []string{"a"}
		case 2:
			s = page(fmt.Sprint("alone", i), 0, "a", "b")
			s.Life = objective.Visibility{Kind: objective.VisibleForever}
		}
		w.add(s, w.poisson(monday, end, w.lognormal(1/(10*tick).Seconds(), 1)))
	}
	w.pollAtRandom(end, 12*tick, nil)
	return w
}

// again returns a Learner that was told of the same sources and nothing else.
func (w *world) again(tick time.Duration) *learn.Learner {
	l := learn.New(learn.Config{Start: monday, Tick: tick, Polls: 2})
	for slot, s := range w.sources {
		l.Put(monday, freshet.Slot(slot), s, monday)
	}
	return l
}

// What was learnt, saved and restored at any moment, goes on as if nothing had
// happened, to the bit.
func TestSaveAndRestore(t *testing.T) {
	for _, tick := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		t.Run(fmt.Sprint(tick), func(t *testing.T) {
			w := busyWorld(1, tick, 600)
			want := saved(t, w.Learner)
			for _, at := range []int{0, 1, len(w.log) / 3, len(w.log) - 1} {
				first := w.again(tick)
				for _, o := range w.log[:at] {
					first.Observe(time.Time{}, o.slot, o.Outcome)
				}
				second := w.again(tick)
				parts := saved(t, first)
				for _, slot := range slices.Sorted(maps.Keys(parts)) {
					if err := second.Restore(slot, []byte(parts[slot])); err != nil {
						t.Fatalf("restoring slot %d: %v", slot, err)
					}
				}
				if second.Upto() != freshet.Cursor(at) {
					t.Errorf("restored up to outcome %d, and %d had been learnt from", second.Upto(), at)
				}
				for _, o := range w.log { // those before are passed over
					second.Observe(time.Time{}, o.slot, o.Outcome)
				}
				if got := saved(t, second); !maps.Equal(got, want) {
					t.Errorf("restored after %d of %d outcomes and told the rest, another is known: %s", at, len(w.log), differing(got, want))
				}
			}
		})
	}
}

// differing names the parts of two states that are not the same.
func differing(a, b map[freshet.Slot]string) (slots string) {
	for _, slot := range slices.Sorted(maps.Keys(b)) {
		if a[slot] != b[slot] {
			slots += fmt.Sprint(" ", slot)
		}
	}
	return "slots" + slots
}

// Told the same outcomes from the beginning, another Learner is the same to the
// bit, whatever it was asked in between.
func TestAskingChangesNothing(t *testing.T) {
	w := busyWorld(2, time.Minute, 300)
	want := saved(t, w.Learner)
	rapid.Check(t, func(rt *rapid.T) {
		l := w.again(time.Minute)
		ask := func(i int) {
			at := monday
			if i > 0 {
				at = w.log[i-1].Ended
			}
			at = at.Add(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(20*24*time.Hour)).Draw(rt, "when")))
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				n := rapid.IntRange(0, 20).Draw(rt, "slots")
				l.Expected(at, make([]float64, n), make([]float64, n))
			case 1:
				l.Outlook(at, freshet.Slot(rapid.IntRange(0, 20).Draw(rt, "slot")))
			case 2:
				l.Tally(freshet.Slot(rapid.IntRange(0, 20).Draw(rt, "slot")))
				l.Reliability()
			case 3:
				if err := l.Save(func(freshet.Slot, []byte) error { return nil }); err != nil {
					rt.Fatalf("saving: %v", err)
				}
			}
		}
		asked := map[int]bool{}
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(w.log)-1), 0, 8).Draw(rt, "asked before") {
			asked[i] = true
		}
		for i, o := range w.log {
			if asked[i] {
				ask(i)
			}
			l.Observe(time.Time{}, o.slot, o.Outcome)
		}
		if got := saved(t, l); !maps.Equal(got, want) {
			rt.Fatalf("asked in between, another is known: %s", differing(got, want))
		}
	})
}

// The outlook of a source is the same before and after a restart.
func TestRestoredOutlooks(t *testing.T) {
	w := busyWorld(3, time.Minute, 400)
	second := w.again(time.Minute)
	for slot, memory := range saved(t, w.Learner) {
		if err := second.Restore(slot, []byte(memory)); err != nil {
			t.Fatalf("restoring slot %d: %v", slot, err)
		}
	}
	at := w.log[len(w.log)-1].Ended.Add(90 * time.Second)
	for slot := range w.sources {
		if diff := cmp.Diff(w.Outlook(at, freshet.Slot(slot)), second.Outlook(at, freshet.Slot(slot))); diff != "" {
			t.Errorf("the outlook of slot %d is another after a restart:\n%s", slot, diff)
		}
	}
}

// A source takes the same memory however long it has been watched.
func TestConstantMemory(t *testing.T) {
	size := func(w *world) (sum, most int) {
		for slot, memory := range saved(t, w.Learner) {
			if slot >= 0 {
				sum, most = sum+len(memory), max(most, len(memory))
			}
		}
		return sum, most
	}
	young, _ := size(busyWorld(4, time.Minute, 100))
	old, most := size(busyWorld(4, time.Minute, 3000))
	t.Logf("a source takes %d bytes on average, sites included, and %d at most", old/12, most)
	if old != young {
		t.Errorf("the sources take %d bytes after a hundred minutes, and %d after three thousand", young, old)
	}
	if most > 4<<10 {
		t.Errorf("a source with its site takes %d bytes, more than four thousand", most)
	}
}

// What is not a state of this Learner is refused.
func TestForeignStates(t *testing.T) {
	w := busyWorld(5, time.Minute, 200)
	parts := saved(t, w.Learner)
	refused := func(what string, l *learn.Learner, slot freshet.Slot, memory string) {
		t.Helper()
		if err := l.Restore(slot, []byte(memory)); !errors.Is(err, learn.ErrForeignState) {
			t.Errorf("%s: error %v, want that it is no state of this learner", what, err)
		}
	}
	for _, slot := range []freshet.Slot{-1, 0, 1} {
		for n := 0; n < len(parts[slot]); n += 37 {
			if err := w.again(time.Minute).Restore(slot, []byte(parts[slot][:n])); !errors.Is(err, learn.ErrForeignState) {
				t.Fatalf("the first %d of %d bytes of slot %d: error %v, want that it is no state of this learner", n, len(parts[slot]), slot, err)
			}
		}
		refused("a byte too many", w.again(time.Minute), slot, parts[slot]+"\x00")
		refused("nothing", w.again(time.Minute), slot, "")
	}
	refused("of another tick", w.again(time.Hour), -1, parts[-1])
	refused("of a source that is not there", w.again(time.Minute), 99, parts[0])
	refused("of all, for a source", w.again(time.Minute), 0, parts[-1])
	refused("of a source, for all", w.again(time.Minute), -1, parts[0])
}

// FuzzRestore restores what may be damaged, and goes on: nothing panics.
func FuzzRestore(f *testing.F) {
	w := busyWorld(6, time.Minute, 60)
	for slot, memory := range saved(f, w.Learner) {
		if slot > 0 {
			continue // like the first
		}
		f.Add(int32(slot), []byte(memory), uint32(0), byte(0))
		for at := uint32(0); at < uint32(len(memory)); at += 17 {
			f.Add(int32(slot), []byte(memory), at, byte(0x40))
		}
	}
	f.Fuzz(func(t *testing.T, slot int32, memory []byte, at uint32, flip byte) {
		if len(memory) > 0 {
			memory[at%uint32(len(memory))] ^= flip
		}
		l := w.again(time.Minute)
		if l.Restore(freshet.Slot(slot), memory) != nil {
			return
		}
		for _, o := range w.log[:20] {
			o.Cursor = 0
			l.Observe(time.Time{}, o.slot, o.Outcome)
		}
		l.Expected(monday.Add(day), make([]float64, 20), make([]float64, 20))
		for slot := range freshet.Slot(20) {
			l.Outlook(monday.Add(day), slot)
		}
	})
}
