package learn_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"freshet/internal/freshet"
	"freshet/internal/learn"
	"freshet/internal/learn/outlook"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Where things are in a saved state, in bytes: in the part of all sources, and in
// that of one.
const (
	versionAt   = 0
	slotsAt     = 8
	startAt     = 16
	lengthAt    = 24
	pointsAt    = 32
	paceAt      = 52
	sweepAt     = 1612
	ownHoursAt  = 1620
	ownWeekAt   = 1628
	lastAt      = 4
	rateAt      = 28
	evidenceAt  = 40
	evidenceEnd = evidenceAt + 4*learn.Points
)

// with returns a state in which some bytes are others.
func with(state string, at int, value any) string {
	data, err := binary.Append(nil, binary.LittleEndian, value)
	if err != nil {
		panic(err)
	}
	return state[:at] + string(data) + state[at+len(data):]
}

// Damage that can be told is told, and no damage is taken for a state.
func TestDamagedStates(t *testing.T) {
	w := busyWorld(31, time.Hour, 200)
	parts := saved(t, w.Learner)
	all, one := parts[-1], parts[1]
	shifted := one
	for i := range learn.Points {
		shifted = with(shifted, evidenceAt+4*i, float32(-1))
	}
	for _, c := range []struct {
		what   string
		slot   freshet.Slot
		state  string
		refuse bool
	}{
		{"all sources, as they were", -1, all, false},
		{"another version", -1, with(all, versionAt, int64(99)), true},
		{"the version before", -1, with(all, versionAt, int64(12)), true},
		{"no version", -1, with(all, versionAt, int64(0)), true},
		{"fewer slots than none", -1, with(all, slotsAt, int64(-1)), true},
		{"more slots than can be", -1, with(all, slotsAt, int64(1<<31)), true},
		{"another start", -1, with(all, startAt, monday.Add(1).UnixNano()), true},
		{"another tick", -1, with(all, lengthAt, int64(time.Hour+1)), true},
		{"another number of rates", -1, with(all, pointsAt, int64(learn.Points+1)), true},
		{"a pace that is not a number", -1, with(all, paceAt, math.NaN()), true},
		{"a sweep before the first source", -1, with(all, sweepAt, int64(-1)), true},
		{"a sweep beyond the last source", -1, with(all, sweepAt, int64(1<<40)), false},
		{"a day of other hours", -1, with(all, ownHoursAt, int64(23)), true},
		{"a week of other days", -1, with(all, ownWeekAt, int64(8)), true},
		{"a source, as it was", 1, one, false},
		{"seen at no time", 1, with(one, lastAt, math.NaN()), true},
		{"a rate that is not a number", 1, with(one, rateAt, float32(math.NaN())), true},
		{"evidence that is not a number", 1, with(one, evidenceAt+8, float32(math.NaN())), true},
		{"a rate that fits better than the best", 1, with(one, evidenceEnd-4, float32(0.5)), true},
		{"no rate that fits best", 1, shifted, true},
	} {
		l := w.again(time.Hour)
		err := l.Restore(c.slot, []byte(c.state))
		if refused := errors.Is(err, learn.ErrForeignState); refused != c.refuse || !refused && err != nil {
			t.Errorf("%s: error %v, and it should be refused: %v", c.what, err, c.refuse)
		}
		if err == nil { // what is taken is of use
			at := w.log[len(w.log)-1].Ended
			for i := range 40 {
				at = at.Add(time.Hour)
				l.Observe(time.Time{}, freshet.Slot(i%len(w.sources)), freshet.Outcome{Began: at, Ended: at, Result: freshet.Result(i % 2)})
			}
			sane(t, l, at, len(w.sources))
		}
	}
}

// An error of the one who is shown a state ends it, wherever it comes.
func TestSaveStopsAtAnError(t *testing.T) {
	w := busyWorld(32, time.Hour, 50)
	full := errors.New("full")
	for stop := -1; stop < 3; stop++ {
		var shown []freshet.Slot
		err := w.Save(func(slot freshet.Slot, _ []byte) error {
			shown = append(shown, slot)
			if int(slot) == stop {
				return full
			}
			return nil
		})
		if !errors.Is(err, full) || len(shown) != stop+2 {
			t.Errorf("an error at slot %d: error %v after slots %v", stop, err, shown)
		}
	}
}

// Sources may have gone and come since a state was saved, and tags with them:
// those that are left are as they were.
func TestRestoreIntoOtherSources(t *testing.T) {
	w := busyWorld(33, time.Hour, 300)
	parts := saved(t, w.Learner)
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 2})
	for slot, s := range w.sources[:8] { // none with the tags of the last four
		l.Put(monday, freshet.Slot(slot), s, monday)
	}
	l.Put(monday, 8, page("new", 0, "new"), monday)
	for _, slot := range slices.Sorted(maps.Keys(parts)) {
		if slot < 8 {
			if err := l.Restore(slot, []byte(parts[slot])); err != nil {
				t.Fatalf("restoring slot %d: %v", slot, err)
			}
		}
	}
	at := w.log[len(w.log)-1].Ended.Add(3 * time.Hour)
	for slot := range freshet.Slot(8) {
		got, want := l.Outlook(at, slot), w.Outlook(at, slot)
		if got.Rate != want.Rate || got.Tally != want.Tally || !got.Since.Equal(want.Since) || got.Expected != want.Expected {
			t.Errorf("slot %d has the outlook\n%+v, want\n%+v", slot, got, want)
		}
	}
	sane(t, l, at, 9)
}

// A state that was saved before anything was learnt, or after a forecast, is that
// of a learner that begins.
func TestSaveBeforeTheFirstOutcome(t *testing.T) {
	first, second := alone(), alone()
	first.Outlook(hours(400), 0)
	for slot, memory := range saved(t, first) {
		if err := second.Restore(slot, []byte(memory)); err != nil {
			t.Fatalf("restoring slot %d: %v", slot, err)
		}
	}
	if got, want := second.Outlook(hours(30), 0), alone().Outlook(hours(30), 0); got != want {
		t.Errorf("the outlook is\n%+v, want\n%+v", got, want)
	}
	_, want := told(found(10), same(40))
	second.Observe(time.Time{}, 0, found(10))
	second.Observe(time.Time{}, 0, same(40))
	if got := second.RateOf(0); got != want {
		t.Errorf("after two polls the rate is %v, want %v", got, want)
	}
}

// States that were saved by this version stay readable, and mean what they did. Where
// the layout or the meaning has to change, the version of the state does too, and the
// states of versions before are no use.
func TestStatesStayReadable(t *testing.T) {
	const file = "testdata/state-17.json"
	var golden struct {
		Parts    map[freshet.Slot][]byte
		Outlooks []outlook.Outlook
		Turn     float64
	}
	l := learn.New(learn.Config{Start: monday, Tick: time.Hour, Polls: 1})
	for i := range 3 {
		l.Put(monday, freshet.Slot(i), page([]string{"a", "a", "b"}[i], i, "tag"), monday)
	}
	if *update {
		for i := range 60 {
			o := same(float64(3*i) + 2)
			if i%4 == 0 || i%7 == 0 {
				o = dated(found(float64(3*i)+2), float64(3*i)+1.5)
			}
			o.Cursor = freshet.Cursor(i + 1)
			l.Observe(time.Time{}, freshet.Slot(i%3), o)
		}
		golden.Parts, golden.Turn = map[freshet.Slot][]byte{}, l.FullPass()
		for slot, memory := range saved(t, l) {
			golden.Parts[slot] = []byte(memory)
		}
		for slot := range freshet.Slot(3) {
			golden.Outlooks = append(golden.Outlooks, l.Outlook(hours(190), slot))
		}
		data, err := json.Marshal(golden)
		if err == nil {
			err = os.WriteFile(file, append(data, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &golden)
	}
	if err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	for _, slot := range slices.Sorted(maps.Keys(golden.Parts)) {
		if err := l.Restore(slot, golden.Parts[slot]); err != nil {
			t.Fatalf("restoring slot %d: %v", slot, err)
		}
	}
	if l.Upto() != 60 || l.FullPass() != golden.Turn {
		t.Errorf("restored up to outcome %d with a turn of %v, want 60 and %v", l.Upto(), l.FullPass(), golden.Turn)
	}
	for slot, want := range golden.Outlooks {
		// Machines may differ in the last digits.
		got := l.Outlook(hours(190), freshet.Slot(slot))
		if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
			t.Errorf("slot %d has another outlook than when it was saved:\n%s", slot, diff)
		}
	}
}
